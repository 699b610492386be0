"""Batch records (JSON Lines), read and checked one by one. docs/training-jobs.md has the fields."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    ValidationError,
    model_validator,
)
from pydantic_core import from_json

from genenv_trainer.errors import InvalidArtifact
from genenv_trainer.job_config import Settings
from genenv_trainer.validation import NotAllowed, first_problem

ROLLOUT_KINDS = ("grpo", "gradient_norms")
"""Kinds whose records are rollouts of the policy itself, each with an advantage."""


@dataclass(slots=True)
class Record:
    """One sequence of T tokens, or its text, with what its kind reads. `where` names it in errors."""

    where: str
    token_ids: list[int] | None = None
    mask: list[int] | None = None
    logprobs: list[float] | None = None
    temperature: float = 1.0
    advantage: float = 0.0
    weight: float = 1.0
    group_id: str | None = None
    prompt: str | None = None
    completion: str | None = None
    more: list[dict] | None = None


class Line(BaseModel):
    """What a line of a batch must hold; fields that the kind does not read are ignored."""

    model_config = ConfigDict(strict=True, extra="ignore", allow_inf_nan=False)
    step: NonNegativeInt


class TextLine(Line):
    """Supervised, tokenised by the trainer."""

    prompt: str
    completion: str
    weight: NonNegativeFloat


class LaterTurn(BaseModel):
    """What the policy reads after a completion, and what it then writes."""

    model_config = ConfigDict(strict=True, extra="ignore")
    read: str
    write: str


class DialogueLine(TextLine):
    """Supervised, of several turns, tokenised by the trainer."""

    more: list[LaterTurn]


class TokensLine(Line):
    token_ids: Annotated[list[NonNegativeInt], Field(min_length=1)]
    mask: list[Annotated[int, Field(ge=0, le=1)]]

    @model_validator(mode="after")
    def _mask_fits(self) -> Self:
        length = len(self.token_ids)
        if len(self.mask) != length or self.mask[0] != 0:
            allowed = f"{length} of 0 and 1, and 0 first (nothing predicts the first token)"
            raise NotAllowed("mask", self.mask, allowed)
        return self


class SupervisedLine(TokensLine):
    weight: NonNegativeFloat


class WeightedLine(TokensLine):
    """Reward-weighted regression."""

    temperature: PositiveFloat
    weight: NonNegativeFloat


class RolloutLine(TokensLine):
    """GRPO and gradient norms."""

    temperature: PositiveFloat
    logprobs: list[Annotated[float, Field(le=0)]]
    advantage: float
    group_id: str
    policy_version: str

    @model_validator(mode="after")
    def _logprobs_fit(self) -> Self:
        if len(self.logprobs) != len(self.token_ids):
            raise NotAllowed("logprobs", self.logprobs, f"{len(self.token_ids)} finite numbers up to 0")
        return self


LINES = {
    "supervised": SupervisedLine,
    "rwr": WeightedLine,
    "grpo": RolloutLine,
    "gradient_norms": RolloutLine,
}


def read_records(path: Path, kind: str, settings: Settings) -> list[list[Record]]:
    """All records by optimizer step: element s holds those with `step` s, in file order (maybe none).

    Raises InvalidArtifact naming file, line, field and value.
    """
    steps: list[list[Record]] = []
    try:
        with open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                where = f"{path.name} record {number}"
                try:
                    fields = from_json(line)
                except ValueError as error:
                    raise InvalidArtifact(f"{where}: not JSON ({error}); write the batch again") from error
                record = check_record(fields, where, kind, settings)
                while len(steps) <= fields["step"]:
                    steps.append([])
                steps[fields["step"]].append(record)
    except OSError as error:
        raise InvalidArtifact(f"{path}: {error}") from error
    return steps


def check_record(fields: object, where: str, kind: str, settings: Settings) -> Record:
    """The record that the fields of one line make up. Raises InvalidArtifact.

    Numbers stay as JSON has them: a weight of 1 is an int, in the metrics too.
    """
    line_type = LINES[kind]
    if kind == "supervised" and isinstance(fields, dict) and "token_ids" not in fields:
        line_type = DialogueLine if "more" in fields else TextLine
    try:
        line = line_type.model_validate(fields)
    except ValidationError as error:
        field, problem = first_problem(error)
        place = f"{where}, field {field!r}" if field else where
        raise InvalidArtifact(f"{place}: {problem}") from None
    if isinstance(line, RolloutLine):
        _check_age(line.policy_version, where, settings)
    used = {name: fields[name] for name in line_type.model_fields if name in Record.__slots__}
    return Record(where, **used)


def _check_age(version: str, where: str, settings: Settings) -> None:
    """Refuse a record sampled by a policy too old to train on. Versions are `<name>@<number>-<hash>`."""
    if version == settings.policy_version:
        return
    lag = _number(settings.policy_version, where) - _number(version, where)
    if not 0 < lag <= settings.max_policy_lag:
        raise InvalidArtifact(
            f"{where}: policy_version {version!r} lags {settings.policy_version!r} by {lag}, "
            f"but max_policy_lag is {settings.max_policy_lag}; sample it again with the current policy"
        )


def _number(version: str, where: str) -> int:
    digits = version.partition("@")[2].partition("-")[0]
    if not digits.isdigit():
        raise InvalidArtifact(f"{where}: policy_version {version!r} is not <name>@<number>-<hash>")
    return int(digits)
