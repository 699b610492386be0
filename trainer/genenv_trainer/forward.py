"""Forward passes: a micro-batch -> log-probabilities, entropy and KL at its label positions."""

import contextlib

import torch

from genenv_trainer.adapters import using_reference
from genenv_trainer.batch import MicroBatch
from genenv_trainer.losses import Terms, entropy, exact_kl, k3_kl

CACHED_REFERENCE_NUMBERS = 1 << 26
"""Reference values kept between the passes of one step: 256 MiB of float32."""


def log_distribution(model: torch.nn.Module, batch: MicroBatch, autocast: torch.dtype | None) -> torch.Tensor:
    """log softmax of logits / temperature at the label positions. [B, K, V], float32."""
    with torch.autocast(batch.token_ids_B_T.device.type, dtype=autocast, enabled=autocast is not None):
        logits = model(
            input_ids=batch.token_ids_B_T, use_cache=False, logits_to_keep=batch.positions_K - 1
        ).logits
    return torch.log_softmax(logits.float() / batch.temperature_B[:, None, None], dim=-1)


def label_logprobs(log_distribution_B_K_V: torch.Tensor, batch: MicroBatch) -> torch.Tensor:
    """log-probability of each label. [B, K]."""
    return log_distribution_B_K_V.gather(-1, batch.labels_B_K.unsqueeze(-1)).squeeze(-1)


class Reference:
    """The frozen policy of the KL term: another model, or the policy with another adapter or none."""

    def __init__(self, model: torch.nn.Module, is_policy: bool, estimator: str, autocast: torch.dtype | None):
        self._model = model
        self._is_policy = is_policy
        self._estimator = estimator
        self._autocast = autocast
        self._cache: dict[int, torch.Tensor] = {}

    def start_step(self) -> None:
        """Forget the micro-batches of the step before."""
        self._cache.clear()

    def kl(self, index: int, batch: MicroBatch, policy_B_K_V: torch.Tensor) -> torch.Tensor:
        """KL(policy || reference) by the estimator, [B, K]; `index` is the micro-batch's place in its
        step."""
        values = self._cache.get(index)
        if values is None:
            values = self._values(batch)
            if values.numel() + sum(v.numel() for v in self._cache.values()) <= CACHED_REFERENCE_NUMBERS:
                self._cache[index] = values
        if self._estimator == "exact":
            return exact_kl(policy_B_K_V, values)
        return k3_kl(label_logprobs(policy_B_K_V, batch), values)

    @torch.no_grad()
    def _values(self, batch: MicroBatch) -> torch.Tensor:
        training = self._model.training
        self._model.eval()
        with using_reference(self._model) if self._is_policy else contextlib.nullcontext():
            distribution = log_distribution(self._model, batch, self._autocast)
        self._model.train(training)
        return distribution if self._estimator == "exact" else label_logprobs(distribution, batch)


def policy_terms(
    model: torch.nn.Module,
    reference: Reference | None,
    index: int,
    batch: MicroBatch,
    autocast: torch.dtype | None,
    entropy_gradient: bool,
    kl_gradient: bool,
) -> Terms:
    """One forward pass of the policy. Entropy and KL carry a gradient only where a term needs it."""
    policy = log_distribution(model, batch, autocast)
    with torch.set_grad_enabled(torch.is_grad_enabled() and entropy_gradient):
        entropies = entropy(policy)
    kl = None
    if reference is not None:
        with torch.set_grad_enabled(torch.is_grad_enabled() and kl_gradient):
            kl = reference.kl(index, batch, policy)
    return Terms(label_logprobs(policy, batch), entropies, kl)
