"""Errors in OpenAI's shape: {"error": {"message", "type", "param", "code"}}."""

import reprlib

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException


class ApiError(Exception):
    """An answer that is an error: its HTTP status, what is wrong, and the field of the request, or the
    file, at fault."""

    def __init__(self, status: int, message: str, param: str | None = None, code: str | None = None):
        super().__init__(message)
        self.status, self.message, self.param, self.code = status, message, param, code

    def response(self) -> JSONResponse:
        kind = "invalid_request_error" if self.status < 500 else "server_error"
        body = {"message": self.message, "type": kind, "param": self.param, "code": self.code}
        return JSONResponse({"error": body}, status_code=self.status)


def invalid_field(param: str, message: str, code: str = "invalid_value") -> ApiError:
    return ApiError(400, f"{param}: {message}", param, code)


def from_validation(error: RequestValidationError) -> ApiError:
    """The first problem that pydantic found, under the name of the field it is in."""
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return ApiError(400, f"the body is not JSON: {first['ctx']['error']}", None, "invalid_json")
    path = [str(part) for part in first["loc"][1:]]
    if not path:
        return ApiError(400, f"the body must be a JSON object: {first['msg']}", None, "invalid_json")
    # reprlib looks at the beginning of a value alone, which may have millions of parts.
    got = "" if first["type"] == "missing" else f", got {reprlib.repr(first['input']):.80}"
    return ApiError(400, f"{'.'.join(path)}: {first['msg']}{got}", path[0], first["type"])


def install(app: FastAPI) -> None:
    """Give every error of the app OpenAI's shape; an unexpected one is a 500 with its traceback on stderr."""

    @app.exception_handler(ApiError)
    async def api_error(_: Request, error: ApiError) -> JSONResponse:
        return error.response()

    @app.exception_handler(RequestValidationError)
    async def validation_error(_: Request, error: RequestValidationError) -> JSONResponse:
        return from_validation(error).response()

    @app.exception_handler(HTTPException)
    async def http_error(request: Request, error: HTTPException) -> JSONResponse:
        return ApiError(error.status_code, f"{request.method} {request.url.path}: {error.detail}").response()

    @app.exception_handler(Exception)
    async def unforeseen(_: Request, error: Exception) -> JSONResponse:
        return ApiError(500, f"{type(error).__name__}: {error}").response()
