"""A full disk of logs must cost lines, not work: /dev/full refuses every write as such a disk does."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import logging, os, sys
from genenv_trainer.output_streams import survive_print_failures
{survive}
logging.basicConfig()
print("lost", flush=True)
logging.error("lost")
print("lost", file=sys.stderr, flush=True)
log = os.open({log!r}, os.O_WRONLY | os.O_CREAT, 0o600)
os.dup2(log, 1)
os.dup2(log, 2)
print("kept", flush=True)
print("kept: \\udcff", file=sys.stderr, flush=True)
"""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
@pytest.mark.parametrize(("survive", "codes", "kept"), [
    ("survive_print_failures()", {0}, "kept\nkept: \\udcff\n"),
    # 120 if what is buffered cannot be flushed at the end either; unbuffered output has nothing left then.
    ("", {1, 120}, None),
])  # fmt: skip
def test_a_log_on_a_full_disk_loses_lines_alone(survive, codes, kept, tmp_path: Path):
    log = tmp_path / "log.txt"
    script = SCRIPT.format(survive=survive, log=str(log))
    with open("/dev/full", "w") as full:
        ended = subprocess.run([sys.executable, "-c", script], stdout=full, stderr=full, check=False)
    assert ended.returncode in codes
    assert kept is None or log.read_text() == kept
