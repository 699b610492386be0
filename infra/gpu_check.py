"""Trainer and embedded policy server on a GPU (on a processor with `--device cpu --precision float32`): sampling and
GRPO step in tokens a second, the step beside TRL's, the sampler's log-probabilities against the trainer's, and GRPO jobs
compared byte for byte: one that is killed and resumed, and one that is run twice. Prints and writes JSON; exits with 1 if
a check fails. `infra/gpu-check.sh` starts it.
"""

import argparse
import gc
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TRAINER = ROOT / "trainer"
NEEDED = ("torch", "transformers", "peft", "safetensors", "tokenizers", "numpy", "pydantic", "fastapi", "uvicorn", "psutil")
SMOLLM2 = {
    "hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 30, "num_attention_heads": 9, "num_key_value_heads": 3,
    "max_position_embeddings": 8192, "tie_word_embeddings": True, "rope_parameters": {"rope_theta": 100000.0, "rope_type": "default"},
}
"""SmolLM2-135M: 135 million parameters, with the vocabulary of 49,152 that `make_model` adds."""
VOCABULARY = 49_152
SAMPLES, VERSION = 8, "agent@0001-0"
DROPOUT = 0.05
"""Of the adapter: each step draws random numbers, so that a job which resumes without its random state shows."""
SPREAD = 1e-2
"""Of the adapter's random weights: without them, log-probabilities are clearly others."""
MEAN_LIMIT = {"float32": 1e-3, "bfloat16": 0.05}
"""Nats a token between sampler and trainer."""
WRONG_ADAPTER_RATIO = 3
"""How much farther the trainer must be without the adapter, for the comparison to tell a wrong one."""


class Failed(Exception):
    """A check that failed, in a sentence."""


def make_model(folder: Path, architecture: dict, vocabulary: int = VOCABULARY) -> None:
    """A randomly initialised Llama with a tokenizer of single characters, from the line feed on."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    from genenv_trainer.tokenizer import SPECIAL_TOKENS, character_tokenizer

    tokenizer = character_tokenizer([chr(ord("\n") + index) for index in range(vocabulary - len(SPECIAL_TOKENS))])
    special = {f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ("pad", "bos", "eos")}
    torch.manual_seed(0)
    LlamaForCausalLM(LlamaConfig(vocab_size=vocabulary, **architecture, **special)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def sampling(options: argparse.Namespace, store: Path) -> dict:
    """Sampled tokens a second of the embedded server, base and adapter, and the adapter's answers."""
    import llm_sampling as bench

    places = ("--device", options.device, "--precision", options.precision)
    with bench.embedded(store, options.threads, *places) as (url, _):

        def ask(name: str, seed: int) -> dict:
            fields = {"model": name, "prompt": bench.TEXTS, "n": SAMPLES, "seed": seed, "temperature": 1, "max_tokens": options.tokens}
            return bench.post(f"{url}/v1/completions", fields | {"logprobs": 0, "return_token_ids": True})

        speeds = {name: max(speed(lambda: ask(name, round_)) for round_ in range(options.rounds + 1)) for name in (bench.BASE, bench.ADAPTED)}
        answers, again = ask(bench.ADAPTED, 7), ask(bench.ADAPTED, 7)
    return {
        "sequences": len(answers["choices"]), "max_tokens": options.tokens, "tokens_per_second": speeds,
        "same_answers_twice": answers == again, "answers": answers["choices"],
    }


def speed(ask: Callable[[], dict]) -> float:
    begun = time.perf_counter()
    tokens = ask()["usage"]["completion_tokens"]
    return tokens / (time.perf_counter() - begun)


def rollouts(answers: list[dict], steps: int) -> list[dict]:
    """The answers as records of a GRPO batch: a step for each group, over and over."""
    rng = random.Random(11)
    lines = []
    for step in range(steps):
        group = step % (len(answers) // SAMPLES)
        for answer in answers[group * SAMPLES : (group + 1) * SAMPLES]:
            prompt, tokens = answer["prompt_token_ids"], answer["token_ids"]
            lines.append({
                "step": step, "token_ids": prompt + tokens, "mask": [0] * len(prompt) + [1] * len(tokens),
                "logprobs": [0.0] * len(prompt) + answer["logprobs"]["token_logprobs"], "temperature": 1,
                "advantage": rng.choice([-1.0, -0.5, 0.5, 1.0]), "group_id": str(group), "policy_version": VERSION, "env_name": "gpu-check",
            })
    return lines


def sampler_against_trainer(options: argparse.Namespace, store: Path, answers: list[dict]) -> dict:
    """Nats between the log-probabilities of sampled tokens, as the server gave them and as a training step has them; and
    as it would have them without the adapter."""
    import torch

    from genenv_trainer import adapters
    from genenv_trainer.forward import policy_terms
    from genenv_trainer.models import load_model
    from genenv_trainer.records import Record
    from genenv_trainer.shared_prompts import can_share_prompts, use_shared_prompts
    from genenv_trainer.step import StepBatch

    base = load_model(options.model, getattr(torch, options.precision))
    packed = can_share_prompts(base)
    if packed:
        use_shared_prompts(base)
    policy = adapters.attach_adapter(base, store / "adapter", None).to(options.device).eval()
    lines = rollouts(answers, len(answers) // SAMPLES)
    records = [Record("answer", *(line[name] for name in ("token_ids", "mask", "logprobs"))) for line in lines]
    batch = StepBatch.of(records, 16384, torch.device(options.device), packed)
    autocast = torch.bfloat16 if options.precision == "bfloat16" else None

    @torch.no_grad()
    def difference() -> tuple[float, float]:
        gaps = []
        for index, micro in enumerate(batch.micro_batches):
            terms = policy_terms(policy, None, index, micro, autocast, False, False)
            gaps.append((terms.logprobs - micro.logprobs_B_K).abs()[micro.mask_B_K > 0])
        gaps = torch.cat(gaps)
        return gaps.mean().item(), gaps.max().item()

    mean, most = difference()
    with policy.disable_adapter():
        without_adapter, _ = difference()
    del policy, base
    gc.collect()
    if options.device == "cuda":
        torch.cuda.empty_cache()
    return {
        "tokens": batch.totals.active_tokens, "packed": packed, "mean": mean, "max": most, "mean_limit": MEAN_LIMIT[options.precision],
        "mean_without_adapter": without_adapter,
    }


def step_figures(options: argparse.Namespace, scratch: Path) -> dict:
    """`bench/llm_step.py` on the same device. Raises Failed if its step is not TRL's."""
    out = scratch / "step.json"
    command = [
        sys.executable, str(ROOT / "bench" / "llm_step.py"), "--out", str(out), "--model", str(options.model), "--groups", str(options.groups),
        "--rounds", str(options.rounds), "--device", options.device, "--precision", options.precision,
    ]
    ended = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    if ended.returncode != 0:
        raise Failed(f"the GRPO step could not be measured beside TRL's: {ended.stderr.strip()[-3000:]}")
    return json.loads(out.read_text())


class Jobs:
    """GRPO jobs over the same rollouts, each a process `python -m genenv_trainer job`."""

    def __init__(self, options: argparse.Namespace, store: Path, answers: list[dict]):
        self.options, self.store, self.lines = options, store, rollouts(answers, options.steps)

    def folder(self, name: str) -> Path:
        """A work folder as the worker leaves it."""
        import llm_step as bench

        from genenv_trainer.work_folder import seal

        options, folder = self.options, self.store / "work" / name
        (folder / "fence").mkdir(parents=True)
        (folder / "fence" / "1").touch()
        (folder / "lease").touch()
        (folder / "batch.jsonl").write_text("".join(json.dumps(line) + "\n" for line in self.lines))
        settings = bench.SETTINGS.model_dump() | {"learning_rate": 1e-4, "min_informative_groups": 1, "policy_version": VERSION}
        job = {
            "format": 1, "kind": "grpo", "input_hash": "gpu-check", "fence": 1, "seed": 7, "device": options.device, "threads": options.threads,
            "precision": options.precision, "gradient_checkpointing": False, "device_lock": None, "model": {"path": str(self.store / "adapter")},
            "adapter": None, "reference": None, "trainer_state": None, "batch": str(folder / "batch.jsonl"), "settings": settings,
            "checkpoint_every": 1, "orphan_grace_seconds": 86400,
        }
        (folder / "job.json").write_text(seal(job))
        return folder

    def start(self, folder: Path) -> subprocess.Popen:
        return subprocess.Popen([sys.executable, "-m", "genenv_trainer", "job", str(folder)], cwd=TRAINER)

    def finish(self, folder: Path) -> dict:
        """Run the job of a folder to its end. Returns its exit.json."""
        code = self.start(folder).wait()
        if code != 0:
            raise Failed(f"a GRPO job ended with {code}: {(folder / 'log.txt').read_text()[-3000:]}")
        return json.loads((folder / "exit.json").read_text())

    def kill(self, folder: Path) -> int:
        """Start the job and kill it (SIGKILL) once half of its steps are done. Returns the steps."""
        process, progress = self.start(folder), folder / "progress.jsonl"
        done = 0
        while process.poll() is None and done < self.options.steps // 2:
            time.sleep(0.002)
            text = progress.read_text() if progress.exists() else ""
            done = max((json.loads(line)["step"] for line in text.split("\n")[:-1]), default=0)
        process.kill()
        if process.wait() != -signal.SIGKILL or (folder / "result.json").exists():
            raise Failed(f"a GRPO job ended with {process.returncode} before it could be killed: {(folder / 'log.txt').read_text()[-3000:]}")
        return done


def job_bytes(options: argparse.Namespace, store: Path, answers: list[dict]) -> dict:
    """What an undisturbed job leaves, beside the same job again, and one that was killed and resumed."""
    jobs = Jobs(options, store, answers)
    undisturbed, again, killed = map(jobs.folder, ("undisturbed", "again", "killed"))
    seconds = jobs.finish(undisturbed)["seconds"]
    jobs.finish(again)
    killed_after = jobs.kill(killed)
    resumed_from = jobs.finish(killed)["resumed_from"]
    whole = contents(undisturbed)
    result = json.loads((undisturbed / "result.json").read_text())
    return {
        "steps": options.steps, "steps_done": result["steps_done"], "seconds": seconds, "files": len(whole), "killed_after_step": killed_after,
        "resumed_from_step": resumed_from, "other_files_when_run_again": others(whole, contents(again)),
        "other_files_when_killed_and_resumed": others(whole, contents(killed)), "warnings_of_order": warnings_of_order(undisturbed),
    }


def contents(folder: Path) -> dict[str, str]:
    """sha256 of all that a job leaves."""
    files = [folder / "result.json", *(file for file in sorted((folder / "output").rglob("*")) if file.is_file())]
    return {str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def others(one: dict[str, str], other: dict[str, str]) -> list[str]:
    """Files that are not equal, or in one of them alone."""
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))


def warnings_of_order(folder: Path) -> list[str]:
    """What torch said about sums whose order is not fixed: the first suspects if bytes differ."""
    return sorted({line.strip() for line in (folder / "log.txt").read_text().splitlines() if "deterministic" in line})


def problems(report: dict) -> list[str]:
    """Each check that failed, as a sentence."""
    found = [f"{part}: {figures['failed']}" for part, figures in report.items() if isinstance(figures, dict) and "failed" in figures]
    if report.get("sampling", {}).get("same_answers_twice") is False:
        found.append("The embedded server gave other answers to the same request with the same seed.")
    gap = report.get("sampler_against_trainer", {})
    if "mean" in gap and not gap["mean"] <= gap["mean_limit"]:
        found.append(f"Log-probabilities of sampler and trainer differ by {gap['mean']:.2g} nats a token, above {gap['mean_limit']}.")
    if "mean" in gap and not gap["mean_without_adapter"] > WRONG_ADAPTER_RATIO * gap["mean"]:
        found.append(
            f"Sampler and trainer differ by {gap['mean']:.2g} nats a token, and by {gap['mean_without_adapter']:.2g} without the adapter: "
            "that does not tell a wrong adapter."
        )
    jobs = report.get("jobs", {})
    if "steps" in jobs and jobs["steps_done"] != jobs["steps"]:
        found.append(f"A GRPO job did {jobs['steps_done']} of {jobs['steps']} steps.")
    if "steps" in jobs and jobs["resumed_from_step"] is None:
        found.append("The killed GRPO job began again instead of resuming from its step checkpoint.")
    for key, what in (("run_again", "run again"), ("killed_and_resumed", "killed and resumed")):
        if differ := jobs.get(f"other_files_when_{key}"):
            hint = f" torch warned: {' | '.join(jobs['warnings_of_order'])}" if jobs["warnings_of_order"] else ""
            found.append(f"A GRPO job that was {what} left other bytes in {', '.join(differ)}.{hint}")
    return found


def versions() -> dict[str, str | None]:
    found = {}
    for name in ("torch", "transformers", "peft", "trl", "vllm"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = None
    return {"python": platform.python_version()} | found


def device_name(device: str) -> str:
    import torch

    if device == "cuda":
        return f"{torch.cuda.get_device_name()}, CUDA {torch.version.cuda}"
    return f"{platform.machine()}, {os.cpu_count()} cores"


def run_checks(options: argparse.Namespace, scratch: Path) -> dict:
    import llm_sampling as bench

    made = options.model is None
    if made:
        options.model = scratch / "model"
        make_model(options.model, SMOLLM2)
    options.model = options.model.resolve()
    report: dict = {
        "device": device_name(options.device), "precision": options.precision, "threads": options.threads, "versions": versions(),
        "model": "randomly initialised, of SmolLM2-135M's architecture" if made else options.model.name,
    }
    store = scratch / "store"
    store.mkdir()
    bench.save_adapter(options.model, store / "adapter", SPREAD, DROPOUT)
    bench.serve_names(store, options.model)
    answers: list[dict] = []

    def check(part: str, work: Callable[[], dict]) -> None:
        print(f"{part} ...", file=sys.stderr, flush=True)
        begun = time.perf_counter()
        try:
            report[part] = work()
        except Exception as error:  # the others are still worth their time
            report[part] = {"failed": str(error) if isinstance(error, Failed) else f"{type(error).__name__}: {error}"}
        report[part]["wall_seconds"] = round(time.perf_counter() - begun, 1)
        answers.extend(report[part].pop("answers", []))

    check("sampling", lambda: sampling(options, store))
    if answers:
        check("sampler_against_trainer", lambda: sampler_against_trainer(options, store, answers))
        check("jobs", lambda: job_bytes(options, store, answers))
    check("step", lambda: step_figures(options, scratch))
    return report


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="file to write the JSON to")
    parser.add_argument("--model", type=Path, help="Hugging Face folder; without it, a randomly initialised model of SmolLM2-135M's shape")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--precision", choices=["bfloat16", "float32"], default="bfloat16")
    parser.add_argument("--threads", type=int, default=2, help="torch threads of server and jobs")
    parser.add_argument("--tokens", type=int, default=32, help="tokens of each of the 64 sampled sequences")
    parser.add_argument("--steps", type=int, default=8, help="optimizer steps of each GRPO job")
    parser.add_argument("--groups", type=int, default=8, help="groups of 8 sequences in the measured GRPO step")
    parser.add_argument("--rounds", type=int, default=3, help="the best of which counts")
    options = parser.parse_args()
    if options.steps < 4:
        parser.error("--steps: at least 4, so that a job which is killed after half of them has left a step checkpoint")
    return options


def main() -> int:
    options = parse_options()
    if missing := [name for name in NEEDED if importlib.util.find_spec(name) is None]:
        print(f"Missing in {sys.executable}: {', '.join(missing)}. Install trainer/requirements.in, or name another Python in PYTHON.")
        return 1
    import torch
    import transformers

    transformers.utils.logging.disable_progress_bar()
    sys.path[:0] = [str(TRAINER), str(ROOT / "bench")]
    if options.device == "cuda" and not torch.cuda.is_available():
        print("torch sees no CUDA device here. To try this script without one: --device cpu --precision float32 --tokens 8 --groups 1")
        return 1
    # The bits of this process are those of a job.
    torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory(prefix="genenv-gpu-check-") as scratch:
        report = run_checks(options, Path(scratch))
    found = problems(report)
    report["passed"] = not found
    report["problems"] = found
    text = json.dumps(report, indent=2)
    print(text)
    if options.out is not None:
        options.out.write_text(text + "\n")
    for sentence in found:
        print(sentence, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
