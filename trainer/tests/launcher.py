"""Forks jobs for the tests: one import of torch for all of them, with an environment of its own for each.

Standard input: `{"id": 1, "folder": "/…", "env": {…}}` a line. Output: `{"id": 1, "code": 0}` a line,
when a job has ended (a negative code is a signal). It has one thread, as the resident trainer has: a fork
copies what other threads have locked.
"""

import json
import os
import select
import signal

from genenv_trainer.job import run_job
from genenv_trainer.models import import_architecture
from genenv_trainer.resident import _import_libraries


def main() -> None:
    _import_libraries()
    import_architecture("llama")
    wake_read, wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wake_write)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    identities: dict[int, int] = {}
    inputs, unread = [wake_read, 0], b""
    while 0 in inputs or identities:
        ready = select.select(inputs, [], [])[0]
        if wake_read in ready:
            os.read(wake_read, 4096)
        if 0 in ready:
            if not (data := os.read(0, 1 << 16)):
                inputs.remove(0)
            *lines, unread = (unread + data).split(b"\n")
            for request in map(json.loads, lines):
                identities[_fork(request["folder"], request["env"])] = request["id"]
        _report(identities)


def _fork(folder: str, env: dict[str, str]) -> int:
    if pid := os.fork():
        return pid
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.environ.update(env)
        code = run_job(folder)
    finally:
        os._exit(code)


def _report(identities: dict[int, int]) -> None:
    while identities:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        os.write(
            1,
            json.dumps({"id": identities.pop(pid), "code": os.waitstatus_to_exitcode(status)}).encode()
            + b"\n",
        )


main()
