"""Cuts a request that takes more memory than there is into parts that are drawn one after the other.

A row's random numbers follow from its place in the request, so they are those of the request drawn at once.
"""

from dataclasses import replace

from genenv_trainer.serving.errors import invalid_field
from genenv_trainer.serving.footprint import Footprint
from genenv_trainer.serving.sampler import SamplingParams


def parts_that_fit(params: SamplingParams, footprint: Footprint) -> list[SamplingParams]:
    """The request itself if it fits, else the parts of its halves: together its rows, in its order. Raises a
    400 if a single row does not fit."""
    if footprint.fits([params]):
        return [params]
    if len(params.prompts) == params.n == 1:
        raise invalid_field(
            "max_tokens",
            f"one completion of {params.max_tokens} tokens after a prompt of {len(params.prompts[0])} takes "
            f"{footprint.draw_bytes([params]) >> 20} MiB with this model; it may take "
            f"{footprint.limit >> 20} MiB of the memory",
            "too_large",
        )
    return [part for half in halves(params) for part in parts_that_fit(half, footprint)]


def halves(params: SamplingParams) -> list[SamplingParams]:
    """The first and the last half of a request's rows: by prompts, or by samples if there is one prompt."""
    if len(params.prompts) > 1:
        middle = len(params.prompts) // 2
        return [
            replace(params, prompts=params.prompts[:middle]),
            replace(params, prompts=params.prompts[middle:], first_prompt=params.first_prompt + middle),
        ]
    middle = params.n // 2
    return [
        replace(params, n=middle),
        replace(params, n=params.n - middle, first_sample=params.first_sample + middle),
    ]
