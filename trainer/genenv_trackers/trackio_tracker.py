"""Trackio by its SDK, on this machine: a SQLite file for each project, in TRACKIO_DIR or where `trackio show` looks. An epoch
is one row, with its table and references, so it is there whole or not at all, and the file says which step it has."""

import os

import trackio
from trackio.sqlite_storage import SQLiteStorage

from genenv_trackers import faults
from genenv_trackers.tracker import Cell, Refused, TrackedRun, Tracker

ELSEWHERE = ("TRACKIO_SPACE_ID", "TRACKIO_SERVER_URL")


class TrackioTracker(Tracker):
    def open(self, run: TrackedRun) -> int | None:
        elsewhere = next((name for name in ELSEWHERE if os.environ.get(name)), None)
        if run.uri is not None or elsewhere is not None:
            raise Refused(
                f"{'uri' if run.uri is not None else elsewhere}: got an address; runs are sent to Trackio on this "
                "machine only, whose file says which step it has. `trackio sync` copies a project to a Space"
            )
        lineage = {**run.tags, "key": run.key, "supersedes": run.supersedes}
        if run.fork is not None:
            lineage["fork"] = dict(vars(run.fork))
        self._row: dict = {}
        self._run = trackio.init(
            project=run.project,
            name=run.key,
            group=run.group,
            config={**run.config, "genenv": lineage},
            resume="allow",
            embed=False,
            auto_log_gpu=False,
            auto_log_cpu=False,
        )
        faults.strike("open")
        return SQLiteStorage.get_max_step_for_run(run.project, run.key)

    def log(self, step: int, metrics: dict[str, float], time: float) -> None:
        row, self._row = {**self._row, **metrics, "committed_at": time}, {}
        self._run.log(row, step=step)

    def table(self, step: int, name: str, columns: list[str], rows: list[list[Cell]]) -> None:
        self._row[name] = trackio.Table(columns=columns, data=rows)

    def reference(self, step: int, name: str, uri: str, sha256: str) -> None:
        self._row[f"genenv/{name}/uri"] = uri
        self._row[f"genenv/{name}/sha256"] = sha256

    def close(self, outcome: str | None) -> None:
        trackio.finish()
