"""When a job must stop: SIGTERM, a lease that is no longer touched, a higher fence."""

import os
import signal
import time

from genenv_trainer.errors import Orphaned, Terminated
from genenv_trainer.work_folder import WorkFolder


class StopConditions:
    """Polled between micro-batches, so a stop never leaves a half-done optimizer step. Of several processes of a
    job each looks for its own SIGTERM, and the first one alone at the folder."""

    def __init__(self, work: WorkFolder, orphan_grace_seconds: float, is_first: bool = True):
        self._work = work
        self._is_first = is_first
        self._grace = orphan_grace_seconds
        self._started = time.time()
        self._terminated = False
        signal.signal(signal.SIGTERM, self._on_sigterm)

    def _on_sigterm(self, _signal, _frame) -> None:
        self._terminated = True

    def check(self) -> None:
        """Raises Terminated, Orphaned or Superseded."""
        if self._terminated:
            raise Terminated("SIGTERM; start the job again to go on from its newest checkpoint")
        if not self._is_first:
            return
        self._work.check_fence()
        age = time.time() - self._lease_time()
        if age > self._grace:
            raise Orphaned(
                f"{self._work.path / 'lease'}: untouched for {age:.0f} s, more than {self._grace:.0f} s"
            )

    def _lease_time(self) -> float:
        """When the lease was touched; never before the job's own start, which gives a new owner time to
        come."""
        try:
            return max(self._started, os.stat(self._work.path / "lease").st_mtime)
        except FileNotFoundError:
            return self._started
