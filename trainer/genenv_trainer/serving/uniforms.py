"""Counter-based uniform numbers: the one for (request seed, prompt, sample, step) depends on nothing else."""

import numpy as np

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def splitmix64(state: np.ndarray) -> np.ndarray:
    """SplitMix64's output function (Steele, Lea and Flood 2014) on uint64, elementwise; it is a bijection."""
    z = state + GOLDEN
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def row_keys(seed: int, prompts: int, n: int) -> np.ndarray:
    """Keys [prompts * n] of a request's rows, by prompt and then sample: mix(mix(mix(seed) + i) + j)."""
    root = splitmix64(np.array([seed % 2**64], dtype=np.uint64))
    of_prompt_P_1 = splitmix64(root + np.arange(prompts, dtype=np.uint64))[:, None]
    return splitmix64(of_prompt_P_1 + np.arange(n, dtype=np.uint64)).reshape(-1)


def uniforms(keys_B: np.ndarray, steps: int) -> np.ndarray:
    """Uniforms [B, steps] in [0, 1): the SplitMix64 stream that starts at each row's key, its upper 53 bits."""
    counters_T = np.arange(steps, dtype=np.uint64) * GOLDEN
    return (splitmix64(keys_B[:, None] + counters_T) >> np.uint64(11)) * 2.0**-53
