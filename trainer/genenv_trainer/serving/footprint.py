"""Memory that a draw takes, by the model's own configuration, and that it may take."""

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

RESERVE_SHARE = 1 / 16
"""Of the memory, for what neither weights nor draws count: the process itself, gaps between tensors."""


@dataclass(frozen=True)
class Footprint:
    """Bytes besides the weights: keys and values of a token in all layers (`cached`), what a layer computes of
    a token of a prompt (`computed`), the logits of a row (`chosen`), and the most that a draw may take
    (`limit`)."""

    cached: int
    computed: int
    chosen: int
    limit: int

    @classmethod
    def of(cls, config: PretrainedConfig, element_bytes: int, limit: int) -> "Footprint":
        """Of a model with this configuration, whose numbers have so many bytes. Layers that keep less than
        all keys count in full."""
        config = config.get_text_config(decoder=True)
        heads = config.num_attention_heads
        head_width = getattr(config, "head_dim", None) or config.hidden_size // heads
        key_heads = getattr(config, "num_key_value_heads", None) or heads
        inner = getattr(config, "intermediate_size", None) or 4 * config.hidden_size
        return cls(
            cached=config.num_hidden_layers * key_heads * head_width * 2 * element_bytes,
            computed=(4 * config.hidden_size + 3 * inner) * element_bytes,
            chosen=config.vocab_size * LOGIT_COPIES * 4,
            limit=limit,
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

    def fits(self, batch: Sequence[SamplingParams]) -> bool:
        return self.draw_bytes(batch) <= self.limit


def draw_limit(memory: int, weights: int) -> int:
    """Bytes that a draw may take: half of the memory, as other models and jobs share it, or what the weights
    and the reserve leave, if that is less.

    The limit decides how a request is cut into parts, and so the last bits of the answer: it depends on the
    machine and the model, never on what else is loaded or drawn."""
    return max(0, min(memory // 2, memory - int(memory * RESERVE_SHARE) - weights))


def weight_bytes(model: torch.nn.Module) -> int:
    """Bytes of a model's weights, without those of the adapters over it, which are small and come and go."""
    adapters = set(getattr(model, "peft_config", ()))
    return sum(
        weight.nbytes for name, weight in model.named_parameters() if adapters.isdisjoint(name.split("."))
    )


def memory_of(device: torch.device) -> int:
    """Bytes of memory that a device has; those of the container, if it has a limit."""
    if device.type == "cuda":
        return torch.cuda.get_device_properties(device).total_memory
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    group = CGROUP_LIMIT.read_text().strip() if CGROUP_LIMIT.exists() else "max"
    return min(memory, int(group) if group.isdigit() else memory)
