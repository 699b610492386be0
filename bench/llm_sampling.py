"""Sampled tokens a second of the embedded policy server and of a vLLM that serves the same model, with a LoRA
adapter and without: 64 sequences of 32 tokens, 8 for each of 8 prompts. They take turns; wall-clock seconds, and
processor seconds of all processes of each server.

    python bench/llm_sampling.py --out sampling.json --model FOLDER [--vllm http://127.0.0.1:8000 --vllm-pid 71]
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil

TRAINER = Path(__file__).resolve().parents[1] / "trainer"
sys.path[:0] = [str(TRAINER)]
PROMPTS, SAMPLES, TOKENS = 8, 8, 32
TOPICS = ["the sea", "a clock", "two brothers", "a long road", "winter", "the market", "an old map", "a letter"]
TEXTS = [f"<|im_start|>user\nTell a long story about {topic}.<|im_end|>\n<|im_start|>assistant\n" for topic in TOPICS]
BASE, ADAPTED = "base", "adapted"


def post(url: str, fields: dict) -> dict:
    request = urllib.request.Request(url, json.dumps(fields).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=600) as answer:
        text = answer.read()
    return json.loads(text) if text.startswith(b"{") else {"text": text.decode()}


def save_adapter(model: Path, folder: Path, spread: float = 1e-3, dropout: float = 0.0) -> None:
    """A LoRA adapter of rank 16 on all linear layers, small enough to leave the model's language whole."""
    import torch

    from genenv_trainer import adapters
    from genenv_trainer.job_config import Adapter
    from genenv_trainer.models import load_model

    modules = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
    torch.manual_seed(0)
    policy = adapters.attach_adapter(load_model(model, torch.float32), None, Adapter(r=16, alpha=32, dropout=dropout, target_modules=modules))
    with torch.no_grad():
        for name, weight in policy.named_parameters():
            if "lora_B" in name:
                weight.normal_(std=spread)
    folder.mkdir()
    adapters.save_adapter(policy, folder)


def serve_names(store: Path, model: Path) -> None:
    """The model, and the adapter of the store's folder `adapter` over it, under their names."""
    (store / "served").mkdir()
    (store / "base").symlink_to(model)
    for name, path in ((BASE, "base"), (ADAPTED, "adapter")):
        (store / "served" / f"{name}.json").write_text(json.dumps({"path": path, "tokenizer": "base"}))


@contextlib.contextmanager
def embedded(store: Path, threads: int, *options: str) -> Iterator[tuple[str, int]]:
    """Address and process of an embedded server over the store, with further options of the command."""
    port_file = store / "port.json"
    command = [sys.executable, "-m", "genenv_trainer", "serve", "--store", str(store), "--threads", str(threads), "--port-file", str(port_file), *options]
    server = subprocess.Popen(command, cwd=TRAINER)
    try:
        while not port_file.exists():
            if server.poll() is not None:
                raise RuntimeError(f"{command} ended with {server.returncode} before it was ready")
            time.sleep(0.1)
        yield f"http://127.0.0.1:{json.loads(port_file.read_text())['port']}", server.pid
    finally:
        server.terminate()
        server.wait(timeout=60)


def list_request(url: str, model: str, seed: int) -> int:
    """All prompts in one request, as the embedded server is asked. Gives the tokens."""
    fields = {"model": model, "prompt": TEXTS, "n": SAMPLES, "seed": seed, "temperature": 1, "max_tokens": TOKENS, "logprobs": 0}
    return post(f"{url}/v1/completions", fields)["usage"]["completion_tokens"]


def prompt_requests(url: str, model: str, seed: int) -> int:
    """A request for each prompt, at the same time, as vLLM is asked."""
    def one(index: int) -> int:
        fields = {"model": model, "prompt": TEXTS[index], "n": SAMPLES, "seed": seed + index, "temperature": 1, "max_tokens": TOKENS, "logprobs": 0}
        return post(f"{url}/v1/completions", fields)["usage"]["completion_tokens"]

    with ThreadPoolExecutor(PROMPTS) as pool:
        return sum(pool.map(one, range(PROMPTS)))


def processor_seconds(pid: int) -> float:
    """Of a process and all of its descendants that are alive."""
    root = psutil.Process(pid)
    times = [process.cpu_times() for process in (root, *root.children(recursive=True))]
    return sum(one.user + one.system for one in times)


def measure(works: dict[str, tuple[Callable[[int], int], int]], rounds: int) -> dict[str, dict]:
    """Figures of each work in its best round, after a round to warm up."""
    best: dict[str, dict] = {}
    for round_ in range(rounds + 1):
        for title, (work, pid) in works.items():
            wall, processor = time.perf_counter(), processor_seconds(pid)
            tokens = work(1000 * round_)
            figures = {
                "tokens_per_second": tokens / (time.perf_counter() - wall),
                "tokens_per_processor_second": tokens / (processor_seconds(pid) - processor),
            }
            if round_ > 0:
                so_far = best.setdefault(title, figures)
                best[title] = {name: max(value, so_far[name]) for name, value in figures.items()}
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--vllm", help="address of a vLLM that serves the model as `base` and loads adapters")
    parser.add_argument("--vllm-pid", type=int, help="its process")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="genenv-bench-") as scratch:
        store = Path(scratch)
        save_adapter(options.model, store / "adapter")
        serve_names(store, options.model)
        with embedded(store, options.threads) as (url, pid):
            works = {
                f"embedded, {name}": (lambda seed, name=name: list_request(url, name, seed), pid) for name in (BASE, ADAPTED)
            }
            if options.vllm is not None:
                loaded = f"{ADAPTED}-{os.getpid()}"
                post(f"{options.vllm}/v1/load_lora_adapter", {"lora_name": loaded, "lora_path": str(store / "adapter")})
                for title, name in ((BASE, BASE), (ADAPTED, loaded)):
                    works[f"vLLM, {title}"] = (lambda seed, name=name: prompt_requests(options.vllm, name, seed), options.vllm_pid)
            measured = measure(works, options.rounds)
            if options.vllm is not None:
                post(f"{options.vllm}/v1/unload_lora_adapter", {"lora_name": loaded})
    result: dict = {"sequences": PROMPTS * SAMPLES, "max_tokens": TOKENS, "threads": options.threads, "load_average": os.getloadavg()[0], "measured": measured}
    if options.vllm is not None:
        result["ratios_to_vllm"] = {
            name: {figure: measured[f"embedded, {name}"][figure] / measured[f"vLLM, {name}"][figure] for figure in measured[f"vLLM, {name}"]}
            for name in (BASE, ADAPTED)
        }
        result["target_ratio"] = 1.0
    options.out.write_text(json.dumps(result))


if __name__ == "__main__":
    main()
