"""`GET /metrics` in Prometheus's text format (docs/telemetry.md).

Written by hand: a package more would be another environment of gigabytes for a page of code
(docs/decisions/0080).
"""

import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping

from fastapi import APIRouter, Request, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from genenv_trainer.serving.engine import Engine
from genenv_trainer.serving.registry import Registry

BUCKETS = (0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300)
"""Seconds of requests."""

PATHS = ("/v1/completions", "/v1/chat/completions", "/tokenize", "/v1/models", "/health", "/metrics")
"""Whoever asks chooses a path, and a label must not grow: any other path is `other`."""

Labels = tuple[tuple[str, str], ...]


class ServerMetrics:
    """What this process has counted since it started."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.requests: Counter[Labels] = Counter()
        self.buckets: Counter[tuple[str, float]] = Counter()
        self.seconds: Counter[str] = Counter()
        self.tokens: Counter[str] = Counter({"prompt": 0, "completion": 0})

    def record(self, path: str, status: int, seconds: float) -> None:
        with self.lock:
            self.requests[(("path", path), ("status", str(status)))] += 1
            self.seconds[path] += seconds
            for limit in BUCKETS:
                if seconds <= limit:
                    self.buckets[(path, limit)] += 1

    def count_tokens(self, usage: Mapping[str, int]) -> None:
        with self.lock:
            for kind in ("prompt", "completion"):
                self.tokens[kind] += usage[f"{kind}_tokens"]

    def text(self, engine: Engine, registry: Registry) -> str:
        with self.lock:
            requests, tokens = dict(self.requests), dict(self.tokens)
            duration = list(self._duration())
        families = [
            ("requests_total", "counter", "Requests that were answered.", _values(requests)),
            (
                "request_duration_seconds",
                "histogram",
                "Time from a request to the end of its answer.",
                duration,
            ),
            (
                "tokens_total",
                "counter",
                "Tokens of answered requests by kind, prompt or completion; a prompt with several samples counts "
                "once.",
                _values({(("kind", kind),): count for kind, count in tokens.items()}),
            ),
            (
                "requests_waiting",
                "gauge",
                "Requests that wait for the engine, which works on one batch at a time.",
                _values({(): len(engine.waiting)}),
            ),
            (
                "busy_seconds",
                "gauge",
                "How long the engine has been at what it does now; 0 if it does nothing.",
                _values({(): engine.busy_seconds()}),
            ),
            ("models_loaded", "gauge", "Models in memory.", _values({(): len(registry.models)})),
            (
                "gpu_memory_bytes",
                "gauge",
                "Memory of the GPU that is allocated; 0 without a GPU.",
                _values({(): _gpu_bytes()}),
            ),
        ]
        return "".join(_family(*family) for family in families)

    def _duration(self) -> Iterable[tuple[str, Labels, float]]:
        counts: Counter[str] = Counter()
        for labels, count in self.requests.items():
            counts[dict(labels)["path"]] += count
        for path, count in counts.items():
            for limit in BUCKETS:
                yield "_bucket", (("path", path), ("le", str(limit))), self.buckets[(path, limit)]
            yield "_bucket", (("path", path), ("le", "+Inf")), count
            yield "_sum", (("path", path),), self.seconds[path]
            yield "_count", (("path", path),), count


class RequestMetrics:
    """ASGI middleware that records each request when its answer has been sent."""

    def __init__(self, app: ASGIApp, metrics: ServerMetrics):
        self.app, self.metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        # What no answer says: the client has gone.
        status, began = 499, time.monotonic()

        async def send_and_note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, send_and_note)
        finally:
            self.metrics.record(path_label(scope["path"]), status, time.monotonic() - began)


def path_label(path: str) -> str:
    """A path as a label: what is asked of one model counts with the list of models."""
    if path.startswith("/v1/models/"):
        return "/v1/models"
    return path if path in PATHS else "other"


router = APIRouter()


@router.get("/metrics")
async def metrics(http: Request) -> Response:
    state = http.app.state
    text = state.metrics.text(state.engine, state.registry)
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


def _values(values: Mapping[Labels, float]) -> list[tuple[str, Labels, float]]:
    return [("", labels, value) for labels, value in values.items()]


def _family(name: str, kind: str, text: str, samples: Iterable[tuple[str, Labels, float]]) -> str:
    full = f"genenv_policy_server_{name}"
    lines = [f"# HELP {full} {text}", f"# TYPE {full} {kind}"]
    for suffix, labels, value in samples:
        inner = ",".join(f'{label}="{content}"' for label, content in labels)
        lines.append(f"{full}{suffix}{'{' + inner + '}' if inner else ''} {value}")
    return "\n".join(lines) + "\n"


def _gpu_bytes() -> int:
    torch = sys.modules.get("torch")
    return torch.cuda.memory_allocated() if torch is not None and torch.cuda.is_initialized() else 0
