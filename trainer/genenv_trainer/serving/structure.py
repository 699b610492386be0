"""Holds answers to a grammar or a JSON Schema: tokens after which an answer can no longer come to have that
form are not drawn. The library is the one that vLLM has (xgrammar), so a grammar means the same to both
servers."""

import hashlib
import json
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import torch
from pydantic import BaseModel, ConfigDict, Field
from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast

from genenv_trainer.serving.errors import invalid_field
from genenv_trainer.serving.limits import MAX_CACHED_GRAMMAR_BYTES, MAX_STRUCTURE_LENGTH, MAX_TOKENIZERS

if TYPE_CHECKING:  # seconds of imports that requests without a structure do without
    from xgrammar import CompiledGrammar, GrammarCompiler, GrammarMatcher


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
    if response_format is None or response_format.type == "text":
        return outputs and Structure("structured_outputs.grammar", "grammar", outputs.grammar)
    field = "response_format.json_schema"
    if outputs is not None:
        raise invalid_field(field, "a request has this or structured_outputs, not both")
    if response_format.json_schema is None:
        raise invalid_field(field, "is required for the type json_schema")
    text = json.dumps(response_format.json_schema.content)
    if len(text) > MAX_STRUCTURE_LENGTH:
        raise invalid_field(field, f"has {len(text)} characters; at most {MAX_STRUCTURE_LENGTH}", "too_large")
    return Structure(field, "schema", text)


@dataclass(frozen=True)
class CompiledStructure:
    """A structure over the tokens of a model, and the field of the request that it stands in."""

    field: str
    grammar: "CompiledGrammar"


class StructureCompiler:
    """Compiles structures over the tokens of models. Models with the same tokens, such as the versions of a
    policy, share what is compiled; the structures that were used last are kept."""

    def __init__(self) -> None:
        self._compilers: OrderedDict[tuple, GrammarCompiler] = OrderedDict()

    def compile(
        self,
        structure: Structure,
        tokenizer: PreTrainedTokenizerBase,
        vocabulary: int,
        end_ids: list[int],
    ) -> CompiledStructure:
        """Raises a 400 for what is no grammar or schema, for one with parts that the library does not know,
        and for a tokenizer that it cannot read."""
        try:
            compiler = self._compiler_for(tokenizer, vocabulary, end_ids)
            if structure.kind == "grammar":
                grammar = compiler.compile_grammar(structure.text)
            else:
                # A small model writes white space without end where it may write any.
                grammar = compiler.compile_json_schema(structure.text, any_whitespace=False)
        except (RuntimeError, ValueError) as error:
            raise invalid_field(structure.field, f"cannot be compiled: {str(error).strip():.300}") from error
        return CompiledStructure(structure.field, grammar)

    def _compiler_for(
        self, tokenizer: PreTrainedTokenizerBase, vocabulary: int, end_ids: list[int]
    ) -> "GrammarCompiler":
        import xgrammar

        if not isinstance(tokenizer, PreTrainedTokenizerFast):
            raise ValueError("the model's tokenizer is not a fast one, of the tokenizers library")
        tokens = hashlib.sha256(tokenizer.backend_tokenizer.to_str().encode()).digest()
        key = (tokens, vocabulary, *end_ids)
        if key not in self._compilers:
            info = xgrammar.TokenizerInfo.from_huggingface(
                tokenizer, vocab_size=vocabulary, stop_token_ids=end_ids
            )
            self._compilers[key] = xgrammar.GrammarCompiler(
                info, max_threads=1, cache_limit_bytes=MAX_CACHED_GRAMMAR_BYTES
            )
            if len(self._compilers) > MAX_TOKENIZERS:
                self._compilers.popitem(last=False)
        self._compilers.move_to_end(key)
        return self._compilers[key]


class NoTokenAllowed(Exception):
    """No token of the model can come next in the structure of the field that the argument names."""


class RowGrammars:
    """Where each row of a batch is in its grammar, for rows that have one."""

    def __init__(self, structures: Sequence[CompiledStructure | None], vocabulary: int):
        self._vocabulary = vocabulary
        self._structures = structures
        self._matchers: dict[int, GrammarMatcher] = {}
        held = [(row, one.grammar) for row, one in enumerate(structures) if one is not None]
        if held:
            import xgrammar

            self._matchers = {row: xgrammar.GrammarMatcher(grammar) for row, grammar in held}

    def allowed(self, rows: Sequence[int], going: Sequence[bool]) -> torch.Tensor | None:
        """The tokens that may come next in these rows, as bits [B, ceil(V / 32)]; all of them in rows without
        a grammar and in rows that have ended. None if no row of the batch has a grammar. Raises
        NoTokenAllowed."""
        if not self._matchers:
            return None
        from xgrammar import allocate_token_bitmask

        bits_B_W = allocate_token_bitmask(len(rows), self._vocabulary)
        for place, (row, is_going) in enumerate(zip(rows, going, strict=True)):
            matcher = self._matchers.get(row)
            if matcher is not None and is_going:
                matcher.fill_next_token_bitmask(bits_B_W, place)
                if not bits_B_W[place].any():
                    raise NoTokenAllowed(self._structures[row].field)
        return bits_B_W

    def accept(self, row: int, token: int) -> None:
        """Records the token of a row, one of those that were allowed."""
        if row in self._matchers:
            self._matchers[row].accept_token(token)


def without_forbidden(logits_B_V: torch.Tensor, allowed_B_W: torch.Tensor) -> torch.Tensor:
    """The logits, with minus infinity for tokens whose bit is 0."""
    from xgrammar import apply_token_bitmask_inplace

    held_B_V = logits_B_V.clone()
    apply_token_bitmask_inplace(held_B_V, allowed_B_W.to(held_B_V.device))
    return held_B_V
