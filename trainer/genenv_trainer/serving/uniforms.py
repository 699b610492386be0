"""Uniform random numbers of a request's rows. Each row has a stream of its own, which follows from the
request's seed and the row's place in the request."""

import numpy as np

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""SplitMix64's increment."""


def splitmix64(state: np.ndarray) -> np.ndarray:
    """SplitMix64's output function (Steele, Lea and Flood 2014) on uint64, elementwise; it is a bijection."""
    z = state + GOLDEN
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def row_keys(seed: int, prompts: int, n: int, first_prompt: int = 0, first_sample: int = 0) -> np.ndarray:
    """Keys [prompts * n] of rows, by prompt and then sample: mix(mix(mix(seed) + i) + j) for prompt i and
    sample j of the request, of which the first row has `first_prompt` and `first_sample`."""
    root = splitmix64(np.array([seed % 2**64], dtype=np.uint64))
    prompt_P = np.arange(first_prompt, first_prompt + prompts, dtype=np.uint64)
    sample_N = np.arange(first_sample, first_sample + n, dtype=np.uint64)
    return splitmix64(splitmix64(root + prompt_P)[:, None] + sample_N).reshape(-1)


def uniforms(keys_B: np.ndarray, steps: int) -> np.ndarray:
    """Uniforms [B, steps] in [0, 1): the SplitMix64 stream that starts at each row's key, its upper 53
    bits."""
    counters_T = np.arange(steps, dtype=np.uint64) * GOLDEN
    return (splitmix64(keys_B[:, None] + counters_T) >> np.uint64(11)) * 2.0**-53
