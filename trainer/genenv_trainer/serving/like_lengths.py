"""Passes over rows of like length, since the rows of a pass are padded to its longest."""

FREE_PADDING = 4_096
"""Tokens of padding that cost less than another pass."""

MAX_RATIO = 1.25
"""Of the longest row to the shortest in a pass with more padding than is free."""


def passes_of_like_length(lengths: list[int], most_tokens: int | None = None) -> list[list[int]]:
    """Indices of the rows in passes, the shortest first. With `most_tokens`, a pass of several rows has at most
    so many, padding included."""
    passes: list[list[int]] = []
    padding = 0
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        rows, length = passes[-1] if passes else [], lengths[index]
        if rows:
            padding += len(rows) * (length - lengths[rows[-1]])
        is_alike = rows and (padding <= FREE_PADDING or length <= MAX_RATIO * lengths[rows[0]])
        if is_alike and (most_tokens is None or (len(rows) + 1) * length <= most_tokens):
            rows.append(index)
        else:
            passes.append([index])
            padding = 0
    return passes
