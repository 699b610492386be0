"""Records of one optimizer step -> micro-batches without padding, in which equal beginnings are there once."""

from dataclasses import dataclass, field

import torch

from genenv_trainer.batch import Targets, of_sequences
from genenv_trainer.records import Record
from genenv_trainer.shared_prefixes import Segment

MIN_SHARED = 8
"""Tokens that a segment of several sequences has at least: fewer do not pay for one more call of attention.
Segments that end where a sequence ends may be shorter."""

KEYS_OF_A_TOKEN = 32
"""Shared tokens whose keys and values take as much memory as all that is kept of a token for the backward pass.
Every sequence has its own copy of them in each layer."""


@dataclass(frozen=True)
class PackedBatch(Targets):
    """B sequences as T tokens in a row; K the most labels of a sequence, L those of all. A label at one place of
    the tree and one temperature is computed once for all sequences that have it: U labels are distinct.

    Distinct label u is predicted at `places_U[u]` of the row. Label l equals `distinct_L[l]` of them, and is
    element `cells_L[l]` of a [B, K] table, each of whose rows begins with its labels.
    """

    segments: tuple[Segment, ...]
    token_ids_T: torch.Tensor
    positions_T: torch.Tensor
    places_U: torch.Tensor
    labels_U: torch.Tensor
    temperature_U: torch.Tensor
    distinct_L: torch.Tensor
    cells_L: torch.Tensor

    def table(self, values_U: torch.Tensor) -> torch.Tensor:
        """Values of the distinct labels as a [B, K] table of all, 0 where a row has no label."""
        empty = values_U.new_zeros(self.mask_B_K.numel())
        return empty.index_put((self.cells_L,), values_U[self.distinct_L]).view(self.mask_B_K.shape)


@dataclass(frozen=True)
class _Sequence:
    """A record as far as it is read: up to its last label, from which nothing is predicted."""

    record: Record
    tokens: tuple[int, ...]

    @classmethod
    def of(cls, record: Record) -> "_Sequence":
        last = len(record.mask) - 1 - record.mask[::-1].index(1)
        return cls(record, tuple(record.token_ids[:last]))


@dataclass
class _Row:
    """The row of a micro-batch; `places` are those of the tokens of each sequence."""

    places: list[list[int]]
    segments: list[Segment] = field(default_factory=list)
    token_ids: list[int] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)


def packed_batches(records: list[Record], token_budget: int) -> list[PackedBatch]:
    """Micro-batches of at most `token_budget` tokens (a longer sequence is alone), in the order of the tokens, so
    that sequences with equal beginnings lie beside each other. `KEYS_OF_A_TOKEN` shared tokens count as one.

    Sequences with no active token count in the totals but are not run.
    """
    read = [_Sequence.of(record) for record in records if any(record.mask)]
    batches, batch, size = [], [], 0
    for sequence in sorted(read, key=lambda sequence: sequence.tokens):
        added = len(sequence.tokens)
        if batch:
            # Up to MIN_SHARED - 1 tokens may be equal and not shared.
            equal = _equal_tokens(batch[-1].tokens, sequence.tokens)
            shared = equal if equal == added else max(0, equal - MIN_SHARED + 1)
            # What repeats another sequence whole copies nothing.
            added = 0 if shared == added else added - shared + shared // KEYS_OF_A_TOKEN
        if batch and size + added > token_budget:
            batches.append(_pack(batch))
            batch, size, added = [], 0, len(sequence.tokens)
        batch.append(sequence)
        size += added
    return [*batches, _pack(batch)] if batch else batches


def _equal_tokens(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    """How many tokens the two begin with alike."""
    pairs = enumerate(zip(one, other))
    return next((index for index, (a, b) in pairs if a != b), min(len(one), len(other)))


def _pack(sequences: list[_Sequence]) -> PackedBatch:
    row = _row(sequences)
    records = [sequence.record for sequence in sequences]
    width = max(sum(record.mask) for record in records)
    distinct: dict[tuple[int, int, float], int] = {}
    distinct_L, cells_L = [], []
    for index, record in enumerate(records):
        positions = [position for position, active in enumerate(record.mask) if active]
        for cell, position in enumerate(positions):
            place = row.places[index][position - 1]
            label = (place, record.token_ids[position], record.temperature)
            distinct_L.append(distinct.setdefault(label, len(distinct)))
            cells_L.append(index * width + cell)
    places_U, labels_U, temperature_U = zip(*distinct)

    def table(rows: list[list], dtype: torch.dtype) -> torch.Tensor:
        return torch.tensor([row + [0] * (width - len(row)) for row in rows], dtype=dtype)

    return PackedBatch(
        labels_B_K=table([_active(record, record.token_ids) for record in records], torch.long),
        mask_B_K=table([_active(record, record.mask) for record in records], torch.float32),
        logprobs_B_K=table([_active(record, record.logprobs or []) for record in records], torch.float32),
        **of_sequences(records),
        segments=tuple(row.segments),
        token_ids_T=torch.tensor(row.token_ids),
        positions_T=torch.tensor(row.positions),
        places_U=torch.tensor(places_U),
        labels_U=torch.tensor(labels_U),
        temperature_U=torch.tensor(temperature_U, dtype=torch.float32),
        distinct_L=torch.tensor(distinct_L),
        cells_L=torch.tensor(cells_L),
    )


def _row(sequences: list[_Sequence]) -> _Row:
    """The sequences, which are sorted, as a tree: a branch ends where those on it begin to differ."""
    row = _Row(places=[[] for _ in sequences])
    branches: list[tuple[list[int], int, int | None]] = [([*range(len(sequences))], 0, None)]
    while branches:
        indices, start, parent = branches.pop()
        alike: dict[tuple[int, ...], list[int]] = {}
        for index in indices:
            if len(sequences[index].tokens) > start:
                beginning = sequences[index].tokens[start : start + MIN_SHARED]
                alike.setdefault(beginning, []).append(index)
        for members in alike.values():
            tokens = sequences[members[0]].tokens
            end = _equal_tokens(tokens, sequences[members[-1]].tokens)
            for index in members:
                row.places[index] += range(len(row.token_ids), len(row.token_ids) + end - start)
            branches.append((members, end, len(row.segments)))
            row.segments.append(Segment(end - start, parent))
            row.token_ids += tokens[start:end]
            row.positions += range(start, end)
    return row


def _active(record: Record, values: list) -> list:
    return [value for value, active in zip(values, record.mask) if active]
