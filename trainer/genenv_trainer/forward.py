"""Forward passes: a micro-batch -> log-probabilities, entropy and KL at its label positions."""

import contextlib

import torch

from genenv_trainer.adapters import causal_model, using_reference
from genenv_trainer.batch import MicroBatch, Targets
from genenv_trainer.losses import Terms, entropy, exact_kl, k3_kl
from genenv_trainer.packing import PackedBatch
from genenv_trainer.token_terms import Head, LabelTerms

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


def label_states(model: torch.nn.Module, batch: PackedBatch) -> torch.Tensor:
    """Hidden states that the distinct labels are predicted from. [U, W]."""
    states_1_T_W = causal_model(model).get_decoder()(
        input_ids=batch.token_ids_T[None],
        position_ids=batch.positions_T[None],
        use_cache=False,
        segments=batch.segments,
        masks={},
    ).last_hidden_state
    return states_1_T_W[0, batch.places_U]


def label_terms(
    model: torch.nn.Module,
    batch: PackedBatch,
    gradients: tuple[bool, bool, bool],
    reference: tuple[Head, torch.Tensor] | None,
) -> LabelTerms:
    """How the terms of a batch's distinct labels are computed from their states."""
    head = Head(causal_model(model).get_output_embeddings())
    return LabelTerms(head, batch.labels_U, batch.temperature_U, gradients, reference)


class Reference:
    """The frozen policy of the KL term: another model, or the policy with another adapter or none."""

    def __init__(
        self,
        model: torch.nn.Module,
        is_policy: bool,
        estimator: str,
        autocast: torch.dtype | None,
        cached_numbers: int = CACHED_REFERENCE_NUMBERS,
    ):
        self.model = model
        self._cached_numbers = cached_numbers
        self.is_exact = estimator == "exact"
        self._is_policy = is_policy
        self._autocast = autocast
        self._cache: dict[int, torch.Tensor] = {}

    def start_step(self) -> None:
        """Forget the micro-batches of the step before."""
        self._cache.clear()

    def kl(self, index: int, batch: MicroBatch, policy_B_K_V: torch.Tensor) -> torch.Tensor:
        """KL(policy || reference) by the estimator, [B, K]; `index` is the micro-batch's place in its
        step."""
        values = self.values(index, batch)
        if self.is_exact:
            return exact_kl(policy_B_K_V, values)
        return k3_kl(label_logprobs(policy_B_K_V, batch), values)

    def values(self, index: int, batch: Targets) -> torch.Tensor:
        """What KL is measured against: log-probabilities of the labels, or, for the exact one, what their
        distributions follow from: of a packed batch the hidden states, else they themselves."""
        values = self._cache.get(index)
        if values is None:
            values = self._compute(batch)
            if values.numel() + sum(v.numel() for v in self._cache.values()) <= self._cached_numbers:
                self._cache[index] = values
        return values

    @torch.no_grad()
    def _compute(self, batch: Targets) -> torch.Tensor:
        training = self.model.training
        self.model.eval()
        with using_reference(self.model) if self._is_policy else contextlib.nullcontext():
            values = self._of_packed(batch) if isinstance(batch, PackedBatch) else self._of_padded(batch)
        self.model.train(training)
        return values

    def _of_padded(self, batch: MicroBatch) -> torch.Tensor:
        distribution = log_distribution(self.model, batch, self._autocast)
        return distribution if self.is_exact else label_logprobs(distribution, batch)

    def _of_packed(self, batch: PackedBatch) -> torch.Tensor:
        with autocast_on(batch.token_ids_T.device, self._autocast):
            states_U_W = label_states(self.model, batch)
            if self.is_exact:
                return states_U_W
            logprobs_U, *_ = label_terms(self.model, batch, (False, False, False), None).compute(states_U_W)
            return logprobs_U


def autocast_on(device: torch.device, dtype: torch.dtype | None) -> torch.autocast:
    return torch.autocast(device.type, dtype=dtype, enabled=dtype is not None)


def policy_terms(
    model: torch.nn.Module,
    reference: Reference | None,
    index: int,
    batch: Targets,
    autocast: torch.dtype | None,
    entropy_gradient: bool,
    kl_gradient: bool,
) -> Terms:
    """One forward pass of the policy. Entropy and KL carry a gradient only where a term needs it."""
    if isinstance(batch, PackedBatch):
        return _packed_terms(model, reference, index, batch, autocast, entropy_gradient, kl_gradient)
    policy = log_distribution(model, batch, autocast)
    with torch.set_grad_enabled(torch.is_grad_enabled() and entropy_gradient):
        entropies = entropy(policy)
    kl = None
    if reference is not None:
        with torch.set_grad_enabled(torch.is_grad_enabled() and kl_gradient):
            kl = reference.kl(index, batch, policy)
    return Terms(label_logprobs(policy, batch), entropies, kl)


def _packed_terms(
    model: torch.nn.Module,
    reference: Reference | None,
    index: int,
    batch: PackedBatch,
    autocast: torch.dtype | None,
    entropy_gradient: bool,
    kl_gradient: bool,
) -> Terms:
    """The same, without padding and without logits of the whole batch."""
    values = None if reference is None else reference.values(index, batch)
    exact = None
    if reference is not None and reference.is_exact:
        exact = Head(causal_model(reference.model).get_output_embeddings()), values
    with autocast_on(batch.token_ids_T.device, autocast):
        states_U_W = label_states(model, batch)
        terms = label_terms(model, batch, (True, entropy_gradient, kl_gradient), exact).compute(states_U_W)
    logprobs_B_K, entropy_B_K, *exact_B_K = (batch.table(values_U) for values_U in terms)
    if reference is None or exact is not None:
        return Terms(logprobs_B_K, entropy_B_K, exact_B_K[0] if exact_B_K else None)
    with torch.set_grad_enabled(torch.is_grad_enabled() and kl_gradient):
        kl_B_K = k3_kl(logprobs_B_K, batch.table(values))
    return Terms(logprobs_B_K, entropy_B_K, kl_B_K)
