"""Log-probability, entropy and KL of labels from the hidden states that predict them, a chunk at a time: no
tensor as wide as the vocabulary is as long as the batch."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch.utils.checkpoint import checkpoint

from genenv_trainer.losses import entropy, exact_kl

CHUNK_NUMBERS = 1 << 23
"""Logits of a chunk: 32 MiB of float32."""

Values = tuple[torch.Tensor, ...]
"""Tensors [L], one for each term."""


@dataclass(frozen=True)
class Head:
    """The last layer: hidden states [L, W] -> log softmax of logits / temperature [L, V], float32."""

    layer: torch.nn.Linear

    def log_distribution(self, hidden_L_W: torch.Tensor, temperature_L: torch.Tensor) -> torch.Tensor:
        return torch.log_softmax(self.layer(hidden_L_W).float() / temperature_L[:, None], dim=-1)

    @property
    def is_trained(self) -> bool:
        return any(parameter.requires_grad for parameter in self.layer.parameters())


@dataclass(frozen=True)
class LabelTerms:
    """What is computed for each label. `gradients` says which of (log-probability, entropy, KL) carry one.
    `reference` has the head and the hidden states of the policy that the exact KL is measured against."""

    head: Head
    labels_L: torch.Tensor
    temperature_L: torch.Tensor
    gradients: tuple[bool, bool, bool] = (True, False, False)
    reference: tuple[Head, torch.Tensor] | None = None

    def compute(self, hidden_L_W: torch.Tensor) -> Values:
        """Log-probabilities, entropies and, with a reference, KLs, each [L]."""
        rows = max(1, CHUNK_NUMBERS // self.head.layer.out_features)
        parts = [slice(start, start + rows) for start in range(0, len(hidden_L_W), rows)]
        if not torch.is_grad_enabled():
            return _join([self._chunk(hidden_L_W[part], part) for part in parts])
        if not self.head.is_trained:
            return _FrozenHead.apply(hidden_L_W, self._chunk, parts, self.gradients)
        options = {"use_reentrant": False, "preserve_rng_state": False}
        return _join([checkpoint(self._trained_chunk, hidden_L_W[part], part, **options) for part in parts])

    def _trained_chunk(self, hidden_C_W: torch.Tensor, part: slice) -> Values:
        """Casts the head's weights anew: the gradients of chunks are then added up in the numbers of the
        weights. One cast for all chunks would add them up in its own, fewer bits."""
        device = hidden_C_W.device.type
        dtype, is_on = torch.get_autocast_dtype(device), torch.is_autocast_enabled(device)
        with torch.autocast(device, dtype=dtype, enabled=is_on, cache_enabled=False):
            return self._chunk(hidden_C_W, part)

    def _chunk(self, hidden_C_W: torch.Tensor, part: slice) -> Values:
        distribution = self.head.log_distribution(hidden_C_W, self.temperature_L[part])
        values = [distribution.gather(-1, self.labels_L[part, None]).squeeze(-1)]
        with torch.set_grad_enabled(torch.is_grad_enabled() and self.gradients[1]):
            values.append(entropy(distribution))
        if self.reference is not None:
            head, reference_L_W = self.reference
            with torch.no_grad():
                other = head.log_distribution(reference_L_W[part], self.temperature_L[part])
            with torch.set_grad_enabled(torch.is_grad_enabled() and self.gradients[2]):
                values.append(exact_kl(distribution, other))
        return tuple(values)


class _FrozenHead(torch.autograd.Function):
    """Values of labels under a head that does not train. A label's values depend on its own hidden state
    alone, so the forward pass keeps their gradients, [L, W] each, and no logits are computed again."""

    @staticmethod
    def forward(
        ctx,
        hidden_L_W: torch.Tensor,
        chunk: Callable[[torch.Tensor, slice], Values],
        parts: list[slice],
        wanted: tuple[bool, ...],
    ) -> Values:
        chunks, kept = [], []
        for part in parts:
            with torch.enable_grad():
                hidden_C_W = hidden_L_W[part].detach().requires_grad_()
                values = chunk(hidden_C_W, part)
                # Rows do not depend on each other: the gradient of their sum has that of each in its row.
                *others, last = [value.sum() for value in _of(values, wanted)]
            chunks.append(tuple(value.detach() for value in values))
            # The graph, with its logits, goes with the last gradient.
            gradients = [torch.autograd.grad(one, hidden_C_W, retain_graph=True)[0] for one in others]
            kept.append((*gradients, torch.autograd.grad(last, hidden_C_W)[0]))
        ctx.save_for_backward(*_join(kept))
        ctx.wanted = wanted
        joined = _join(chunks)
        ctx.mark_non_differentiable(*_of(joined, [not has_gradient for has_gradient in wanted]))
        return joined

    @staticmethod
    def backward(ctx, *gradients_L: torch.Tensor) -> tuple:
        used = zip(_of(gradients_L, ctx.wanted), ctx.saved_tensors, strict=True)
        first, *others = [gradient_L[:, None] * kept_L_W for gradient_L, kept_L_W in used]
        return sum(others, first), None, None, None


def _of(values: Values, wanted: Sequence[bool]) -> list[torch.Tensor]:
    return [value for value, is_wanted in zip(values, wanted) if is_wanted]


def _join(chunks: list[Values]) -> Values:
    return tuple(torch.cat(columns) for columns in zip(*chunks, strict=True))
