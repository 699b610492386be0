"""
Requests a second of the embedded policy server and of `transformers serve --continuous-batching`, on one model.

64 sequences of up to 16 tokens are in flight, sampled at temperature 1 from a random Llama (width 64, 2 layers, a token a
character). Ours is measured with one list request and with 64 parallel ones, the other with 64 parallel ones, as it takes
no lists: once as it comes (a torch thread a core, which spin while they wait), once with the threads that ours has. All
take their turn in every round, so that what else the machine does falls on all alike. Where `transformers serve` lacks a
package, that is said, and its continuous batching is called in this process instead, without HTTP.

    python bench/policy_server.py --out policy-server.json
"""

import argparse
import contextlib
import http.client
import importlib.util
import json
import logging
import os
import platform
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TRAINER = Path(__file__).resolve().parents[1] / "trainer"
sys.path[:0] = [str(TRAINER), str(TRAINER / "tests" / "serving")]

SEQUENCES, TOKENS = 64, 16
PROMPTS = [f"what is {index} + {index * 7 % 50}?" for index in range(SEQUENCES)]
SAMPLING = {"max_tokens": TOKENS, "temperature": 1}
LIST, PARALLEL = "ours, one list request", "ours, 64 parallel requests"
TUNED, AS_IT_COMES = "transformers serve, threads as ours", "transformers serve, as it comes"
CACHE_BLOCKS = 256
"""Of transformers' key-value cache, more than the sequences fill. Without it, it takes most of the machine's free memory."""
SERVE_NEEDS = ("pydantic", "fastapi", "uvicorn", "openai")
"""What `transformers serve` imports beyond transformers and torch."""

Work = Callable[[], int]
"""Samples the 64 sequences; gives the number of sampled tokens."""


class Client:
    """The standard library's, a connection a request: lighter than the servers that it measures."""

    def __init__(self, port: int, model: str):
        self.port, self.model = port, model
        self.pool = ThreadPoolExecutor(SEQUENCES)

    def post(self, fields: dict) -> int:
        body = json.dumps({"model": self.model} | SAMPLING | fields)
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)) as connection:
            connection.request("POST", "/v1/completions", body, {"content-type": "application/json"})
            answer = connection.getresponse()
            text = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{answer.status} for {body:.200}: {text[:500]!r}")
        return json.loads(text)["usage"]["completion_tokens"]

    def parallel(self) -> int:
        return sum(self.pool.map(lambda prompt: self.post({"prompt": prompt}), PROMPTS))

    def listed(self) -> int:
        return self.post({"prompt": PROMPTS, "seed": 1, "logprobs": 0, "return_token_ids": True})


@contextlib.contextmanager
def process(command: list[str], ready: Callable[[], bool], **options: object) -> Iterator[None]:
    """A server process, from when it is ready to the end of the block."""
    server = subprocess.Popen(command, **options)
    try:
        while not ready():
            if server.poll() is not None:
                raise RuntimeError(f"{command} ended with {server.returncode} before it was ready")
            time.sleep(0.1)
        yield
    finally:
        server.terminate()
        try:
            server.wait(timeout=30)
        except subprocess.TimeoutExpired:
            server.kill()


@contextlib.contextmanager
def ours(store: Path, name: str, threads: int) -> Iterator[dict[str, Work]]:
    port_file = store / "port.json"
    command = [sys.executable, "-m", "genenv_trainer", "serve", "--store", str(store), "--threads", str(threads), "--port-file", str(port_file)]
    with process(command, port_file.exists, cwd=TRAINER):
        client = Client(json.loads(port_file.read_text())["port"], name)
        yield {LIST: client.listed, PARALLEL: client.parallel}


def thread_settings(threads: int) -> dict[str, str]:
    return {"OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "PASSIVE"}


@contextlib.contextmanager
def transformers_serve(folder: Path, title: str, settings: dict[str, str]) -> Iterator[dict[str, Work]]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-c", "from transformers.cli.transformers import main; main()", "serve", str(folder), "--continuous-batching"]
    command += ["--device", "cpu", "--cb-num-blocks", str(CACHE_BLOCKS), "--log-level", "error", "--port", str(port), "--host", "127.0.0.1"]

    def healthy() -> bool:
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=5)) as connection:
            try:
                connection.request("GET", "/health")
                return connection.getresponse().status == 200
            except (ConnectionRefusedError, TimeoutError):
                return False

    environment = os.environ | {"HF_HUB_OFFLINE": "1"} | settings
    with process(command, healthy, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
        yield {title: Client(port, str(folder)).parallel}


@contextlib.contextmanager
def continuous_batching(folder: Path) -> Iterator[dict[str, Work]]:
    """What `transformers serve --continuous-batching` runs, without its HTTP; its manager stays up between rounds."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, ContinuousBatchingConfig, GenerationConfig

    logging.getLogger("ContinuousBatchingLogger").setLevel(logging.ERROR)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    prompts = AutoTokenizer.from_pretrained(folder)(PROMPTS)["input_ids"]
    config = GenerationConfig.from_pretrained(folder, max_new_tokens=TOKENS, do_sample=True)

    cache = ContinuousBatchingConfig(num_blocks=CACHE_BLOCKS)

    def work() -> int:
        outputs = model.generate_batch(prompts, generation_config=config, continuous_batching_config=cache, persistent_manager=True)
        return sum(len(output.generated_tokens) for output in outputs.values())

    yield {"transformers' continuous batching in process": work}
    model.destroy_cached_continuous_batching_manager()


def measure(works: dict[str, Work], rounds: int) -> dict[str, dict]:
    """Seconds and sampled tokens of each work in each round, after a round to warm up."""
    measured = {title: {"seconds": [], "tokens": []} for title in works}
    for _ in range(rounds + 1):
        for title, work in works.items():
            begun = time.perf_counter()
            measured[title]["tokens"].append(work())
            measured[title]["seconds"].append(time.perf_counter() - begun)
    return {title: {field: values[1:] for field, values in figures.items()} for title, figures in measured.items()}


def ratio(slower: dict, faster: dict) -> float:
    """The median over the rounds of how many times as long one took."""
    return statistics.median(long / short for long, short in zip(slower["seconds"], faster["seconds"], strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="JSON file to write")
    parser.add_argument("--threads", type=int, default=1, help="torch threads of both; a model this small gains nothing from two")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    from tiny_models import save_model, serve_name

    missing = [name for name in SERVE_NEEDS if importlib.util.find_spec(name) is None]
    with contextlib.ExitStack() as stack:
        store, name = Path(stack.enter_context(tempfile.TemporaryDirectory())), "agent@0000-bench"
        save_model(store / "objects" / "model", seed=0)
        serve_name(store, name, "objects/model")
        works = stack.enter_context(ours(store, name, options.threads))
        folder = store / "objects" / "model"
        if missing:
            works |= stack.enter_context(continuous_batching(folder))
        else:
            works |= stack.enter_context(transformers_serve(folder, TUNED, thread_settings(options.threads)))
            works |= stack.enter_context(transformers_serve(folder, AS_IT_COMES, {}))
        measured = measure(works, options.rounds)

    if missing:
        print(f"`transformers serve` lacks {', '.join(missing)}: its continuous batching ran in process instead, without HTTP")
    for title, figures in measured.items():
        median = statistics.median(figures["seconds"])
        figures["requests_per_second"] = SEQUENCES / median
        figures["tokens_per_request"] = statistics.mean(figures["tokens"]) / SEQUENCES
        print(f"{title:46} {SEQUENCES / median:8.1f} requests/s, {figures['tokens_per_request']:.1f} tokens each, {median * 1e3:8.1f} ms")
    mine, *_ = works
    ratios = {title: ratio(figures, measured[mine]) for title, figures in measured.items() if title not in (LIST, PARALLEL)}
    for title, value in ratios.items():
        print(f"{mine}: {value:.1f} times {title}")
    about = {"sequences": SEQUENCES, "max_tokens": TOKENS, "threads": options.threads, "rounds": options.rounds, "cpus": os.cpu_count()}
    about |= {"machine": platform.machine(), "transformers_serve_lacks": missing, "load_average": os.getloadavg()[0]}
    options.out.write_text(json.dumps({"about": about, "measured": measured, "ratios": ratios}, indent=2) + "\n")


if __name__ == "__main__":
    main()
