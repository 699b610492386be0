"""The cache of a draw takes the memory that the footprint of its request counts."""

import torch
from tiny_models import save_model

from genenv_trainer.serving import cache as cache_module
from genenv_trainer.serving.footprint import Footprint
from genenv_trainer.serving.sampler import SamplingParams, sample

PROMPTS = [[5, 6, 7], [8], [9, 10, 11, 12, 13, 14]]


def test_a_cache_has_room_for_the_steps_that_are_left(tmp_path, monkeypatch):
    model = save_model(tmp_path, seed=3)
    made, plain = [], cache_module._with_room

    def recorded(states: torch.Tensor, steps: int) -> torch.Tensor:
        made.append(buffer := plain(states, steps))
        return buffer

    monkeypatch.setattr(cache_module, "_with_room", recorded)
    params = SamplingParams(PROMPTS, 8, 11, 1.0, 60)
    sample(model, [30], [params])  # token 30 ends a row, so that rows leave the batch
    rows = {buffer.shape[0] for buffer in made}
    assert max(rows) == 24 and len(rows) > 3
    assert {buffer.shape[2] for buffer in made} == {6 + 60}
    cached = Footprint.of(model.config, 4, 0).cached
    largest = sum(buffer.nbytes for buffer in made if buffer.shape[0] == 24)
    assert largest == 24 * (6 + 60) * cached
