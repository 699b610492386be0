"""POST /v1/chat/completions: `n` answers to a conversation."""

from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from genenv_trainer.serving.drawing import draw_rows, sampling_params
from genenv_trainer.serving.errors import invalid_field
from genenv_trainer.serving.fields import SamplingRequest
from genenv_trainer.serving.limits import check_budget
from genenv_trainer.serving.loaded_model import LoadedModel
from genenv_trainer.serving.prompts import check_ids, completion_limit, encode
from genenv_trainer.serving.responses import before_stop, build_response, envelope, seed_of, text_of
from genenv_trainer.serving.sampler import Row, SamplingParams
from genenv_trainer.serving.templates import TemplateFailed, TemplateRenderer

router = APIRouter()
renderer = TemplateRenderer()


class TextPart(BaseModel):
    type: str = Field(pattern="^text$")
    text: str


class Message(BaseModel):
    """A message; fields beyond these go to the chat template as they are."""

    model_config = ConfigDict(strict=True, extra="allow")
    role: str
    content: str | Annotated[list[TextPart], Field(fail_fast=True)] | None = None

    def plain(self) -> dict[str, Any]:
        parts = self.content
        text = "".join(part.text for part in parts) if isinstance(parts, list) else parts
        return self.model_dump() | {"content": text or ""}


class ChatRequest(SamplingRequest):
    messages: list[Message] = Field(min_length=1, fail_fast=True)
    max_tokens: int | None = Field(default=None, ge=1)
    max_completion_tokens: int | None = Field(default=None, ge=1)
    logprobs: bool | None = False
    top_logprobs: int | None = Field(default=None, ge=0, le=20)


def encode_messages(loaded: LoadedModel, messages: list[Message]) -> list[int]:
    """Token ids of a conversation up to the assistant's turn: the tokenizer's chat template, else `role:
    content` lines."""
    plain = [message.plain() for message in messages]
    if loaded.tokenizer.chat_template is None:
        return encode(
            loaded, "".join(f"{one['role']}: {one['content']}\n" for one in plain) + "assistant:", "messages"
        )
    present = [{name: value for name, value in one.items() if value is not None} for one in plain]
    try:
        template, special_tokens = loaded.tokenizer.get_chat_template(), loaded.tokenizer.special_tokens_map
        text = renderer.render(template, present, special_tokens)
    except (TemplateFailed, ValueError) as error:
        raise invalid_field("messages", f"the model's chat template refuses them: {error}") from error
    return encode(loaded, text, "messages", add_special_tokens=False)


def prepare_sampling(request: ChatRequest, seed: int, loaded: LoadedModel) -> SamplingParams:
    prompts = [encode_messages(loaded, request.messages)]
    check_ids(loaded, prompts, "messages")
    limit = completion_limit(loaded, prompts, request.max_completion_tokens or request.max_tokens, "messages")
    top = request.top_logprobs or 0
    check_budget(request.samples, len(prompts[0]), limit, top, "top_logprobs")
    return sampling_params(request, seed, loaded, prompts, limit, top)


def token_entry(loaded: LoadedModel, token: int, logprob: float) -> dict:
    text = loaded.token_text(token)
    return {"token": text, "logprob": logprob, "bytes": list(text.encode())}


def logprobs_of(loaded: LoadedModel, row: Row) -> dict:
    """OpenAI's list with an entry for each token."""
    content = []
    for step, (token, logprob) in enumerate(zip(row.token_ids, row.logprobs, strict=True)):
        best = [token_entry(loaded, *pair) for pair in row.top[step]] if row.top else []
        content.append(token_entry(loaded, token, logprob) | {"top_logprobs": best})
    return {"content": content}


def choice(request: ChatRequest, loaded: LoadedModel, index: int, row: Row) -> dict:
    text = before_stop(text_of(loaded.tokenizer, row.token_ids), request.stops)
    answer = {
        "index": index,
        "message": {"role": "assistant", "content": text},
        "finish_reason": row.finish_reason,
        "logprobs": logprobs_of(loaded, row) if request.logprobs else None,
    }
    return answer | {"token_ids": row.token_ids} if request.return_token_ids else answer


@router.post("/v1/chat/completions")
async def chat_completions(request: ChatRequest, http: Request) -> Response:
    request.check()
    if request.top_logprobs is not None and not request.logprobs:
        raise invalid_field("top_logprobs", "needs logprobs to be true")
    seed = seed_of(request)
    draw = await draw_rows(http, request, lambda loaded: prepare_sampling(request, seed, loaded))

    def answer() -> dict:
        body = envelope("chatcmpl", "chat.completion", request, seed)
        if request.return_token_ids:
            body["prompt_token_ids"] = draw.params.prompts[0]
        choices = [choice(request, draw.loaded, index, row) for index, row in enumerate(draw.rows)]
        return body | {"choices": choices, "usage": draw.usage}

    return await build_response(answer)
