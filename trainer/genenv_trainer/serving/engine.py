"""One thread that does all of the model's work, a request at a time; small unseeded ones that wait together share a batch."""

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass

import torch

from genenv_trainer.serving.errors import ApiError
from genenv_trainer.serving.registry import Registry
from genenv_trainer.serving.sampler import Draw, Row, sample
from genenv_trainer.serving.served import Served

BATCH_ROWS = 128
"""Rows of a batch made out of single requests, at most."""


@dataclass
class Job:
    """Work on a model: a draw to sample, alone or with others, or any other `work` with the model."""

    model: str
    work: Draw | Callable[[Served], object]
    future: Future
    shared: bool = False

    def joins(self, other: "Job") -> bool:
        return self.shared and other.shared and self.model == other.model


class Engine:
    def __init__(self, registry: Registry, threads: int):
        self.registry, self.threads = registry, threads
        self.waiting: deque[Job] = deque()
        self.changed = threading.Condition()
        threading.Thread(target=self._run, name="engine", daemon=True).start()

    def call(self, model: str, work: Callable[[Served], object]) -> Future:
        """Runs `work` on the loaded model: tokenising, which needs no batch."""
        return self._submit(Job(model, work, Future()))

    def sample(self, model: str, draw: Draw, shared: bool) -> Future:
        """Rows of the draw; `shared` lets it run in one batch with others like it, at the price of reproducibility."""
        return self._submit(Job(model, draw, Future(), shared))

    def _submit(self, job: Job) -> Future:
        with self.changed:
            self.waiting.append(job)
            self.changed.notify()
        return job.future

    def _next(self) -> list[Job]:
        with self.changed:
            while not self.waiting:
                self.changed.wait()
            first = self.waiting.popleft()
            others = [job for job in self.waiting if job.joins(first)][: BATCH_ROWS - 1]
            for job in others:
                self.waiting.remove(job)
            return [first, *others]

    def _run(self) -> None:
        torch.set_num_threads(self.threads)  # each thread has its own number, which the order of sums depends on
        while True:
            jobs = [job for job in self._next() if job.future.set_running_or_notify_cancel()]
            if not jobs:
                continue
            try:
                results = self._work(jobs)
            except Exception as error:  # belongs to the requests, the thread goes on
                for job in jobs:
                    job.future.set_exception(error)
            else:
                for job, result in zip(jobs, results, strict=True):
                    job.future.set_result(result)

    def _work(self, jobs: list[Job]) -> list[object]:
        served = self.registry.get(jobs[0].model)
        if not isinstance(jobs[0].work, Draw):
            return [jobs[0].work(served)]
        try:
            return sample(served.model, served.end_ids, [job.work for job in jobs])
        except ArithmeticError as error:
            raise ApiError(500, f"the model {served.name!r} cannot be sampled from: {error}", "model", "not_finite") from error
