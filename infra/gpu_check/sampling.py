"""Sampling of the embedded server: its speed, and its log-probabilities beside the trainer's."""

import argparse
import gc
import random
import time
from collections.abc import Callable
from pathlib import Path

import llm_sampling as bench
import torch
from genenv_trainer import adapters
from genenv_trainer.forward import policy_terms
from genenv_trainer.models import load_model
from genenv_trainer.records import Record
from genenv_trainer.shared_prefixes import can_share_prefixes, use_shared_prefixes
from genenv_trainer.step import StepBatch

SAMPLES, VERSION = 8, "agent@0001-0"
DROPOUT = 0.05
"""Of the adapter: each step draws random numbers, so that a job which resumes without its random state shows."""
SPREAD = 1e-2
"""Of the adapter's random weights: without them, log-probabilities are clearly others."""
MEAN_LIMIT = {"float32": 1e-3, "bfloat16": 0.05}
"""Nats a token between sampler and trainer."""


def sampling(options: argparse.Namespace, store: Path) -> dict:
    """Sampled tokens a second of the embedded server, base and adapter, and the adapter's answers."""
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
    base = load_model(options.model, getattr(torch, options.precision))
    packed = can_share_prefixes(base)
    if packed:
        use_shared_prefixes(base)
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
