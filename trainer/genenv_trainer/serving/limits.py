"""What one request may ask for: enough for every experiment, too little to stop the server or fill its memory."""

from genenv_trainer.serving.errors import invalid_field

MAX_BODY_BYTES = 8 << 20

MAX_JSON_MARKS = 1_000_000
"""Brackets, braces and colons of a body, those in texts included: each list or field of JSON has one, and takes
many times its bytes once it is read. Prompts full of JSON have fewer."""

MAX_ROWS = 4096
"""Completions of a request: prompts * n."""

MAX_TOKENS = 4_000_000
"""Tokens of a request's cache: rows * (tokens of the longest prompt + max_tokens)."""

MAX_TOP_LOGPROBS = 1_000_000
"""Alternatives that a request may ask for: rows * max_tokens * those of a token."""

MAX_NAME_LENGTH = 200
"""Characters of a model's name; file systems take 255 bytes."""

MAX_CONTEXT_LENGTH = 2**31 - 1
"""Tokens: positions are numbers of 32 bits."""

MAX_STOPS = 64
MAX_STOP_LENGTH = 1000
"""Characters of a stop string: as many tokens are decoded again at each step."""


MAX_STRUCTURE_LENGTH = 64_000
"""Characters of a grammar or of a schema that answers are held to; those of this project's worlds have under
10,000."""

MAX_CACHED_GRAMMAR_BYTES = 256 << 20
"""Compiled grammars that are kept for the tokens of one tokenizer."""

MAX_TOKENIZERS = 4
"""Tokenizers for which compiled grammars are kept."""


def context_length(positions: object) -> int | None:
    """The longest context by a model's settings; None for what is no length."""
    is_length = type(positions) is int and 1 <= positions <= MAX_CONTEXT_LENGTH
    return positions if is_length else None


def check_budget(
    rows: int, longest_prompt: int, max_tokens: int, top: int = 0, top_field: str = "logprobs"
) -> None:
    """Raises a 400 for a request of more rows or tokens than the server draws for it. `longest_prompt` and
    `max_tokens` are tokens, 0 if they are not known yet; `top` are the alternatives of a token, which the
    field `top_field` asks for."""
    if rows > MAX_ROWS:
        raise invalid_field(
            "n", f"prompts times n are {rows} completions; a request has at most {MAX_ROWS}", "too_large"
        )
    tokens = rows * (longest_prompt + max_tokens)
    if tokens > MAX_TOKENS:
        raise invalid_field(
            "max_tokens",
            f"{rows} rows of up to {longest_prompt} tokens of prompt and {max_tokens} to sample are {tokens} "
            f"tokens; a request has at most {MAX_TOKENS}",
            "too_large",
        )
    if rows * max_tokens * top > MAX_TOP_LOGPROBS:
        raise invalid_field(
            top_field,
            f"{top} alternatives to each of {rows * max_tokens} tokens are {rows * max_tokens * top}; a request "
            f"has at most {MAX_TOP_LOGPROBS}",
            "too_large",
        )


def check_stops(stops: list[str]) -> None:
    """Raises a 400 for stop strings that are empty, too many or too long."""
    if "" in stops:
        raise invalid_field("stop", "a stop string has at least one character")
    if len(stops) > MAX_STOPS:
        raise invalid_field("stop", f"got {len(stops)} stop strings; a request has at most {MAX_STOPS}")
    longest = max(map(len, stops), default=0)
    if longest > MAX_STOP_LENGTH:
        raise invalid_field("stop", f"got {longest} characters; a stop string has at most {MAX_STOP_LENGTH}")
