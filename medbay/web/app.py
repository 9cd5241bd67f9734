"""The application: every resource, behind the doors."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module

from fastapi import FastAPI

from medbay.app import StoreLocation
from medbay.env import Clock, SystemClock
from medbay.web import page
from medbay.web.answers import answer_errors
from medbay.web.bays import Bays, Shared
from medbay.web.doors import App, Doors
from medbay.web.live import Hub
from medbay.web.session import Sessions

DESCRIPTION = """Everything that the command line does. Send `Authorization: Bearer TOKEN`; what changes something also
needs `X-Medbay: 1` and a JSON body. Lists have at most 200 rows and a cursor for the next page."""
ERRORS = {
    status: {"description": said, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}}
    for status, said in (
        (400, "what was asked for makes no sense"),
        (401, "no token, or one that opens nothing"),
        (403, "from the page of another site, or without X-Medbay"),
        (404, "there is no such thing"),
        (409, "not allowed now"),
        (415, "the body is not JSON"),
        (421, "another host is meant"),
        (422, "the request does not have its documented form"),
        (429, "too many wrong tokens"),
        (503, "the store is away"),
    )
}
RESOURCES = (  # one file each
    "now tasks attempts questions links breakers patterns events fleet statistics people live health".split()
    + "captures candidates workorders stories".split()
)


def make(place: StoreLocation, *, port: int, clock: Clock | None = None) -> App:
    """Return the page and the API of one store, behind their doors."""
    clock = clock or SystemClock()
    bays = Bays(place)
    hub = Hub(bays, clock)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        hub.start()
        yield
        hub.stop()
        bays.close()

    app = FastAPI(
        title="Medbay", version=_version(), description=DESCRIPTION, docs_url=None, redoc_url=None, lifespan=lifespan
    )
    app.state.bays, app.state.hub, app.state.sessions = bays, hub, Sessions(bays, clock, port)
    app.state.overview = Shared(bays, lambda bay: bay.page.overview())
    answer_errors(app)
    for resource in RESOURCES:
        app.include_router(import_module(f"medbay.web.{resource}").router, responses=ERRORS)  # type: ignore[arg-type]
    app.include_router(page.router, include_in_schema=False)  # last: it takes every path that is left
    app.openapi = lambda: document(app)  # type: ignore[method-assign]
    return Doors(app, place.config.web, app.state.sessions)


def document(app: FastAPI) -> dict[str, object]:
    """Return the OpenAPI document with the one shape of errors and the one way in."""
    if app.openapi_schema is None:
        made = FastAPI.openapi(app)
        parts = made.setdefault("components", {})
        text = {"type": "string"}
        fields = {"code": text, "message": text, "hint": {"type": ["string", "null"]}}
        error = {"type": "object", "properties": fields, "required": ["code", "message"]}
        parts.setdefault("schemas", {})["Error"] = {
            "type": "object",
            "properties": {"error": error},
            "required": ["error"],
        }
        parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        made["security"] = [{"token": []}]
        app.openapi_schema = made
    return app.openapi_schema


def _version() -> str:
    from importlib.metadata import version

    return version("medbay")
