"""Gradients and measurements of one optimizer step, over its micro-batches, and the KL cap."""

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch

from genenv_trainer.batch import Targets, Totals, micro_batches, totals
from genenv_trainer.errors import NotFinite
from genenv_trainer.forward import Reference, policy_terms
from genenv_trainer.gradient_sum import GradientSum
from genenv_trainer.job_config import Settings, StepTotals
from genenv_trainer.losses import policy_loss, pull_back_loss
from genenv_trainer.metrics import add_sums, micro_batch_sums
from genenv_trainer.packing import packed_batches
from genenv_trainer.ranks import Ranks
from genenv_trainer.records import Record

if TYPE_CHECKING:
    from genenv_trainer.sharding import Sharding


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
    stop. `packed` if the models take packed batches. `ranks` share the micro-batches of a step;
    `sharding` if each of them has a part of the model."""

    kind: str
    settings: Settings
    model: torch.nn.Module
    reference: Reference | None
    autocast: torch.dtype | None
    check: Callable[[], None]
    packed: bool = False
    ranks: Ranks = Ranks()
    sharding: "Sharding | None" = None

    def accumulate_gradients(
        self, batch: StepBatch, pull_back: bool, seed: str | None = None
    ) -> tuple[float, dict[str, float]]:
        """Give the parameters, which have none, the gradient of the step's loss. Returns the loss and the
        sums of its metrics. With a `seed`, each micro-batch draws its own random numbers from it.

        Raises NotFinite if the loss is NaN or infinite; the gradients are then worthless.
        """
        settings, total_loss, total_sums = self.settings, 0.0, {}
        count = len(batch.micro_batches)
        gradients = GradientSum([p for p in self.model.parameters() if p.requires_grad], self.ranks, self.sharding)
        kl_gradient = pull_back or settings.kl_coefficient > 0
        entropy_gradient = not pull_back and settings.entropy_coefficient != 0

        def compute(index: int) -> tuple[float, dict[str, float], list[int]]:
            gradients.start(index, count)
            micro = batch.micro_batches[index]
            if seed is not None:
                seed_micro_batch(seed, index)
            terms = policy_terms(
                self.model, self.reference, index, micro, self.autocast, entropy_gradient, kl_gradient
            )
            if pull_back:
                loss = pull_back_loss(settings, micro, terms, batch.totals)
            else:
                loss = policy_loss(self.kind, settings, micro, terms, batch.totals, batch.whole)
            loss.backward()
            sums = micro_batch_sums(self.kind, settings, micro, terms)
            return loss.item(), sums, gradients.missing()

        answers = self.ranks.in_order(count, compute, self.check)
        for index, (loss, sums, missing) in enumerate(answers):
            total_loss += loss
            if not math.isfinite(total_loss):
                raise NotFinite(f"loss is {total_loss} in micro-batch {index}")
            add_sums(total_sums, sums)
            gradients.add(index, missing)
        gradients.finish()
        return total_loss, total_sums

    @torch.no_grad()
    def measure_kl(self, batch: StepBatch) -> float:
        """KL(policy || reference), mean over the active tokens of the step's batch, in nats a token.

        Raises NotFinite.
        """

        def compute(index: int) -> float:
            micro = batch.micro_batches[index]
            terms = policy_terms(self.model, self.reference, index, micro, self.autocast, False, False)
            return (terms.kl * micro.mask_B_K).sum().item()

        self.model.eval()
        total = self.sum_in_order(len(batch.micro_batches), compute)
        self.model.train()
        if not math.isfinite(total):
            raise NotFinite(f"KL is {total}")
        return total / batch.totals.active_tokens

    def sum_in_order(self, count: int, compute: Callable[[int], float]) -> float:
        """compute(0) + compute(1) + …, added up in this order."""
        total = 0.0
        for value in self.ranks.in_order(count, compute, self.check):
            total += value
        return total


def seed_micro_batch(seed: str, index: int) -> None:
    """Start torch's random numbers anew for one micro-batch: they depend on no other one, nor on who runs it."""
    digest = hashlib.sha256(f"{seed}/{index}".encode()).digest()
    torch.manual_seed(int.from_bytes(digest[:8], "big") >> 1)


def must_pull_back(kl_before: float, max_kl: float) -> bool:
    """True if a step that starts at `kl_before` (nats a token), above the cap, must minimise the KL term
    alone."""
    return kl_before > max_kl


def must_restore(kl_before: float, kl_after: float, max_kl: float) -> bool:
    """True if the step took the policy above 2 * max_kl from at or below it: the weights before it are
    published."""
    return kl_after > 2 * max_kl >= kl_before
