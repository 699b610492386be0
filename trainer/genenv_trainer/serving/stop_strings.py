"""Stop strings: where a completion ends, and what of its text is kept."""

from collections.abc import Callable

from transformers import PreTrainedTokenizerBase

MARGIN = 4
"""Tokens decoded beyond the longest stop string's bytes: a character cut in two, and a decoder's leading space."""


def text_of(tokenizer: PreTrainedTokenizerBase, token_ids: list[int]) -> str:
    return tokenizer.decode(token_ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)


def stop_check(tokenizer: PreTrainedTokenizerBase, stops: list[str]) -> Callable[[list[int]], bool] | None:
    """
    Whether the end of the tokens sampled so far holds a stop string; None where there are none.

    Only the last tokens are decoded, as many as the longest stop string has bytes (a token is at least one) and MARGIN.
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
