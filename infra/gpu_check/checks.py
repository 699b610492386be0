"""All checks, each beside the others: one that fails does not end them."""

import argparse
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import llm_sampling as bench
import llm_step as bench_step
import torch

from .failure import Failed
from .job_bytes import job_bytes
from .random_model import SMOLLM2, make_model
from .sampling import DROPOUT, SPREAD, sampler_against_trainer, sampling


def step_figures(options: argparse.Namespace, scratch: Path) -> dict:
    """`bench/llm_step.py` on the same device. Raises Failed if its step is not TRL's."""
    out = scratch / "step.json"
    command = [
        sys.executable, bench_step.__file__, "--out", str(out), "--model", str(options.model), "--groups", str(options.groups),
        "--rounds", str(options.rounds), "--device", options.device, "--precision", options.precision,
    ]
    ended = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    if ended.returncode != 0:
        raise Failed(f"the GRPO step could not be measured beside TRL's: {ended.stderr.strip()[-3000:]}")
    return json.loads(out.read_text())


def versions() -> dict[str, str | None]:
    found = {}
    for name in ("torch", "transformers", "peft", "trl", "vllm"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = None
    return {"python": platform.python_version()} | found


def device_name(device: str) -> str:
    if device == "cuda":
        return f"{torch.cuda.get_device_name()}, CUDA {torch.version.cuda}"
    return f"{platform.machine()}, {os.cpu_count()} cores"


def run_checks(options: argparse.Namespace, scratch: Path) -> dict:
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
