"""Learning-rate schedules are those of transformers, to rounding."""

import pytest
import torch
from transformers import get_scheduler

from genenv_trainer.optimizer import rate_multiple

TOTAL = 10


def transformers_multiples(schedule: str, warmup: int, steps: int) -> list[float]:
    """Multiples of the learning rate that transformers' scheduler gives in the first `steps` steps."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    name = "constant_with_warmup" if schedule == "constant" else schedule
    scheduler = get_scheduler(name, optimizer, warmup, TOTAL)
    multiples = []
    for _ in range(steps):
        multiples.append(scheduler.get_last_lr()[0])
        optimizer.step()
        scheduler.step()
    return multiples


@pytest.mark.parametrize("schedule", ["constant", "linear", "cosine"])
@pytest.mark.parametrize("warmup", [0, 3])
def test_schedule_equals_transformers(schedule, warmup):
    ours = [rate_multiple(schedule, position, warmup, TOTAL) for position in range(TOTAL)]
    assert ours == pytest.approx(transformers_multiples(schedule, warmup, TOTAL), abs=1e-12)


def test_why_the_schedule_is_our_own():
    """Theirs rounds differently, and its cosine rises again after the last step: a policy's next job may
    go beyond it."""
    linear = [rate_multiple("linear", position, 0, TOTAL) for position in range(TOTAL)]
    assert linear != transformers_multiples("linear", 0, TOTAL)
    assert transformers_multiples("cosine", 0, 2 * TOTAL + 1)[-1] == 1
    assert rate_multiple("cosine", 2 * TOTAL, 0, TOTAL) == rate_multiple("linear", 2 * TOTAL, 0, TOTAL) == 0
