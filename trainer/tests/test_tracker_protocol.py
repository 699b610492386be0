"""The adapters' protocol: what is accepted, what is refused, and the process that speaks it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from genenv_trackers.protocol import MAX_LINE_BYTES, Close, Epoch, WrongRequest, parse_request
from genenv_trackers.tracker import TrackedRun, flatten

TRAINER = Path(__file__).parents[1]

RUN = {"key": "ab12cd34-run", "name": "run", "project": "p", "group": "g", "folder": "/tmp/x"}
EPOCH = {
    "step": 3,
    "time": 1.5,
    "metrics": {"reward": 0.5},
    "tables": [{"name": "samples", "columns": ["a", "b"], "rows": [["<b>", None], ["x", True]]}],
    "references": [{"name": "ledger", "uri": "genenv:x", "sha256": "a" * 64}],
}


def parse(**request) -> TrackedRun | Epoch | Close:
    return parse_request(json.dumps({"id": 0, **request}).encode())[1]


def test_requests_as_they_are_sent() -> None:
    fork = {"key": "ab12cd34-parent", "run": "parent", "epoch": 2, "ledger": "b" * 64}
    run = parse(open={**RUN, "uri": None, "config": {"a": {"b": 1}}, "tags": {"run": "run"}, "fork": fork})
    assert (run.key, run.fork.epoch, run.uri, run.supersedes) == ("ab12cd34-run", 2, None, None)
    epoch = parse(epoch=EPOCH)
    assert (epoch.step, epoch.metrics, epoch.tables[0].rows[0]) == (3, {"reward": 0.5}, ["<b>", None])
    assert parse(close={"outcome": "finished"}) == Close("finished")
    assert parse(close={}) == Close(None)


@pytest.mark.parametrize(
    "request_, message",
    [
        ({"open": {**RUN, "key": "../x"}}, "key: got '../x'"),
        ({"open": {**RUN, "key": "a' or 1=1"}}, "key: got"),
        ({"open": {**RUN, "name": ""}}, "name: got ''"),
        ({"open": {**RUN, "fork": {"key": "x"}}}, "fork.run: got None"),
        ({"open": []}, "open: got []; allowed: an object"),
        ({"epoch": {**EPOCH, "step": -1}}, "step: got -1; allowed: a whole number"),
        ({"epoch": {**EPOCH, "step": True}}, "step: got True"),
        ({"epoch": {**EPOCH, "metrics": {"reward": float("nan")}}}, "metrics.reward: got nan"),
        ({"epoch": {**EPOCH, "metrics": {"reward": "1"}}}, "metrics.reward: got '1'"),
        (
            {"epoch": {**EPOCH, "tables": [{"name": "t", "columns": ["a"], "rows": [["x", "y"]]}]}},
            "rows of 1 cells",
        ),
        ({"epoch": {**EPOCH, "tables": [{"name": "t", "columns": ["a"], "rows": [["x" * 20_001]]}]}}, "rows: got"),
        ({"epoch": {**EPOCH, "references": [{"name": "a", "uri": "u", "sha256": "A"}]}}, "references.sha256"),
        ({"close": {"outcome": "won"}}, "outcome: got 'won'"),
        ({"log": {}}, "request: got ['id', 'log']; allowed: one of open, epoch, close"),
    ],
)
def test_refuses_by_field(request_: dict, message: str) -> None:
    with pytest.raises(WrongRequest) as refusal:
        parse(**request_)
    assert message in str(refusal.value)
    assert len(str(refusal.value)) < 300


def test_refuses_what_is_no_request() -> None:
    for line in (b"{", b"[]", b'{"id": "x", "close": {}}', b"\xff", b" " * (MAX_LINE_BYTES + 1)):
        with pytest.raises(WrongRequest):
            parse_request(line)


def test_flattens_settings() -> None:
    assert flatten({"a": {"b": {"c": 1}, "d": [1]}, "e": {}}) == {"a.b.c": "1", "a.d": "[1]", "e": "{}"}


def ask(*requests: dict, environment: dict | None = None) -> tuple[list[dict], subprocess.CompletedProcess]:
    lines = "".join(json.dumps({"id": index, **request}) + "\n" for index, request in enumerate(requests))
    ended = subprocess.run(
        [sys.executable, "-m", "genenv_trackers", "tensorboard"],
        input=lines,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(TRAINER), **(environment or {})},
    )
    return [json.loads(line) for line in ended.stdout.splitlines()], ended


def test_a_process_continues_after_the_last_whole_step(tmp_path: Path) -> None:
    run = {**RUN, "folder": str(tmp_path / "run")}
    epochs = [{"epoch": {**EPOCH, "step": step}} for step in range(2)]
    answers, _ = ask({"open": run}, *epochs, {"close": {"outcome": None}})
    assert answers[0] == {"id": 0, "result": {"last": None}}
    assert [answer["result"] for answer in answers[1:]] == [{"step": 0}, {"step": 1}, {}]

    fault = tmp_path / "fault"
    fault.write_text("log 2")
    answers, ended = ask(
        {"open": run},
        {"epoch": {**EPOCH, "step": 2}},
        environment={"GENENV_TRACKER_FAULT": str(fault)},
    )
    assert (answers, ended.returncode) == ([{"id": 0, "result": {"last": 1}}], -9)
    assert ask({"open": run})[0] == [{"id": 0, "result": {"last": 2}}]
    # Another key is another run: nothing of this one is left.
    assert ask({"open": {**run, "key": "another"}})[0] == [{"id": 0, "result": {"last": None}}]


def test_only_one_process_sends_a_run(tmp_path: Path) -> None:
    first = subprocess.Popen(
        [sys.executable, "-m", "genenv_trackers", "tensorboard"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(TRAINER)},
    )
    run = {**RUN, "folder": str(tmp_path / "run")}
    try:
        first.stdin.write(json.dumps({"id": 0, "open": run}) + "\n")
        first.stdin.flush()
        assert json.loads(first.stdout.readline())["result"] == {"last": None}
        answers, _ = ask({"open": run})
        assert "another process sends this run" in answers[0]["error"]
    finally:
        first.kill()
        first.wait()
    assert ask({"open": run})[0][0]["result"] == {"last": None}


def test_answers_errors_and_ends_after_what_is_no_request(tmp_path: Path) -> None:
    answers, _ = ask({"epoch": EPOCH}, {"open": {**RUN, "folder": str(tmp_path), "uri": "http://x"}}, {"id": "x"})
    assert answers[0]["error"] == "WrongRequest: request: no run is open; send open first"
    assert "TensorBoard has no server" in answers[1]["result"]["refused"]
    assert answers[2]["id"] is None


def test_imports_no_torch() -> None:
    code = "import sys, genenv_trackers.__main__ as m; m.create_tracker('tensorboard'); sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=TRAINER, timeout=60)
