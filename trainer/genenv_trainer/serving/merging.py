"""Activates a LoRA adapter by adding it to the weights of its base once, instead of at each token."""

from collections.abc import Callable
from functools import partial

import torch

from genenv_trainer.onednn_linear import OneDnnProduct, can_use_onednn

TRAINED_IN = torch.float32
"""Sums in fewer bits would lose the small changes of an adapter: those are added at each token."""


class MergedAdapter:
    """One adapter at a time of a peft model: its layers multiply by the sum of their weight and the adapter's,
    which is computed anew from the base, so that it does not depend on what was active before. Takes the memory
    of the adapted weights once more."""

    def __init__(self, model: torch.nn.Module):
        self._model = model
        self._active: str | None = None
        self._merged: list[tuple[torch.nn.Module, Callable | None]] = []
        """Layers with the adapter in their weight, and the product that their base had of its own before."""

    @torch.no_grad()
    def activate(self, adapter: str) -> None:
        """Forward passes are those of the base with this adapter."""
        if self._active == adapter:
            return
        self.restore()
        self._model.set_adapter(adapter, inference_mode=True)
        for layer in _mergeable_layers(self._model, adapter):
            base = layer.get_base_layer()
            earlier = vars(base).get("forward")
            base.forward = _product(base, _sum(layer, adapter))
            layer.merged_adapters.append(adapter)
            self._merged.append((layer, earlier))
        self._active = adapter

    def restore(self) -> None:
        """Layers multiply by the weights of the base alone again; adapters may be added and removed."""
        for layer, earlier in self._merged:
            base = layer.get_base_layer()
            if earlier is None:
                del base.forward
            else:
                base.forward = earlier
            layer.merged_adapters.clear()
        self._merged.clear()
        self._active = None


def _product(layer: torch.nn.Linear, weight: torch.Tensor) -> Callable[[torch.Tensor], torch.Tensor]:
    """The forward pass of a layer with another weight in the place of its own."""
    if can_use_onednn(layer):
        return OneDnnProduct(weight, layer.bias)
    return partial(torch.nn.functional.linear, weight=weight, bias=layer.bias)


def _sum(layer: torch.nn.Module, adapter: str) -> torch.Tensor:
    """The weight of a layer with the adapter added to it."""
    weight = layer.get_base_layer().weight
    up, down = layer.lora_B[adapter].weight, layer.lora_A[adapter].weight
    return torch.addmm(weight, up, down, alpha=layer.scaling[adapter])


def _mergeable_layers(model: torch.nn.Module, adapter: str) -> list[torch.nn.Module]:
    """Layers where the adapter is a plain product of two matrices beside a linear layer that has its weight
    alone. Other kinds of layers keep adding at each token."""
    from peft.tuners import lora

    shared = model.get_input_embeddings().weight
    plain = [layer for layer in model.modules() if type(layer) is lora.Linear and adapter in layer.lora_A]
    return [
        layer
        for layer in plain
        if type(base := layer.get_base_layer()) is torch.nn.Linear
        and base.weight is not shared
        and base.weight.dtype == TRAINED_IN
        and adapter not in layer.lora_variant
        and not layer.lora_bias[adapter]
    ]
