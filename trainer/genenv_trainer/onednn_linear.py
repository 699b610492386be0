"""Products of large frozen linear layers on a CPU by oneDNN, which comes with torch, in float32.

torch computes them with MKL, which leaves AVX-512 unused on processors that are not Intel's. oneDNN uses it, and
reads weights in an order of its own, so they are reordered once. Two to four times as fast on an AMD EPYC; the
values differ in their last bits (docs/decisions/0142-large-frozen-layers-by-onednn.md).
"""

from functools import cached_property

import torch

MIN_WEIGHTS = 100_000
"""Of a layer. Smaller ones, as models from scratch have, gain little and keep their bits."""


class OneDnnProduct:
    """inputs [..., I] -> inputs @ weight.T + bias [..., O], for a weight [O, I] that does not change while this is
    used. Without gradients."""

    def __init__(self, weight: torch.Tensor, bias: torch.Tensor | None = None):
        self._weight = torch.ops.mkldnn._reorder_linear_weight(weight.detach().contiguous())
        self._bias = bias

    def __call__(self, inputs: torch.Tensor) -> torch.Tensor:
        return torch.ops.mkldnn._linear_pointwise(inputs.contiguous(), self._weight, self._bias, "none", [], "")


class FrozenProduct:
    """The product of a layer that is not trained, with the gradient of its inputs."""

    def __init__(self, layer: torch.nn.Linear):
        self._layer = layer
        self.product = OneDnnProduct(layer.weight, layer.bias)

    def __call__(self, inputs: torch.Tensor) -> torch.Tensor:
        return _FrozenFunction.apply(inputs, self)

    @cached_property
    def transposed(self) -> OneDnnProduct:
        """gradient [..., O] -> gradient @ weight [..., I]."""
        return OneDnnProduct(self._layer.weight.T)


class _FrozenFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, inputs: torch.Tensor, frozen: FrozenProduct) -> torch.Tensor:
        ctx.frozen = frozen
        return frozen.product(inputs)

    @staticmethod
    def backward(ctx, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        return ctx.frozen.transposed(gradient), None


def can_use_onednn(layer: torch.nn.Module) -> bool:
    """Whether a layer is a large linear one on a CPU, in float32. Whether it is trained is not asked here."""
    return (
        type(layer) is torch.nn.Linear
        and layer.weight.device.type == "cpu"
        and layer.weight.dtype == torch.float32
        and layer.weight.numel() >= MIN_WEIGHTS
        and torch.backends.mkldnn.is_available()
    )


def use_onednn_where_frozen(model: torch.nn.Module) -> None:
    """Let all layers of a model that can, and that do not train, compute their products by oneDNN."""
    for layer in model.modules():
        if can_use_onednn(layer) and not any(p.requires_grad for p in layer.parameters()):
            layer.forward = FrozenProduct(layer)


def reordered_bytes(model: torch.nn.Module) -> int:
    """Bytes of the weights that a model's frozen layers have a second time, in the order of oneDNN."""
    layers = [layer for layer in model.modules() if isinstance(vars(layer).get("forward"), FrozenProduct)]
    return sum(layer.weight.nbytes for layer in layers)
