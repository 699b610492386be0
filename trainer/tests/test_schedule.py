"""Schedules equal those of transformers."""

import pytest
import torch
from transformers import get_scheduler

from genenv_trainer.schedule import rate_multiple


@pytest.mark.parametrize("schedule, theirs", [("constant", "constant_with_warmup"), ("linear", "linear"), ("cosine", "cosine")])
@pytest.mark.parametrize("warmup", [0, 3])
def test_schedule_equals_transformers(schedule, theirs, warmup):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    scheduler = get_scheduler(theirs, optimizer, warmup, 10)
    for position in range(10):
        assert rate_multiple(schedule, position, warmup, 10) == pytest.approx(scheduler.get_last_lr()[0], abs=1e-12)
        optimizer.step()
        scheduler.step()
