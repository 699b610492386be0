"""TensorBoard's event files. An epoch is one record with a checksum, so it is there whole or not at all, and the files
say which step they have: a later process adds a file after it. Files of another key, of a run before its rewind for
example, are removed: they are made from the ledger, and what a rewind drops is kept with its branch."""

import json
import os
import socket
import time as clock
from pathlib import Path
from typing import BinaryIO

import numpy as np
from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
from tensorboard.plugins.text.metadata import create_summary_metadata
from tensorboard.summary.writer.record_writer import RecordWriter
from tensorboard.util.tensor_util import make_tensor_proto

from genenv_trackers import faults
from genenv_trackers.tracker import Cell, Refused, TrackedRun, Tracker, flatten

KEY = "genenv/key"
FILES = "events.out.tfevents.*"


class TensorboardTracker(Tracker):
    def open(self, run: TrackedRun) -> int | None:
        if run.uri is not None:
            raise Refused(f"uri: got {run.uri[:200]!r}; TensorBoard has no server that runs are sent to")
        self._values: list[Summary.Value] = []
        files = sorted(run.folder.glob(FILES))
        key, last = read_end(files)
        if key != run.key:
            last = None
            for file in files:
                file.unlink()
        self._path = self._new_path(run.folder)
        self._file: BinaryIO = open(self._path, "xb")
        self._records = RecordWriter(self._file)
        now = clock.time()
        self._write(Event(wall_time=now, file_version="brain.Event:2"))
        faults.strike("open")
        about = {"config": json.dumps(flatten(run.config), indent=1), KEY: run.key}
        about |= {f"genenv/{name}": value for name, value in run.tags.items()}
        if run.fork is not None:
            about["genenv/fork"] = json.dumps(vars(run.fork))
        values = [text_value(name, value) for name, value in about.items()]
        self._write(Event(step=0, wall_time=now, summary=Summary(value=values)))
        return last

    def log(self, step: int, metrics: dict[str, float], time: float) -> None:
        self._require_file()
        values = self._values + [
            Summary.Value(tag=name, simple_value=value) for name, value in sorted(metrics.items())
        ]
        self._values = []
        self._write(Event(step=step, wall_time=time, summary=Summary(value=values)))

    def table(self, step: int, name: str, columns: list[str], rows: list[list[Cell]]) -> None:
        cells = [columns, *(["" if cell is None else str(cell) for cell in row] for row in rows)]
        self._values.append(text_value(name, cells))

    def reference(self, step: int, name: str, uri: str, sha256: str) -> None:
        self._values.append(text_value(f"genenv/{name}", f"{uri} ({sha256})"))

    def close(self, outcome: str | None) -> None:
        self._file.close()

    def _write(self, event: Event) -> None:
        self._records.write(event.SerializeToString())
        self._file.flush()
        os.fsync(self._file.fileno())

    def _require_file(self) -> None:
        """Somebody may have removed the files: what is written to them then is lost."""
        if not self._path.exists():
            raise FileNotFoundError(f"{self._path}: it was removed; the run is written again")

    @staticmethod
    def _new_path(folder: Path) -> Path:
        """TensorBoard reads files in the order of their names, which begin with the time in seconds."""
        earlier = [int(file.name.split(".")[3]) for file in folder.glob(FILES) if file.name.split(".")[3].isdigit()]
        seconds = max([int(clock.time()), *(number + 1 for number in earlier)])
        name = socket.gethostname().replace("/", "_")
        return folder / f"events.out.tfevents.{seconds:010}.{name}.{os.getpid()}"


def text_value(tag: str, text: str | list[list[str]]) -> Summary.Value:
    """A text, or a table of texts, for TensorBoard's page of texts, which removes all markup that could run."""
    data = np.array(text, dtype=object)
    metadata: SummaryMetadata = create_summary_metadata(display_name=tag, description="")
    return Summary.Value(tag=tag, metadata=metadata, tensor=make_tensor_proto(np.vectorize(encode)(data)))


def encode(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def read_end(files: list[Path]) -> tuple[str | None, int | None]:
    """The key of the run in these files, and its last step; what a killed process left half written is skipped."""
    key, last = None, None
    for file in files:
        if file.is_symlink():
            raise OSError(f"{file}: it is a link; remove it")
        for record in RawEventFileLoader(str(file)).Load():
            event = Event.FromString(record)
            keys = [value for value in event.summary.value if value.tag == KEY]
            if keys:
                key = keys[0].tensor.string_val[0].decode()
            elif event.summary.value:
                last = event.step
    return key, last
