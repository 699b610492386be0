"""`python sidecar <category> <setting>`: judges answers of one BFCL category, asked in lines of JSON on standard input.

`{"id", "ask": "cases" | "last-turn" | "judge" | "judge-turns", ...}` is answered by `{"id", "result"}` or `{"id", "error"}` on standard
output, not always in the order of the questions. Model text is only ever handled in throw-away processes.
"""

import gc
import json
import os
import sys
import tempfile
import time
from selectors import EVENT_READ, DefaultSelector

# The answers' own: whatever else prints goes to standard error.
_answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)


def _write(answer: dict) -> None:
    _answers.write(json.dumps(answer) + "\n")
    _answers.flush()


def main(category: str, setting: str, folder: str) -> None:
    # The package makes folders where this says, when it is imported.
    os.environ["BFCL_PROJECT_ROOT"] = folder
    time.tzset()
    from category import Category, cannot_confine, unavailable
    from sandbox import Sandboxes

    empty = os.path.join(folder, "empty")
    os.mkdir(empty)
    selector = DefaultSelector()
    confined = cannot_confine()
    missing = unavailable(category, confined)
    sandboxes = Sandboxes(selector, empty, most=os.cpu_count() or 1, confined=confined is None)
    requests = None if missing is not None else Category(category, setting, sandboxes)
    # Forks share what is here now; the collector would copy it page by page.
    gc.freeze()
    # Pieces of the line that has no end yet: joined once, since a request of many megabytes comes in hundreds of them.
    pieces: list[bytes] = []
    ended = False

    def asked() -> None:
        nonlocal ended
        part = os.read(0, 1 << 20)
        ended = not part
        first, *rest = part.split(b"\n")
        pieces.append(first)
        for begin in rest:
            _answer(requests, missing, json.loads(b"".join(pieces)))
            pieces[:] = [begin]

    selector.register(0, EVENT_READ, asked)
    while not ended:
        for key, _ in selector.select(sandboxes.seconds_left()):
            key.data()
        sandboxes.kill_overdue()
    sandboxes.kill_all()


def _answer(requests, missing: str | None, request: dict) -> None:
    if requests is None:
        _write({"id": request["id"], "result": {"missing": missing}})
        return
    try:
        requests.answer(request, lambda result: _write({"id": request["id"], "result": result}))
    except (KeyError, ValueError) as error:
        _write({"id": request["id"], "error": f"{type(error).__name__}: {error}"})


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="genenv-bfcl-") as scratch:
        main(sys.argv[1], sys.argv[2], scratch)
