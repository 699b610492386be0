"""Samples the rows that a completion or a chat completion asks for, as long as its client waits."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from fastapi import Request

from genenv_trainer.serving.engine import Engine, while_wanted
from genenv_trainer.serving.fields import SamplingRequest
from genenv_trainer.serving.loaded_model import LoadedModel
from genenv_trainer.serving.responses import stop_check, usage
from genenv_trainer.serving.sampler import Row, SamplingParams


@dataclass(frozen=True)
class Draw:
    """The rows of a request, by prompt and then sample, the model that they come from, and the tokens used."""

    loaded: LoadedModel
    params: SamplingParams
    rows: list[Row]
    usage: dict[str, int]


def sampling_params(
    request: SamplingRequest,
    seed: int,
    loaded: LoadedModel,
    prompts: list[list[int]],
    max_tokens: int,
    top: int,
) -> SamplingParams:
    """What a request asks for, once its prompts are tokens, and its limit and number of alternatives to each
    token are settled. Raises a 400 for a structure that answers cannot be held to."""
    return SamplingParams(
        prompts,
        request.samples,
        seed,
        request.effective_temperature,
        max_tokens,
        top,
        stop_check(loaded.tokenizer, request.stops),
        threading.Event(),
        structure=request.structure and loaded.compile(request.structure),
    )


async def draw_rows(
    http: Request, request: SamplingRequest, prepare: Callable[[LoadedModel], SamplingParams]
) -> Draw:
    """Samples what `prepare` makes of the request on the engine's thread, and counts the tokens. Raises
    ApiError."""
    engine: Engine = http.app.state.engine
    preparation = engine.call(request.model, lambda loaded: (loaded, prepare(loaded)))
    loaded, params = await while_wanted(http, preparation)
    shared = request.seed is None and len(params.prompts) * params.n == 1
    rows = await while_wanted(http, engine.sample(loaded, params, shared), params.unwanted)
    tokens = usage(params.prompts, sum(len(row.token_ids) for row in rows))
    http.app.state.metrics.count_tokens(tokens)
    return Draw(loaded, params, rows, tokens)
