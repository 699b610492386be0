"""Prompts as token ids, checked against the model."""

from typing import Annotated, Any

from pydantic import PlainValidator

from genenv_trainer.serving.errors import invalid_field
from genenv_trainer.serving.loaded_model import LoadedModel


def _is_ids(value: Any) -> bool:
    return isinstance(value, list) and all(type(part) is int for part in value)


def normalise(value: Any) -> list[str] | list[list[int]]:
    """The prompts of a request as a list, from text, texts, token ids or lists of token ids. Raises
    ValueError."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list) and value:
        if _is_ids(value):
            return [value]
        if all(isinstance(part, str) for part in value) or all(map(_is_ids, value)):
            return value
    raise ValueError("text, a list of texts, token ids, or a list of lists of token ids, none of them empty")


Prompts = Annotated[list[str] | list[list[int]], PlainValidator(normalise)]


def encode(
    loaded: LoadedModel, prompt: str | list[int], param: str, add_special_tokens: bool = True
) -> list[int]:
    """Token ids of a prompt. Raises a 400 for a text that the tokenizer has no tokens for."""
    if not isinstance(prompt, str):
        return prompt
    try:
        return loaded.tokenizer(prompt, add_special_tokens=add_special_tokens)["input_ids"]
    except Exception as error:  # the Rust library raises plain Exception
        raise invalid_field(param, f"the model's tokenizer refuses {prompt!r:.80}: {error}") from error


def check_ids(loaded: LoadedModel, prompts: list[list[int]], param: str) -> None:
    """Raises a 400 for a prompt without tokens, or with one that the model does not have."""
    for index, ids in enumerate(prompts):
        if not ids:
            raise invalid_field(param, f"prompt {index} has no tokens")
        for token in (min(ids), max(ids)):
            if not 0 <= token < loaded.vocabulary:
                raise invalid_field(
                    param,
                    f"prompt {index} has the token {token}; the model's are 0 to {loaded.vocabulary - 1}",
                )


def completion_limit(
    loaded: LoadedModel, prompts: list[list[int]], max_tokens: int | None, param: str
) -> int:
    """Tokens that a completion may have: `max_tokens`, or all that the context has room for. 400 where it
    does not fit."""
    longest = max(map(len, prompts))
    if loaded.max_length is None:
        if max_tokens is None:
            raise invalid_field("max_tokens", "needed, as the model names no longest context")
        return max_tokens
    room = loaded.max_length - longest
    if room < (max_tokens or 1):
        wanted = f"{longest} tokens of prompt and {max_tokens or 1} to sample"
        raise invalid_field(
            param, f"{wanted} exceed the model's context of {loaded.max_length}", "context_length_exceeded"
        )
    return max_tokens or room
