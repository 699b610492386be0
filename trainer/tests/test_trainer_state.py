"""The random state that a job leaves: that of the processor, and of the job's own GPU."""

import base64

import pytest
import torch

from genenv_trainer.trainer_state import capture_random_state, restore_random_state

STATES = [torch.arange(number, number + 16, dtype=torch.uint8) for number in (1, 50)]


@pytest.fixture
def restored(monkeypatch) -> list[list[int]]:
    """What the random state of the GPU is set to, on a machine with one that is in use."""
    restored = []
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_rng_state", lambda device: STATES[0])
    monkeypatch.setattr(torch.cuda, "get_rng_state_all", lambda: STATES)
    monkeypatch.setattr(torch.cuda, "set_rng_state", lambda state: restored.append(state.tolist()))
    monkeypatch.setattr(torch.cuda, "set_rng_state_all", fail)
    return restored


def fail(states: list[torch.Tensor]) -> None:
    """As torch does with states of more GPUs than there are."""
    raise IndexError("tuple index out of range")


def encoded(state: torch.Tensor) -> str:
    return base64.b64encode(state.numpy().tobytes()).decode()


@pytest.mark.parametrize(
    ("device", "cuda"), [("cuda", [encoded(STATES[0])]), ("cpu", []), (None, [])], ids=["cuda", "cpu", "none"]
)
def test_only_the_state_of_the_jobs_own_gpu_is_kept(restored, device, cuda):
    state = capture_random_state(device and torch.device(device))
    assert state == {"cpu": encoded(torch.get_rng_state()), "cuda": cuda}
    restore_random_state(state)
    assert restored == [STATES[0].tolist()] * len(cuda)


def test_a_state_of_several_gpus_is_read_where_there_is_one(restored):
    """As versions wrote it that kept the state of every GPU they saw."""
    cuda = [encoded(state) for state in STATES]
    restore_random_state({"cpu": encoded(torch.get_rng_state()), "cuda": cuda})
    assert restored == [STATES[0].tolist()]


def test_a_processor_goes_on_from_the_state_of_a_gpu():
    before = capture_random_state(torch.device("cpu"))
    drawn = torch.rand(3)
    restore_random_state(before | {"cuda": [encoded(STATES[0])]})
    assert torch.equal(torch.rand(3), drawn)
