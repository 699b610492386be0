"""The processes of one training job, which torch calls ranks: whose a micro-batch is, and what all agree on.

What a job writes does not depend on their number: a micro-batch is computed by one of them, and its numbers are
added up in the order of the micro-batches (gradient_sum.py).
"""

import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from functools import cache
from typing import TypeVar

from genenv_trainer import errors
from genenv_trainer.errors import InvalidConfig, JobError, NotFinite, OutOfMemory, RankLost, is_out_of_memory

T = TypeVar("T")

MAX_WAIT = timedelta(minutes=30)
"""Time that a process waits for the others: more than the longest load or save. A worker that watches the job
ends one that hangs much sooner, since its progress stands still."""

MAX_RANKS = 4096

LOOPBACK = {"localhost", "127.0.0.1", "::1"}


class Ranks:
    """This process among the `size` of its job. One process alone needs no torch.distributed."""

    def __init__(self, rank: int = 0, size: int = 1, local_rank: int = 0):
        self.rank, self.size, self.local_rank = rank, size, local_rank
        self.in_lockstep = False
        """Whether every process runs the model in each round, since it holds but a part of the weights."""
        self._uses_cuda = False
        self._agreed_error: Exception | None = None

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> "Ranks":
        """What torchrun says in the environment. Raises InvalidConfig."""
        size = _number(environment, "WORLD_SIZE", 1)
        rank = _number(environment, "RANK", 0)
        if not 1 <= size <= MAX_RANKS:
            raise InvalidConfig(f"WORLD_SIZE: {size} is not allowed; it must be 1 to {MAX_RANKS}")
        if rank >= size:
            raise InvalidConfig(f"RANK: {rank} is not allowed; it must be less than WORLD_SIZE, {size}")
        return cls(rank, size, _number(environment, "LOCAL_RANK", rank))

    @property
    def is_first(self) -> bool:
        """Whether this process writes what the job reports and leaves behind."""
        return self.rank == 0

    def join(self, uses_cuda: bool) -> None:
        """Meet the other processes. Numbers travel over gloo, gradients on a GPU over NCCL. Raises RankLost."""
        if self.size == 1:
            return
        import torch.distributed as dist

        if os.environ.get("MASTER_ADDR") in LOOPBACK:
            os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo" if sys.platform == "linux" else "lo0")
        self._uses_cuda = uses_cuda
        backend = "cpu:gloo,cuda:nccl" if uses_cuda else "gloo"
        _collective(lambda: dist.init_process_group(backend, timeout=MAX_WAIT))

    @cache
    def mesh(self):
        """All processes in a row, for weights in parts. All must call it first at the same time."""
        from torch.distributed.device_mesh import init_device_mesh

        return init_device_mesh("cuda" if self._uses_cuda else "cpu", (self.size,))

    def leave(self, error: Exception | None) -> None:
        """Wait until every process is here, so that none is ended while the first one writes. A process whose
        `error` the others do not know of, or that has lost them, waits for nobody."""
        if self.size == 1 or not self.is_known(error):
            return
        try:
            self._exchange({})
        except RankLost:
            pass

    def is_known(self, error: Exception | None) -> bool:
        """Whether all processes have ended like this one."""
        return error is None or error is self._agreed_error

    def loss_of(self, error: Exception) -> RankLost | None:
        """What an error of torch says, if it is that another process has gone in the midst of the model."""
        words = ("onnection closed by peer", "onnection reset by peer", "Timed out waiting", "Broken pipe", "NCCL error")
        is_loss = self.size > 1 and isinstance(error, RuntimeError) and any(word in str(error) for word in words)
        return _lost(error) if is_loss else None

    def gather(self, work: Callable[[], T]) -> list[T]:
        """Values of `work` (as JSON) in all processes, by rank. If it fails in one, all raise that error; of
        several that of the lowest rank."""
        if self.size == 1:
            return [work()]
        own = None
        try:
            answer = {"value": work()}
        except RankLost:
            raise
        except Exception as error:
            own, answer = error, {"error": _described(error)}
        answers = self._exchange(answer)
        for rank, answer in enumerate(answers):
            if "error" in answer:
                self._agreed_error = own if rank == self.rank else _error_of(rank, answer["error"])
                raise self._agreed_error
        return [answer["value"] for answer in answers]

    def agree(self, work: Callable[[], T]) -> T:
        """What `work` gives here, once it has succeeded in every process. Else all raise."""
        values: list[T] = []
        self.gather(lambda: values.append(work()))
        return values[0]

    def first(self, work: Callable[[], T]) -> T:
        """What `work` (as JSON) gives in the first process, which alone runs it."""
        return self.gather(lambda: work() if self.is_first else None)[0]

    def in_order(self, count: int, compute: Callable[[int], T], check: Callable[[], None]) -> Iterator[T]:
        """compute(0), …, compute(count - 1) in this order, in every process; one of them computes each. `check`
        runs before each, and may raise."""
        for start in range(0, count, self.size):
            own = start + self.rank
            if self.in_lockstep:
                answers = self._compute_together(lambda: compute(min(own, count - 1)), check)
            else:
                answers = self.gather(lambda: (check(), compute(own))[1] if own < count else None)
            yield from answers[: count - start]

    def _compute_together(self, compute: Callable[[], T], check: Callable[[], None]) -> list[T]:
        """Values of `compute`, which waits for the other processes itself. An error in it ends this process, and
        thereby the others: those that wait for a part of the weights could not be told of it."""
        self.agree(check)
        return [answer["value"] for answer in self._exchange({"value": compute()})]

    def is_owner(self, index: int) -> bool:
        """Whether this process is the one that computes `index` of `in_order`."""
        return index % self.size == self.rank

    def broadcast(self, tensor, index: int) -> None:
        """Fill `tensor` with what it is in the owner of `index`. Raises RankLost."""
        import torch.distributed as dist

        _collective(lambda: dist.broadcast(tensor, src=index % self.size))

    def _exchange(self, answer: dict) -> list[dict]:
        """What every process has to say, as JSON (which keeps each float as it is). Raises RankLost."""
        import torch
        import torch.distributed as dist

        text = json.dumps(answer).encode()
        lengths = [torch.zeros(1, dtype=torch.long) for _ in range(self.size)]
        _collective(lambda: dist.all_gather(lengths, torch.tensor([len(text)])))
        longest = max(int(length) for length in lengths)
        own = torch.frombuffer(bytearray(text.ljust(longest)), dtype=torch.uint8)
        texts = [torch.empty(longest, dtype=torch.uint8) for _ in range(self.size)]
        _collective(lambda: dist.all_gather(texts, own))
        return [json.loads(text.numpy().tobytes()) for text in texts]


def _number(environment: Mapping[str, str], name: str, default: int) -> int:
    text = environment.get(name, str(default))
    if not re.fullmatch("[0-9]{1,9}", text):
        raise InvalidConfig(f"{name}: {text[:40]!r} is not allowed; it must be a number, as torchrun sets it")
    return int(text)


def _collective(call: Callable[[], None]) -> None:
    """Raises RankLost if another process has ended or does not answer."""
    try:
        call()
    except (RuntimeError, ValueError) as error:
        if is_out_of_memory(error):
            raise
        raise _lost(error) from error


def _lost(error: Exception) -> RankLost:
    problem = str(error).partition("\n")[0][:300]
    return RankLost(
        f"another process of this job has ended or does not answer ({problem}); look for it in log.txt"
    )


def _described(error: Exception) -> dict[str, str | None]:
    """What the other processes must know to raise the same error."""
    if isinstance(error, (JobError, NotFinite)):
        kind, message = type(error).__name__, str(error)
    else:
        kind = OutOfMemory.__name__ if is_out_of_memory(error) else JobError.__name__
        message = f"{type(error).__name__}: {error}"
    return {"kind": kind, "message": message, "file": getattr(error, "file", None)}


def _error_of(rank: int, description: dict[str, str | None]) -> Exception:
    kind = getattr(errors, description["kind"], JobError)
    # The text of a step that is not finite goes into the result, which names no process.
    prefix = "" if kind is NotFinite else f"process {rank}: "
    error = kind(f"{prefix}{description['message']}")
    if description["file"] is not None:
        error.file = description["file"]
    return error
