"""Small files that somebody else may have written: no pipe or device in their place holds the reader up."""

import os
import stat
from pathlib import Path

MAX_BYTES = 64_000_000
"""Of a manifest, a model's settings or a run's metrics."""


def read_plain_file(file: Path, *, follow: bool = False) -> bytes:
    """The content of a file, at most MAX_BYTES. Raises OSError for what is no file, or is too large, and for a link
    unless `follow`: who may write a folder could have a link lead to a file that they cannot read."""
    # A pipe would wait for its other end without O_NONBLOCK.
    flags = os.O_RDONLY | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW)
    with open(os.open(file, flags), "rb") as content:
        status = os.fstat(content.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(f"{file}: not a file")
        if status.st_size > MAX_BYTES:
            raise OSError(f"{file}: {status.st_size} bytes; at most {MAX_BYTES} are read")
        return content.read()
