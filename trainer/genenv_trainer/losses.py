"""The losses of GRPO, reward-weighted regression and supervised training, over one batch format.

Shapes: B sequences, K label positions, V vocabulary. `mask` is 1 at active tokens. Every loss is a sum over
the tokens of a micro-batch, already divided by the totals of the whole step, so micro-batches simply add up.
"""

from dataclasses import dataclass

import torch

from genenv_trainer.batch import Targets, Totals
from genenv_trainer.job_config import Settings


def clipped_ratio_loss(log_ratio_B_K, advantage_B, clip_low: float, clip_high: float):
    """-min(rho A, clip(rho, 1 - clip_low, 1 + clip_high) A) a token, rho = exp(log_ratio). [B, K].

    Source: PPO (Schulman et al. 2017) with DAPO's asymmetric clip; TRL 1.16 GRPOTrainer._compute_loss.
    """
    ratio = torch.exp(log_ratio_B_K)
    advantage_B_1 = advantage_B.unsqueeze(1)
    return -torch.min(ratio * advantage_B_1, ratio.clamp(1 - clip_low, 1 + clip_high) * advantage_B_1)


def k3_kl(logprobs_B_K, reference_logprobs_B_K):
    """Schulman's k3 estimate of KL(policy || reference) at sampled tokens, [B, K]:
    exp(d) - d - 1, d = log ref - log pi."""
    difference = reference_logprobs_B_K - logprobs_B_K
    return torch.exp(difference) - difference - 1


def exact_kl(log_distribution_B_K_V, reference_log_distribution_B_K_V):
    """KL(policy || reference) over the whole vocabulary at each position, [B, K] in nats:
    sum_v pi (log pi - log ref)."""
    # exp comes first: gradients are added in the order of the operations, and their bits depend on it.
    probabilities_B_K_V = log_distribution_B_K_V.exp()
    return (probabilities_B_K_V * (log_distribution_B_K_V - reference_log_distribution_B_K_V)).sum(-1)


def entropy(log_distribution_B_K_V):
    """-sum_v pi log pi at each position. [B, K], in nats."""
    return -(log_distribution_B_K_V.exp() * log_distribution_B_K_V).sum(-1)


def policy_normaliser(kind: str, settings: Settings, mask_B_K, totals: Totals):
    """What each token of the policy term is multiplied by. [B, 1] or a number. N, |y| are those of `totals`.

    grpo: 1 / (N |y_i|). dr_grpo: 1 / (N max_completion_length) (Liu et al. 2025).
    dapo: 1 / sum |y| (Yu et al. 2025). rwr, supervised: 1 / sum w |y| (the weight itself is in the term).
    """
    if kind != "grpo":
        return 1 / totals.weighted_tokens
    if settings.loss_type == "grpo":
        return 1 / (totals.sequences * mask_B_K.sum(1, keepdim=True).clamp(min=1))
    if settings.loss_type == "dr_grpo":
        return 1 / (totals.sequences * settings.max_completion_length)
    return 1 / totals.active_tokens


@dataclass(frozen=True)
class Terms:
    """Per-token values of one micro-batch, each [B, K]; `kl` is None without a reference."""

    logprobs: torch.Tensor
    entropy: torch.Tensor
    kl: torch.Tensor | None


def policy_loss(
    kind: str, settings: Settings, batch: Targets, terms: Terms, totals: Totals, whole: Totals
) -> torch.Tensor:
    """The loss of one micro-batch, a scalar; over the micro-batches of a step they sum to the step's loss.

    `totals` are those of the step's records, `whole` those that the policy term is divided by. They differ if
    the batch leaves out groups whose advantages are all 0: such groups add nothing to the policy term but
    count in its mean, so its gradient is that of the batch with them. KL and entropy stay means over `totals`.

    grpo: clipped ratio + kl_coefficient * KL (times rho with kl_bias_correction), both under the normaliser
    of loss_type, - entropy_coefficient * mean entropy of the active tokens (as TRL, for every loss type).
    rwr, supervised: -w log pi (Peters & Schaal 2007), + kl_coefficient * KL averaged over the active tokens.
    """
    mask = batch.mask_B_K
    normaliser = policy_normaliser(kind, settings, mask, whole)
    if kind == "grpo":
        log_ratio = terms.logprobs - batch.logprobs_B_K
        per_token = clipped_ratio_loss(log_ratio, batch.advantage_B, settings.clip_low, settings.clip_high)
        kl, kl_normaliser = terms.kl, policy_normaliser(kind, settings, mask, totals)
        if settings.kl_bias_correction and kl is not None:
            kl = kl * torch.exp(log_ratio)
    else:
        per_token = -batch.weight_B.unsqueeze(1) * terms.logprobs
        kl, kl_normaliser = terms.kl, 1 / totals.active_tokens
    loss = (per_token * mask * normaliser).sum()
    if settings.kl_coefficient:
        loss = loss + settings.kl_coefficient * (kl * mask * kl_normaliser).sum()
    if settings.entropy_coefficient:
        loss = loss - settings.entropy_coefficient * (terms.entropy * mask).sum() / totals.active_tokens
    return loss


def pull_back_loss(settings: Settings, batch: Targets, terms: Terms, totals: Totals) -> torch.Tensor:
    """kl_pull_back * mean KL of the active tokens: the loss of a step that starts above max_kl. A scalar."""
    return settings.kl_pull_back * (terms.kl * batch.mask_B_K).sum() / totals.active_tokens
