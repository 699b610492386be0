"""What a model server must answer if it serves the weights of a job: the likeliest next tokens in a short text.

They are what a server says of any completion. Log-probabilities of prompts would be simpler, but they kill the
engine of vLLM 0.32 if one of several requests of a step asks for those of an adapter.
"""

import math

import torch

from genenv_trainer.models import Policy

TEXT = (
    "The old clock in the market square struck nine, and the baker opened his door to the first customers of "
    "a cold, bright morning. add(2, multiply(3, 4)) = 14"
)
"""Neither certain nor absurd, so that small changes of the weights show."""
MAX_TOKENS = 48
POSITIONS = 8
"""Places in the text, the last one its end."""
LIKELIEST = 5
"""Tokens at each place."""


def measure_canary(policy: Policy, device: torch.device, precision: str) -> list[dict] | None:
    """For each place: the text up to it, and the likeliest tokens after it with their log-probabilities at
    temperature 1, under the adapter of `policy`, and under its base alone (whose difference from a server's
    says how precise that server is).

    None for full weights, which no server is given by name, and if the numbers would say nothing.
    """
    if not policy.is_adapter:
        return None
    try:
        token_ids = policy.tokenizer()(TEXT, add_special_tokens=False)["input_ids"][:MAX_TOKENS]
    except Exception as error:  # the Rust library raises plain Exception, for text outside a small vocabulary
        print(f"no canary: the tokenizer refuses its text: {error}", flush=True)
        return None
    if len(token_ids) < POSITIONS:
        return None
    ends = [(place + 1) * len(token_ids) // POSITIONS for place in range(POSITIONS)]
    autocast = torch.bfloat16 if precision == "bfloat16" else None
    was_training = policy.model.training
    policy.model.eval()
    adapted = _likeliest(policy.model, token_ids, device, autocast)
    with policy.model.disable_adapter():
        base = _likeliest(policy.model, token_ids, device, autocast)
    policy.model.train(was_training)
    canary = [
        {"prompt": token_ids[:end], "adapter": adapted[end - 1], "base": base[end - 1]} for end in ends
    ]
    numbers = [number for place in canary for name in ("adapter", "base") for number in place[name]["logprobs"]]
    return canary if all(map(math.isfinite, numbers)) else None


@torch.no_grad()
def _likeliest(
    model: torch.nn.Module, token_ids: list[int], device: torch.device, autocast: torch.dtype | None
) -> list[dict]:
    """The likeliest tokens after each token."""
    with torch.autocast(device.type, dtype=autocast, enabled=autocast is not None):
        logits_T_V = model(input_ids=torch.tensor([token_ids], device=device), use_cache=False).logits[0]
    logprobs, ids = torch.log_softmax(logits_T_V.float(), dim=-1).topk(LIKELIEST, dim=-1)
    return [
        {"token_ids": row_ids, "logprobs": row_logprobs}
        for row_ids, row_logprobs in zip(ids.tolist(), logprobs.tolist(), strict=True)
    ]
