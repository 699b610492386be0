"""A key-value cache with room for the tokens to come: each token is written, instead of all copied again."""

import torch
from transformers import DynamicCache, PretrainedConfig
from transformers.cache_utils import DynamicLayer


class RoomyLayer(DynamicLayer):
    """Keys and values [B, H, S, D] that are the first S positions of a buffer. It is as long as the prompts
    and all steps, also if it is made anew after rows have left the batch."""

    def __init__(self, steps: int):
        super().__init__()
        self._steps = steps
        self._end = 0
        self._buffers: tuple[torch.Tensor, torch.Tensor] | None = None

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: object, **kwargs: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        if not self.is_initialized:
            # Rows are often repeated after their first pass, so that makes no room yet.
            self._end = key_states.shape[2] + self._steps
            return super().update(key_states, value_states, *args, **kwargs)
        seen, added = self.keys.shape[2], key_states.shape[2]
        if self._buffers is None or seen + added > self._buffers[0].shape[2]:
            room = max(added, self._end - seen)
            self._buffers = _with_room(self.keys, room), _with_room(self.values, room)
        for buffer, states in zip(self._buffers, (key_states, value_states), strict=True):
            buffer[:, :, seen : seen + added] = states
        self.keys, self.values = (buffer[:, :, : seen + added] for buffer in self._buffers)
        return self.keys, self.values

    def fill(self, parts: list[tuple[list[int], DynamicLayer]], positions: int) -> None:
        """Puts together layers of some rows each, aligned to the right in so many positions. To their left are
        zeros, which a mask has to hide."""
        count = sum(len(rows) for rows, _ in parts)
        tables = []
        for name in ("keys", "values"):
            heads, _, width = getattr(parts[0][1], name).shape[1:]
            table = getattr(parts[0][1], name).new_zeros(count, heads, positions, width)
            for rows, layer in parts:
                states = getattr(layer, name)
                table[rows, :, positions - states.shape[2] :] = states
            tables.append(table)
        self.update(*tables)

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        super().batch_select_indices(indices)
        self._buffers = None


def _with_room(states_B_H_S_D: torch.Tensor, steps: int) -> torch.Tensor:
    rows, heads, seen, width = states_B_H_S_D.shape
    buffer = states_B_H_S_D.new_empty(rows, heads, seen + steps, width)
    buffer[:, :, :seen] = states_B_H_S_D
    return buffer


def can_fill(cache: DynamicCache) -> bool:
    """Whether all of its layers keep the keys and values of all positions."""
    return all(type(layer) is RoomyLayer for layer in cache.layers)


def roomy_cache(config: PretrainedConfig, steps: int) -> DynamicCache:
    """A cache for up to `steps` tokens after the prompts. Layers that keep something else than all keys are
    those of transformers."""
    cache = DynamicCache(config=config)
    cache.layers = [RoomyLayer(steps) if type(layer) is DynamicLayer else layer for layer in cache.layers]
    return cache
