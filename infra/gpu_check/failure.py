"""Checks that fail."""


class Failed(Exception):
    """A check that failed, in a sentence."""
