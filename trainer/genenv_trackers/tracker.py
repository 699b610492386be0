"""What every tracker does, in the words of W&B and MLflow: a run with configuration, metrics by step, tables and
references to artifacts that stay where they are."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Cell = str | int | float | bool | None


@dataclass(frozen=True)
class Fork:
    """The epoch of another run that a run starts from."""

    key: str
    run: str
    epoch: int
    ledger: str
    """Hash of that epoch's line in the ledger."""


@dataclass(frozen=True)
class TrackedRun:
    key: str
    """Id of the run at every tracker: another home folder, run or rewind is another key."""
    name: str
    project: str
    group: str
    """Shared by a run, its forks and its rewinds."""
    folder: Path
    """Where a tracker without a server keeps this run; nobody else writes there."""
    uri: str | None = None
    """Address of the tracker's server."""
    config: dict[str, Any] = field(default_factory=dict)
    """The settings in effect, nested."""
    tags: dict[str, str] = field(default_factory=dict)
    fork: Fork | None = None
    supersedes: str | None = None
    """Key of this run before it was rewound."""


class Refused(Exception):
    """What a person has to change before trying again helps: a package, an address, a setting."""


class Tracker(ABC):
    """One run at one tracker. `log` is what commits a step: tables and references of the step come before it."""

    @abstractmethod
    def open(self, run: TrackedRun) -> int | None:
        """Begin or continue the run. Return the last step that the tracker itself says it has, None for none: the
        next one is logged after it. Raise Refused, or whatever the tracker raises if it is away."""

    @abstractmethod
    def log(self, step: int, metrics: dict[str, float], time: float) -> None:
        """Log a step's metrics. `time` is when the epoch was committed, in seconds since 1970, and equal each time."""

    @abstractmethod
    def table(self, step: int, name: str, columns: list[str], rows: list[list[Cell]]) -> None:
        """Log a table of texts and numbers. Texts come from models: they are data, never markup."""

    @abstractmethod
    def reference(self, step: int, name: str, uri: str, sha256: str) -> None:
        """Log where an artifact is, and its hash; its bytes are not sent."""

    @abstractmethod
    def close(self, outcome: str | None) -> None:
        """Send what is left. `outcome` is how the run ended (`finished`, `failed`, `stopped`), None if it has not."""


def flatten(config: dict[str, Any], prefix: str = "") -> dict[str, str]:
    """`{"agent": {"lr": 1}}` -> `{"agent.lr": "1"}`, for trackers with flat parameters."""
    flat: dict[str, str] = {}
    for name, value in config.items():
        if isinstance(value, dict) and value:
            flat.update(flatten(value, f"{prefix}{name}."))
        else:
            flat[f"{prefix}{name}"] = str(value)
    return flat
