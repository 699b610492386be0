"""What a process prints, when its log cannot be written."""

import io
import sys


class _LossyFile(io.FileIO):
    """A file that loses what cannot be written to it, as on a full disk."""

    def write(self, data) -> int:
        try:
            return super().write(data)
        except OSError:
            return memoryview(data).nbytes


def survive_print_failures() -> None:
    """Replace standard output and error by streams on the same descriptors that never raise OSError.

    A full disk of logs then loses lines, and no work. Lines are written again when there is space.
    """
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        file = io.BufferedWriter(_LossyFile(descriptor, "w", closefd=False))
        stream = io.TextIOWrapper(file, encoding="utf-8", errors="backslashreplace", line_buffering=True)
        setattr(sys, name, stream)
