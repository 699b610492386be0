"""Faults for tests of durability: GENENV_TRAINER_FAULT=<kind>:<step>[:once].

kind: `exit` (as if killed), `hang` (never comes back, deaf to SIGTERM), `oom` (a real failed allocation),
`limit` (the process may take LIMIT_MIB more of address space, so that a large step runs out of memory). The
fault comes just before optimizer step <step>; with `once`, only the first time in a work folder.
"""

import os
import resource
import time
from pathlib import Path

LIMIT_MIB = 192


def before_step(step: int, folder: Path) -> None:
    kind, _, rest = os.environ.get("GENENV_TRAINER_FAULT", "").partition(":")
    at, _, once = rest.partition(":")
    if not kind or int(at) != step:
        return
    marker = folder / f".fault-{kind}-{at}"
    if once and marker.exists():
        return
    marker.touch()
    if kind == "exit":
        os._exit(137)
    if kind == "oom":
        import torch

        torch.empty(1 << 55, dtype=torch.uint8)
    while kind == "hang":
        time.sleep(1)
    if kind != "limit":
        raise ValueError(f"GENENV_TRAINER_FAULT: {kind!r} is none of exit, hang, oom, limit")
    pages = int(Path("/proc/self/statm").read_text("utf-8").split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (LIMIT_MIB << 20),) * 2)
