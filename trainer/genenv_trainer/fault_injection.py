"""Faults for tests of durability: GENENV_TRAINER_FAULT=<kind>:<step>[:once][:rank=<n>].

kind: `exit` (as if killed), `stop` (by SIGSTOP), `hang` (never comes back, deaf to SIGTERM), `oom` (a real
failed allocation), `oom_inside` (one in the next forward pass), `limit` (the process may take LIMIT_MIB more of
address space, so that a large step runs out of memory). The fault comes just before optimizer step <step>, in one process of the job, the first one if none is named; with
`once`, only the first time in a work folder.
"""

import os
import resource
import signal
import time
from pathlib import Path

LIMIT_MIB = 192


def before_step(step: int, folder: Path, rank: int = 0) -> None:
    fault = os.environ.get("GENENV_TRAINER_FAULT")
    if not fault:
        return
    kind, at, *options = fault.split(":")
    own = next((option.removeprefix("rank=") for option in options if option.startswith("rank=")), "0")
    if int(at) != step or int(own) != rank:
        return
    marker = folder / f".fault-{kind}-{at}"
    if "once" in options and marker.exists():
        return
    marker.write_text(f"{os.getpid()}\n", "utf-8")
    if kind == "exit":
        os._exit(137)
    if kind == "oom":
        _fail_to_allocate()
    if kind == "oom_inside":
        import torch

        # What every forward pass of a model goes through.
        torch.nn.modules.module.register_module_forward_pre_hook(lambda *_: _fail_to_allocate())
        return
    if kind == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
        return
    while kind == "hang":
        time.sleep(1)
    if kind != "limit":
        raise ValueError(f"GENENV_TRAINER_FAULT: {kind!r} is none of exit, stop, hang, oom, oom_inside, limit")
    pages = int(Path("/proc/self/statm").read_text("utf-8").split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (LIMIT_MIB << 20),) * 2)


def _fail_to_allocate() -> None:
    import torch

    torch.empty(1 << 55, dtype=torch.uint8)
