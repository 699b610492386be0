"""Full weights in parts (FSDP2): each process holds one part of every layer, its gradient and its moments.

For models that one device does not hold with gradients and moments. A layer is whole in a process only while it
computes. Embeddings, the last norm and the head stay whole everywhere: batches without logits of prompts read the
head outside of the model's forward pass (token_terms.py).

Bytes are those of a job without sharding as far as its kernels are the same for a part of a tensor as for the
whole: AdamW's takes 16 numbers at a time and rounds what is left over in another way, so parts must be multiples
of 16 numbers (rows of a part, times what a row has).
"""

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard
from torch.distributed.fsdp._fully_shard._fsdp_api import ReduceScatter

from genenv_trainer.adapters import causal_model
from genenv_trainer.errors import InvalidConfig
from genenv_trainer.parts import is_part
from genenv_trainer.ranks import Ranks


class OrderedReduceScatter(ReduceScatter):
    """Adds the gradients of a round's micro-batches to the sum of those before, in their order: an ordinary
    reduce-scatter adds up by process, and forgets the rounds before."""

    def __init__(self) -> None:
        self.micro_batches = 0
        """How many of the processes have a micro-batch in this round; what the others compute is left out."""
        self.total: torch.Tensor | None = None

    def allocate(self, size, *, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
        return torch.empty(*size, dtype=dtype, device=device)

    def __call__(self, output_tensor, input_tensor, group, op, async_op: bool = False) -> None:
        received = torch.empty_like(input_tensor)
        dist.all_to_all_single(received, input_tensor, group=group)
        for part in received.view(group.size(), -1)[: self.micro_batches]:
            if self.total is None:
                self.total = part.clone()
            else:
                self.total = self.total + part
        output_tensor.copy_(self.total)


class Sharding:
    """Leaves each process its part of a job's models, and adds up the gradients of the parts."""

    def __init__(self, ranks: Ranks):
        self._mesh = ranks.mesh()
        self._sums: list[OrderedReduceScatter] = []

    def shard(self, model: torch.nn.Module) -> None:
        """Raises InvalidConfig for an architecture whose layers are not found."""
        for layer in layers_of(model):
            fully_shard(layer, mesh=self._mesh, reshard_after_forward=True)
            self._sums.append(total := OrderedReduceScatter())
            layer.set_custom_reduce_scatter(total)
            # Losses are divided by the totals of the step already.
            layer.set_gradient_divide_factor(1.0)
            layer.set_force_sum_reduction_for_comms(True)
        decoder = causal_model(model).get_decoder()
        stay_whole = {p for p in decoder.parameters() if not is_part(p)}
        fully_shard(decoder, mesh=self._mesh, ignored_params=stay_whole)

    def start_step(self) -> None:
        for total in self._sums:
            total.total = None

    def start_round(self, micro_batches: int) -> None:
        """`micro_batches` of the processes have one of the step; the others compute along."""
        for total in self._sums:
            total.micro_batches = micro_batches


def layers_of(model: torch.nn.Module) -> list[torch.nn.Module]:
    layers = getattr(causal_model(model).get_decoder(), "layers", None)
    if not isinstance(layers, torch.nn.ModuleList) or len(layers) == 0:
        name = type(causal_model(model)).__name__
        raise InvalidConfig(f"job.json.sharding: 'full', but {name} has no list of layers; use 'none'")
    return list(layers)
