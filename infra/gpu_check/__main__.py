"""Trainer and embedded policy server on a GPU (on a processor with `--device cpu --precision float32`): sampling and
GRPO step in tokens a second, the step beside TRL's, the sampler's log-probabilities against the trainer's, and GRPO jobs
compared byte for byte: one that is killed and resumed, and one that is run twice. Prints and writes JSON; exits with 1 if
a check fails. `infra/gpu-check.sh` starts it.
"""

import argparse
import importlib.util
import json
import sys
import tempfile
from pathlib import Path

NEEDED = ("torch", "transformers", "peft", "safetensors", "tokenizers", "numpy", "pydantic", "fastapi", "uvicorn", "psutil")


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="infra/gpu-check.sh", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="file to write the JSON to")
    parser.add_argument("--model", type=Path, help="Hugging Face folder; without it, a randomly initialised model of SmolLM2-135M's shape")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--precision", choices=["bfloat16", "float32"], default="bfloat16")
    parser.add_argument("--threads", type=int, default=2, help="torch threads of server and jobs")
    parser.add_argument("--tokens", type=int, default=32, help="tokens of each of the 64 sampled sequences")
    parser.add_argument("--steps", type=int, default=8, help="optimizer steps of each GRPO job")
    parser.add_argument("--groups", type=int, default=8, help="groups of 8 sequences in the measured GRPO step")
    parser.add_argument("--rounds", type=int, default=3, help="the best of which counts")
    options = parser.parse_args()
    if options.steps < 4:
        parser.error("--steps: at least 4, so that a job which is killed after half of them has left a step checkpoint")
    return options


def main() -> int:
    options = parse_options()
    if missing := [name for name in NEEDED if importlib.util.find_spec(name) is None]:
        print(f"Missing in {sys.executable}: {', '.join(missing)}. Install trainer/requirements.in, or name another Python in PYTHON.")
        return 1
    import torch
    import transformers

    from .checks import run_checks
    from .problems import problems

    transformers.utils.logging.disable_progress_bar()
    if options.device == "cuda" and not torch.cuda.is_available():
        print("torch sees no CUDA device here. To try this script without one: --device cpu --precision float32 --tokens 8 --groups 1")
        return 1
    # The bits of this process are those of a job.
    torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory(prefix="genenv-gpu-check-") as scratch:
        report = run_checks(options, Path(scratch))
    found = problems(report)
    report["passed"] = not found
    report["problems"] = found
    text = json.dumps(report, indent=2)
    print(text)
    if options.out is not None:
        options.out.write_text(text + "\n")
    for sentence in found:
        print(sentence, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
