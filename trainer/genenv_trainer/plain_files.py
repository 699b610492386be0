"""Small files that somebody else may have written: no pipe or device in their place holds the reader up."""

import os
import stat
from pathlib import Path

MAX_BYTES = 64_000_000
"""Of a manifest, a model's settings or a run's metrics."""


def read_plain_file(file: Path, *, limit: int = MAX_BYTES) -> bytes:
    """The content of a file, at most `limit` bytes. Raises OSError for what is no file, or is too large, and for a link:
    who may write a folder could have a link lead to a file that they cannot read."""
    # A pipe would wait for its other end without O_NONBLOCK.
    with open(os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW), "rb") as content:
        status = os.fstat(content.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(f"{file}: not a file")
        if status.st_size > limit:
            raise OSError(f"{file}: {status.st_size} bytes; at most {limit} are read")
        return content.read()
