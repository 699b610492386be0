"""Who may read what is written: prompts, traces and weights are their owner's, as src/config/file-mode.ts has it."""

import os
import re


def set_file_mask(value: str | None) -> None:
    """Sets the mask of new files and folders: `value`, three octal digits such as 027, or 077. Raises ValueError."""
    if value is not None and not re.fullmatch(r"0?[0-7]{3}", value):
        raise ValueError(f"GENENV_UMASK: got {value[:20]!r}; expected three octal digits, such as 077")
    os.umask(int(value or "077", 8))
