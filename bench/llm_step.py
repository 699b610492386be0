"""One GRPO step (forward, loss, backward) of a pretrained model with LoRA against TRL's on the same batch: tokens a
processor second, and peak memory. Groups of 8 answers share a prompt. Each side is a process of its own, on one
thread; they take their steps in turn, and the best of each counts.

    python bench/llm_step.py --out step.json --model FOLDER
"""

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "trainer")]
from genenv_trainer import adapters
from genenv_trainer.job_config import Adapter, Settings
from genenv_trainer.models import load_model
from genenv_trainer.records import Record
from genenv_trainer.shared_prompts import use_shared_prompts
from genenv_trainer.step import Objective, StepBatch

GROUP, PROMPT, ANSWER, VERSION = 8, (70, 90), (15, 45), "agent@0001-0"
ADAPTER = Adapter(
    r=16, alpha=32, dropout=0.0, target_modules=["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
)
SETTINGS = Settings(
    learning_rate=1e-6, warmup_steps=0, schedule="constant", schedule_steps=None, betas=(0.9, 0.999), epsilon=1e-8,
    weight_decay=0, max_grad_norm=1, loss_type="dapo", max_completion_length=ANSWER[1], clip_low=0.2, clip_high=0.28,
    kl_coefficient=0, kl_estimator="k3", kl_bias_correction=False, entropy_coefficient=0, max_kl=None, kl_pull_back=0.5,
    batch_layout="packed", tokens_per_micro_batch=16384, min_informative_groups=2, policy_version=VERSION, max_policy_lag=0,
)


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


def policy(folder: Path) -> torch.nn.Module:
    torch.manual_seed(0)
    return adapters.attach_adapter(load_model(folder, torch.float32), None, ADAPTER).train()


def our_step(folder: Path, groups: int, layout: str):
    model = policy(folder)
    records = batch(groups, model.config.vocab_size)
    packed = layout == "packed"
    if packed:
        use_shared_prompts(adapters.causal_model(model))
    objective = Objective("grpo", SETTINGS, model, None, None, lambda: None, packed)
    step_batch = StepBatch.of(records, SETTINGS.tokens_per_micro_batch, torch.device("cpu"), packed)
    return model, lambda: objective.accumulate_gradients(step_batch, pull_back=False)[0]


def trl_step(folder: Path, groups: int, scratch: str):
    from datasets import Dataset
    from transformers import AutoTokenizer
    from trl import GRPOConfig, GRPOTrainer

    args = GRPOConfig(
        output_dir=scratch, use_cpu=True, bf16=False, beta=0.0, epsilon=0.2, epsilon_high=0.28, loss_type="dapo", max_completion_length=ANSWER[1],
        per_device_train_batch_size=groups * GROUP, num_generations=GROUP, report_to=[], gradient_checkpointing=False,
    )
    rows = Dataset.from_list([{"prompt": "ab"}] * groups * GROUP)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    trainer = GRPOTrainer(policy(folder), lambda **_: [0.0], args=args, train_dataset=rows, processing_class=tokenizer)
    trainer.current_gradient_accumulation_steps = trainer.args.steps_per_generation = 1
    trainer.model.train()
    inputs = trl_inputs(batch(groups, trainer.model.config.vocab_size))

    def step() -> float:
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


def peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def serve_steps(side: str, folder: Path, groups: int) -> None:
    """A step for each line of input; its figures as a line of output."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="genenv-bench-") as scratch:
        model, step = trl_step(folder, groups, scratch) if side == "trl" else our_step(folder, groups, side)
        loaded = peak_bytes()
        for _ in sys.stdin:
            model.zero_grad()
            begun = time.process_time()
            loss = step()
            seconds = time.process_time() - begun
            norm = sum(float(p.grad.double().pow(2).sum()) for p in model.parameters() if p.grad is not None) ** 0.5
            print(json.dumps({"seconds": seconds, "loss": loss, "grad_norm": norm, "peak": peak_bytes(), "loaded": loaded}), flush=True)


def measure(folder: Path, groups: int, rounds: int, sides: list[str]) -> dict[str, list[dict]]:
    command = [sys.executable, __file__, "--model", str(folder), "--groups", str(groups), "--side"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    children = {side: subprocess.Popen([*command, side], **pipes) for side in sides}
    measured = {side: [] for side in sides}
    try:
        for _ in range(rounds + 1):
            for side, child in children.items():
                child.stdin.write("\n")
                child.stdin.flush()
                # An imported library may print a line of its own.
                line = next((line for line in child.stdout if line.startswith("{")), None)
                if line is None:
                    raise RuntimeError(f"the side {side} ended with {child.wait()}; run it alone: echo | {' '.join([*command, side])}")
                measured[side].append(json.loads(line))
    finally:
        for child in children.values():
            child.kill()
            child.wait()
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--groups", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--side", choices=["packed", "padded", "trl"], help="serve steps of one side; for the parent process alone")
    options = parser.parse_args()
    if options.side is not None:
        return serve_steps(options.side, options.model, options.groups)
    measured = measure(options.model, options.groups, options.rounds, ["packed", "trl"])
    tokens = sum(len(record.token_ids) for record in batch(options.groups, 1000))
    best = {side: min(step["seconds"] for step in steps[1:]) for side, steps in measured.items()}
    peak = {side: steps[-1]["peak"] for side, steps in measured.items()}
    above = {side: steps[-1]["peak"] - steps[-1]["loaded"] for side, steps in measured.items()}
    for name in ("loss", "grad_norm"):
        ours, theirs = measured["packed"][0][name], measured["trl"][0][name]
        if abs(ours - theirs) > 1e-4 * abs(theirs):
            raise RuntimeError(f"{name}: {ours} is not TRL's {theirs}: the two steps are not the same")
    options.out.write_text(json.dumps({
        "sequences": options.groups * GROUP, "tokens": tokens, "threads": 1,
        "tokens_per_processor_second": {side: tokens / seconds for side, seconds in best.items()},
        "peak_megabytes": {side: size / 1e6 for side, size in peak.items()},
        "peak_megabytes_above_loaded_model": {side: size / 1e6 for side, size in above.items()},
        "ratio_to_trl": best["trl"] / best["packed"], "target_ratio": 1.5, "memory_ratio_to_trl": peak["packed"] / peak["trl"], "target_memory_ratio": 1.0,
    }))


if __name__ == "__main__":
    main()
