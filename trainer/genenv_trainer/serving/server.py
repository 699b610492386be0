"""`python -m genenv_trainer serve`: the FastAPI application over one registry and one engine, and its
process."""

import argparse
import contextlib
import json
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
import transformers
import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from starlette.middleware.trustedhost import TrustedHostMiddleware

from genenv_trainer.serving import answer_logprobs, chat, completions, errors, server_metrics, tokenization
from genenv_trainer.serving.access import (
    LOOPBACK_HOSTS,
    OPEN_PATHS,
    TOKEN_VARIABLE,
    TokenCheck,
    is_loopback,
    read_token,
)
from genenv_trainer.serving.engine import Engine
from genenv_trainer.serving.loaded_model import Placement
from genenv_trainer.serving.protocol import BodyLimit, RequestLimit, TimedProtocol
from genenv_trainer.serving.registry import Registry
from genenv_trainer.serving.server_metrics import RequestMetrics, ServerMetrics

CACHED_MODELS = 4

STUCK_SECONDS = 900
"""Longer than to load a model of many gigabytes, or to draw the largest part of a request."""

KEEP_ALIVE_SECONDS = 120
"""Longer than clients keep an idle connection (Node 4 s, httpx 5 s), so that none sends on one just being
closed."""


class Server(uvicorn.Server):
    """A uvicorn server that writes its port once it accepts requests, and exits with 0 at SIGTERM after it
    has answered its requests."""

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


def create_app(
    store: Path,
    threads: int,
    placement: Placement,
    token: str | None = None,
    hosts: Sequence[str] = LOOPBACK_HOSTS,
) -> FastAPI:
    """The application. Without a `token` whoever reaches it may ask; `hosts` are the names that requests may be
    sent to."""
    app = FastAPI(title="GenEnv policy server", openapi_url=None)
    app.state.registry = Registry(store, CACHED_MODELS, placement)
    app.state.engine = Engine(app.state.registry, threads)
    app.state.metrics = ServerMetrics()
    errors.install(app)
    # The one added last looks first.
    app.add_middleware(BodyLimit)
    app.add_middleware(RequestLimit, open_paths=OPEN_PATHS)
    if token is not None:
        app.add_middleware(TokenCheck, token=token)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=hosts, www_redirect=False)
    app.add_middleware(RequestMetrics, metrics=app.state.metrics)
    for part in (completions, answer_logprobs, chat, tokenization, server_metrics):
        app.include_router(part.router)

    @app.get("/health")
    async def health(http: Request) -> JSONResponse:
        engine: Engine = http.app.state.engine
        busy = engine.busy_seconds()
        stuck = busy > STUCK_SECONDS
        state = {"busy_seconds": round(busy, 1), "waiting": len(engine.waiting)}
        return JSONResponse({"status": "stuck" if stuck else "ok", "engine": state}, 503 if stuck else 200)

    @app.get("/v1/models")
    def models(http: Request) -> dict:
        registry: Registry = http.app.state.registry
        return {"object": "list", "data": [model_card(registry, name) for name in registry.names()]}

    @app.get("/v1/models/{name}")
    def model(http: Request, name: str) -> dict:
        registry: Registry = http.app.state.registry
        registry.require_served(name)
        return model_card(registry, name)

    return app


def model_card(registry: Registry, name: str) -> dict:
    """What is said of a served model: its name and its longest context, both read from files."""
    length = registry.max_length(name)
    return {"id": name, "max_model_len": length, "object": "model", "created": 0, "owned_by": "genenv"}


def main(args: argparse.Namespace) -> int:
    transformers.utils.logging.disable_progress_bar()
    try:
        token = read_token(os.environ)
        if token is None and not is_loopback(args.host):
            raise ValueError(f"--host {args.host}: other machines reach it; {TOKEN_VARIABLE} is needed there")
    except ValueError as error:
        print(f"serve: {error}", file=sys.stderr)
        return 2
    placement = Placement(args.device, getattr(torch, args.precision))
    hosts = [name.strip() for name in args.allowed_hosts.split(",")] if args.allowed_hosts else LOOPBACK_HOSTS
    app = create_app(Path(args.store).resolve(), args.threads, placement, token, hosts)
    config = uvicorn.Config(
        app,
        host=args.host,
        port=args.port,
        log_level="warning",
        lifespan="off",
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        http=TimedProtocol,
        ws="none",
    )
    server = Server(config, Path(args.port_file) if args.port_file else None)
    server.run()
    return 0 if server.started else 1
