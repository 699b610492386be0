"""Gradients of several processes: memory is taken before any of them waits for another."""

import pytest
import torch

from genenv_trainer.errors import OutOfMemory
from genenv_trainer.gradient_sum import GradientSum
from genenv_trainer.ranks import Ranks

LACKS = {"error": {"kind": "OutOfMemory", "message": "RuntimeError: not enough memory", "file": None}}


class Two(Ranks):
    """The first of two processes. The other one says `answer`; its gradients are ones."""

    def __init__(self, answer: dict | None = None):
        super().__init__(0, 2)
        self._answer, self.said = answer or {"value": None}, []

    def broadcast(self, tensor: torch.Tensor, index: int) -> None:
        if self.is_owner(index):
            return
        assert "error" not in self.said[-1] and "error" not in self._answer, "it waits for ever"
        tensor.fill_(1)

    def _exchange(self, answer: dict) -> list[dict]:
        self.said.append(answer)
        return [answer, self._answer]


def parameters() -> list[torch.nn.Parameter]:
    return [torch.nn.Parameter(torch.zeros(shape)) for shape in ((2, 3), (4,), (2,))]


def test_gradients_are_added_in_the_order_of_the_micro_batches():
    own, ranks = parameters(), Two()
    gradients = GradientSum(own, ranks, None)
    gradients.start(0, 4)
    own[0].grad, own[1].grad = torch.full((2, 3), 0.1), torch.full((4,), -0.0)
    gradients.add(0, gradients.missing())
    assert gradients._totals[1].signbit().all(), "the first one is not added to 0"
    gradients.add(1, [1])
    gradients.start(2, 4)
    own[0].grad, own[1].grad = torch.full((2, 3), 0.3), torch.full((4,), 0.2)
    gradients.add(2, gradients.missing())
    gradients.finish()
    assert torch.equal(own[0].grad, torch.tensor(0.1) + torch.ones(2, 3) + torch.tensor(0.3))
    assert torch.equal(own[1].grad, torch.full((4,), 0.2)) and torch.equal(own[2].grad, torch.ones(2))
    assert ranks.said == [{"value": None}] * 3, "gradients are no JSON"


@pytest.mark.parametrize(
    ("index", "function"), [(0, "empty_like"), (0, "cat"), (1, "empty_like"), (1, "empty")]
)
def test_a_process_that_lacks_memory_for_them_tells_the_other(monkeypatch, index, function):
    def fail(*_, **__):
        raise RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 64 bytes")

    own, ranks = parameters(), Two()
    gradients = GradientSum(own, ranks, None)
    gradients.start(index, 2)
    monkeypatch.setattr(torch, function, fail)
    with pytest.raises(RuntimeError, match="not enough memory"):
        gradients.add(index, [])
    assert [answer["error"]["kind"] for answer in ranks.said] == ["OutOfMemory"]


def test_a_process_hears_that_another_lacks_memory():
    gradients = GradientSum(parameters(), Two(LACKS), None)
    with pytest.raises(OutOfMemory, match="process 1: RuntimeError: not enough memory"):
        gradients.add(1, [])
