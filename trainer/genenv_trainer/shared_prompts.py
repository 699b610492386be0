"""Attention of sequences that share their prompts: each prompt is run once, its answers attend to it.

The sequences of a micro-batch lie in one row without padding: a prompt, its answers, the next prompt. Every
token attends to the tokens of its own sequence alone, so values are those of the sequences run one by one.
"""

import functools
from dataclasses import dataclass

import torch
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward

NAME = "genenv_shared_prompts"
ARCHITECTURES = frozenset({"llama", "mistral", "olmo2", "qwen2", "qwen3", "smollm3"})
"""Model types whose attention is plain causal attention over rotary positions, and whose logits are the
output of `lm_head`."""


@dataclass(frozen=True)
class Family:
    """Lengths in tokens of a prompt, and of what follows it in each sequence. A sequence that shares its
    prompt with no other is a prompt without answers."""

    prompt: int
    answers: tuple[int, ...]

    @property
    def lengths(self) -> tuple[int, ...]:
        return (self.prompt, *self.answers)


def can_share_prompts(model: PreTrainedModel) -> bool:
    """Whether the model's architecture is one whose attention this module can stand in for."""
    config = model.config
    windows = {"sliding_attention", "chunked_attention", "linear_attention"}
    return (
        config.model_type in ARCHITECTURES
        and getattr(config, "sliding_window", None) is None
        and not windows.intersection(getattr(config, "layer_types", None) or ())
        and type(model.get_output_embeddings()) is torch.nn.Linear
    )


def use_shared_prompts(model: PreTrainedModel) -> None:
    """Let the model attend by this module. Passes without `families` are those of before."""
    AttentionInterface.register(NAME, shared_prompt_attention)
    model.set_attn_implementation(NAME)


def shared_prompt_attention(
    module: torch.nn.Module,
    query_1_H_T_D: torch.Tensor,
    key_1_G_T_D: torch.Tensor,
    value_1_G_T_D: torch.Tensor,
    attention_mask: torch.Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    families: tuple[Family, ...] | None = None,
    **kwargs: object,
) -> tuple[torch.Tensor, None]:
    """What transformers calls in each layer, with H heads and G of keys. Output [1, T, H, D]."""
    states = query_1_H_T_D, key_1_G_T_D, value_1_G_T_D
    if families is None:
        return sdpa_attention_forward(module, *states, attention_mask, dropout, scaling, **kwargs)
    if kwargs.get("sliding_window") is not None or kwargs.get("softcap") is not None:
        raise ValueError("shared prompts know no sliding window and no soft cap; ARCHITECTURES is wrong")
    lengths = [length for family in families for length in family.lengths]
    parts = zip(*(state.split(lengths, dim=2) for state in states), strict=True)
    attend = functools.partial(scaled_dot_product_attention, dropout_p=dropout, scale=scaling)
    outputs = []
    for family in families:
        query, prompt_key, prompt_value = next(parts)
        repeats = query.shape[1] // prompt_key.shape[1]
        keys, values = (state.repeat_interleave(repeats, dim=1) for state in (prompt_key, prompt_value))
        outputs.append(attend(query, keys, values, is_causal=True))
        for _ in family.answers:
            query, key, value = next(parts)
            keys, values = torch.cat([prompt_key, key], dim=2), torch.cat([prompt_value, value], dim=2)
            # Heads with equal keys become rows of one head: the keys are not copied for each.
            rows = query.reshape(1, keys.shape[1], -1, query.shape[-1])
            mask = _mask(query.shape[2], keys.shape[2], repeats, query.device)
            outputs.append(attend(rows, keys, values, attn_mask=mask).reshape(query.shape))
    return torch.cat(outputs, dim=2).transpose(1, 2).contiguous(), None


@functools.lru_cache(maxsize=256)
def _mask(rows: int, columns: int, repeats: int, device: torch.device) -> torch.Tensor:
    """True where an answer's token may look: at the whole prompt, and at the answer up to itself.
    [repeats * rows, columns]."""
    mask = torch.ones(rows, columns, dtype=torch.bool, device=device).tril(columns - rows)
    return mask.repeat(repeats, 1)
