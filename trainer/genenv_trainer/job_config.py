"""job.json as strict models. Field names and meanings are those of docs/training-jobs.md.

No field has a default: the orchestrator writes every one, and a missing one is an error.
"""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import (
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    ValidationError,
    model_validator,
)

from genenv_trainer.errors import DamagedFile, InvalidConfig
from genenv_trainer.plain_files import read_plain_file
from genenv_trainer.validation import NotAllowed, StrictModel, first_problem
from genenv_trainer.work_folder import unseal


class Scratch(StrictModel):
    architecture: dict
    vocabulary: list[str]


class Model(StrictModel):
    """Where the weights come from. The file has one of the two fields, so here alone one may be absent."""

    path: str | None = None
    scratch: Scratch | None = None

    @model_validator(mode="after")
    def _has_one_source(self) -> Self:
        if (self.path is None) == (self.scratch is None):
            raise NotAllowed("", self.model_dump(), "either path or scratch")
        return self


class Adapter(StrictModel):
    r: int
    alpha: int
    dropout: float
    target_modules: list[str]


class Reference(StrictModel):
    path: str


class StepTotals(StrictModel):
    """Sequences and active tokens of a whole step, with those of groups that the batch leaves out."""

    sequences: NonNegativeInt
    active_tokens: NonNegativeInt


class Settings(StrictModel):
    learning_rate: NonNegativeFloat
    warmup_steps: NonNegativeInt
    schedule: Literal["constant", "cosine", "linear"]
    schedule_steps: int | None
    betas: Annotated[tuple[float, float], Field(strict=False)]
    epsilon: float
    weight_decay: float
    max_grad_norm: PositiveFloat
    loss_type: Literal["grpo", "dr_grpo", "dapo"]
    max_completion_length: int | None
    clip_low: Annotated[float, Field(ge=0, lt=1)]
    clip_high: NonNegativeFloat
    kl_coefficient: NonNegativeFloat
    kl_estimator: Literal["k3", "exact"]
    kl_bias_correction: bool
    entropy_coefficient: float
    max_kl: PositiveFloat | None
    kl_pull_back: float
    max_step_kl: PositiveFloat | None
    batch_layout: Literal["padded", "packed"]
    tokens_per_micro_batch: PositiveInt
    min_informative_groups: int
    normaliser_totals: list[StepTotals] | None
    policy_version: str | None
    max_policy_lag: int


class JobConfig(StrictModel):
    format: Literal[1]
    kind: Literal["supervised", "grpo", "rwr", "gradient_norms"]
    input_hash: str
    fence: int
    seed: Annotated[int, Field(ge=0, lt=2**63)]
    device: Literal["auto", "cpu", "cuda"]
    threads: PositiveInt
    random_stream: Literal["job", "micro_batch"]
    sharding: Literal["none", "full"]
    precision: Literal["float32", "bfloat16"]
    gradient_checkpointing: bool
    device_lock: str | None
    model: Model
    adapter: Adapter | None
    reference: Reference | None
    trainer_state: str | None
    batch: str
    settings: Settings
    checkpoint_every: PositiveInt
    orphan_grace_seconds: float

    @model_validator(mode="after")
    def _fields_fit_together(self) -> Self:
        settings = self.settings
        if self.adapter is not None and self.model.path is None:
            raise NotAllowed("adapter", self.adapter.model_dump(), "null with model.scratch")
        if self.sharding == "full" and self.adapter is not None:
            raise NotAllowed("sharding", "full", "none with an adapter, whose base is not in parts")
        if self.sharding == "full" and not self.writes_weights:
            raise NotAllowed("sharding", "full", "none with kind gradient_norms")
        if settings.kl_bias_correction and (self.kind != "grpo" or settings.kl_estimator != "k3"):
            allowed = "false unless kind is grpo and kl_estimator k3"
            raise NotAllowed("settings.kl_bias_correction", True, allowed)
        if settings.normaliser_totals is not None and self.kind != "grpo":
            value = settings.model_dump()["normaliser_totals"]
            raise NotAllowed("settings.normaliser_totals", value, "null unless kind is grpo")
        length = settings.max_completion_length
        if self.kind == "grpo" and settings.loss_type == "dr_grpo" and (length or 0) < 1:
            raise NotAllowed("settings.max_completion_length", length, "at least 1 with loss_type dr_grpo")
        if self.kind in ("grpo", "gradient_norms") and settings.policy_version is None:
            allowed = "the version that sampled, with kind grpo or gradient_norms"
            raise NotAllowed("settings.policy_version", None, allowed)
        return self

    @property
    def writes_weights(self) -> bool:
        """False for a job that only measures."""
        return self.kind != "gradient_norms"

    @property
    def needs_reference(self) -> bool:
        """True if a term or a cap uses KL(policy || reference)."""
        return self.settings.kl_coefficient > 0 or self.settings.max_kl is not None


def load_job(path: Path) -> JobConfig:
    """Read and check job.json. Raises DamagedFile; or InvalidConfig, which
    names the field, its value and what is allowed."""
    try:
        value = unseal(read_plain_file(path).decode())
    except OSError as error:
        raise InvalidConfig(f"{path}: {error}; write it whole before the job starts") from error
    except (ValueError, RecursionError) as error:
        raise DamagedFile(f"{path}: {error}") from error
    try:
        return JobConfig.model_validate(value)
    except ValidationError as error:
        field, problem = first_problem(error)
        raise InvalidConfig(f"{'.'.join(filter(None, ('job.json', field)))}: {problem}") from None
