"""The work folder of one job: sealed JSON, atomic writes, lock, fence, lease and progress.
docs/training-jobs.md."""

import fcntl
import hashlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from functools import lru_cache
from itertools import chain
from pathlib import Path
from stat import S_ISDIR, S_ISLNK, S_ISREG

from genenv_trainer.errors import InvalidConfig, Superseded
from genenv_trainer.job_trace import JobTrace
from genenv_trainer.stored_objects import folder_hash

SEAL = ',\n "sha256": "'
"""Begins the last field of a sealed JSON object: the hash of all text before it.
src/training/job-folder.ts."""


POLL_SECONDS = 0.05
"""Between two tries to take a lock."""


def seal(value: dict) -> str:
    """Canonical text (sorted keys, finite numbers) of an object with at least one field."""
    head = json.dumps(value, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False).removesuffix(
        "\n}"
    )
    return f"{head}{_seal_of(head)}"


def unseal(text: str) -> dict:
    """The object without its seal. Raises ValueError if the text is torn or altered."""
    head, _, _ = text.rpartition(SEAL)
    if text != f"{head}{_seal_of(head)}":
        raise ValueError("torn or altered: its sha256 is not that of its text")
    return json.loads(f"{head}\n}}")


def _seal_of(head: str) -> str:
    return f'{SEAL}{hashlib.sha256(head.encode()).hexdigest()}"\n}}\n'


def fsync_path(path: Path) -> None:
    """Force one file or folder to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def fsync_tree(folder: Path) -> None:
    """Force every file and folder below `folder`, and itself, to disk."""
    for root, _, files in os.walk(folder, topdown=False):
        for name in files:
            fsync_path(Path(root, name))
        fsync_path(Path(root))


def write_json(path: Path, value: dict) -> None:
    """Write sealed JSON under a temporary name, fsync, rename."""
    temporary = path.with_name(f".{path.name}.tmp")
    # Left by a killed process, or a link.
    temporary.unlink(missing_ok=True)
    with open(temporary, "x", encoding="utf-8") as file:
        file.write(seal(value))
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
    fsync_path(path.parent)


def own_process() -> dict[str, object]:
    """This process, so that no other is taken for it: its number, its host, and when it was started."""
    pid = os.getpid()
    return {"pid": pid, "host": socket.gethostname(), "started": _started(pid)}


@lru_cache(maxsize=1)
def _started(pid: int) -> str:
    """As src/runtime/process-identity.ts says it: the boot and the clock ticks since then, or what `ps` says."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        env = {**os.environ, "TZ": "UTC", "LC_ALL": "C"}
        line = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, env=env)
        return line.stdout.strip()
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    # The name in parentheses may contain spaces. After it, the start time is field 20.
    return f"{boot}/{stat[stat.rindex(')') + 2 :].split(' ')[19]}"


class Lock:
    """The exclusive flock on a file, for the rest of this process's life."""

    def __init__(self, path: Path):
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        self.is_held = False

    def take(self) -> bool:
        """Whether it is held now: false if another process has it."""
        if not self.is_held:
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self.is_held = True
            except BlockingIOError:
                pass
        return self.is_held


def wait_for_lock(path: Path, check: Callable[[], None]) -> None:
    """Take the exclusive flock on `path`; `check` runs between two tries."""
    lock = Lock(path)
    while not lock.take():
        check()
        time.sleep(POLL_SECONDS)


def refuse_links(folder: Path) -> None:
    """A job reads and writes its own folder alone, and a pipe in it does not hold the job up. Raises
    InvalidConfig for a link, a pipe or a device there or below."""
    below = (Path(root, name) for root, folders, files in os.walk(folder) for name in sorted(folders + files))
    for path in chain([folder], below):
        try:
            mode = path.lstat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            continue
        if not (S_ISREG(mode) or S_ISDIR(mode)):
            kind = "a link" if S_ISLNK(mode) else "a pipe or a device"
            raise InvalidConfig(f"{path}: it is {kind}, where a file of this job belongs; remove it")


class WorkFolder:
    """Paths of the folder, and the only writes to it besides the step checkpoints. Of several processes of a job
    the first one alone writes."""

    def __init__(self, path: Path, fence: int, trace: JobTrace | None = None, is_first: bool = True):
        self.path = path
        self._is_first = is_first
        self.fence = fence
        self.trace = trace

    def check_fence(self) -> None:
        """Raises Superseded if another job has claimed the folder after this one."""
        folder = self.path / "fence"
        highest = (
            max((int(name) for name in os.listdir(folder) if re.fullmatch("[0-9]+", name)), default=0)
            if folder.is_dir()
            else 0
        )
        if highest > self.fence:
            raise Superseded(
                f"{folder}: claim {highest} is higher than this job's {self.fence}; it writes nothing more"
            )

    def progress(self, phase: str, step: int, steps: int, loss: float | None) -> None:
        if not self._is_first:
            return
        line = {"phase": phase, "step": step, "steps": steps, **own_process()}
        if loss is not None:
            line["loss"] = loss
        torch = sys.modules.get("torch")
        if torch is not None and torch.cuda.is_initialized():
            line["gpu_memory_bytes"] = torch.cuda.max_memory_allocated()
        target = os.open(
            self.path / "progress.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o666
        )
        with open(target, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        if self.trace is not None:
            self.trace.mark(phase, step)

    def publish_output(self, fill: Callable[[Path], None]) -> None:
        """Make `output/` whole or not at all: `fill` writes a temporary folder, which is fsynced and
        renamed."""
        self.check_fence()
        temporary, output = self.path / ".output.tmp", self.path / "output"
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        fill(temporary)
        fsync_tree(temporary)
        self.check_fence()
        if output.exists():
            shutil.rmtree(output)
        os.rename(temporary, output)
        fsync_path(self.path)

    def write_result(self, result: dict) -> None:
        self.check_fence()
        write_json(self.path / "result.json", result)

    def read_result(self) -> dict | None:
        """None if there is none, or a damaged one, which is logged: the job then resumes from its newest
        checkpoint."""
        path = self.path / "result.json"
        try:
            return unseal(path.read_text("utf-8"))
        except FileNotFoundError:
            return None
        except ValueError as error:
            print(f"{path}: {error}; taken for no result", flush=True)
            return None

    def output_hashes(self, heartbeat: Callable[[], None]) -> dict[str, str]:
        """The names that the two folders of `output/` have in a store."""
        return {
            name.replace("-", "_"): folder_hash(self.path / "output" / name, heartbeat)
            for name in ("checkpoint", "trainer-state")
        }
