"""What a step and a job report, under TRL's metric names."""

import torch

from genenv_trainer.batch import Targets, Totals
from genenv_trainer.job_config import Settings
from genenv_trainer.losses import Terms
from genenv_trainer.records import Record

MAXIMA = {"sampling/sampling_logp_difference/max", "env/rwr_weight_max"}


@torch.no_grad()
def micro_batch_sums(kind: str, settings: Settings, batch: Targets, terms: Terms) -> dict[str, float]:
    """Sums (or maxima) over the active tokens of one micro-batch."""
    mask = batch.mask_B_K
    per_token = {"entropy": terms.entropy}
    if terms.kl is not None:
        per_token["kl"] = terms.kl
    if kind == "grpo":
        log_ratio = terms.logprobs - batch.logprobs_B_K
        ratio, advantage = torch.exp(log_ratio), batch.advantage_B.unsqueeze(1)
        low = (ratio < 1 - settings.clip_low) & (advantage < 0)
        high = (ratio > 1 + settings.clip_high) & (advantage > 0)
        per_token |= {
            "clip_ratio/low_mean": low, "clip_ratio/high_mean": high, "clip_ratio/region_mean": low | high,
            "sampling/sampling_logp_difference/mean": log_ratio.abs(),
        }
    sums = {name: (value * mask).sum() for name, value in per_token.items()}
    if kind == "grpo":
        sums["sampling/sampling_logp_difference/max"] = (log_ratio.abs() * mask).max()
    return dict(zip(sums, torch.stack(list(sums.values())).tolist()))


def add_sums(total: dict[str, float], sums: dict[str, float]) -> None:
    for name, value in sums.items():
        total[name] = max(total.get(name, value), value) if name in MAXIMA else total.get(name, 0.0) + value


def step_metrics(
    kind: str, records: list[Record], totals: Totals, sums: dict[str, float]
) -> dict[str, float]:
    """Means over the step's active tokens (maxima stay), its tokens, and for RWR the spread of the weights:
    effective sample size (sum w)^2 / sum w^2, in sequences, and the largest weight.
    """
    metrics = {
        name: value if name in MAXIMA else value / totals.active_tokens for name, value in sums.items()
    }
    metrics["num_tokens"] = totals.all_tokens
    if kind == "rwr":
        weights = [record.weight for record in records]
        metrics["env/rwr_ess"] = sum(weights) ** 2 / sum(weight * weight for weight in weights)
        metrics["env/rwr_weight_max"] = max(weights)
    return metrics


def job_metrics(steps: list[dict]) -> dict[str, float]:
    """Metrics of a job from those of its done steps: the sum of num_tokens, the last learning_rate, what was
    compared with the sampler in the first step (later ones have another policy than the one that was sampled
    from), the greatest of the maxima, the mean of everything else. Empty if no step was done."""
    result = {}
    for name in steps[0] if steps else ():
        values = [step[name] for step in steps]
        if name == "num_tokens":
            result[name] = sum(values)
        elif name == "learning_rate":
            result[name] = values[-1]
        elif name.startswith("sampling/"):
            result[name] = values[0]
        else:
            result[name] = max(values) if name in MAXIMA else sum(values) / len(values)
    return result
