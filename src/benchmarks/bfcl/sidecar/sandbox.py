"""Throw-away processes: a fork that has everything in memory, no right to anything outside, and little time."""

import json
import os
import resource
import signal
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from selectors import EVENT_READ, BaseSelector

import seccomp

CPU_SECONDS = 10
WALL_SECONDS = 30
MEMORY_BYTES = 1 << 30
RESULT_BYTES = 32 << 20

Work = Callable[[], object]
Done = Callable[[object, str | None], None]


@dataclass(eq=False)
class _Child:
    pid: int
    pipe: int
    deadline: float
    done: Done
    received: bytearray = field(default_factory=bytearray)
    killed_for: str | None = None


class Sandboxes:
    """Runs work in processes of its own, at most `most` at a time; what each returned (JSON) or why it did not goes to its `done`."""

    def __init__(self, selector: BaseSelector, folder: str, most: int, confined: bool) -> None:
        self._selector = selector
        self._folder = folder
        self._most = most
        self._confined = confined
        self._waiting: deque[tuple[Work, Done]] = deque()
        self._children: set[_Child] = set()

    def run(self, work: Work, done: Done) -> None:
        self._waiting.append((work, done))
        self._fill()

    @property
    def busy(self) -> bool:
        return bool(self._children or self._waiting)

    def seconds_left(self) -> float | None:
        """Until the first deadline."""
        return max(0.0, min(child.deadline for child in self._children) - time.monotonic()) if self._children else None

    def kill_overdue(self) -> None:
        now = time.monotonic()
        for child in [child for child in self._children if child.deadline <= now]:
            self._kill(child, f"more than {WALL_SECONDS} s")

    def kill_all(self) -> None:
        self._waiting.clear()
        for child in self._children:
            os.kill(child.pid, signal.SIGKILL)

    def _fill(self) -> None:
        while self._waiting and len(self._children) < self._most:
            work, done = self._waiting.popleft()
            read, write = os.pipe()
            pid = os.fork()
            if pid == 0:
                _live(work, write, self._folder, self._confined)
            os.close(write)
            child = _Child(pid, read, time.monotonic() + WALL_SECONDS, done)
            self._children.add(child)
            self._selector.register(read, EVENT_READ, lambda child=child: self._readable(child))

    def _readable(self, child: _Child) -> None:
        part = os.read(child.pipe, 1 << 20)
        child.received += part
        if len(child.received) > RESULT_BYTES:
            self._kill(child, f"a result of more than {RESULT_BYTES} bytes")
        elif not part:
            self._reap(child)

    def _kill(self, child: _Child, why: str) -> None:
        os.kill(child.pid, signal.SIGKILL)
        child.killed_for = why
        self._reap(child)

    def _reap(self, child: _Child) -> None:
        self._selector.unregister(child.pipe)
        os.close(child.pipe)
        # One that closed its pipe and lives on is not waited for; one that has ended keeps its status.
        os.kill(child.pid, signal.SIGKILL)
        _, status = os.waitpid(child.pid, 0)
        self._children.discard(child)
        self._fill()
        child.done(*_outcome(child, os.waitstatus_to_exitcode(status)))


def _outcome(child: _Child, code: int) -> tuple[object, str | None]:
    if child.killed_for is not None:
        return None, child.killed_for
    if code == -signal.SIGXCPU:
        return None, f"more than {CPU_SECONDS} s of CPU time"
    try:
        answer = json.loads(child.received)
        return answer["result"], answer["error"]
    except (ValueError, RecursionError, TypeError, KeyError):
        return None, f"the process ended with {code} and no result"


def _live(work: Work, pipe: int, folder: str, confined: bool) -> None:
    """The child, from its fork to its end. Nothing here returns to the parent's code."""
    try:
        _shut_off(pipe, folder, confined)
        try:
            answer = json.dumps({"result": work(), "error": None})
        except BaseException as error:
            answer = json.dumps({"result": None, "error": f"{type(error).__name__}: {error}"[:500]})
        left = memoryview(answer.encode())
        while left:
            left = left[os.write(3, left) :]
        os._exit(0)
    finally:
        os._exit(1)


def _shut_off(pipe: int, folder: str, confined: bool) -> None:
    os.chdir(folder)
    os.environ.clear()
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    os.dup2(pipe, 3)
    os.closerange(4, max(pipe, nothing, 4096) + 1)
    for limit, soft, hard in (
        # At the first SIGXCPU, which says why; at the second SIGKILL.
        (resource.RLIMIT_CPU, CPU_SECONDS, CPU_SECONDS + 1),
        (resource.RLIMIT_AS, MEMORY_BYTES, MEMORY_BYTES),
        (resource.RLIMIT_FSIZE, 0, 0),
        (resource.RLIMIT_NPROC, 0, 0),
        (resource.RLIMIT_CORE, 0, 0),
    ):
        try:
            resource.setrlimit(limit, (soft, hard))
        except (ValueError, OSError):
            # macOS knows no limit on address space.
            if confined:
                raise
    if confined:
        seccomp.confine()
