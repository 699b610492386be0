"""`python -m genenv_trainer serve`: the policy server as a process."""

import argparse
import contextlib
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import uvicorn

KEEP_ALIVE_SECONDS = 120
"""Longer than clients keep an idle connection (Node 4 s, httpx 5 s), so that none sends on one just being closed."""


class Server(uvicorn.Server):
    """A uvicorn server that says its port once it accepts requests, and ends with 0 at SIGTERM, its requests answered."""

    def __init__(self, config: uvicorn.Config, port_file: Path | None):
        super().__init__(config)
        self.port_file = port_file

    async def startup(self, sockets: list | None = None) -> None:
        await super().startup(sockets)
        if self.started and self.port_file is not None:
            port = self.servers[0].sockets[0].getsockname()[1]
            draft = self.port_file.with_name(f"{self.port_file.name}.{os.getpid()}")
            draft.write_text(json.dumps({"port": port, "pid": os.getpid()}) + "\n")
            draft.replace(self.port_file)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Without uvicorn's raising of the signal again at the end, which would make it the exit status."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self.handle_exit)
        yield


def main(args: argparse.Namespace) -> int:
    # Read when torch is loaded: its threads sleep between two parallel regions. At this size spinning costs more than it
    # saves, most of all where others use the cores.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    import transformers

    from genenv_trainer.serving.app import create_app

    transformers.utils.logging.disable_progress_bar()
    app = create_app(Path(args.store).resolve(), args.threads)
    config = uvicorn.Config(app, host=args.host, port=args.port, log_level="warning", lifespan="off", timeout_keep_alive=KEEP_ALIVE_SECONDS)
    server = Server(config, Path(args.port_file) if args.port_file else None)
    server.run()
    return 0 if server.started else 1
