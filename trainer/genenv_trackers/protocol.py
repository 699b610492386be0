"""Requests as lines of JSON: `{"id", "open": {...}}`, `{"id", "epoch": {...}}`, `{"id", "close": {...}}`. Whatever is not
of this form, or larger than a run can make it, is refused with the field's name."""

import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from genenv_trackers.tracker import Cell, Fork, TrackedRun

MAX_LINE_BYTES = 16 << 20
MAX_METRICS = 10_000
MAX_ROWS = 200
MAX_COLUMNS = 50
MAX_REFERENCES = 20
MAX_NAME = 200
MAX_TEXT = 20_000
MAX_STEP = 1_000_000_000
MAX_SHOWN = 60

KEY = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,119}")
SHA256 = re.compile(r"[0-9a-f]{64}")


class WrongRequest(ValueError):
    """A request that breaks the protocol. Its message names the field, the value and what is allowed."""


@dataclass(frozen=True)
class Table:
    name: str
    columns: list[str]
    rows: list[list[Cell]]


@dataclass(frozen=True)
class Reference:
    name: str
    uri: str
    sha256: str


@dataclass(frozen=True)
class Epoch:
    step: int
    time: float
    metrics: dict[str, float]
    tables: list[Table]
    references: list[Reference]


@dataclass(frozen=True)
class Close:
    outcome: str | None


def parse_request(line: bytes) -> tuple[int, TrackedRun | Epoch | Close]:
    """The id of a request, and what it asks for. Raise WrongRequest."""
    if len(line) > MAX_LINE_BYTES:
        raise WrongRequest(f"request: got {len(line)} bytes; allowed: up to {MAX_LINE_BYTES}")
    try:
        request = json.loads(line)
    except ValueError as error:
        raise WrongRequest(f"request: it is not JSON: {error}") from None
    if not isinstance(request, dict):
        raise wrong("request", request, "an object")
    number = whole(request.get("id"), "id")
    for name, parse in (("open", _run), ("epoch", _epoch), ("close", _close)):
        if name in request:
            return number, parse(request[name])
    raise wrong("request", sorted(request), "one of open, epoch, close")


def wrong(field: str, value: Any, allowed: str) -> WrongRequest:
    return WrongRequest(f"{field}: got {repr(value)[:MAX_SHOWN]}; allowed: {allowed}")


def whole(value: Any, field: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_STEP:
        raise wrong(field, value, f"a whole number from 0 to {MAX_STEP}")
    return value


def finite(value: Any, field: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise wrong(field, value, "a finite number")
    return float(value)


def text(value: Any, field: str, limit: int = MAX_NAME) -> str:
    if not isinstance(value, str) or not 1 <= len(value) <= limit:
        raise wrong(field, value, f"text of 1 to {limit} characters")
    return value


def matching(value: Any, field: str, pattern: re.Pattern[str]) -> str:
    if not isinstance(value, str) or pattern.fullmatch(value) is None:
        raise wrong(field, value, f"text like {pattern.pattern}")
    return value


def items(value: Any, field: str, limit: int) -> list:
    if not isinstance(value, list) or len(value) > limit:
        raise wrong(field, value, f"a list of up to {limit}")
    return value


def fields(value: Any, field: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise wrong(field, value, "an object")
    return value


def _run(value: Any) -> TrackedRun:
    run = fields(value, "open")
    uri, fork, supersedes = run.get("uri"), run.get("fork"), run.get("supersedes")
    tags = fields(run.get("tags", {}), "tags")
    return TrackedRun(
        key=matching(run.get("key"), "key", KEY),
        name=text(run.get("name"), "name"),
        project=text(run.get("project"), "project"),
        group=text(run.get("group"), "group"),
        folder=Path(text(run.get("folder"), "folder", 4096)),
        uri=None if uri is None else text(uri, "uri", 2048),
        config=fields(run.get("config", {}), "config"),
        tags={text(name, "tags"): text(tag, f"tags.{name}", 1000) for name, tag in tags.items()},
        fork=None if fork is None else _fork(fork),
        supersedes=None if supersedes is None else matching(supersedes, "supersedes", KEY),
    )


def _fork(value: Any) -> Fork:
    fork = fields(value, "fork")
    return Fork(
        key=matching(fork.get("key"), "fork.key", KEY),
        run=text(fork.get("run"), "fork.run"),
        epoch=whole(fork.get("epoch"), "fork.epoch"),
        ledger=matching(fork.get("ledger"), "fork.ledger", SHA256),
    )


def _epoch(value: Any) -> Epoch:
    epoch = fields(value, "epoch")
    metrics = fields(epoch.get("metrics", {}), "metrics")
    if len(metrics) > MAX_METRICS:
        raise wrong("metrics", len(metrics), f"up to {MAX_METRICS}")
    return Epoch(
        step=whole(epoch.get("step"), "step"),
        time=finite(epoch.get("time"), "time"),
        metrics={text(name, "metrics"): finite(number, f"metrics.{name}") for name, number in metrics.items()},
        tables=[_table(table) for table in items(epoch.get("tables", []), "tables", MAX_REFERENCES)],
        references=[
            _reference(reference)
            for reference in items(epoch.get("references", []), "references", MAX_REFERENCES)
        ],
    )


def _table(value: Any) -> Table:
    table = fields(value, "tables")
    columns = [text(column, "columns") for column in items(table.get("columns"), "columns", MAX_COLUMNS)]
    rows = [items(row, "rows", MAX_COLUMNS) for row in items(table.get("rows"), "rows", MAX_ROWS)]
    for row in rows:
        if len(row) != len(columns):
            raise wrong("rows", row, f"rows of {len(columns)} cells")
        for cell in row:
            if isinstance(cell, str) and len(cell) <= MAX_TEXT:
                continue
            if cell is not None and not isinstance(cell, bool):
                finite(cell, "rows")
    return Table(name=text(table.get("name"), "tables.name"), columns=columns, rows=rows)


def _reference(value: Any) -> Reference:
    reference = fields(value, "references")
    return Reference(
        name=text(reference.get("name"), "references.name"),
        uri=text(reference.get("uri"), "references.uri", 4096),
        sha256=matching(reference.get("sha256"), "references.sha256", SHA256),
    )


def _close(value: Any) -> Close:
    outcome = fields(value, "close").get("outcome")
    if outcome not in (None, "finished", "failed", "stopped"):
        raise wrong("outcome", outcome, "finished, failed, stopped, or none")
    return Close(outcome)
