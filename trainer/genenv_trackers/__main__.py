"""Asked by lines of JSON on standard input, answered on standard output: `{"id", "result"}` or `{"id", "error"}`. What a
tracker's package prints goes to standard error."""

import fcntl
import importlib
import json
import os
import sys
from pathlib import Path
from typing import TextIO

from genenv_trackers import faults
from genenv_trackers.protocol import MAX_LINE_BYTES, Close, Epoch, WrongRequest, parse_request
from genenv_trackers.tracker import Refused, TrackedRun, Tracker

TRACKERS = {
    "mlflow": "MlflowTracker",
    "tensorboard": "TensorboardTracker",
    "trackio": "TrackioTracker",
    "wandb": "WandbTracker",
}
MAX_ERROR = 2000


def create_tracker(name: str) -> Tracker:
    """Import the tracker's own package now: others need not be installed. Raise Refused."""
    try:
        module = importlib.import_module(f"genenv_trackers.{name}_tracker")
    except ImportError as error:
        raise Refused(f"{name}: {error}; run `npm run engines -- trackers`") from error
    return getattr(module, TRACKERS[name])()


class Session:
    """One run at one tracker, from `open` to `close`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.tracker: Tracker | None = None
        self.lock: int | None = None

    def answer(self, request: TrackedRun | Epoch | Close) -> dict:
        if isinstance(request, TrackedRun):
            try:
                self.lock = lock_folder(request.folder)
                self.tracker = create_tracker(self.name)
                return {"last": self.tracker.open(request)}
            except Refused as error:
                return {"refused": str(error)[:MAX_ERROR]}
        if self.tracker is None:
            raise WrongRequest("request: no run is open; send open first")
        if isinstance(request, Close):
            self.tracker.close(request.outcome)
            self.tracker = None
            return {}
        for table in request.tables:
            self.tracker.table(request.step, table.name, table.columns, table.rows)
        for reference in request.references:
            self.tracker.reference(request.step, reference.name, reference.uri, reference.sha256)
        self.tracker.log(request.step, request.metrics, request.time)
        faults.strike(f"log {request.step}")
        return {"step": request.step}


def lock_folder(folder: Path) -> int:
    """Make the folder and keep it for this process: two that send one run would send a step twice. The lock ends with
    the process, however that ends. Raise BlockingIOError, and OSError for a link."""
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise BlockingIOError(f"{folder}: another process sends this run to this tracker") from None
    return handle


def serve(session: Session, answers: TextIO) -> None:
    while line := sys.stdin.buffer.readline(MAX_LINE_BYTES + 2):
        number = None
        try:
            number, request = parse_request(line)
            answer = {"id": number, "result": session.answer(request)}
        except Exception as error:
            answer = {"id": number, "error": f"{type(error).__name__}: {error}"[:MAX_ERROR]}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
        if number is None:
            return


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or arguments[0] not in TRACKERS:
        print(f"genenv_trackers: got {arguments}; allowed: one of {', '.join(TRACKERS)}", file=sys.stderr)
        return 2
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    os.umask(int(os.environ.get("GENENV_UMASK") or "077", 8))
    serve(Session(arguments[0]), answers)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
