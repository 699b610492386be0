"""The process of torchrun that has started this one."""

import ctypes
import os
import signal
import sys
from collections.abc import Mapping


def end_with_agent(environment: Mapping[str, str]) -> None:
    """A process that torchrun has started is killed when torchrun ends, however it ends (on Linux): what has no
    agent keeps its device, and nobody ends it."""
    if "TORCHELASTIC_RUN_ID" not in environment or sys.platform != "linux":
        return
    parent = os.getppid()
    set_parent_death_signal = 1
    ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)
