"""One launcher for the whole session, so that only it pays for the imports; and two policies to train on."""

import json
import os
import queue
import subprocess
import sys
import threading
from pathlib import Path

import job_folders
import pytest

os.environ |= job_folders.ONE_THREAD | job_folders.MODELS  # of this process: its models are tiny

from torch.distributed import TCPStore  # noqa: E402  torch reads the environment set above


class Launcher:
    def __init__(self):
        script = Path(__file__).with_name("launcher.py")
        self._process = subprocess.Popen(
            [sys.executable, script],
            env=job_folders.ENVIRONMENT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._ended: list[queue.Queue] = []
        self._stores: list[TCPStore] = []
        threading.Thread(target=self._collect, daemon=True).start()

    def start(self, folder: Path, **env: str) -> "queue.Queue[int]":
        self._ended.append(ended := queue.Queue())
        self._process.stdin.write(
            json.dumps({"id": len(self._ended) - 1, "folder": str(folder), "env": env}) + "\n"
        )
        self._process.stdin.flush()
        return ended

    def run(self, folder: Path, expect: int = 0, **env: str) -> Path:
        code = self.start(folder, **env).get(timeout=600)
        log = (folder / "log.txt").read_text()
        assert code == expect, f"exit code {code}, expected {expect}\n{log}"
        return folder

    def start_ranks(self, folder: Path, size: int, **env: str) -> "list[queue.Queue[int]]":
        """The processes of one job, as torchrun starts them: it hosts the store in which they find each other, so
        that no port is chosen before it is free."""
        self._stores.append(store := TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False))
        meeting = {
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(store.port),
            "WORLD_SIZE": str(size),
            "TORCHELASTIC_USE_AGENT_STORE": "True",
            "TORCHELASTIC_RESTART_COUNT": "0",
        }
        return [
            self.start(folder, **meeting, RANK=str(rank), LOCAL_RANK=str(rank), **env) for rank in range(size)
        ]

    def end_ranks(self, folder: Path, size: int, **env: str) -> list[int]:
        return [ended.get(timeout=600) for ended in self.start_ranks(folder, size, **env)]

    def run_ranks(self, folder: Path, size: int, expect: int = 0, **env: str) -> Path:
        codes = self.end_ranks(folder, size, **env)
        log = (folder / "log.txt").read_text()
        assert codes == [expect] * size, f"exit codes {codes}, expected {expect}\n{log}"
        return folder

    def close(self) -> None:
        self._process.stdin.close()
        try:
            self._process.wait(timeout=60)
        finally:
            self._process.kill()

    def _collect(self) -> None:
        for line in self._process.stdout:
            answer = json.loads(line)
            self._ended[answer["id"]].put(answer["code"])


@pytest.fixture(scope="session")
def launcher():
    launcher = Launcher()
    yield launcher
    launcher.close()


@pytest.fixture(scope="session")
def policy(launcher, tmp_path_factory) -> Path:
    """Work folder of a finished supervised job: a policy and its trainer state."""
    folder = tmp_path_factory.mktemp("policy") / "work"
    return launcher.run(
        job_folders.work_folder(folder, "supervised", job_folders.texts(2), job_folders.SCRATCH)
    )


@pytest.fixture(scope="session")
def model(policy) -> dict:
    return {"path": str(policy / "output" / "checkpoint")}


@pytest.fixture(scope="session")
def english_model(launcher, tmp_path_factory) -> dict:
    """A model whose tokenizer takes the canary's text."""
    from genenv_trainer import canary  # imports torch, which reads the environment set above

    folder = tmp_path_factory.mktemp("english") / "work"
    scratch = job_folders.SCRATCH["scratch"] | {"vocabulary": sorted(set(canary.TEXT))}
    rows = [{"step": 0, "prompt": "The ", "completion": "old clock", "weight": 1}]
    launcher.run(job_folders.work_folder(folder, "supervised", rows, {"scratch": scratch}))
    return {"path": str(folder / "output" / "checkpoint")}


@pytest.fixture(scope="session")
def reference(launcher, tmp_path_factory) -> dict:
    """Another policy of the same shape, to measure KL against."""
    folder = tmp_path_factory.mktemp("reference") / "work"
    launcher.run(
        job_folders.work_folder(folder, "supervised", job_folders.texts(3, seed=9), job_folders.SCRATCH)
    )
    return {"path": str(folder / "output" / "checkpoint")}
