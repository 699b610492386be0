"""POST /v1/completions: `n` completions of each of a list of prompts."""

import asyncio

from fastapi import APIRouter, Request, Response
from pydantic import Field

from genenv_trainer.serving.answers import envelope, json_response, seed_of, usage
from genenv_trainer.serving.engine import Engine
from genenv_trainer.serving.fields import SamplingRequest
from genenv_trainer.serving.prompts import Prompts, check_ids, completion_limit, encode
from genenv_trainer.serving.sampler import Draw, Row
from genenv_trainer.serving.served import Served
from genenv_trainer.serving.stop_strings import before_stop, stop_check, text_of

router = APIRouter()


class CompletionRequest(SamplingRequest):
    prompt: Prompts
    max_tokens: int | None = Field(default=16, ge=1)
    logprobs: int | None = Field(default=None, ge=0, le=5)


def prepare(request: CompletionRequest, seed: int, served: Served) -> tuple[Served, Draw]:
    prompts = [encode(served, prompt, "prompt") for prompt in request.prompt]
    check_ids(served, prompts, "prompt")
    limit = completion_limit(served, prompts, request.max_tokens or 16, "prompt")
    stopped = stop_check(served.tokenizer, request.stops)
    return served, Draw(prompts, request.samples, seed, request.heat, limit, request.logprobs or 0, stopped)


def logprobs_of(served: Served, row: Row) -> dict:
    """OpenAI's parallel lists over the tokens; `text_offset` counts characters of the tokens' texts before each."""
    tokens = [served.token_text(token) for token in row.token_ids]
    offsets = [0]
    for token in tokens[:-1]:
        offsets.append(offsets[-1] + len(token))
    return {
        "tokens": tokens,
        "token_logprobs": row.logprobs,
        "top_logprobs": [top_of(served, row, step) for step in range(len(tokens))] if row.top else None,
        "text_offset": offsets,
    }


def top_of(served: Served, row: Row, step: int) -> dict[str, float]:
    """The most probable tokens of a step by text, and the sampled one."""
    best = {served.token_text(token): value for token, value in row.top[step]}
    return {served.token_text(row.token_ids[step]): row.logprobs[step]} | best


def choice(request: CompletionRequest, served: Served, index: int, row: Row, prompt: list[int]) -> dict:
    answer = {
        "index": index,
        "text": before_stop(text_of(served.tokenizer, row.token_ids), request.stops),
        "finish_reason": row.finish_reason,
        "logprobs": None if request.logprobs is None else logprobs_of(served, row),
    }
    if request.return_token_ids:
        answer |= {"token_ids": row.token_ids, "prompt_token_ids": prompt}
    return answer


@router.post("/v1/completions")
async def completions(request: CompletionRequest, http: Request) -> Response:
    request.check()
    engine: Engine = http.app.state.engine
    seed = seed_of(request)
    served, draw = await asyncio.wrap_future(engine.call(request.model, lambda served: prepare(request, seed, served)))
    shared = request.seed is None and len(draw.prompts) * draw.n == 1
    rows = await asyncio.wrap_future(engine.sample(request.model, draw, shared))
    choices = [choice(request, served, index, row, draw.prompts[index // draw.n]) for index, row in enumerate(rows)]
    body = envelope("cmpl", "text_completion", request, seed)
    return json_response(body | {"choices": choices, "usage": usage(draw.prompts, sum(len(row.token_ids) for row in rows))})
