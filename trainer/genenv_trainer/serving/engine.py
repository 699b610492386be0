"""One thread that does all of the model's work, a request at a time; small unseeded ones that wait
together share a batch, and large ones are drawn in parts."""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass

import torch
from fastapi import Request

from genenv_trainer.serving.errors import ApiError, invalid_field
from genenv_trainer.serving.footprint import Footprint
from genenv_trainer.serving.loaded_model import LoadedModel
from genenv_trainer.serving.parts import parts_that_fit
from genenv_trainer.serving.registry import Registry
from genenv_trainer.serving.sampler import Row, SamplingParams, sample
from genenv_trainer.serving.structure import NoTokenAllowed

BATCH_ROWS = 128
"""Rows of a batch made out of single requests, at most."""


@dataclass
class WorkItem:
    """Work with one model: the parts of a request to sample, alone or, if it has a single row, in a shared
    batch; or any other function of the model."""

    model: str
    work: list[SamplingParams] | Callable[[LoadedModel], object]
    future: Future
    shared: bool = False
    footprint: Footprint | None = None

    def joins(self, other: "WorkItem") -> bool:
        return self.shared and other.shared and self.model == other.model


class Engine:
    def __init__(self, registry: Registry, threads: int):
        self.registry, self.threads = registry, threads
        self.waiting: deque[WorkItem] = deque()
        self.changed = threading.Condition()
        self.began: float | None = None
        threading.Thread(target=self._run, name="engine", daemon=True).start()

    def call(self, model: str, work: Callable[[LoadedModel], object]) -> Future:
        """Runs `work` on the loaded model: tokenising, which needs no batch."""
        return self._submit(WorkItem(model, work, Future()))

    def sample(self, loaded: LoadedModel, params: SamplingParams, shared: bool) -> Future:
        """Rows of one request; `shared` lets it run in one batch with others like it, at the price of
        reproducibility. Raises a 400 for a row that takes more memory than there is for it."""
        parts = parts_that_fit(params, loaded.footprint)
        return self._submit(WorkItem(loaded.name, parts, Future(), shared, loaded.footprint))

    def busy_seconds(self) -> float:
        """How long the engine has been at what it does now, a part of a request if it draws; 0 if it does
        nothing."""
        began = self.began
        return 0 if began is None else time.monotonic() - began

    def _submit(self, item: WorkItem) -> Future:
        with self.changed:
            self.waiting.append(item)
            self.changed.notify()
        return item.future

    def _next(self) -> list[WorkItem]:
        with self.changed:
            while not self.waiting:
                self.changed.wait()
            first = self.waiting.popleft()
            batch = [first]
            for item in [item for item in self.waiting if item.joins(first)]:
                if len(batch) < BATCH_ROWS and self._has_room([*batch, item]):
                    batch.append(item)
                    self.waiting.remove(item)
            return batch

    def _has_room(self, batch: list[WorkItem]) -> bool:
        return batch[0].footprint.fits([part for item in batch for part in item.work])

    def _run(self) -> None:
        # A thread has its own number of torch threads, which the order of sums depends on.
        torch.set_num_threads(self.threads)
        while True:
            items = [item for item in self._next() if item.future.set_running_or_notify_cancel()]
            if not items:
                continue
            self.began = time.monotonic()
            try:
                results = self._compute(items)
            except Exception as error:  # belongs to the requests: the thread continues
                for item in items:
                    item.future.set_exception(error)
            else:
                for item, result in zip(items, results, strict=True):
                    item.future.set_result(result)
            finally:
                self.began = None

    def _compute(self, items: list[WorkItem]) -> list[object]:
        loaded = self.registry.get(items[0].model)
        if callable(items[0].work):
            return [items[0].work(loaded)]
        if len(items) > 1:
            return self._draw(loaded, [part for item in items for part in item.work])
        return [[row for part in items[0].work for row in self._draw(loaded, [part])[0]]]

    def _draw(self, loaded: LoadedModel, batch: list[SamplingParams]) -> list[list[Row]]:
        self.began = time.monotonic()
        try:
            return sample(loaded.model, loaded.end_ids, batch)
        except NoTokenAllowed as error:
            message = "no token of the model can come next: its vocabulary lacks what the form asks for"
            raise invalid_field(str(error), message) from error
        except ArithmeticError as error:
            raise ApiError(
                500, f"the model {loaded.name!r} cannot be sampled from: {error}", "model", "not_finite"
            ) from error


async def while_wanted(http: Request, future: Future, unwanted: threading.Event | None = None) -> object:
    """The result of the engine's work, for whose end the client waits. Once it has gone, work that waits is
    dropped, and `unwanted` is set for work that is being done. Raises a 499, which nobody reads."""
    work = asyncio.wrap_future(future)
    gone = asyncio.ensure_future(_until_gone(http))
    try:
        await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            return work.result()
    finally:
        gone.cancel()
        if not work.done():
            work.cancel()
            if unwanted is not None:
                unwanted.set()
    raise ApiError(499, "the client has gone")


async def _until_gone(http: Request) -> None:
    while (await http.receive())["type"] != "http.disconnect":
        pass
