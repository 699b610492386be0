"""How requests arrive: limits on connections and requests, a time limit on headers, limits of size and time on
bodies."""

import asyncio
from collections.abc import Sequence

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from genenv_trainer.serving.errors import ApiError
from genenv_trainer.serving.limits import MAX_BODY_BYTES, MAX_JSON_MARKS

HEADER_SECONDS = 10
"""Time from the first byte of a connection, or of its next request, to the end of the headers."""

BODY_SECONDS = 30

MAX_SILENT = 256
"""Connections that no request was admitted on. Of one more, the oldest is closed: whoever has no token can keep
nobody out who has it."""

MAX_REQUESTS = 512
"""Further requests are answered 503, which the worker takes as a reason to try again later."""

ADMIT = "admit"
"""What the state of a request names the function that admits its connection."""


class TimedProtocol(H11Protocol):
    """uvicorn's protocol, which closes a connection whose headers do not come in time, and one of too many that are
    silent: it limits only the time between two requests by itself."""

    header_timer: asyncio.TimerHandle | None = None
    is_admitted = False
    made_at = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self.app_state = {**self.app_state, ADMIT: self._admit}
        self.made_at = self.loop.time()
        self._start_header_timer()
        self._close_oldest_silent()

    def data_received(self, data: bytes) -> None:
        if self.header_timer is None and not self._is_in_request():
            self._start_header_timer()
        super().data_received(data)
        if self.header_timer is not None and self._is_in_request():
            self._stop_header_timer()

    def on_response_complete(self) -> None:
        # A request that has come at once with the answer of the one before has begun a new time.
        self._stop_header_timer()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_header_timer()
        super().connection_lost(exc)

    def _admit(self) -> None:
        self.is_admitted = True

    def _close_oldest_silent(self) -> None:
        silent = [one for one in self.connections if not (one.is_admitted or one.transport.is_closing())]
        if len(silent) > MAX_SILENT:
            min(silent, key=lambda one: one.made_at).transport.abort()

    def _is_in_request(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _start_header_timer(self) -> None:
        self.header_timer = self.loop.call_later(HEADER_SECONDS, self.transport.abort)

    def _stop_header_timer(self) -> None:
        if self.header_timer is not None:
            self.header_timer.cancel()
            self.header_timer = None


class RequestLimit:
    """ASGI middleware behind the check of tokens: it admits the connection of a request, and answers a 503 while
    MAX_REQUESTS are in work. The paths that need no token neither count nor admit."""

    def __init__(self, app: ASGIApp, open_paths: Sequence[str]):
        self.app, self.open_paths = app, open_paths
        self.in_work = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in self.open_paths:
            await self.app(scope, receive, send)
            return
        if ADMIT in scope.get("state", {}):
            scope["state"][ADMIT]()
        if self.in_work >= MAX_REQUESTS:
            error = ApiError(503, f"{MAX_REQUESTS} requests are in work, which is the most; send it again later")
            await error.response()(scope, receive, send)
            return
        self.in_work += 1
        try:
            await self.app(scope, receive, send)
        finally:
            self.in_work -= 1


class BodyTooLarge(Exception):
    """A body has more than the limit that the argument names, such as `8388608 bytes`."""


class BodyLimit:
    """ASGI middleware: a 413 for a body of more than MAX_BODY_BYTES or MAX_JSON_MARKS, a 408 for one that does
    not come within BODY_SECONDS. Both close the connection, as the rest of the body would be read as the next
    request."""

    def __init__(self, app: ASGIApp):
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        try:
            body = await asyncio.wait_for(_read_body(scope, receive), BODY_SECONDS)
        except TimeoutError:
            error = ApiError(408, f"the body did not come within {BODY_SECONDS} s")
        except BodyTooLarge as limit:
            error = ApiError(413, f"the body has more than {limit}, which is the most")
        else:
            await self.app(scope, _with_body(body, receive), send)
            return
        response = error.response()
        response.headers["connection"] = "close"
        await response(scope, receive, send)


async def _read_body(scope: Scope, receive: Receive) -> Message:
    """A body in one message, or that its client has gone. Raises BodyTooLarge."""
    declared = dict(scope["headers"]).get(b"content-length", b"0")
    if declared.isdigit() and int(declared) > MAX_BODY_BYTES:
        raise BodyTooLarge(f"{MAX_BODY_BYTES} bytes")
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return message
        body += message.get("body", b"")
        if len(body) > MAX_BODY_BYTES:
            raise BodyTooLarge(f"{MAX_BODY_BYTES} bytes")
        if not message.get("more_body", False):
            if sum(body.count(mark) for mark in b"[{:") > MAX_JSON_MARKS:
                raise BodyTooLarge(f"{MAX_JSON_MARKS} brackets, braces and colons")
            return {"type": "http.request", "body": bytes(body), "more_body": False}


def _with_body(body: Message, receive: Receive) -> Receive:
    """Gives the body that was read, then what comes."""
    waiting = [body]

    async def next_message() -> Message:
        return waiting.pop() if waiting else await receive()

    return next_message
