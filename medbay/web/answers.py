"""How the API answers: JSON from the views, and errors that say what is wrong and what to do."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from medbay.errors import MedbayError

PERSON: Final = "person:"


class JsonAnswer(Response):
    """JSON, written quickly."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Return the bytes of the answer."""
        return msgspec.json.encode(content)


def refusal(status: int, code: str, message: str, hint: str = "") -> JsonAnswer:
    """Return an error in its documented shape."""
    return JsonAnswer({"error": {"code": code, "message": message, "hint": hint or None}}, status_code=status)


def actor(request: Request) -> str:
    """Return in whose name a request acts."""
    return PERSON + str(request.state.person)


def answer_errors(app: FastAPI) -> None:
    """Let every error of the library, of a request's shape and of the route have the one shape."""

    @app.exception_handler(MedbayError)
    async def ours(_: Request, error: MedbayError) -> JsonAnswer:
        return refusal(error.http_status, _code(type(error)), error.message, error.hint)

    @app.exception_handler(RequestValidationError)
    async def shape(_: Request, error: RequestValidationError) -> JsonAnswer:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first.get("loc", ())[1:])
        return refusal(
            422, "request", f"{where}: {first.get('msg', 'not valid')}".lstrip(": "), "/openapi.json says what is"
        )

    @app.exception_handler(HTTPException)
    async def route(_: Request, error: HTTPException) -> JsonAnswer:
        said = refusal(error.status_code, "http", str(error.detail))
        said.headers.update(error.headers or {})
        return said


def _code(kind: type[MedbayError]) -> str:
    """`not_found` of NotFound."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower()
