"""A character-level tokenizer from a vocabulary list, and the tokenisation of supervised text."""

import itertools

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast

from genenv_trainer.errors import InvalidArtifact, InvalidConfig
from genenv_trainer.records import Record

SPECIAL_TOKENS = ("<pad>", "<bos>", "<eos>")


def character_tokenizer(vocabulary: list[str]) -> PreTrainedTokenizerFast:
    """One token a character; ids 0, 1, 2 are <pad>, <bos>, <eos>, then `vocabulary` in its order.

    Nothing is added around a text. A character outside the vocabulary is an error when it is encoded.
    Raises InvalidConfig for an entry that is not one character, or comes twice.
    """
    seen = set()
    for index, entry in enumerate(vocabulary):
        if len(entry) != 1 or entry in seen:
            raise InvalidConfig(
                f"job.json.model.scratch.vocabulary[{index}]: {entry!r} must be one character, and once"
            )
        seen.add(entry)
    tokens = {token: index for index, token in enumerate((*SPECIAL_TOKENS, *vocabulary))}
    tokenizer = Tokenizer(models.WordLevel(tokens, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    tokenizer.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        bos_token="<bos>",
        eos_token="<eos>",
        clean_up_tokenization_spaces=False,
    )


def tokenise(records: list[Record], tokenizer: PreTrainedTokenizerBase) -> None:
    """Fill `token_ids` and `mask` of text records: prompt + completion + end of sequence, active after the
    prompt; of several turns the later ones too, active where the policy writes.

    Tokens are those that are sampled later: the prompt gets what the tokenizer adds to a prompt, as it does
    on a server; what is read between turns, nothing; what the policy writes, nothing but the end.
    """
    texts = [record for record in records if record.token_ids is None]
    if not texts:
        return
    if tokenizer.eos_token_id is None:
        raise InvalidArtifact(
            "the tokenizer of job.json.model has no end-of-sequence token; set its eos_token"
        )
    prompts = _encode([record.prompt for record in texts], tokenizer, texts, add_special_tokens=True)
    turns = [_turns(record) for record in texts]
    parts = iter(_encode(list(itertools.chain(*turns)), tokenizer, texts, add_special_tokens=False))
    for record, prompt, written in zip(texts, prompts, turns):
        if not prompt:
            raise InvalidArtifact(
                f"{record.where}, field 'prompt': {record.prompt!r} has no token, "
                "so nothing predicts the first of the completion"
            )
        record.token_ids, record.mask = prompt, [0] * len(prompt)
        for index in range(len(written)):
            is_sampled = index % 2 == 0
            tokens = next(parts) + ([tokenizer.eos_token_id] if is_sampled else [])
            record.token_ids = record.token_ids + tokens
            record.mask = record.mask + [int(is_sampled)] * len(tokens)


def _turns(record: Record) -> list[str]:
    """What follows the prompt: what the policy writes and reads, in turn."""
    return [record.completion, *(turn[part] for turn in record.more or () for part in ("read", "write"))]


def _encode(
    texts: list[str], tokenizer: PreTrainedTokenizerBase, records: list[Record], add_special_tokens: bool
) -> list[list[int]]:
    backend = tokenizer.backend_tokenizer
    # A tokenizer file may ask for either; a server, which calls the tokenizer itself, does neither.
    backend.no_padding()
    backend.no_truncation()
    try:
        encodings = backend.encode_batch_fast(texts, add_special_tokens=add_special_tokens)
        return [encoding.ids for encoding in encodings]
    except Exception as error:  # the Rust library raises plain Exception
        raise InvalidArtifact(
            f"{records[0].where} to {records[-1].where}: a text has a character outside the vocabulary "
            f"({error}); add it to the vocabulary"
        ) from error
