"""The process that renders chat templates: a request is a line of JSON on standard input, its answer one on
standard output. A template is a program of the model's author, so it runs where it can be killed."""

import ctypes
import json
import resource
import signal
import sys
from datetime import datetime

PR_SET_PDEATHSIG = 1
MEMORY_BYTES = 2 << 30
MAX_TEXT_BYTES = 8 << 20
TODAY = datetime(2024, 7, 26)
"""The date for all templates: with that of the clock, equal requests would have other answers the next day.
Llama's templates take this one if they are given none."""


def main() -> None:
    from jinja2 import TemplateError
    from transformers.utils.chat_template_utils import _compile_jinja_template, render_jinja_template

    if sys.platform == "linux":  # macOS knows neither of them
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        # A template in a loop must not outlive the server that would kill it.
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    # What a library prints must not be taken for an answer.
    answers, sys.stdout = sys.stdout, sys.stderr

    def answer(value: dict) -> None:
        answers.write(json.dumps(value) + "\n")
        answers.flush()

    answer({"ready": True})
    for line in sys.stdin:
        request = json.loads(line)
        try:
            # The library keeps what it has compiled, and renders that.
            _compile_jinja_template(request["template"]).globals["strftime_now"] = TODAY.strftime
            texts, _ = render_jinja_template(
                [request["messages"]],
                chat_template=request["template"],
                add_generation_prompt=True,
                **request["special_tokens"],
            )
            if len(texts[0].encode()) > MAX_TEXT_BYTES:
                raise TemplateError(f"it makes more than {MAX_TEXT_BYTES} bytes of them")
        except (TemplateError, MemoryError, OverflowError, TypeError, ValueError, KeyError) as error:
            answer({"error": f"{type(error).__name__}: {error}"[:500]})
        else:
            answer({"text": texts[0]})


if __name__ == "__main__":
    main()
