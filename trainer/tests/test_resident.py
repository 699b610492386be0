"""The resident parent forks jobs that equal cold ones, outlive it, and hold nothing of its own."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from job_folders import ENVIRONMENT, copy_inputs, outcome, progress, read, sequences, wait_until, work_folder

from genenv_trainer.errors import InvalidConfig
from genenv_trainer.resident import _only_one
from genenv_trainer.work_folder import WorkFolder


def start(*command: str, **env: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "genenv_trainer", *command],
        env=ENVIRONMENT | env,
        stderr=subprocess.PIPE,
        text=True,
    )


def ask(path: Path, request: object) -> dict:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(path))
        connection.sendall(json.dumps(request).encode() + b"\n")
        return json.loads(connection.makefile().readline())


def is_listening(path: Path) -> bool:
    """The socket is there a moment before anybody listens on it."""
    with socket.socket(socket.AF_UNIX) as connection:
        return connection.connect_ex(str(path)) == 0


@pytest.fixture
def resident(tmp_path):
    path = tmp_path / "s"
    process = start("resident", "--socket", str(path), GENENV_TRAINER_FAULT="hang:2:once")
    wait_until(lambda: is_listening(path), 120)
    yield process, path
    process.kill()
    process.wait()


def test_a_lock_that_is_a_link_is_not_followed(tmp_path):
    target = tmp_path / "target"
    (tmp_path / "s.lock").symlink_to(target)
    with pytest.raises(OSError, match="symbolic links"):
        _only_one(tmp_path / "s.lock")
    assert not target.exists()


def test_progress_that_is_a_link_is_not_written(tmp_path):
    target = tmp_path / "target"
    target.write_text("kept")
    (tmp_path / "progress.jsonl").symlink_to(target)
    with pytest.raises(OSError, match="symbolic links"):
        WorkFolder(tmp_path, 1).progress("loading", 0, 0, None)
    assert target.read_text() == "kept"


@pytest.mark.parametrize(
    "link", ["job.json", ".exit.json.tmp", "checkpoints", "checkpoints/step-1", "output/a"]
)
def test_a_job_whose_folder_holds_a_link_does_nothing(tmp_path, link):
    folder, target = tmp_path / "job", tmp_path / "target"
    target.write_text('{"secret": 1}')
    (folder / link).parent.mkdir(parents=True)
    (folder / link).symlink_to(target)
    assert start("job", str(folder)).wait() == InvalidConfig.exit_code
    message = read(folder, "exit.json")["message"]
    assert message == f"{folder / link}: it is a link, where a file of this job belongs; remove it"
    assert target.read_text() == '{"secret": 1}'


@pytest.mark.parametrize("name", ["traceparent", "log.txt"])
def test_a_pipe_does_not_hold_a_job_up(tmp_path, name):
    os.mkfifo(tmp_path / name)
    # Its spans have somewhere to go.
    job = start("job", str(tmp_path), OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9")
    try:
        assert job.wait(timeout=60) == InvalidConfig.exit_code
    finally:
        job.kill()
    if name != "log.txt":
        assert "it is a pipe or a device" in read(tmp_path, "exit.json")["message"]


def test_a_damaged_folder_does_not_end_the_parent_of_all_jobs(resident, tmp_path):
    process, path = resident
    files = {
        "deep": ("config.json", "[" * 200_000),
        "torn": ("config.json", "{"),
        "odd": ("config.json", '{"model_type": ["llama"]}'),
        "pipe": ("config.json", None),
        "adapter": ("adapter_config.json", "{}"),
        "engine": ("adapter_config.json", '{"base_model_name_or_path": "engine:missing"}'),
        "job": ("job.json", "[" * 200_000),
        "job-pipe": ("job.json", None),
    }
    for case, (name, content) in files.items():
        model = folder = tmp_path / case
        if name == "job.json":
            folder.mkdir()
        else:
            folder = work_folder(folder, "grpo", sequences(1), {"path": str(folder / "model")})
            model = folder / "model"
            model.mkdir()
        if content is None:
            os.mkfifo(model / name)
        else:
            (model / name).write_text(content)
        ask(path, {"folder": str(folder)})["pid"]
        wait_until((folder / "exit.json").exists)
        assert read(folder, "exit.json")["reason"].startswith(("invalid", "damaged")), case
        assert ask(path, {"ping": True}) == {"ready": True}
    assert process.poll() is None


def test_resident(resident, model, tmp_path, request):
    process, path = resident
    assert ask(path, {"ping": True}) == {"ready": True}
    assert "job.json" in ask(path, {"folder": "/nowhere"})["error"]
    assert "error" in ask(path, ["nonsense"])

    forked = work_folder(tmp_path / "forked", "grpo", sequences(2), model, threads=2)
    cold = copy_inputs(forked, tmp_path / "cold")
    cold_process = start("job", str(cold))
    pid = ask(path, {"folder": str(forked)})["pid"]
    wait_until((forked / "exit.json").exists)
    assert progress(forked)[0]["pid"] == pid
    assert path.stat().st_mode & 0o077 == 0
    wait_until(lambda: not os.path.exists(f"/proc/{pid}"), 10)  # reaped, no zombie
    assert ask(path, {"ping": True}) == {"ready": True}

    hanging = work_folder(tmp_path / "hanging", "rwr", sequences(3), model)
    survivor = ask(path, {"folder": str(hanging)})["pid"]
    request.addfinalizer(lambda: os.kill(survivor, signal.SIGKILL))
    wait_until((hanging / ".fault-hang-2").exists)
    assert os.getsid(survivor) == survivor != os.getsid(process.pid)
    targets = [os.readlink(f"/proc/{survivor}/fd/{fd}") for fd in os.listdir(f"/proc/{survivor}/fd")]
    assert not [
        target
        for target in targets
        if target.startswith(("socket:", "pipe:", "anon_inode:")) or target.endswith("s.lock")
    ], targets

    second = start("resident", "--socket", str(path))
    assert second.wait(timeout=120) == 1 and "another resident trainer" in second.stderr.read()

    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=20) == 0 and not path.exists()
    assert os.path.exists(f"/proc/{survivor}"), "jobs outlive the parent"

    assert cold_process.wait(timeout=120) == 0
    for folder in (forked, cold):
        written = [folder / name for name in ("log.txt", "lock", "progress.jsonl", "exit.json", "result.json")]
        written += [folder / "output", *(folder / "output").rglob("*")]
        assert [str(file) for file in written if file.stat().st_mode & 0o077] == [], "others can read them"
    assert outcome(forked) == outcome(cold)
    assert read(cold, "exit.json")["reason"] == "finished"
