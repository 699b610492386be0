"""Strict pydantic models of JSON files, and the one form of words for what is wrong in one."""

import re

from pydantic import BaseModel, ConfigDict, ValidationError

MAX_VALUE_LENGTH = 200
"""Characters of a refused value that a message shows."""


class StrictModel(BaseModel):
    """A JSON object whose fields are all required and known; no type is converted, no number is infinite."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


class NotAllowed(ValueError):
    """Raised by a validator for a rule over several fields: the field to blame, its value and what is
    allowed."""

    def __init__(self, field: str, value: object, allowed: str):
        super().__init__(allowed)
        self.field, self.value, self.allowed = field, value, allowed


def first_problem(error: ValidationError) -> tuple[str, str]:
    """(field, problem) of the first thing that is wrong.

    The field is a path such as `settings.betas[0]`, empty for the whole value. The problem names the value,
    cut to MAX_VALUE_LENGTH, and what is allowed.
    """
    first = error.errors(include_url=False)[0]
    field = "".join(
        f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]
    ).removeprefix(".")
    if first["type"] == "missing":
        return field, "missing; add it"
    if first["type"] == "extra_forbidden":
        return field, "unknown field; remove it, or use a trainer that knows it"
    rule = first.get("ctx", {}).get("error")
    if isinstance(rule, NotAllowed):
        return ".".join(filter(None, (field, rule.field))), not_allowed(rule.value, f"be {rule.allowed}")
    return field, not_allowed(first["input"], re.sub(r"^\w+ should ", "", first["msg"]))


def not_allowed(value: object, requirement: str) -> str:
    """Says that a value is refused; `requirement` follows "it must"."""
    return f"{value!r:.{MAX_VALUE_LENGTH}} is not allowed; it must {requirement}"
