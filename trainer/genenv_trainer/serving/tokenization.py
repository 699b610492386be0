"""POST /tokenize and /detokenize: what the model's tokenizer makes of a text, of messages, of token ids."""

import asyncio

from fastapi import APIRouter, Request, Response

from genenv_trainer.serving.answers import json_response
from genenv_trainer.serving.chat import Message, encode_messages
from genenv_trainer.serving.errors import invalid_field
from genenv_trainer.serving.fields import ModelRequest
from genenv_trainer.serving.prompts import check_ids, encode
from genenv_trainer.serving.served import Served

router = APIRouter()


class TokenizeRequest(ModelRequest):
    prompt: str | None = None
    messages: list[Message] | None = None
    add_special_tokens: bool = True


class DetokenizeRequest(ModelRequest):
    tokens: list[int]


def tokens_of(request: TokenizeRequest, served: Served) -> dict:
    if request.messages is None:
        tokens = encode(served, request.prompt, "prompt", request.add_special_tokens)
    else:
        tokens = encode_messages(served, request.messages)
    return {"tokens": tokens, "count": len(tokens), "max_model_len": served.max_length}


def text_with_specials(request: DetokenizeRequest, served: Served) -> dict:
    if request.tokens:
        check_ids(served, [request.tokens], "tokens")
    return {"prompt": served.tokenizer.decode(request.tokens, clean_up_tokenization_spaces=False)}


@router.post("/tokenize")
async def tokenize(request: TokenizeRequest, http: Request) -> Response:
    request.check_extra()
    if (request.prompt is None) == (request.messages is None):
        raise invalid_field("prompt", "give either prompt or messages")
    work = http.app.state.engine.call(request.model, lambda served: tokens_of(request, served))
    return json_response(await asyncio.wrap_future(work))


@router.post("/detokenize")
async def detokenize(request: DetokenizeRequest, http: Request) -> Response:
    request.check_extra()
    work = http.app.state.engine.call(request.model, lambda served: text_with_specials(request, served))
    return json_response(await asyncio.wrap_future(work))
