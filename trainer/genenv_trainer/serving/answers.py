"""What the answers of both kinds of completion share. An answer is a function of its request, seed included."""

import hashlib
import json
import secrets

from fastapi import Response

from genenv_trainer.serving.fields import SamplingRequest


def json_response(body: dict) -> Response:
    text = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Response(text, media_type="application/json")


def seed_of(request: SamplingRequest) -> int:
    """The request's seed, or a new one that a JavaScript number holds."""
    return secrets.randbits(53) if request.seed is None else request.seed


def envelope(prefix: str, kind: str, request: SamplingRequest, seed: int) -> dict:
    """The head of an answer. The id is a hash of the request and `created` is 0, so that equal requests have equal answers."""
    digest = hashlib.sha256(f"{request.model_dump_json()}{seed}".encode()).hexdigest()
    return {"id": f"{prefix}-{digest[:24]}", "object": kind, "created": 0, "model": request.model, "seed": seed}


def usage(prompts: list[list[int]], completion_tokens: int) -> dict:
    prompt_tokens = sum(map(len, prompts))
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
    }
