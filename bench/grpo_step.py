"""One GRPO step (forward, loss, backward, clip, AdamW) of the trainer against TRL's GRPOTrainer on the same batch: median seconds and their ratio."""

import argparse
import json
import random
import statistics
import tempfile
import time
from pathlib import Path

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from genenv_trainer.job_config import Settings
from genenv_trainer.records import Record, read_records
from genenv_trainer.step import Objective, StepBatch
from genenv_trainer.tokenizer import character_tokenizer

SEQUENCES, PROMPT, COMPLETION, VERSION, BUDGET = 256, 28, 18, "agent@0001-0", 16384
CPU = torch.device("cpu")
SETTINGS = Settings(
    learning_rate=1e-6, warmup_steps=0, schedule="constant", schedule_steps=None, betas=(0.9, 0.999), epsilon=1e-8,
    weight_decay=0, max_grad_norm=1, loss_type="dapo", max_completion_length=COMPLETION, clip_low=0.2, clip_high=0.28,
    kl_coefficient=0, kl_estimator="k3", kl_bias_correction=False, entropy_coefficient=0, max_kl=None, kl_pull_back=0.5,
    max_step_kl=None,
    batch_layout="padded", tokens_per_micro_batch=BUDGET, min_informative_groups=2, normaliser_totals=None,
    policy_version=VERSION, max_policy_lag=0,
)
CHARACTERS = [*"abcdefghijklmnopqrstuvwxyz0123456789TUVWHLF:|=_()"]


def tiny_policy(folder: Path) -> None:
    tokenizer = character_tokenizer(CHARACTERS)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=64, intermediate_size=192, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=256,
        initializer_range=0.1, pad_token_id=tokenizer.pad_token_id, bos_token_id=tokenizer.bos_token_id, eos_token_id=tokenizer.eos_token_id,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def write_batch(file: Path, vocabulary: int) -> None:
    rng = random.Random(3)
    with file.open("w") as out:
        for index in range(SEQUENCES):
            tokens = [rng.randrange(3, vocabulary) for _ in range(PROMPT + COMPLETION)]
            out.write(json.dumps({
                "step": 0, "token_ids": tokens, "mask": [0] * PROMPT + [1] * COMPLETION, "logprobs": [0.0] * PROMPT + [-4.0] * COMPLETION,
                "temperature": 1.0, "advantage": rng.choice([-0.5, 0.5]), "weight": 1.0, "group_id": str(index // 8), "policy_version": VERSION, "env_name": "bench",
            }) + "\n")


def median_seconds(step, rounds: int = 15) -> float:
    for _ in range(3):
        step()
    times = []
    for _ in range(rounds):
        begun = time.perf_counter()
        step()
        times.append(time.perf_counter() - begun)
    return statistics.median(times)


def optimizer_step(model: torch.nn.Module, backward):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6)

    def step() -> None:
        optimizer.zero_grad()
        backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step


def our_step(folder: Path, records: list[Record]):
    model = LlamaForCausalLM.from_pretrained(folder).train()
    objective = Objective("grpo", SETTINGS, model, None, None, lambda: None)
    return optimizer_step(model, lambda: objective.accumulate_gradients(StepBatch.of(records, BUDGET, CPU), pull_back=False))


def trl_step(folder: Path, scratch: Path, records: list[Record]):
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    args = GRPOConfig(
        output_dir=str(scratch), use_cpu=True, bf16=False, beta=0.0, epsilon=0.2, epsilon_high=0.28, loss_type="dapo", max_completion_length=COMPLETION,
        per_device_train_batch_size=SEQUENCES, num_generations=8, report_to=[], gradient_checkpointing=False,
    )
    trainer = GRPOTrainer(LlamaForCausalLM.from_pretrained(folder), lambda **_: [0.0], args=args, train_dataset=Dataset.from_list([{"prompt": "ab"}] * SEQUENCES))
    trainer.current_gradient_accumulation_steps = trainer.args.steps_per_generation = 1
    trainer.model.train()

    def inputs() -> dict:
        columns = {
            "prompt_ids": [r.token_ids[:PROMPT] for r in records], "prompt_mask": [[1] * PROMPT for _ in records],
            "completion_ids": [r.token_ids[PROMPT:] for r in records], "completion_mask": [r.mask[PROMPT:] for r in records],
            "old_per_token_logps": [r.logprobs[PROMPT:] for r in records],
        }
        tensors = {name: torch.tensor(rows) for name, rows in columns.items()}
        return tensors | {"advantages": torch.tensor([r.advantage for r in records]), "num_items_in_batch": tensors["completion_mask"].sum()}

    return optimizer_step(trainer.model, lambda: trainer._compute_loss(trainer.model, inputs()).backward())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", required=True)
    out = Path(parser.parse_args().out)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="genenv-bench-") as scratch:
        folder, batch = Path(scratch) / "policy", Path(scratch) / "batch.jsonl"
        tiny_policy(folder)
        write_batch(batch, len(CHARACTERS) + 3)
        (records,) = read_records(batch, "grpo", SETTINGS)
        # In turns, so that both meet the same noise.
        ours, theirs = our_step(folder, records), trl_step(folder, Path(scratch) / "trl", records)
        rounds = [(median_seconds(ours), median_seconds(theirs)) for _ in range(3)]
    our_seconds, trl_seconds = (statistics.median(column) for column in zip(*rounds, strict=True))
    out.write_text(json.dumps({
        "sequences": SEQUENCES, "tokens": SEQUENCES * (PROMPT + COMPLETION), "seconds": our_seconds, "trl_seconds": trl_seconds,
        "tokens_per_second": SEQUENCES * (PROMPT + COMPLETION) / our_seconds, "trl_tokens_per_second": SEQUENCES * (PROMPT + COMPLETION) / trl_seconds,
        "ratio": trl_seconds / our_seconds, "target_ratio": 1.0,
    }))


if __name__ == "__main__":
    main()
