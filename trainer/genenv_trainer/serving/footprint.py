"""Memory that a draw takes, by the model's own configuration."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from transformers import PretrainedConfig

from genenv_trainer.serving.sampler import SamplingParams

CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")
LOGIT_COPIES = 6
"""Tables of float32 over rows and vocabulary at a time: logits, log-probabilities, probabilities, and their
sums in float64."""


@dataclass(frozen=True)
class Footprint:
    """Bytes besides the weights: keys and values of a token in all layers, what a layer computes of a token of a
    prompt, and the logits of a row."""

    cached: int
    computed: int
    chosen: int

    @classmethod
    def of(cls, config: PretrainedConfig, element_bytes: int) -> "Footprint":
        """Of a model with this configuration, whose numbers have so many bytes. Layers that keep less than all
        keys count in full."""
        config = config.get_text_config(decoder=True)
        heads = config.num_attention_heads
        head_width = getattr(config, "head_dim", None) or config.hidden_size // heads
        key_heads = getattr(config, "num_key_value_heads", None) or heads
        inner = getattr(config, "intermediate_size", None) or 4 * config.hidden_size
        return cls(
            cached=config.num_hidden_layers * key_heads * head_width * 2 * element_bytes,
            computed=(4 * config.hidden_size + 3 * inner) * element_bytes,
            chosen=config.vocab_size * LOGIT_COPIES * 4,
        )

    def draw_bytes(self, batch: Sequence[SamplingParams]) -> int:
        """Of the requests of a batch, whose rows are as long as the longest."""
        prompts = [prompt for params in batch for prompt in params.prompts]
        rows = sum(len(params.prompts) * params.n for params in batch)
        longest = max(map(len, prompts))
        steps = max(params.max_tokens for params in batch)
        return (
            rows * (longest + steps) * self.cached
            + len(prompts) * longest * self.computed
            + rows * self.chosen
        )


def draw_limit(device: str) -> int:
    """Bytes that a draw may take on a device: half of its memory, as the models have the other half."""
    if torch.device(device).type == "cuda":
        return torch.cuda.get_device_properties(device).total_memory // 2
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    group = CGROUP_LIMIT.read_text().strip() if CGROUP_LIMIT.exists() else "max"
    return min(memory, int(group) if group.isdigit() else memory) // 2
