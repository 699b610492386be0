"""Batch records (JSON Lines), read and checked one by one. docs/training-jobs.md has the fields."""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from genenv_trainer.errors import InvalidArtifact
from genenv_trainer.job_config import Settings


SAMPLED = ("grpo", "gradient_norms")
"""Kinds whose records are rollouts of the policy itself, each with an advantage."""


@dataclass(slots=True)
class Record:
    """One sequence of T tokens, or its text. `where` names it in errors."""

    where: str
    token_ids: list[int] | None
    mask: list[int] | None
    logprobs: list[float] | None
    temperature: float
    advantage: float
    weight: float
    group_id: str | None
    prompt: str | None
    completion: str | None


def read_records(path: Path, kind: str, settings: Settings) -> list[list[Record]]:
    """All records by optimizer step: element s holds those with `step` s, in file order (maybe none).

    Raises InvalidArtifact naming file, line, field and value.
    """
    steps: list[list[Record]] = []
    try:
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                where = f"{path.name} record {number}"
                try:
                    fields = json.loads(line)
                except ValueError as error:
                    raise InvalidArtifact(f"{where}: not JSON ({error}); write the batch again") from error
                step = _field(fields, "step", where, _is_count, "an integer from 0")
                while len(steps) <= step:
                    steps.append([])
                steps[step].append(_record(fields, where, kind, settings))
    except OSError as error:
        raise InvalidArtifact(f"{path}: {error}") from error
    return steps


def _record(fields: dict, where: str, kind: str, settings: Settings) -> Record:
    record = Record(
        where, None, None, None, _field(fields, "temperature", where, _is_positive, "a number above 0", None if kind in SAMPLED else 1.0),
        0.0, 1.0, fields.get("group_id"), None, None,
    )
    if kind == "supervised" and "token_ids" not in fields:
        record.prompt = _field(fields, "prompt", where, _is_text, "text")
        record.completion = _field(fields, "completion", where, _is_text, "text")
    else:
        record.token_ids = ids = _field(fields, "token_ids", where, _is_ids, "a list of at least one integer from 0")
        record.mask = _field(fields, "mask", where, _is_mask(len(ids)), f"{len(ids)} of 0 and 1, and 0 first (nothing predicts the first token)")
    if kind in SAMPLED:
        record.logprobs = _field(fields, "logprobs", where, _is_logprobs(len(ids)), f"{len(ids)} finite numbers up to 0")
        record.advantage = _field(fields, "advantage", where, _is_number, "a finite number")
        _field(fields, "group_id", where, _is_text, "text")
        _check_age(_field(fields, "policy_version", where, _is_text, "text"), where, settings)
    else:
        record.weight = _field(fields, "weight", where, _is_weight, "a finite number from 0", 1.0 if kind == "supervised" else None)
    return record


def _check_age(version: str, where: str, settings: Settings) -> None:
    """Refuse a record sampled by a policy too old to train on. Versions are `<name>@<number>-<hash>`."""
    if version == settings.policy_version:
        return
    lag = _number(settings.policy_version, where) - _number(version, where)
    if not 0 < lag <= settings.max_policy_lag:
        raise InvalidArtifact(
            f"{where}: policy_version {version!r} lags {settings.policy_version!r} by {lag}, but max_policy_lag is "
            f"{settings.max_policy_lag}; sample it again with the current policy"
        )


def _number(version: str, where: str) -> int:
    digits = version.partition("@")[2].partition("-")[0]
    if not digits.isdigit():
        raise InvalidArtifact(f"{where}: policy_version {version!r} is not <name>@<number>-<hash>")
    return int(digits)


def _field(fields: object, name: str, where: str, valid: Callable[[object], bool], allowed: str, default=None):
    if not isinstance(fields, dict):
        raise InvalidArtifact(f"{where}: expected an object, got {fields!r:.80}")
    value = fields.get(name, default)
    if not valid(value):
        raise InvalidArtifact(f"{where}, field {name!r}: {value!r:.200} must be {allowed}")
    return value


def _is_text(value) -> bool:
    return isinstance(value, str)


def _is_count(value) -> bool:
    return type(value) is int and value >= 0


def _is_number(value) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def _is_positive(value) -> bool:
    return _is_number(value) and value > 0


def _is_weight(value) -> bool:
    return _is_number(value) and value >= 0


def _is_ids(value) -> bool:
    return isinstance(value, list) and len(value) > 0 and all(map(_is_count, value))


def _is_mask(length: int) -> Callable[[object], bool]:
    return lambda value: isinstance(value, list) and len(value) == length and value[0] == 0 and all(bit in (0, 1) for bit in value)


def _is_logprobs(length: int) -> Callable[[object], bool]:
    return lambda value: isinstance(value, list) and len(value) == length and all(_is_number(p) and p <= 0 for p in value)
