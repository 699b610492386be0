"""The gradient of a step: those of its micro-batches, added up in their order, whichever process computed them.

A sum of floating-point numbers depends on its order. One process adds the gradient of each micro-batch to what
is there, ((g0 + g1) + g2) + …; several do the same sum, so that their number changes no bit. An all-reduce, which
adds up by process, would.
"""

from typing import TYPE_CHECKING

import torch

from genenv_trainer.parts import is_part
from genenv_trainer.ranks import Ranks

if TYPE_CHECKING:
    from genenv_trainer.sharding import Sharding


class GradientSum:
    """Begins with no gradients. `parameters` are of float32, as all weights that train; what of them is in parts,
    `sharding` adds up itself."""

    def __init__(self, parameters: list[torch.nn.Parameter], ranks: Ranks, sharding: "Sharding | None"):
        self._all, self._parameters = parameters, parameters
        self._ranks, self._sharding = ranks, sharding
        if sharding is not None:
            self._parameters = [p for p in parameters if not is_part(p)]
            sharding.start_step()
        self._totals: list[torch.Tensor | None] = [None] * len(self._parameters)
        self._received: torch.Tensor | None = None

    def start(self, index: int, count: int) -> None:
        """Before micro-batch `index` of `count` is computed here."""
        if self._ranks.size == 1:
            return
        for p in self._all:
            p.grad = None
        if self._sharding is not None:
            first = index - index % self._ranks.size
            self._sharding.start_round(min(self._ranks.size, count - first))

    def missing(self) -> list[int]:
        """Numbers of the parameters that the micro-batch computed here gives no gradient to."""
        return [number for number, p in enumerate(self._parameters) if p.grad is None]

    def add(self, index: int, missing: list[int]) -> None:
        """Add the gradient of micro-batch `index`, which lacks those of `missing`. All processes call it, for
        each micro-batch in order. Raises RankLost; lack of memory in one process raises in all of them."""
        if self._ranks.size == 1:
            return  # autograd has added it
        new = [number for number, total in enumerate(self._totals) if total is None and number not in missing]
        flat = self._ranks.agree(lambda: self._allocate(self._ranks.is_owner(index), new))
        self._ranks.broadcast(flat, index)
        parts = flat.split([p.numel() for p in self._parameters])
        for number, (p, part) in enumerate(zip(self._parameters, parts)):
            if number in missing:
                continue
            if number in new:
                self._totals[number].copy_(part.view_as(p))
            else:
                self._totals[number] += part.view_as(p)

    def finish(self) -> None:
        """Leave the sum in the parameters, if it is not there already."""
        if self._ranks.size > 1:
            for p, total in zip(self._parameters, self._totals):
                p.grad = total

    def _allocate(self, is_own: bool, new: list[int]) -> torch.Tensor:
        """All memory that the sum takes: room for the totals of `new`, and all gradients in a row (those
        computed here, or room for others'), which are returned."""
        for number in new:
            self._totals[number] = torch.empty_like(self._parameters[number])
        if not is_own:
            if self._received is None:
                device = self._parameters[0].device
                self._received = torch.empty(sum(p.numel() for p in self._parameters), device=device)
            return self._received
        return torch.cat(
            [(torch.zeros_like(p) if p.grad is None else p.grad).reshape(-1) for p in self._parameters]
        )
