"""job.json as dataclasses. Field names and meanings are those of docs/training-jobs.md."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from genenv_trainer import json_fields
from genenv_trainer.errors import DamagedFile, InvalidConfig
from genenv_trainer.sealed_json import unseal


@dataclass(frozen=True)
class Scratch:
    architecture: dict
    vocabulary: list[str]


@dataclass(frozen=True)
class Model:
    path: str | None = None
    scratch: Scratch | None = None


@dataclass(frozen=True)
class Adapter:
    r: int
    alpha: int
    target_modules: list[str]
    dropout: float = 0.0


@dataclass(frozen=True)
class Reference:
    path: str


@dataclass(frozen=True)
class Settings:
    learning_rate: float
    warmup_steps: int = 0
    schedule: Literal["constant", "cosine", "linear"] = "constant"
    schedule_steps: int | None = None
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8
    weight_decay: float = 0.0
    max_grad_norm: float = 1.0
    loss_type: Literal["grpo", "dr_grpo", "dapo"] = "dapo"
    max_completion_length: int | None = None
    clip_low: float = 0.2
    clip_high: float = 0.28
    kl_coefficient: float = 0.0
    kl_estimator: Literal["k3", "exact"] = "k3"
    kl_bias_correction: bool = False
    entropy_coefficient: float = 0.0
    max_kl: float | None = None
    kl_pull_back: float = 0.5
    tokens_per_micro_batch: int = 16384
    min_informative_groups: int = 2
    policy_version: str | None = None
    max_policy_lag: int = 0


@dataclass(frozen=True)
class JobConfig:
    format: Literal[1]
    kind: Literal["supervised", "grpo", "rwr", "gradient_norms"]
    input_hash: str
    fence: int
    seed: int
    model: Model
    batch: str
    settings: Settings
    device: Literal["auto", "cpu", "cuda"] = "auto"
    threads: int = 2
    precision: Literal["float32", "bfloat16"] = "float32"
    gradient_checkpointing: bool = False
    device_lock: str | None = None
    adapter: Adapter | None = None
    reference: Reference | None = None
    trainer_state: str | None = None
    checkpoint_every: int = 1
    orphan_grace_seconds: float = field(default=600.0)

    @property
    def writes_weights(self) -> bool:
        """False for a job that only measures."""
        return self.kind != "gradient_norms"

    @property
    def needs_reference(self) -> bool:
        """True where a term or a cap uses KL(policy || reference)."""
        return self.settings.kl_coefficient > 0 or self.settings.max_kl is not None


def load_job(path: Path) -> JobConfig:
    """Read and check job.json. Raises DamagedFile; or InvalidConfig, which names the field, the value and what is allowed."""
    try:
        value = unseal(path.read_text("utf-8"))
    except OSError as error:
        raise InvalidConfig(f"{path}: {error}; write it whole before the job starts") from error
    except ValueError as error:
        raise DamagedFile(f"{path}: {error}") from error
    job = json_fields.parse(JobConfig, value, "job.json", InvalidConfig)
    _check(job)
    return job


def _check(job: JobConfig) -> None:
    settings = job.settings
    rules = [
        (job.threads >= 1, "threads", job.threads, "at least 1"),
        (0 <= job.seed < 2**63, "seed", job.seed, "0 to 2^63 - 1"),
        (job.checkpoint_every >= 1, "checkpoint_every", job.checkpoint_every, "at least 1"),
        ((job.model.path is None) != (job.model.scratch is None), "model", job.model, "either path or scratch"),
        (job.adapter is None or job.model.path is not None, "adapter", job.adapter, "null with model.scratch"),
        (settings.learning_rate >= 0, "settings.learning_rate", settings.learning_rate, "0 or more"),
        (settings.warmup_steps >= 0, "settings.warmup_steps", settings.warmup_steps, "0 or more"),
        (settings.max_grad_norm > 0, "settings.max_grad_norm", settings.max_grad_norm, "more than 0"),
        (0 <= settings.clip_low < 1, "settings.clip_low", settings.clip_low, "0 to 1"),
        (settings.clip_high >= 0, "settings.clip_high", settings.clip_high, "0 or more"),
        (settings.kl_coefficient >= 0, "settings.kl_coefficient", settings.kl_coefficient, "0 or more"),
        (settings.max_kl is None or settings.max_kl > 0, "settings.max_kl", settings.max_kl, "null or more than 0"),
        (settings.tokens_per_micro_batch >= 1, "settings.tokens_per_micro_batch", settings.tokens_per_micro_batch, "1 or more"),
        (not settings.kl_bias_correction or (job.kind == "grpo" and settings.kl_estimator == "k3"),
         "settings.kl_bias_correction", settings.kl_bias_correction, "false unless kind is grpo and kl_estimator k3"),
        (job.kind != "grpo" or settings.loss_type != "dr_grpo" or (settings.max_completion_length or 0) > 0,
         "settings.max_completion_length", settings.max_completion_length, "at least 1 with loss_type dr_grpo"),
        (job.kind not in ("grpo", "gradient_norms") or settings.policy_version is not None,
         "settings.policy_version", settings.policy_version, "the version that sampled, with kind grpo or gradient_norms"),
    ]
    for holds, name, value, allowed in rules:
        if not holds:
            raise InvalidConfig(f"job.json.{name}: {value!r} is not allowed; it must be {allowed}")
