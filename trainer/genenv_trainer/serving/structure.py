"""Holds answers to a grammar or a JSON Schema: tokens after which an answer can no longer come to have that
form are not drawn. The library is the one that vLLM has (xgrammar), so a grammar means the same to both
servers."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import torch
from pydantic import BaseModel, ConfigDict, Field
from transformers import PreTrainedTokenizerBase

from genenv_trainer.serving.errors import invalid_field
from genenv_trainer.serving.limits import MAX_CACHED_GRAMMAR_BYTES, MAX_STRUCTURE_LENGTH

if TYPE_CHECKING:  # seconds of imports that requests without a structure do without
    from xgrammar import CompiledGrammar, GrammarCompiler


class StructuredOutputs(BaseModel):
    """vLLM's field: a grammar in xgrammar's EBNF, whose first rule is `root`."""

    model_config = ConfigDict(strict=True, extra="forbid")
    grammar: str = Field(min_length=1, max_length=MAX_STRUCTURE_LENGTH)


class NamedSchema(BaseModel):
    """OpenAI's schema with a name. Its name and strictness change nothing: the schema is always held to."""

    content: dict[str, Any] = Field(alias="schema")


class ResponseFormat(BaseModel):
    """OpenAI's field."""

    type: Literal["text", "json_schema"]
    json_schema: NamedSchema | None = None


@dataclass(frozen=True)
class Structure:
    """What the field of a request holds its answers to: a grammar, or a JSON Schema as text."""

    field: str
    kind: Literal["grammar", "schema"]
    text: str


def structure_of(
    outputs: StructuredOutputs | None, response_format: ResponseFormat | None
) -> Structure | None:
    """The structure that a request asks for; None if it asks for none. Raises a 400 for two of them, for a
    response format without its schema, and for a schema of more than MAX_STRUCTURE_LENGTH characters."""
    wants_schema = response_format is not None and response_format.type == "json_schema"
    if not wants_schema:
        return (
            None if outputs is None else Structure("structured_outputs.grammar", "grammar", outputs.grammar)
        )
    field = "response_format.json_schema"
    if outputs is not None:
        raise invalid_field(field, "a request has this or structured_outputs, not both")
    if response_format.json_schema is None:
        raise invalid_field(field, "is required for the type json_schema")
    text = json.dumps(response_format.json_schema.content)
    if len(text) > MAX_STRUCTURE_LENGTH:
        raise invalid_field(field, f"has {len(text)} characters; at most {MAX_STRUCTURE_LENGTH}", "too_large")
    return Structure(field, "schema", text)


class Grammars:
    """Compiles structures for the tokenizer of a model; those that were used last stay compiled."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, vocabulary: int, end_ids: list[int]):
        self._tokenizer, self._vocabulary, self._end_ids = tokenizer, vocabulary, end_ids
        self._compiler: GrammarCompiler | None = None

    def compile(self, structure: Structure) -> "CompiledGrammar":
        """Raises a 400 for what is no grammar or schema, for one with parts that the library does not know, and
        for a tokenizer that it cannot read."""
        try:
            if self._compiler is None:
                self._compiler = self._create_compiler()
            if structure.kind == "grammar":
                return self._compiler.compile_grammar(structure.text)
            # A small model writes white space without end where it may write any.
            return self._compiler.compile_json_schema(structure.text, any_whitespace=False)
        except (RuntimeError, ValueError) as error:
            raise invalid_field(structure.field, f"cannot be compiled: {str(error).strip():.300}") from error

    def _create_compiler(self) -> "GrammarCompiler":
        import xgrammar

        tokens = xgrammar.TokenizerInfo.from_huggingface(
            self._tokenizer, vocab_size=self._vocabulary, stop_token_ids=self._end_ids
        )
        return xgrammar.GrammarCompiler(tokens, max_threads=1, cache_limit_bytes=MAX_CACHED_GRAMMAR_BYTES)


class RowGrammars:
    """Where each row of a batch is in its grammar; a row without one has None."""

    def __init__(self, grammars: Sequence["CompiledGrammar | None"], vocabulary: int):
        from xgrammar import GrammarMatcher

        self._vocabulary = vocabulary
        self._matchers = [None if grammar is None else GrammarMatcher(grammar) for grammar in grammars]

    def allowed(self, rows: Sequence[int], going: Sequence[bool]) -> torch.Tensor:
        """The tokens that may come next in these rows, as bits [B, ceil(V / 32)]; all of them in rows that
        have ended."""
        from xgrammar import allocate_token_bitmask

        bits_B_W = allocate_token_bitmask(len(rows), self._vocabulary)
        for place, (row, is_going) in enumerate(zip(rows, going, strict=True)):
            matcher = self._matchers[row]
            if matcher is not None and is_going:
                matcher.fill_next_token_bitmask(bits_B_W, place)
        return bits_B_W

    def accept(self, row: int, token: int) -> None:
        """Records the token of a row. Raises ArithmeticError if its grammar has no such token there, as when
        every token that may come has a probability of 0."""
        matcher = self._matchers[row]
        if matcher is not None and not matcher.accept_token(token):
            raise ArithmeticError("no token that the grammar allows has a probability above 0")


def without_forbidden(logits_B_V: torch.Tensor, allowed_B_W: torch.Tensor) -> torch.Tensor:
    """The logits, with minus infinity for tokens whose bit is 0."""
    from xgrammar import apply_token_bitmask_inplace

    held_B_V = logits_B_V.clone()
    apply_token_bitmask_inplace(held_B_V, allowed_B_W.to(held_B_V.device))
    return held_B_V
