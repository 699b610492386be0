"""Renders chat templates in a process of its own, with a limit of time and memory: a loop in a template would
stop the engine for good."""

import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path

TEMPLATE_SECONDS = 20
START_SECONDS = 300
"""To import what renders, on a busy machine."""

PACKAGE = Path(__file__).resolve().parents[2]


class TemplateFailed(Exception):
    """A template refuses the messages, or does not end within its limits."""


class TemplateRenderer:
    """Not thread-safe: it belongs to the engine's thread. Its process starts with the first template."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._unread = b""

    def render(self, template: str, messages: list[dict], special_tokens: dict[str, object]) -> str:
        """The text of a conversation up to the assistant's turn. Raises TemplateFailed."""
        process = self._running()
        request = {"template": template, "messages": messages, "special_tokens": special_tokens}
        try:
            self._write(process, json.dumps(request).encode() + b"\n", TEMPLATE_SECONDS)
            answer = json.loads(self._read_line(process, TEMPLATE_SECONDS))
        except (TimeoutError, OSError, ValueError, EOFError) as error:
            self.close()
            raise TemplateFailed(
                f"it did not end within {TEMPLATE_SECONDS} s and its memory: {type(error).__name__}"
            ) from error
        if "error" in answer:
            raise TemplateFailed(answer["error"])
        return answer["text"]

    def close(self) -> None:
        """Ends the process; the next template starts another one."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                pipe.close()
            self._process = None

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        self.close()
        self._unread = b""
        # Neither the server's token nor anything else of its environment is a template's business.
        environment = {
            name: os.environ[name] for name in ("PATH", "LANG", "LD_LIBRARY_PATH") if name in os.environ
        }
        self._process = subprocess.Popen(
            [sys.executable, "-m", "genenv_trainer.serving.template_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment | {"PYTHONPATH": str(PACKAGE), "HF_HUB_OFFLINE": "1"},
        )
        os.set_blocking(self._process.stdin.fileno(), False)
        try:
            self._read_line(self._process, START_SECONDS)
        except (TimeoutError, EOFError) as error:
            self.close()
            raise TemplateFailed(f"what renders templates does not start: {error}") from error
        return self._process

    def _write(self, process: subprocess.Popen[bytes], data: bytes, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        left = memoryview(data)
        while left:
            if not select.select([], [process.stdin], [], max(0, deadline - time.monotonic()))[1]:
                raise TimeoutError("it does not read")
            left = left[os.write(process.stdin.fileno(), left[: 1 << 16]) :]

    def _read_line(self, process: subprocess.Popen[bytes], seconds: float) -> bytes:
        deadline = time.monotonic() + seconds
        while b"\n" not in self._unread:
            if not select.select([process.stdout], [], [], max(0, deadline - time.monotonic()))[0]:
                raise TimeoutError("no answer")
            part = os.read(process.stdout.fileno(), 1 << 16)
            if not part:
                raise EOFError("its process has ended")
            self._unread += part
        line, _, self._unread = self._unread.partition(b"\n")
        return line
