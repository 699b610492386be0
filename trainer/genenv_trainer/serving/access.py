"""Who may ask: requests to this server's own host names, with its token."""

import hmac
import ipaddress
import os
import re
from pathlib import Path

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from genenv_trainer.serving.errors import ApiError

TOKEN_VARIABLE = "GENENV_POLICY_TOKEN"

LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "::1", "[::1]")
"""Host names that a request may be sent to. A web page that points a name of its own at the loopback sends
that name."""

OPEN_PATHS = ("/health",)


class TokenCheck:
    """ASGI middleware: a 401 for a request without the token as its bearer token, but for the health check."""

    def __init__(self, app: ASGIApp, token: str):
        self.app = app
        self.expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] not in OPEN_PATHS:
            given = Headers(scope=scope).get("authorization", "").encode("latin-1")
            if not hmac.compare_digest(given, self.expected):
                error = ApiError(
                    401, f"the token of this server is needed ({TOKEN_VARIABLE})", None, "invalid_api_key"
                )
                await error.response()(scope, receive, send)
                return
        await self.app(scope, receive, send)


def read_token(environment: os._Environ[str] | dict[str, str]) -> str | None:
    """The token that GENENV_POLICY_TOKEN holds, or the file that GENENV_POLICY_TOKEN_FILE names; None without
    both. Raises ValueError for one that no header can carry, or that can be guessed; it does not quote it."""
    token = environment.get(TOKEN_VARIABLE)
    source = TOKEN_VARIABLE
    if token is None and (file := environment.get(f"{TOKEN_VARIABLE}_FILE")) is not None:
        source = f"{TOKEN_VARIABLE}_FILE"
        try:
            token = Path(file).read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"{source}: {file} cannot be read: {type(error).__name__}") from error
    if token is not None and not re.fullmatch(r"[\x21-\x7e]{16,512}", token):
        raise ValueError(f"{source}: a token is 16 to 512 visible ASCII characters, without spaces")
    return token


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address to listen on."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
