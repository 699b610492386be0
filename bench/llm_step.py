"""One GRPO step (forward, loss, backward) of a pretrained model with LoRA against TRL's on the same batch: tokens a
processor second (on a GPU, a second), and peak memory. Groups of 8 answers share a prompt. Each side is a process of
its own, on one thread; they take their steps in turn, and the best of each counts. Without TRL here, its side is left out.

    python bench/llm_step.py --out step.json --model FOLDER [--device cuda --precision bfloat16]
"""

import argparse
import importlib.util
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import torch

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "trainer")]
from genenv_trainer import adapters
from genenv_trainer.forward import autocast_on
from genenv_trainer.job_config import Adapter, Settings
from genenv_trainer.models import load_model
from genenv_trainer.records import Record
from genenv_trainer.shared_prefixes import use_shared_prefixes
from genenv_trainer.step import Objective, StepBatch

GROUP, PROMPT, ANSWER, VERSION = 8, (70, 90), (15, 45), "agent@0001-0"
ADAPTER = Adapter(
    r=16, alpha=32, dropout=0.0, target_modules=["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
)
SETTINGS = Settings(
    learning_rate=1e-6, warmup_steps=0, schedule="constant", schedule_steps=None, betas=(0.9, 0.999), epsilon=1e-8,
    weight_decay=0, max_grad_norm=1, loss_type="dapo", max_completion_length=ANSWER[1], clip_low=0.2, clip_high=0.28,
    kl_coefficient=0, kl_estimator="k3", kl_bias_correction=False, entropy_coefficient=0, max_kl=None, kl_pull_back=0.5,
    max_step_kl=None,
    batch_layout="packed", tokens_per_micro_batch=16384, min_informative_groups=2, normaliser_totals=None,
    policy_version=VERSION, max_policy_lag=0,
)

TOLERANCE = {"float32": 1e-4, "bfloat16": 0.05}
"""Between the two sides' loss and gradient norm: both are sums of terms that were rounded to the precision."""


@dataclass(frozen=True)
class Side:
    """Where the steps of a side run, and in which numbers."""

    folder: Path
    groups: int
    device: str
    precision: str

    @property
    def autocast(self) -> torch.dtype | None:
        return torch.bfloat16 if self.precision == "bfloat16" else None

    def policy(self) -> torch.nn.Module:
        torch.manual_seed(0)
        base = load_model(self.folder, getattr(torch, self.precision))
        return adapters.attach_adapter(base, None, ADAPTER).to(self.device).train()

    def clock(self) -> float:
        """Seconds of the processor, or, on a GPU, until its work is done."""
        if self.device == "cpu":
            return time.process_time()
        torch.cuda.synchronize()
        return time.perf_counter()

    def peak_bytes(self) -> int:
        """The most memory so far: of the process, or what torch took of the GPU's."""
        if self.device == "cpu":
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        return torch.cuda.max_memory_allocated()


def batch(groups: int, vocabulary: int) -> list[Record]:
    rng = random.Random(3)
    records = []
    for group in range(groups):
        prompt = [rng.randrange(vocabulary) for _ in range(rng.randint(*PROMPT))]
        for _ in range(GROUP):
            answer = [rng.randrange(vocabulary) for _ in range(rng.randint(*ANSWER))]
            zeros = [0] * len(prompt)
            records.append(Record(
                "bench", token_ids=prompt + answer, mask=zeros + [1] * len(answer), logprobs=[0.0] * len(prompt) + [-4.0] * len(answer),
                temperature=1.0, advantage=rng.choice([-0.5, 0.5]), weight=1.0, group_id=str(group),
            ))
    return records


def our_step(side: Side, layout: str):
    model = side.policy()
    records = batch(side.groups, model.config.vocab_size)
    packed = layout == "packed"
    if packed:
        use_shared_prefixes(adapters.causal_model(model))
    objective = Objective("grpo", SETTINGS, model, None, side.autocast, lambda: None, packed)
    step_batch = StepBatch.of(records, SETTINGS.tokens_per_micro_batch, torch.device(side.device), packed)
    return model, lambda: objective.accumulate_gradients(step_batch, pull_back=False)[0]


def trl_step(side: Side, scratch: str):
    from datasets import Dataset
    from transformers import AutoTokenizer
    from trl import GRPOConfig, GRPOTrainer

    args = GRPOConfig(
        output_dir=scratch, use_cpu=side.device == "cpu", bf16=side.autocast is not None, beta=0.0, epsilon=0.2, epsilon_high=0.28,
        loss_type="dapo", max_completion_length=ANSWER[1], per_device_train_batch_size=side.groups * GROUP, num_generations=GROUP,
        report_to=[], gradient_checkpointing=False,
    )
    rows = Dataset.from_list([{"prompt": "ab"}] * side.groups * GROUP)
    tokenizer = AutoTokenizer.from_pretrained(side.folder)
    trainer = GRPOTrainer(side.policy(), lambda **_: [0.0], args=args, train_dataset=rows, processing_class=tokenizer)
    trainer.current_gradient_accumulation_steps = trainer.args.steps_per_generation = 1
    trainer.model.train()
    inputs = trl_inputs(batch(side.groups, trainer.model.config.vocab_size))
    inputs = {name: value.to(side.device) if isinstance(value, torch.Tensor) else value for name, value in inputs.items()}

    def step() -> float:
        with autocast_on(torch.device(side.device), side.autocast):
            loss = trainer._compute_loss(trainer.model, dict(inputs))
        loss.backward()
        return loss.item()

    return trainer.model, step


def trl_inputs(records: list[Record]) -> dict:
    """As TRL lays sequences out: prompts padded on the left, answers on the right."""
    starts = [record.mask.index(1) for record in records]
    prompt, answer = max(starts), max(len(record.mask) - start for record, start in zip(records, starts, strict=True))
    columns = {name: [] for name in ("prompt_ids", "prompt_mask", "completion_ids", "completion_mask", "old_per_token_logps")}
    for record, start in zip(records, starts, strict=True):
        left, right = [0] * (prompt - start), [0] * (answer - len(record.mask) + start)
        columns["prompt_ids"].append(left + record.token_ids[:start])
        columns["prompt_mask"].append(left + [1] * start)
        columns["completion_ids"].append(record.token_ids[start:] + right)
        columns["completion_mask"].append(record.mask[start:] + right)
        columns["old_per_token_logps"].append(record.logprobs[start:] + [0.0] * len(right))
    tensors = {name: torch.tensor(rows) for name, rows in columns.items()}
    return tensors | {"advantages": torch.tensor([record.advantage for record in records]), "num_items_in_batch": tensors["completion_mask"].sum()}


def serve_steps(name: str, side: Side) -> None:
    """A step for each line of input; its figures as a line of output."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="genenv-bench-") as scratch:
        model, step = trl_step(side, scratch) if name == "trl" else our_step(side, name)
        loaded = side.peak_bytes()
        for _ in sys.stdin:
            model.zero_grad()
            begun = side.clock()
            loss = step()
            seconds = side.clock() - begun
            norm = sum(float(p.grad.double().pow(2).sum()) for p in model.parameters() if p.grad is not None) ** 0.5
            print(json.dumps({"seconds": seconds, "loss": loss, "grad_norm": norm, "peak": side.peak_bytes(), "loaded": loaded}), flush=True)


def measure(side: Side, rounds: int, names: list[str]) -> dict[str, list[dict]]:
    command = [
        sys.executable, __file__, "--model", str(side.folder), "--groups", str(side.groups), "--device", side.device,
        "--precision", side.precision, "--side",
    ]
    logs = {name: tempfile.TemporaryFile("w+") for name in names}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    children = {name: subprocess.Popen([*command, name], stderr=logs[name], **pipes) for name in names}
    measured = {name: [] for name in names}
    try:
        for _ in range(rounds + 1):
            for name, child in children.items():
                child.stdin.write("\n")
                child.stdin.flush()
                # An imported library may print a line of its own.
                line = next((line for line in child.stdout if line.startswith("{")), None)
                if line is None:
                    code = child.wait()
                    logs[name].seek(0)
                    raise RuntimeError(f"the side {name} ended with {code}: {logs[name].read()[-2000:]}\nrun it alone: echo | {' '.join([*command, name])}")
                measured[name].append(json.loads(line))
    finally:
        for child in children.values():
            child.kill()
            child.wait()
    return measured


def compare(measured: dict[str, list[dict]], tolerance: float) -> None:
    """Raises RuntimeError if the two sides did not take the same step."""
    for name in ("loss", "grad_norm"):
        ours, theirs = measured["packed"][0][name], measured["trl"][0][name]
        if abs(ours - theirs) > tolerance * abs(theirs):
            raise RuntimeError(f"{name}: {ours} is not TRL's {theirs}: the two steps are not the same")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--groups", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--precision", choices=["float32", "bfloat16"], default="float32")
    parser.add_argument("--side", choices=["packed", "padded", "trl"], help="serve steps of one side; for the parent process alone")
    options = parser.parse_args()
    side = Side(options.model, options.groups, options.device, options.precision)
    if options.side is not None:
        return serve_steps(options.side, side)
    has_trl = all(importlib.util.find_spec(name) for name in ("trl", "datasets"))
    measured = measure(side, options.rounds, ["packed", "trl"] if has_trl else ["packed"])
    tokens = sum(len(record.token_ids) for record in batch(options.groups, 1000))
    best = {name: min(step["seconds"] for step in steps[1:]) for name, steps in measured.items()}
    peak = {name: steps[-1]["peak"] for name, steps in measured.items()}
    above = {name: steps[-1]["peak"] - steps[-1]["loaded"] for name, steps in measured.items()}
    figure = "tokens_per_processor_second" if options.device == "cpu" else "tokens_per_second"
    result: dict = {
        "sequences": options.groups * GROUP, "tokens": tokens, "threads": 1,
        figure: {name: tokens / seconds for name, seconds in best.items()},
        "peak_megabytes": {name: size / 1e6 for name, size in peak.items()},
        "peak_megabytes_above_loaded_model": {name: size / 1e6 for name, size in above.items()},
    }
    if has_trl:
        compare(measured, TOLERANCE[options.precision])
        result |= {
            "ratio_to_trl": best["trl"] / best["packed"], "target_ratio": 1.5, "memory_ratio_to_trl": peak["packed"] / peak["trl"], "target_memory_ratio": 1.0,
        }
    else:
        result["trl_skipped"] = "TRL is not installed here (trainer/requirements.in has its version)"
    options.out.write_text(json.dumps(result))


if __name__ == "__main__":
    main()
