"""Command line: one training job, the resident parent of jobs, or the policy server."""

import argparse
import os
import sys

from genenv_trainer.file_mode import set_file_mask
from genenv_trainer.output_streams import survive_print_failures
from genenv_trainer.torchrun_parent import end_with_torchrun


def parser() -> argparse.ArgumentParser:
    root = argparse.ArgumentParser(prog="genenv_trainer", description=__doc__)
    commands = root.add_subparsers(dest="command", required=True)

    job = commands.add_parser("job", help="run the training job in one work folder")
    job.add_argument("folder", help="work folder with a job.json")

    resident = commands.add_parser("resident", help="stay imported and fork one process for each job")
    resident.add_argument("--socket", required=True, help="path of the Unix socket to listen on")

    serve = commands.add_parser("serve", help="serve policies over the OpenAI API")
    serve.add_argument("--store", required=True, help="folder of the artifact store")
    serve.add_argument("--host", default="127.0.0.1")
    serve.add_argument(
        "--allowed-hosts",
        help="host names that requests may be sent to, separated by commas; without it those of the loopback",
    )
    serve.add_argument("--port", type=int, default=0, help="0 takes a free one")
    serve.add_argument("--port-file", help="file to write the port to once it listens")
    serve.add_argument("--threads", type=int, default=2, help="torch threads")
    serve.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    serve.add_argument("--precision", choices=["float32", "bfloat16"], default="float32")
    return root


def main() -> int:
    args = parser().parse_args()
    # Before torch is imported: a rank that stands still in the import has to end too.
    end_with_torchrun(os.environ)
    survive_print_failures()
    set_file_mask(os.environ.get("GENENV_UMASK"))
    # Read when transformers and peft load: what a folder names is not asked for on the internet.
    os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
    # Read when torch loads. Threads that spin at a barrier take other processes' cores: up to 10x
    # slower on a busy machine.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    if args.command == "job":
        from genenv_trainer.job import run_job

        return run_job(args.folder)
    if args.command == "resident":
        from genenv_trainer.resident import main as resident

        return resident(args.socket)
    from genenv_trainer.serving.server import main as serve

    return serve(args) or 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # tearing down torch takes a while and writes warnings of the libraries to the log
