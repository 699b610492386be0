"""Forks jobs for the tests: one import of torch for all of them, with an environment of its own for each.

Standard input: `{"id": 1, "folder": "/…", "env": {…}}` a line. Output: `{"id": 1, "code": 0}` a line, when a job has
ended (a negative code is a signal).
"""

import json
import os
import sys
import threading

from genenv_trainer.job import run_job
from genenv_trainer.models import import_architecture
from genenv_trainer.resident import _import_libraries


def main() -> None:
    _import_libraries()
    import_architecture("llama")
    for line in sys.stdin:
        request = json.loads(line)
        pid = os.fork()
        if pid == 0:
            os.environ.update(request["env"])
            code = 1
            try:
                code = run_job(request["folder"])
            finally:
                os._exit(code)
        threading.Thread(target=_report, args=(pid, request["id"])).start()


def _report(pid: int, identity: int) -> None:
    _, status = os.waitpid(pid, 0)
    print(json.dumps({"id": identity, "code": os.waitstatus_to_exitcode(status)}), flush=True)


main()
