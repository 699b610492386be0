"""POST /v1/completions: `n` completions of each of a list of prompts."""

from fastapi import APIRouter, Request, Response
from pydantic import Field

from genenv_trainer.serving.drawing import draw_rows, sampling_params
from genenv_trainer.serving.fields import SamplingRequest
from genenv_trainer.serving.limits import check_budget
from genenv_trainer.serving.loaded_model import LoadedModel
from genenv_trainer.serving.prompts import Prompts, check_ids, completion_limit, encode
from genenv_trainer.serving.responses import before_stop, build_response, envelope, seed_of, text_of
from genenv_trainer.serving.sampler import Row, SamplingParams

router = APIRouter()


class CompletionRequest(SamplingRequest):
    prompt: Prompts
    max_tokens: int | None = Field(default=16, ge=1)
    logprobs: int | None = Field(default=None, ge=0, le=5)


def prepare_sampling(request: CompletionRequest, seed: int, loaded: LoadedModel) -> SamplingParams:
    prompts = [encode(loaded, prompt, "prompt") for prompt in request.prompt]
    check_ids(loaded, prompts, "prompt")
    limit = completion_limit(loaded, prompts, request.max_tokens or 16, "prompt")
    top = request.logprobs or 0
    check_budget(len(prompts) * request.samples, max(map(len, prompts)), limit, top, "logprobs")
    return sampling_params(request, seed, loaded, prompts, limit, top)


def logprobs_of(loaded: LoadedModel, row: Row) -> dict:
    """OpenAI's parallel lists over the tokens; `text_offset` counts characters of the tokens' texts before
    each."""
    tokens = [loaded.token_text(token) for token in row.token_ids]
    offsets = [0]
    for token in tokens[:-1]:
        offsets.append(offsets[-1] + len(token))
    return {
        "tokens": tokens,
        "token_logprobs": row.logprobs,
        "top_logprobs": [top_of(loaded, row, step) for step in range(len(tokens))] if row.top else None,
        "text_offset": offsets,
    }


def top_of(loaded: LoadedModel, row: Row, step: int) -> dict[str, float]:
    """The most probable tokens of a step by text, and the sampled one."""
    best = {loaded.token_text(token): value for token, value in row.top[step]}
    return {loaded.token_text(row.token_ids[step]): row.logprobs[step]} | best


def choice(request: CompletionRequest, loaded: LoadedModel, index: int, row: Row, prompt: list[int]) -> dict:
    answer = {
        "index": index,
        "text": before_stop(text_of(loaded.tokenizer, row.token_ids), request.stops),
        "finish_reason": row.finish_reason,
        "logprobs": None if request.logprobs is None else logprobs_of(loaded, row),
    }
    if request.return_token_ids:
        answer |= {"token_ids": row.token_ids, "prompt_token_ids": prompt}
    return answer


@router.post("/v1/completions")
async def completions(request: CompletionRequest, http: Request) -> Response:
    request.check()
    check_budget(len(request.prompt) * request.samples, 0, request.max_tokens or 16)
    seed = seed_of(request)
    draw = await draw_rows(http, request, lambda loaded: prepare_sampling(request, seed, loaded))

    def answer() -> dict:
        choices = [
            choice(request, draw.loaded, index, row, draw.params.prompts[index // draw.params.n])
            for index, row in enumerate(draw.rows)
        ]
        body = envelope("cmpl", "text_completion", request, seed)
        return body | {"choices": choices, "usage": draw.usage}

    return await build_response(answer)
