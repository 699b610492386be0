"""A parent process that has done the imports and forks one process for each job.

It runs no torch operation: a process whose OpenMP threads have started cannot be forked safely. Jobs are
sessions of their own and outlive it; while it lives it reaps them, afterwards init does.
"""

import fcntl
import gc
import importlib
import json
import os
import selectors
import signal
import socket
import sys
import traceback
from pathlib import Path

from genenv_trainer.plain_files import read_plain_file

LAZY_IMPORTS = ("peft",)
"""What the libraries import at first use: imported here once, not in every job."""

LONGEST_REQUEST = 1 << 16


def main(path: str) -> int:
    """Serve requests on the Unix socket `path` until SIGTERM. Returns the exit code."""
    try:
        lock = _only_one(Path(f"{path}.lock"))
    except BlockingIOError:
        print(f"{path}: another resident trainer serves it; use that one or another path", file=sys.stderr)
        return 1
    _import_libraries()
    wake_read, wake_write = os.pipe()  # macOS has no pipe2
    for end in (wake_read, wake_write):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(wake_write)
    for name in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD):
        signal.signal(name, lambda *_: None)
    Path(path).unlink(missing_ok=True)
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener,
        selectors.DefaultSelector() as selector,
    ):
        listener.bind(path)
        listener.listen(64)
        selector.register(listener, selectors.EVENT_READ)
        selector.register(wake_read, selectors.EVENT_READ)
        inherited = [listener.fileno(), selector.fileno(), wake_read, wake_write, lock]
        print(f"resident trainer {os.getpid()} listens on {path}", flush=True)
        while True:
            for key, _ in selector.select():
                if key.fileobj is listener:
                    _serve(listener.accept()[0], inherited)
                    continue
                signals = os.read(wake_read, 4096)
                _reap()
                if signal.SIGTERM in signals or signal.SIGINT in signals:
                    Path(path).unlink(missing_ok=True)
                    return 0


def _only_one(path: Path) -> int:
    """Hold the lock of the socket's server. Raises BlockingIOError if another process has it, OSError for a link,
    which somebody else may have put there."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return descriptor


def _import_libraries() -> None:
    for name in ("genenv_trainer.setup", *LAZY_IMPORTS):
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # keeps the collector of every job away from what was imported


def _serve(connection: socket.socket, inherited: list[int]) -> None:
    """Answer the one request line of a connection."""
    with connection:
        connection.settimeout(5)
        try:
            request = json.loads(_read_line(connection))
            if request.get("ping"):
                answer = {"ready": True}
            else:
                folder = Path(request["folder"])
                os.lstat(folder / "job.json")
                _import_architecture(folder)
                answer = {"pid": _fork_job(folder, [*inherited, connection.fileno()])}
        except Exception as error:  # a request must not end the parent of all jobs
            answer = {"error": f"{type(error).__name__}: {error}"}
        try:
            connection.sendall(json.dumps(answer).encode() + b"\n")
        except OSError as error:
            print(f"nobody took the answer {answer}: {error}", file=sys.stderr, flush=True)


def _read_line(connection: socket.socket) -> bytes:
    line = b""
    while not line.endswith(b"\n"):
        part = connection.recv(4096)
        if not part or len(line) > LONGEST_REQUEST:
            raise ValueError(f"a request is one line of JSON, got {line[:200]!r}")
        line += part
    return line


def _import_architecture(folder: Path) -> None:
    """Import the model's module here, where it stays, instead of in every job. A damaged folder is left to its job,
    which says what is wrong."""
    from genenv_trainer.models import import_architecture, model_type

    try:
        job = json.loads(read_plain_file(folder / "job.json"))
        name = model_type(job["model"])
        if name is not None:
            import_architecture(name)
    except Exception as error:  # the libraries raise anything, and so does a folder that somebody else has written
        print(f"{folder}: nothing imported for its job: {type(error).__name__}", file=sys.stderr, flush=True)


def _fork_job(folder: Path, inherited: list[int]) -> int:
    """Fork the job of `folder` into its own session. Returns its pid."""
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        for name in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD):
            signal.signal(name, signal.SIG_DFL)
        for descriptor in inherited:
            os.close(descriptor)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        from genenv_trainer.job import run_job

        code = run_job(str(folder))
        sys.stdout.flush()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)  # never back into the parent's loop


def _reap() -> None:
    """Collect ended jobs, and print the signal of those that one ended."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        if os.WIFSIGNALED(status):
            print(f"job {pid} was ended by signal {os.WTERMSIG(status)}", file=sys.stderr, flush=True)
