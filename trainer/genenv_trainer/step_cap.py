"""The cap on a step: how far the policy that a step ends with may be from the one that it began with."""

import copy
import math
from collections.abc import Callable

import torch

from genenv_trainer.adapters import causal_model
from genenv_trainer.batch import Targets
from genenv_trainer.errors import NotFinite
from genenv_trainer.forward import autocast_on, label_states, label_terms, log_distribution
from genenv_trainer.losses import exact_kl
from genenv_trainer.packing import PackedBatch
from genenv_trainer.step import Objective, StepBatch
from genenv_trainer.token_terms import Head

MAX_HALVINGS = 10

Weights = dict[str, torch.Tensor]


class StepCap:
    """Holds KL(policy after the step || policy before it) at or below `max_step_kl`, in nats a token: mean
    over the active tokens of the step's batch, each summed over the vocabulary, whoever sampled the tokens.

    GenEnv 2.3: "cap per-step updates by a maximum KL threshold"; it does not say how. As in TRPO's line
    search (Schulman et al. 2015), a step that is too long is halved until it fits.
    """

    def __init__(self, objective: Objective, parameters: dict[str, torch.nn.Parameter], max_step_kl: float):
        self._objective, self._parameters, self._max = objective, parameters, max_step_kl

    @torch.no_grad()
    def shorten(self, batch: StepBatch, before: Weights) -> tuple[float, float]:
        """Halve the step that has just been made from the weights `before` until it fits. Returns its KL
        and the share of it that is left; 0 if not even 2 ** -MAX_HALVINGS fits, and the weights are `before`.
        """
        after = {name: p.detach().clone() for name, p in self._parameters.items()}
        share = 1.0
        for _ in range(MAX_HALVINGS + 1):
            kl = self._measure(batch, before)
            if kl <= self._max:
                return kl, share
            share /= 2
            self._load({name: torch.lerp(before[name], after[name], share) for name in after})
        self._load(before)
        return 0.0, 0.0

    def _measure(self, batch: StepBatch, before: Weights) -> float:
        """KL of the present weights against `before`. Raises NotFinite."""
        objective = self._objective

        def compute(index: int) -> float:
            micro = batch.micro_batches[index]
            return (self._kl(micro, before) * micro.mask_B_K).sum().item()

        objective.model.eval()
        total = objective.sum_in_order(len(batch.micro_batches), compute)
        objective.model.train()
        if not math.isfinite(total):
            raise NotFinite(f"KL of the step is {total}")
        return total / batch.totals.active_tokens

    def _kl(self, micro: Targets, before: Weights) -> torch.Tensor:
        """[B, K]."""
        model, autocast = self._objective.model, self._objective.autocast
        if not isinstance(micro, PackedBatch):
            earlier = self._with(before, lambda: log_distribution(model, micro, autocast))
            return exact_kl(log_distribution(model, micro, autocast), earlier)
        device = micro.token_ids_T.device
        # A context of its own for each: one keeps the weights that it has cast, whatever is copied into them.
        with autocast_on(device, autocast):
            earlier = self._with(before, lambda: (_frozen_head(model), label_states(model, micro)))
        with autocast_on(device, autocast):
            states_U_W = label_states(model, micro)
            *_, kl_U = label_terms(model, micro, (False, False, False), earlier).compute(states_U_W)
            return micro.table(kl_U)

    def _with(self, weights: Weights, compute: Callable):
        """What `compute` gives with other weights; the present ones are there again afterwards."""
        present = {name: p.detach().clone() for name, p in self._parameters.items()}
        self._load(weights)
        try:
            return compute()
        finally:
            self._load(present)

    def _load(self, weights: Weights) -> None:
        for name, parameter in self._parameters.items():
            parameter.copy_(weights[name])


def _frozen_head(model: torch.nn.Module) -> Head:
    """The last layer as it is now: a copy where it trains."""
    head = Head(causal_model(model).get_output_embeddings())
    return Head(copy.deepcopy(head.layer)) if head.is_trained else head
