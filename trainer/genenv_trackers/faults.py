"""Kills for tests. GENENV_TRACKER_FAULT names a file with a place (`open`, or `log 3` for after the third step) and, if it
says so, the seconds to wait there. The file is removed, so that each fault strikes once."""

import os
import signal
import time
from pathlib import Path


def strike(place: str) -> None:
    """Kill this process as by the system, if a fault lies in wait here."""
    file = os.environ.get("GENENV_TRACKER_FAULT")
    if not file or not Path(file).exists():
        return
    armed, _, seconds = Path(file).read_text("utf-8").strip().partition(" after ")
    if armed != place:
        return
    Path(file).rename(f"{file}.struck")
    time.sleep(float(seconds or 0))
    os.kill(os.getpid(), signal.SIGKILL)
