"""What the responses of both kinds of completion share: their text up to a stop string, envelope and usage.

A response is a function of its request, seed included.
"""

import hashlib
import json
import secrets
from asyncio import get_running_loop
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from fastapi import Response
from transformers import PreTrainedTokenizerBase

from genenv_trainer.serving.fields import SamplingRequest

MARGIN = 4
"""Tokens decoded beyond the longest stop string's bytes: a character cut in two, and a decoder's leading
space."""


def text_of(tokenizer: PreTrainedTokenizerBase, token_ids: list[int]) -> str:
    return tokenizer.decode(token_ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)


def stop_check(tokenizer: PreTrainedTokenizerBase, stops: list[str]) -> Callable[[list[int]], bool] | None:
    """Whether the end of the tokens sampled so far holds a stop string; None where there are none.

    Only the last tokens are decoded, as many as the longest stop string has bytes (a token is at least one)
    and MARGIN.
    """
    if not stops:
        return None
    window = max(len(stop.encode()) for stop in stops) + MARGIN

    def stopped(token_ids: list[int]) -> bool:
        tail = text_of(tokenizer, token_ids[-window:])
        return any(stop in tail for stop in stops)

    return stopped


def before_stop(text: str, stops: list[str]) -> str:
    """The text before the first stop string in it."""
    return text[: min([at for stop in stops if (at := text.find(stop)) >= 0], default=len(text))]


def json_response(body: dict) -> Response:
    text = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Response(text, media_type="application/json")


_answers = ThreadPoolExecutor(1, "answers")
"""One thread: tokenizers are not made for several."""


async def build_response(build: Callable[[], dict]) -> Response:
    """The answer that `build` makes, as JSON. It is made beside the event loop, which other requests wait for:
    an answer may have a million alternatives to its tokens."""
    return await get_running_loop().run_in_executor(_answers, lambda: json_response(build()))


def seed_of(request: SamplingRequest) -> int:
    """The request's seed, or a new one that a JavaScript number holds."""
    return secrets.randbits(53) if request.seed is None else request.seed


def envelope(prefix: str, kind: str, request: SamplingRequest, seed: int) -> dict:
    """The head of a response. The id is a hash of the request and `created` is 0, so that equal requests
    have equal responses."""
    digest = hashlib.sha256(f"{request.model_dump_json()}{seed}".encode()).hexdigest()
    return {
        "id": f"{prefix}-{digest[:24]}",
        "object": kind,
        "created": 0,
        "model": request.model,
        "seed": seed,
    }


def usage(prompts: list[list[int]], completion_tokens: int) -> dict:
    prompt_tokens = sum(map(len, prompts))
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
    }
