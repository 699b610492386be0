"""Records of one optimizer step -> micro-batches without padding, in which equal prompts are there once."""

from dataclasses import dataclass

import torch

from genenv_trainer.batch import Targets, of_sequences
from genenv_trainer.records import Record
from genenv_trainer.shared_prompts import Family


@dataclass(frozen=True)
class PackedBatch(Targets):
    """B sequences as T tokens in a row; L labels, K the most of a sequence.

    Label l is predicted at `places_L[l]` of the row, and is element `cells_L[l]` of a [B, K] table, each of
    whose rows begins with its labels.
    """

    families: tuple[Family, ...]
    token_ids_T: torch.Tensor
    positions_T: torch.Tensor
    places_L: torch.Tensor
    cells_L: torch.Tensor

    def table(self, values_L: torch.Tensor) -> torch.Tensor:
        """Values of the labels as a [B, K] table, 0 where a row has no label."""
        empty = values_L.new_zeros(self.mask_B_K.numel())
        return empty.index_put((self.cells_L,), values_L).view(self.mask_B_K.shape)

    def labels(self, table_B_K: torch.Tensor) -> torch.Tensor:
        """The inverse of `table`. [L]."""
        return table_B_K.reshape(-1)[self.cells_L]


@dataclass(frozen=True)
class _Sequence:
    """A record cut into a prompt, up to its first active token, and the answer up to its last."""

    record: Record
    prompt: tuple[int, ...]
    answer: list[int]
    mask: list[int]

    @classmethod
    def of(cls, record: Record) -> "_Sequence":
        start = record.mask.index(1)
        end = len(record.mask) - record.mask[::-1].index(1)
        return cls(
            record, tuple(record.token_ids[:start]), record.token_ids[start:end], record.mask[start:end]
        )

    @property
    def read(self) -> list[int]:
        """The answer without its last token, which nothing is predicted from."""
        return self.answer[:-1]


def packed_batches(records: list[Record], token_budget: int) -> list[PackedBatch]:
    """Micro-batches of at most `token_budget` tokens (a longer sequence is alone), in the order of the
    records; sequences of a prompt follow its first one.

    Sequences with no active token count in the totals but are not run.
    """
    families: dict[tuple[int, ...], list[_Sequence]] = {}
    for sequence in (_Sequence.of(record) for record in records if any(record.mask)):
        families.setdefault(sequence.prompt, []).append(sequence)
    batches, batch, size = [], [], 0
    for prompt, sequences in families.items():
        family = None
        for sequence in sequences:
            added = len(sequence.read) + (len(prompt) if family is None else 0)
            if batch and size + added > token_budget:
                batches.append(_pack(batch))
                batch, size, family = [], 0, None
                added = len(sequence.read) + len(prompt)
            if family is None:
                family = []
                batch.append(family)
            family.append(sequence)
            size += added
    return [*batches, _pack(batch)] if batch else batches


def _pack(families: list[list[_Sequence]]) -> PackedBatch:
    sequences = [sequence for family in families for sequence in family]
    labels = [sum(sequence.mask) for sequence in sequences]
    width = max(labels)
    token_ids, positions, places, layout = [], [], [], []
    for family in families:
        prompt = family[0].prompt
        last = len(token_ids) + len(prompt) - 1
        token_ids += prompt
        positions += range(len(prompt))
        for sequence in family:
            # The prompt's last token predicts the first of an answer, which predicts the next, and so on.
            sources = [last, *range(len(token_ids), len(token_ids) + len(sequence.read))]
            places += [source for source, active in zip(sources, sequence.mask, strict=True) if active]
            token_ids += sequence.read
            positions += range(len(prompt), len(prompt) + len(sequence.read))
        layout.append(_family(family))

    def table(rows: list[list], dtype: torch.dtype) -> torch.Tensor:
        return torch.tensor([row + [0] * (width - len(row)) for row in rows], dtype=dtype)

    cells = [row * width + cell for row, count in enumerate(labels) for cell in range(count)]
    records = [sequence.record for sequence in sequences]
    return PackedBatch(
        labels_B_K=table([_active(record, record.token_ids) for record in records], torch.long),
        mask_B_K=table([[1.0] * count for count in labels], torch.float32),
        logprobs_B_K=table([_active(record, record.logprobs or []) for record in records], torch.float32),
        **of_sequences(records),
        families=tuple(layout),
        token_ids_T=torch.tensor(token_ids),
        positions_T=torch.tensor(positions),
        places_L=torch.tensor(places),
        cells_L=torch.tensor(cells),
    )


def _family(sequences: list[_Sequence]) -> Family:
    prompt, answers = len(sequences[0].prompt), tuple(len(sequence.read) for sequence in sequences)
    return Family(prompt, answers) if len(sequences) > 1 else Family(prompt + answers[0], ())


def _active(record: Record, values: list) -> list:
    return [value for value, active in zip(values, record.mask) if active]
