"""POST /completion_logprobs: how probable given completions are, by forward passes and without sampling."""

import math
import threading
from typing import Annotated

import torch
from fastapi import APIRouter, Request, Response
from pydantic import Field

from genenv_trainer.serving.engine import while_wanted
from genenv_trainer.serving.errors import ApiError, invalid_field
from genenv_trainer.serving.fields import ModelRequest
from genenv_trainer.serving.like_lengths import passes_of_like_length
from genenv_trainer.serving.limits import check_budget
from genenv_trainer.serving.loaded_model import LoadedModel
from genenv_trainer.serving.prompts import check_ids, completion_limit, encode
from genenv_trainer.serving.responses import json_response
from genenv_trainer.serving.sampler import Unwanted

router = APIRouter()

Texts = Annotated[list[str], Field(fail_fast=True, min_length=1)]
Pair = tuple[list[int], list[int]]
"""Token ids of a prompt, and of what follows it."""


class LogprobsRequest(ModelRequest):
    prompt: Texts
    completion: Texts


def encode_pairs(request: LogprobsRequest, loaded: LoadedModel) -> list[Pair]:
    """Raises a 400 for texts without tokens, and for a pair that is longer than the model's context."""
    prompts = [encode(loaded, text, "prompt") for text in request.prompt]
    check_ids(loaded, prompts, "prompt")
    completions = [
        encode(loaded, text, "completion", add_special_tokens=False) for text in request.completion
    ]
    pairs = list(zip(prompts, completions, strict=True))
    for prompt, completion in pairs:
        completion_limit(loaded, [prompt], len(completion) + 1, "prompt")
    check_budget(len(pairs), max(map(len, prompts)), max(map(len, completions)) + 1)
    return pairs


def passes_of(pairs: list[Pair], loaded: LoadedModel) -> list[list[int]]:
    """Indices of the pairs in passes of like length, none of which takes more than the memory of a draw. Raises a
    400 for a pair that takes more alone."""
    for prompt, completion in pairs:
        _check_memory(len(prompt), len(completion), loaded)
    token_bytes = loaded.footprint.computed + loaded.footprint.chosen
    lengths = [len(prompt) + len(completion) for prompt, completion in pairs]
    return passes_of_like_length(lengths, loaded.footprint.limit // token_bytes)


def _check_memory(prompt: int, completion: int, loaded: LoadedModel) -> None:
    """Logits are computed where the completion is, and of the prompt's last token."""
    footprint = loaded.footprint
    needed = (prompt + completion) * footprint.computed + (completion + 1) * footprint.chosen
    if needed > footprint.limit:
        raise invalid_field(
            "completion",
            f"a completion of {completion} tokens after a prompt of {prompt} takes {needed >> 20} MiB with this "
            f"model; it may take {footprint.limit >> 20} MiB of the memory",
            "too_large",
        )


@torch.inference_mode()
def completion_logprobs(loaded: LoadedModel, pairs: list[Pair]) -> list[float]:
    """log P(completion, then any token that ends a sequence | prompt) at temperature 1, for each pair:
    Σ_t log softmax(logits)[completion_t], and the log of the summed probability of the ending tokens. One
    forward pass over the rows, padded on the right, where causal attention does not see it. The sums are
    float64."""
    device = loaded.model.device
    length = max(len(prompt) + len(completion) for prompt, completion in pairs)
    ids_B_T = torch.zeros(len(pairs), length, dtype=torch.long)
    for row, (prompt, completion) in enumerate(pairs):
        ids_B_T[row, : len(prompt) + len(completion)] = torch.tensor(prompt + completion)
    first = min(len(prompt) for prompt, _ in pairs) - 1
    kept_K = torch.arange(first, length, device=device)
    logits_B_K_V = loaded.model(input_ids=ids_B_T.to(device), use_cache=False, logits_to_keep=kept_K).logits
    logprobs_B_K_V = torch.log_softmax(logits_B_K_V.float(), dim=-1)
    ends_E = torch.tensor(loaded.end_ids, device=device)
    totals = []
    for row, (prompt, completion) in enumerate(pairs):
        start = len(prompt) - 1 - first
        places_T = torch.arange(start, start + len(completion), device=device)
        chosen_T = logprobs_B_K_V[row, places_T, torch.tensor(completion, dtype=torch.long, device=device)]
        end = torch.logsumexp(logprobs_B_K_V[row, start + len(completion), ends_E].double(), dim=0)
        totals.append(float(chosen_T.double().sum() + end))
    return totals


def answer_of(
    request: LogprobsRequest, loaded: LoadedModel, unwanted: threading.Event
) -> tuple[list[Pair], list[float]]:
    """Raises Unwanted once nobody waits for the answer any more."""
    if not loaded.end_ids:
        raise invalid_field("model", f"{loaded.name!r} has no token that ends a sequence")
    pairs = encode_pairs(request, loaded)
    logprobs = [0.0] * len(pairs)
    for rows in passes_of(pairs, loaded):
        if unwanted.is_set():
            raise Unwanted
        values = completion_logprobs(loaded, [pairs[index] for index in rows])
        for index, logprob in zip(rows, values, strict=True):
            logprobs[index] = logprob
    if not all(map(math.isfinite, logprobs)):
        raise ApiError(500, f"the logits of the model {loaded.name!r} are not finite", "model", "not_finite")
    return pairs, logprobs


@router.post("/completion_logprobs")
async def logprobs_of_completions(request: LogprobsRequest, http: Request) -> Response:
    request.check_extra()
    if len(request.prompt) != len(request.completion):
        counts = f"got {len(request.completion)} for {len(request.prompt)} prompts"
        raise invalid_field("completion", f"{counts}; expected one for each")
    check_budget(len(request.prompt), 0, 1)
    unwanted = threading.Event()
    work = http.app.state.engine.call(request.model, lambda loaded: answer_of(request, loaded, unwanted))
    pairs, logprobs = await while_wanted(http, work, unwanted)
    read = sum(len(prompt) + len(completion) for prompt, completion in pairs)
    tokens = {"prompt_tokens": read, "completion_tokens": 0, "total_tokens": read}
    http.app.state.metrics.count_tokens(tokens)
    return json_response({"model": request.model, "logprobs": logprobs, "usage": tokens})
