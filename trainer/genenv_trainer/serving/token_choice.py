"""Draws the next token of each row, by inversion of the cumulative distribution."""

import torch

from genenv_trainer.serving.structure import without_forbidden

LARGE_VOCABULARY = 4096
"""From here on a token is found by blocks. Smaller ones, as models from scratch have, keep their bits."""

BLOCK = 256
"""Tokens of a block."""


def choose(
    logits_B_V: torch.Tensor,
    temperature_B: torch.Tensor,
    uniform_B: torch.Tensor,
    allowed_B_W: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Tokens [B] by inversion of the cumulative distribution, and log-probabilities [B, V] at the
    temperature.

    The token is the first whose cumulative probability exceeds u * total; u has 53 bits, so the product is
    less than total, and a token of probability 0 is never taken. At temperature 0 it is the most probable
    one, at the log-probabilities of temperature 1. With `allowed_B_W`, bits of the tokens that grammars
    allow, it is one of these, by their probabilities among themselves; log-probabilities stay those of all
    tokens.
    """
    greedy_B = temperature_B == 0
    divisor_B = temperature_B.masked_fill(greedy_B, 1)
    logits_B_V = logits_B_V.float()
    if bool((divisor_B != 1).any()):
        logits_B_V = logits_B_V / divisor_B[:, None]
    logprobs_B_V = torch.log_softmax(logits_B_V, dim=-1)
    invert = invert_in_blocks if logits_B_V.shape[1] >= LARGE_VOCABULARY else invert_whole
    if allowed_B_W is None:
        probability_B_V = logprobs_B_V.exp()
    else:
        logits_B_V = without_forbidden(logits_B_V, allowed_B_W)
        probability_B_V = torch.softmax(logits_B_V, dim=-1)
    token_B = invert(probability_B_V, uniform_B)
    if greedy_B.any():
        token_B = torch.where(greedy_B, logits_B_V.argmax(dim=-1), token_B)
    return token_B, logprobs_B_V


def invert_whole(probability_B_V: torch.Tensor, uniform_B: torch.Tensor) -> torch.Tensor:
    """The first token of each row whose cumulative probability exceeds u * total. [B]."""
    cumulative_B_V = probability_B_V.double().cumsum(dim=-1)
    target_B_1 = uniform_B[:, None] * cumulative_B_V[:, -1:]
    token_B = torch.searchsorted(cumulative_B_V, target_B_1, right=True)[:, 0]
    return token_B.clamp(max=probability_B_V.shape[1] - 1)


def invert_in_blocks(probability_B_V: torch.Tensor, uniform_B: torch.Tensor) -> torch.Tensor:
    """The same, first by block of tokens and then by token in it: cumulative sums are over the blocks and
    over one of them, not over the vocabulary."""
    rows, vocabulary = probability_B_V.shape
    padding = -vocabulary % BLOCK
    if padding:
        probability_B_V = torch.nn.functional.pad(probability_B_V, (0, padding))
    blocks_B_N_K = probability_B_V.view(rows, -1, BLOCK)
    cumulative_B_N = blocks_B_N_K.sum(dim=-1, dtype=torch.double).cumsum(dim=-1)
    target_B_1 = uniform_B[:, None] * cumulative_B_N[:, -1:]
    block_B_1 = torch.searchsorted(cumulative_B_N, target_B_1, right=True)
    block_B_1 = block_B_1.clamp(max=cumulative_B_N.shape[1] - 1)
    before_B_1 = torch.where(block_B_1 > 0, cumulative_B_N.gather(1, (block_B_1 - 1).clamp(min=0)), 0.0)
    block_B_K = blocks_B_N_K.take_along_dim(block_B_1[:, :, None], dim=1)[:, 0].double()
    inside_B_1 = torch.searchsorted(before_B_1 + block_B_K.cumsum(dim=-1), target_B_1, right=True)
    # The two sums of a block may differ in the last bit: then it is its last token of any probability.
    last_B_1 = BLOCK - 1 - (block_B_K > 0).flip(-1).long().argmax(dim=-1, keepdim=True)
    token_B = (block_B_1 * BLOCK + torch.minimum(inside_B_1, last_B_1))[:, 0]
    return token_B.clamp(max=vocabulary - 1)
