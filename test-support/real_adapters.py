"""LoRA adapters over a real model, made and measured by the trainer's own code, for tests of a real server.

`real_adapters.py BASE` answers each line of its input, a JSON object, by a line:
{"make": {"folder", "count"}}: FOLDER/0, FOLDER/1, ... as a run publishes them -> the canary of each. Each is
  one step of training away from the one before: what a server must not mistake for it.
{"measure": {"adapter": folder or null, "prompts": [text], "sequences": [{"prompt": [id], "completion": [id],
  "temperature"}]}} -> {"prompts": [[id]], "texts": [of each completion], "logprobs": [of each one's tokens]}.
"""

import functools
import json
import sys
from pathlib import Path

import torch

from genenv_trainer import adapters
from genenv_trainer.batch import micro_batches
from genenv_trainer.canary import measure_canary
from genenv_trainer.forward import label_logprobs, log_distribution
from genenv_trainer.job_config import Adapter
from genenv_trainer.models import Policy, load_model
from genenv_trainer.records import Record

MODULES = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
FIRST_STEP, STEP = 3e-3, 3e-4
"""Change of each weight: of a cold start, and of one step of AdamW in experiments/smollm2.json."""
TOKENS = 2048
"""In one forward pass."""
DEVICE = torch.device("cpu")


@torch.no_grad()
def make(base: Path, folder: str, count: int) -> list[list[dict]]:
    torch.manual_seed(1)
    wanted = Adapter(r=8, alpha=16, dropout=0, target_modules=MODULES)
    model = adapters.attach_adapter(load_model(base, torch.float32), None, wanted)
    policy = Policy(model, base, base, None)
    canaries = []
    for version in range(count):
        for parameter in policy.trainable().values():
            parameter += (STEP if version else FIRST_STEP) * torch.randn_like(parameter).sign()
        policy.save(Path(folder, str(version)))
        canaries.append(measure_canary(policy, DEVICE, "float32"))
    return canaries


@torch.no_grad()
def measure(base: Path, adapter: str | None, prompts: list[str], sequences: list[dict]) -> dict:
    model = plain_model(base)
    tokenizer = Policy(model, base, base, None).tokenizer()
    if adapter is not None:
        model = adapters.attach_adapter(model, Path(adapter), None).eval()
    # Longest first, as micro-batches have them.
    order = sorted(range(len(sequences)), key=lambda index: -len(sequence_ids(sequences[index])))
    logprobs = [[] for _ in sequences]
    rows = iter(order)
    for batch in micro_batches([record(sequences[index]) for index in order], TOKENS):
        columns_B_K = label_logprobs(log_distribution(model, batch, None), batch)
        for values_K, mask_K in zip(columns_B_K, batch.mask_B_K, strict=True):
            logprobs[next(rows)] = values_K[mask_K.bool()].tolist()
    if adapter is not None:
        model.unload()
    texts = [tokenizer.decode(s["completion"], skip_special_tokens=True) for s in sequences]
    ids = [tokenizer(prompt)["input_ids"] for prompt in prompts]
    return {"prompts": ids, "texts": texts, "logprobs": logprobs}


def sequence_ids(sequence: dict) -> list[int]:
    return sequence["prompt"] + sequence["completion"]


def record(sequence: dict) -> Record:
    ids = sequence_ids(sequence)
    mask = [0] * len(sequence["prompt"]) + [1] * len(sequence["completion"])
    return Record("test", ids, mask, [0.0] * len(ids), sequence["temperature"])


@functools.cache
def plain_model(base: Path) -> torch.nn.Module:
    return load_model(base, torch.float32).eval()


if __name__ == "__main__":
    for line in sys.stdin:
        ((command, arguments),) = json.loads(line).items()
        answer = {"make": make, "measure": measure}[command](Path(sys.argv[1]), **arguments)
        print(json.dumps(answer), flush=True)
