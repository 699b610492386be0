"""Attention of sequences that share their beginnings: each token that follows the same ones is run once.

The sequences of a micro-batch are a tree of segments, which lie in one row without padding. Every token attends
to its own segment up to itself and to all of the segments before it in its sequence, so values are those of
the sequences run one by one.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward

NAME = "genenv_shared_prefixes"
ARCHITECTURES = frozenset({"llama", "mistral", "olmo2", "qwen2", "qwen3", "smollm3"})
"""Model types whose attention is plain causal attention over rotary positions, and whose logits are the
output of `lm_head`."""

MASK_STRIDE = 8
"""What the kernels of CUDA want the rows of a mask to begin at multiples of: they copy another one."""

Masks = dict[tuple[int, int], torch.Tensor]
"""Of one pass: by the length of a segment, and how many tokens it sees."""


@dataclass(frozen=True)
class Segment:
    """Tokens that follow those of the segment `parent`, an earlier one of the row, or begin a sequence."""

    length: int
    parent: int | None


def can_share_prefixes(model: PreTrainedModel) -> bool:
    """Whether the model's architecture is one whose attention this module can stand in for."""
    config = model.config
    windows = {"sliding_attention", "chunked_attention", "linear_attention"}
    return (
        config.model_type in ARCHITECTURES
        and getattr(config, "sliding_window", None) is None
        and not windows.intersection(getattr(config, "layer_types", None) or ())
        and type(model.get_output_embeddings()) is torch.nn.Linear
    )


def use_shared_prefixes(model: PreTrainedModel) -> None:
    """Let the model attend by this module. Passes without `segments` use PyTorch's attention as it is."""
    AttentionInterface.register(NAME, shared_prefix_attention)
    model.set_attn_implementation(NAME)


def shared_prefix_attention(
    module: torch.nn.Module,
    query_1_H_T_D: torch.Tensor,
    key_1_G_T_D: torch.Tensor,
    value_1_G_T_D: torch.Tensor,
    attention_mask: torch.Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    segments: tuple[Segment, ...] | None = None,
    masks: Masks | None = None,
    **kwargs: object,
) -> tuple[torch.Tensor, None]:
    """What transformers calls in each layer, with H heads and G of keys. Output [1, T, H, D]. `masks` is empty
    before the first layer of a pass: all layers have the same ones."""
    states = query_1_H_T_D, key_1_G_T_D, value_1_G_T_D
    if segments is None:
        return sdpa_attention_forward(module, *states, attention_mask, dropout, scaling, **kwargs)
    if kwargs.get("sliding_window") is not None or kwargs.get("softcap") is not None:
        raise ValueError("shared prefixes know no sliding window and no soft cap; ARCHITECTURES is wrong")
    lengths = [segment.length for segment in segments]
    parts = zip(*(state.split(lengths, dim=2) for state in states), strict=True)
    attend = functools.partial(scaled_dot_product_attention, dropout_p=dropout, scale=scaling)
    parents = {segment.parent for segment in segments}
    outputs, context = [], {}
    for index, (segment, (query, keys, values)) in enumerate(zip(segments, parts, strict=True)):
        if segment.parent is not None:
            earlier_keys, earlier_values = context[segment.parent]
            keys, values = torch.cat([earlier_keys, keys], dim=2), torch.cat([earlier_values, values], dim=2)
        if index in parents:
            context[index] = keys, values
        outputs.append(_attend_from(query, keys, values, attend, masks))
    return torch.cat(outputs, dim=2).transpose(1, 2).contiguous(), None


def _attend_from(
    query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, attend: Callable, masks: Masks
) -> torch.Tensor:
    """Attention of a segment, whose keys and values come after those of all segments before it."""
    repeats = query.shape[1] // keys.shape[1]
    length, seen = query.shape[2], keys.shape[2]
    if length == seen:
        keys, values = (state.repeat_interleave(repeats, dim=1) for state in (keys, values))
        return attend(query, keys, values, is_causal=True)
    # Heads with equal keys become rows of one head: the keys are not copied for each.
    rows = query.reshape(1, keys.shape[1], -1, query.shape[-1])
    if (length, seen) not in masks:
        masks[length, seen] = _mask(length, seen, repeats, query)
    return attend(rows, keys, values, attn_mask=masks[length, seen]).reshape(query.shape)


def _mask(length: int, seen: int, repeats: int, query: torch.Tensor) -> torch.Tensor:
    """0 where the last `length` of `seen` tokens may look, at all before them and at themselves up to each, else
    −∞; `repeats` times, one below the other. [repeats * length, seen].

    SDPA takes no copy of it: its numbers are those that SDPA computes in, and its rows begin at multiples of
    `MASK_STRIDE` numbers."""
    device = query.device.type
    dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else query.dtype
    stride = math.ceil(seen / MASK_STRIDE) * MASK_STRIDE
    mask = torch.full((length, stride), -torch.inf, dtype=dtype, device=query.device).triu(seen - length + 1)
    return mask.repeat(repeats, 1)[:, :seen]
