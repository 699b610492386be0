"""Records of one optimizer step -> padded tensors in micro-batches of a bounded size."""

from dataclasses import dataclass, replace
from typing import Self

import torch

from genenv_trainer.errors import InvalidArtifact
from genenv_trainer.job_config import StepTotals
from genenv_trainer.records import Record


@dataclass(frozen=True)
class Targets:
    """What losses and metrics read of B sequences with K columns of labels; `mask` is 1 at active ones."""

    labels_B_K: torch.Tensor
    mask_B_K: torch.Tensor
    logprobs_B_K: torch.Tensor
    temperature_B: torch.Tensor
    advantage_B: torch.Tensor
    weight_B: torch.Tensor

    def to(self, device: torch.device) -> Self:
        tensors = {name: value for name, value in vars(self).items() if isinstance(value, torch.Tensor)}
        return replace(
            self, **{name: tensor.to(device, non_blocking=True) for name, tensor in tensors.items()}
        )


@dataclass(frozen=True)
class MicroBatch(Targets):
    """B sequences padded on the right to T tokens.

    Padding is never attended to: it comes after every real token of a causal model. `positions_K` are the
    label positions where some sequence is active, the columns of the targets.
    """

    token_ids_B_T: torch.Tensor
    positions_K: torch.Tensor


@dataclass(frozen=True)
class Totals:
    """Sums over the records of a whole optimizer step, so that micro-batching changes nothing."""

    sequences: int
    active_tokens: int
    weighted_tokens: float
    all_tokens: int


def totals(records: list[Record]) -> Totals:
    active = [sum(record.mask) for record in records]
    weighted = sum(record.weight * count for record, count in zip(records, active))
    return Totals(len(records), sum(active), weighted, sum(len(record.token_ids) for record in records))


def check_fits(records: list[Record], vocabulary_size: int, max_length: int | None) -> None:
    """Raises InvalidArtifact for a token id outside the vocabulary or a sequence the model has no
    positions for."""
    for record in records:
        if max(record.token_ids) >= vocabulary_size:
            raise InvalidArtifact(
                f"{record.where}, field 'token_ids': {max(record.token_ids)} is outside the model's "
                f"vocabulary of {vocabulary_size}; the batch was made with another tokenizer"
            )
        if max_length is not None and len(record.token_ids) > max_length:
            raise InvalidArtifact(
                f"{record.where}, field 'token_ids': {len(record.token_ids)} tokens, but the model has "
                f"max_position_embeddings {max_length}; shorten prompt or completion"
            )


def check_normaliser(steps: list[list[Record]], normaliser: list[StepTotals] | None) -> None:
    """Raises InvalidArtifact unless there are totals for each step, at least as large as its records'."""
    if normaliser is None:
        return
    if len(normaliser) < len(steps):
        raise InvalidArtifact(
            f"job.json.settings.normaliser_totals: {len(normaliser)} entries, but the batch has "
            f"{len(steps)} steps; write one for each"
        )
    for index, (records, whole) in enumerate(zip(steps, normaliser)):
        own = totals(records)
        if own.sequences > whole.sequences or own.active_tokens > whole.active_tokens:
            raise InvalidArtifact(
                f"job.json.settings.normaliser_totals[{index}]: {whole.model_dump()}, but the batch alone "
                f"has {own.sequences} sequences and {own.active_tokens} active tokens; count those too"
            )


def micro_batches(records: list[Record], token_budget: int) -> list[MicroBatch]:
    """Group records, longest first, so that B * T <= token_budget (a longer record is alone).

    Sequences with no active token count in the totals but are not run.
    """
    order = sorted(
        (record for record in records if any(record.mask)), key=lambda record: -len(record.token_ids)
    )
    batches, start = [], 0
    while start < len(order):
        rows = max(1, token_budget // len(order[start].token_ids))
        batches.append(_pad(order[start : start + rows]))
        start += rows
    return batches


def _pad(records: list[Record]) -> MicroBatch:
    length = max(len(record.token_ids) for record in records)

    def table(rows: list[list], dtype: torch.dtype) -> torch.Tensor:
        return torch.tensor([row + [0] * (length - len(row)) for row in rows], dtype=dtype)

    token_ids_B_T = table([record.token_ids for record in records], torch.long)
    mask_B_T = table([record.mask for record in records], torch.float32)
    logprobs_B_T = table([record.logprobs or [] for record in records], torch.float32)
    positions_K = mask_B_T.any(dim=0).nonzero().squeeze(1)
    last = int(positions_K[-1])
    return MicroBatch(
        labels_B_K=token_ids_B_T[:, positions_K],
        mask_B_K=mask_B_T[:, positions_K],
        logprobs_B_K=logprobs_B_T[:, positions_K],
        **of_sequences(records),
        token_ids_B_T=token_ids_B_T[:, :last].contiguous(),
        positions_K=positions_K,
    )


def of_sequences(records: list[Record]) -> dict[str, torch.Tensor]:
    """The fields of `Targets` that have a number for each sequence."""

    def column(values: list[float]) -> torch.Tensor:
        return torch.tensor(values, dtype=torch.float32)

    return {
        "temperature_B": column([record.temperature for record in records]),
        "advantage_B": column([record.advantage for record in records]),
        "weight_B": column([record.weight for record in records]),
    }
