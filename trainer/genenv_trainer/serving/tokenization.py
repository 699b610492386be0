"""POST /tokenize and /detokenize: what the model's tokenizer makes of a text, of messages, of token ids."""

from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import Field

from genenv_trainer.serving.chat import Message, encode_messages
from genenv_trainer.serving.engine import while_wanted
from genenv_trainer.serving.errors import invalid_field
from genenv_trainer.serving.fields import ModelRequest
from genenv_trainer.serving.loaded_model import LoadedModel
from genenv_trainer.serving.prompts import check_ids, encode
from genenv_trainer.serving.responses import json_response

router = APIRouter()


class TokenizeRequest(ModelRequest):
    prompt: str | None = None
    messages: Annotated[list[Message], Field(fail_fast=True)] | None = None
    add_special_tokens: bool = True


class DetokenizeRequest(ModelRequest):
    tokens: list[int] = Field(fail_fast=True)


def tokens_of(request: TokenizeRequest, loaded: LoadedModel) -> dict:
    if request.messages is None:
        tokens = encode(loaded, request.prompt, "prompt", request.add_special_tokens)
    else:
        tokens = encode_messages(loaded, request.messages)
    return {"tokens": tokens, "count": len(tokens), "max_model_len": loaded.max_length}


def text_with_specials(request: DetokenizeRequest, loaded: LoadedModel) -> dict:
    if request.tokens:
        check_ids(loaded, [request.tokens], "tokens")
    return {"prompt": loaded.tokenizer.decode(request.tokens, clean_up_tokenization_spaces=False)}


@router.post("/tokenize")
async def tokenize(request: TokenizeRequest, http: Request) -> Response:
    request.check_extra()
    if (request.prompt is None) == (request.messages is None):
        raise invalid_field("prompt", "give either prompt or messages")
    work = http.app.state.engine.call(request.model, lambda loaded: tokens_of(request, loaded))
    return json_response(await while_wanted(http, work))


@router.post("/detokenize")
async def detokenize(request: DetokenizeRequest, http: Request) -> Response:
    request.check_extra()
    work = http.app.state.engine.call(request.model, lambda loaded: text_with_specials(request, loaded))
    return json_response(await while_wanted(http, work))
