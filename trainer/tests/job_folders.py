"""Work folders, records and byte comparison for the tests."""

import hashlib
import json
import os
import random
import shutil
import tempfile
import time
from pathlib import Path

from genenv_trainer.job_config import Settings
from genenv_trainer.work_folder import seal, unseal

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
MODELS = {"GENENV_MODELS": tempfile.gettempdir()}
"""Adapters of tests are over models of tests."""
ENVIRONMENT = (
    os.environ | ONE_THREAD | MODELS | {"PYTHONPATH": str(Path(__file__).parents[1]), "PYTHONHASHSEED": "random"}
)
VOCABULARY = list("abcdefghijklmnop")
ARCHITECTURE = {
    "model_type": "llama",
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "max_position_embeddings": 64,
    "tie_word_embeddings": True,
}
SCRATCH = {"scratch": {"architecture": ARCHITECTURE, "vocabulary": VOCABULARY}}
WITH_DROPOUT = {
    "scratch": {"architecture": ARCHITECTURE | {"attention_dropout": 0.1}, "vocabulary": VOCABULARY}
}
"""Makes every step draw random numbers, so that a lost random state shows."""
VERSION = "agent@0003-aaaaaa"
SETTINGS = {
    "learning_rate": 0.01,
    "warmup_steps": 0,
    "schedule": "constant",
    "schedule_steps": None,
    "betas": (0.9, 0.999),
    "epsilon": 1e-8,
    "weight_decay": 0,
    "max_grad_norm": 1,
    "loss_type": "dapo",
    "max_completion_length": None,
    "clip_low": 0.2,
    "clip_high": 0.28,
    "kl_coefficient": 0,
    "kl_estimator": "k3",
    "kl_bias_correction": False,
    "entropy_coefficient": 0,
    "max_kl": None,
    "kl_pull_back": 0.5,
    "max_step_kl": None,
    "batch_layout": "padded",
    "tokens_per_micro_batch": 16384,
    "min_informative_groups": 1,
    "normaliser_totals": None,
    "policy_version": VERSION,
    "max_policy_lag": 0,
}
ADAPTER = {
    "r": 4,
    "alpha": 8,
    "dropout": 0,
    "target_modules": ["v_proj", "q_proj", "up_proj", "o_proj", "k_proj", "down_proj"],
}
JOB = {
    "format": 1,
    "input_hash": "hash-1",
    "fence": 1,
    "seed": 7,
    "device": "cpu",
    "threads": 1,
    "random_stream": "job",
    "sharding": "none",
    "precision": "float32",
    "gradient_checkpointing": False,
    "device_lock": None,
    "adapter": None,
    "reference": None,
    "trainer_state": None,
    "checkpoint_every": 1,
    "orphan_grace_seconds": 600,
}


def job_settings(**changes) -> Settings:
    return Settings(**(SETTINGS | changes))


def sequence(rng: random.Random, step: int, **fields) -> dict:
    """One record of random tokens with what every kind reads."""
    prompt, completion = rng.randint(2, 5), rng.randint(3, 9)
    length = prompt + completion
    record = {
        "step": step,
        "token_ids": [rng.randrange(3, 3 + len(VOCABULARY)) for _ in range(length)],
        "mask": [0] * prompt + [1] * completion,
        "logprobs": [0.0] * prompt + [-rng.uniform(2.0, 3.5) for _ in range(completion)],
        "temperature": 0.9,
        "advantage": rng.uniform(-1, 1),
        "weight": rng.uniform(0.2, 2),
        "group_id": f"g{rng.randrange(4)}",
        "policy_version": VERSION,
        "env_name": "test",
    }
    return record | fields


def sequences(steps: int, rows: int = 8, seed: int = 0) -> list[dict]:
    rng = random.Random(seed)
    return [sequence(rng, step) for step in range(steps) for _ in range(rows)]


def alike_sequences(steps: int, rows: int = 8, seed: int = 0) -> list[dict]:
    """Records that begin with the same ten tokens; every fourth has the tokens of the one before it."""
    records = sequences(steps, rows, seed)
    for index, record in enumerate(records):
        if index % 4 == 3:
            record |= {name: records[index - 1][name] for name in ("token_ids", "mask", "logprobs")}
        else:
            record["token_ids"] = [*range(3, 13), *record["token_ids"]]
            record["mask"] = [0] * 10 + record["mask"]
            record["logprobs"] = [0.0] * 10 + record["logprobs"]
    return records


def texts(steps: int, rows: int = 8, seed: int = 0) -> list[dict]:
    rng = random.Random(seed)
    return [
        {
            "step": step, "prompt": "".join(rng.choices(VOCABULARY, k=3)),
            "completion": "".join(rng.choices(VOCABULARY, k=rng.randint(2, 9))), "weight": 1,
        }
        for step in range(steps) for _ in range(rows)
    ]


def work_folder(
    path: Path, kind: str, records: list[dict], model: dict, settings: dict | None = None, **job
) -> Path:
    """A work folder as the worker leaves it before launch."""
    (path / "fence").mkdir(parents=True)
    (path / "fence" / "1").touch()
    (path / "lease").touch()
    (path / "batch.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    own = {
        "kind": kind,
        "model": model,
        "batch": str(path / "batch.jsonl"),
        "settings": SETTINGS | (settings or {}),
    }
    job = JOB | own | job
    (path / "job.json").write_text(seal(job))
    return path


def change_job(folder: Path, **fields) -> None:
    job = unseal((folder / "job.json").read_text())
    settings = job["settings"] | fields.pop("settings", {})
    (folder / "job.json").write_text(seal(job | fields | {"settings": settings}))


def copy_inputs(source: Path, target: Path) -> Path:
    """A fresh work folder for the same job."""
    target.mkdir()
    for name in ("job.json", "batch.jsonl"):
        shutil.copyfile(source / name, target / name)
    shutil.copytree(source / "fence", target / "fence")
    (target / "lease").touch()
    return target


def digests(folder: Path, *names: str) -> dict[str, str]:
    """sha256 of every file below the named entries."""
    files = [
        file
        for name in names
        for file in ([folder / name] if (folder / name).is_file() else (folder / name).rglob("*"))
        if file.is_file()
    ]
    assert files
    return {str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def outcome(folder: Path) -> dict[str, str]:
    return digests(folder, "output", "result.json")


def read(folder: Path, name: str) -> dict:
    return json.loads((folder / name).read_text())


def wait_until(condition, seconds: float = 60):
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, f"nothing after {seconds} s"
        time.sleep(0.01)
    return value


def progress(folder: Path) -> list[dict]:
    path = folder / "progress.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
