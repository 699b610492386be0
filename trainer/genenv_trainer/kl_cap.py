"""The KL cap: above `max_kl` a step only pulls back; a step that leaps above twice that is undone."""


def pulls_back(kl_before: float, max_kl: float) -> bool:
    """True if a step that starts at `kl_before` (nats a token) must minimise the KL term alone."""
    return kl_before > max_kl


def must_restore(kl_before: float, kl_after: float, max_kl: float) -> bool:
    """True if the step took the policy above 2 * max_kl from at or below it: the weights before it are published."""
    return kl_after > 2 * max_kl >= kl_before
