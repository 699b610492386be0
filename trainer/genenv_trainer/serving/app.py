"""The FastAPI application: the routes over one registry and one engine."""

from pathlib import Path

from fastapi import FastAPI, Request

from genenv_trainer.serving import chat, completions, errors, tokenization
from genenv_trainer.serving.engine import Engine
from genenv_trainer.serving.registry import Registry

CACHED_MODELS = 4


def create_app(store: Path, threads: int) -> FastAPI:
    app = FastAPI(title="GenEnv policy server", openapi_url=None)
    app.state.registry = Registry(store, CACHED_MODELS)
    app.state.engine = Engine(app.state.registry, threads)
    errors.install(app)
    for part in (completions, chat, tokenization):
        app.include_router(part.router)

    @app.get("/health")
    async def health() -> dict:
        return {"status": "ok"}

    @app.get("/v1/models")
    async def models(http: Request) -> dict:
        names = http.app.state.registry.names()
        data = [{"id": name, "object": "model", "created": 0, "owned_by": "genenv"} for name in names]
        return {"object": "list", "data": data}

    return app
