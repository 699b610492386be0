"""Ends a process of a job when the torchrun that started it ends."""

import ctypes
import os
import signal
import sys
from collections.abc import Mapping


def end_with_torchrun(environment: Mapping[str, str]) -> None:
    """From now on this process is killed when torchrun ends, however it ends (on Linux). Otherwise it would keep its
    device, and nobody would end it."""
    if "TORCHELASTIC_RUN_ID" not in environment or sys.platform != "linux":
        return
    parent = os.getppid()
    set_parent_death_signal = 1
    ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)
