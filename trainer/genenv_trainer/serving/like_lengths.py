"""Rows that are padded to one length, in groups in which that costs little."""

MAX_PADDING = 1.25
"""The longest row of a group has at most so many times the tokens of its shortest."""


def groups_of_like_length(lengths: list[int], most_tokens: int | None = None) -> list[list[int]]:
    """Indices in groups, the shortest first. With `most_tokens`, a group of several rows has at most so many,
    padding included."""
    groups: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        group = groups[-1] if groups else []
        is_alike = group and lengths[index] <= MAX_PADDING * lengths[group[0]]
        if is_alike and (most_tokens is None or (len(group) + 1) * lengths[index] <= most_tokens):
            group.append(index)
        else:
            groups.append([index])
    return groups
