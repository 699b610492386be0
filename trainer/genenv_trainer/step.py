"""Gradients and measurements of one optimizer step, over its micro-batches, and the KL cap."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch

from genenv_trainer.batch import Targets, Totals, micro_batches, totals
from genenv_trainer.errors import NotFinite
from genenv_trainer.forward import Reference, policy_terms
from genenv_trainer.job_config import Settings, StepTotals
from genenv_trainer.losses import policy_loss, pull_back_loss
from genenv_trainer.metrics import add_sums, micro_batch_sums
from genenv_trainer.packing import packed_batches
from genenv_trainer.records import Record


@dataclass(frozen=True)
class StepBatch:
    """The micro-batches of one step on the device, the totals of its records, and those of the `whole` step,
    which normalise its policy term."""

    micro_batches: list[Targets]
    totals: Totals
    whole: Totals

    @classmethod
    def of(
        cls,
        records: list[Record],
        token_budget: int,
        device: torch.device,
        packed: bool = False,
        normaliser: StepTotals | None = None,
    ) -> "StepBatch":
        split = packed_batches if packed else micro_batches
        own = totals(records)
        whole = own if normaliser is None else replace(own, **normaliser.model_dump())
        return cls([batch.to(device) for batch in split(records, token_budget)], own, whole)


@dataclass(frozen=True)
class Objective:
    """What a job minimises, and with which models. `check` runs before each micro-batch and may raise to
    stop. `packed` if the models take packed batches."""

    kind: str
    settings: Settings
    model: torch.nn.Module
    reference: Reference | None
    autocast: torch.dtype | None
    check: Callable[[], None]
    packed: bool = False

    def accumulate_gradients(self, batch: StepBatch, pull_back: bool) -> tuple[float, dict[str, float]]:
        """Add the gradient of the step's loss to the parameters. Returns the loss and the sums of its
        metrics.

        Raises NotFinite if the loss is NaN or infinite; the gradients are then worthless.
        """
        settings, total_loss, total_sums = self.settings, 0.0, {}
        kl_gradient = pull_back or settings.kl_coefficient > 0
        entropy_gradient = not pull_back and settings.entropy_coefficient != 0
        for index, micro in enumerate(batch.micro_batches):
            self.check()
            terms = policy_terms(
                self.model, self.reference, index, micro, self.autocast, entropy_gradient, kl_gradient
            )
            if pull_back:
                loss = pull_back_loss(settings, micro, terms, batch.totals)
            else:
                loss = policy_loss(self.kind, settings, micro, terms, batch.totals, batch.whole)
            loss.backward()
            total_loss += loss.item()
            if not math.isfinite(total_loss):
                raise NotFinite(f"loss is {total_loss} in micro-batch {index}")
            add_sums(total_sums, micro_batch_sums(self.kind, settings, micro, terms))
        return total_loss, total_sums

    @torch.no_grad()
    def measure_kl(self, batch: StepBatch) -> float:
        """KL(policy || reference), mean over the active tokens of the step's batch, in nats a token.

        Raises NotFinite.
        """
        self.model.eval()
        total = 0.0
        for index, micro in enumerate(batch.micro_batches):
            self.check()
            terms = policy_terms(self.model, self.reference, index, micro, self.autocast, False, False)
            total += (terms.kl * micro.mask_B_K).sum().item()
        self.model.train()
        if not math.isfinite(total):
            raise NotFinite(f"KL is {total}")
        return total / batch.totals.active_tokens


def must_pull_back(kl_before: float, max_kl: float) -> bool:
    """True if a step that starts at `kl_before` (nats a token), above the cap, must minimise the KL term
    alone."""
    return kl_before > max_kl


def must_restore(kl_before: float, kl_after: float, max_kl: float) -> bool:
    """True if the step took the policy above 2 * max_kl from at or below it: the weights before it are
    published."""
    return kl_after > 2 * max_kl >= kl_before
