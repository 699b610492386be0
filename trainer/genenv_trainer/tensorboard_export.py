"""Writes a run's metrics.jsonl as TensorBoard event files: `python -m genenv_trainer.tensorboard_export
RUN_FOLDER`.

The files are written again each time, in a temporary folder that then takes the place of `tensorboard/`: a
reader finds the old files or the new ones. No torch is imported, so this takes a second.
"""

import argparse
import json
import math
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from genenv_trainer.file_mode import set_file_mask
from genenv_trainer.plain_files import read_plain_file


def whole_lines(file: Path) -> Iterator[dict]:
    """The lines that are JSON objects; a killed process leaves half a line."""
    for line in read_plain_file(file).decode("utf-8").splitlines():
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            continue
        if isinstance(record, dict) and isinstance(record.get("epoch"), int):
            yield record


def scalars(record: dict) -> Iterator[tuple[str, float]]:
    """Metrics under their own names, and the seconds of each phase under `time/`. What was not measured is
    left out."""
    named = {
        **record.get("metrics", {}),
        **{f"time/{phase}": seconds for phase, seconds in record.get("time", {}).items()},
    }
    for name, value in sorted(named.items()):
        if isinstance(value, (int, float)) and math.isfinite(value):
            yield name, float(value)


def event(record: dict) -> Event:
    """One event an epoch, at the moment that the epoch was committed."""
    values = [Summary.Value(tag=name, simple_value=value) for name, value in scalars(record)]
    at = record.get("at")
    wall_time = datetime.fromisoformat(at).timestamp() if at else 0.0
    return Event(step=record["epoch"], wall_time=wall_time, summary=Summary(value=values))


def export(run_folder: Path) -> Path:
    """Replaces `tensorboard/` in the run folder, and gives its path."""
    # An epoch that was begun again has several lines: the last one is what was committed.
    records = {record["epoch"]: record for record in whole_lines(run_folder / "metrics.jsonl")}
    target = run_folder / "tensorboard"
    staged = Path(tempfile.mkdtemp(prefix=".tensorboard-", suffix=".tmp", dir=run_folder))
    try:
        writer = EventFileWriter(str(staged))
        for epoch in sorted(records):
            writer.add_event(event(records[epoch]))
        writer.close()
        replace_folder(staged, target)
    finally:
        shutil.rmtree(staged, ignore_errors=True)
    return target


def replace_folder(staged: Path, target: Path) -> None:
    """Gives `staged` the name of `target`. A folder cannot be renamed onto a full one, so
    the old one moves away first."""
    aside = Path(tempfile.mkdtemp(prefix=".tensorboard-", suffix=".tmp", dir=target.parent))
    try:
        if target.exists():
            os.rename(target, aside / "old")
        os.rename(staged, target)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def main(arguments: list[str] | None = None) -> int:
    summary = " ".join(__doc__.split("\n\n")[0].split())
    parser = argparse.ArgumentParser(prog="genenv_trainer.tensorboard_export", description=summary)
    parser.add_argument("run_folder", type=Path, help="folder of one run, with its metrics.jsonl")
    run_folder = parser.parse_args(arguments).run_folder
    for path in (run_folder, run_folder / "metrics.jsonl", run_folder / "tensorboard"):
        if path.is_symlink():
            print(f"{path}: it is a link; remove it", file=sys.stderr)
            return 2
    if not (run_folder / "metrics.jsonl").is_file():
        print(
            f"{run_folder}: no metrics.jsonl there; expected the folder of a run, runs/<id>", file=sys.stderr
        )
        return 2
    print(export(run_folder))
    return 0


if __name__ == "__main__":
    set_file_mask(os.environ.get("GENENV_UMASK"))
    sys.exit(main())
