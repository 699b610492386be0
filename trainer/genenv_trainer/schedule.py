"""Learning-rate schedules, as a multiple of the base rate."""

import math


def rate_multiple(schedule: str, position: int, warmup_steps: int, total_steps: int) -> float:
    """Multiple of the learning rate at optimizer step `position` (from 0). The formulas of transformers'
    get_{constant,linear,cosine}_schedule_with_warmup: linear from 0 over `warmup_steps`, then 1, or down to 0
    at `total_steps` along a line or half a cosine.
    """
    if position < warmup_steps:
        return position / warmup_steps
    if schedule == "constant":
        return 1.0
    done = min(1.0, (position - warmup_steps) / max(1, total_steps - warmup_steps))
    return 1 - done if schedule == "linear" else 0.5 * (1 + math.cos(math.pi * done))
