"""Who is there, and the tokens by which people come in."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from pydantic import BaseModel, Field

from medbay import env
from medbay.views import moments
from medbay.web.answers import JsonAnswer, actor
from medbay.web.session import KEPT_S, Sessions

router = APIRouter(prefix="/api", tags=["people"])


class Shown(BaseModel):
    """A token that is shown at the door."""

    model_config = {"extra": "forbid"}
    token: str = Field(min_length=1, max_length=300)


class NewToken(BaseModel):
    """Whose token it will be."""

    model_config = {"extra": "forbid"}
    name: str = Field(min_length=1, max_length=64)


@router.post("/session")
async def enter(request: Request, given: Shown) -> JsonAnswer:
    """Exchange a token for a cookie, which only this page can send."""
    sessions: Sessions = request.app.state.sessions
    found = await sessions.exchange(given.token, request.client.host if request.client else "")
    if isinstance(found, JsonAnswer):
        return found
    answer = JsonAnswer({"name": found})
    value = await sessions.cookie_for(found)
    secure = request.url.scheme == "https"
    answer.set_cookie(sessions.cookie, value, max_age=KEPT_S, httponly=True, samesite="strict", secure=secure, path="/")
    return answer


@router.get("/session")
async def session(request: Request) -> JsonAnswer:
    """Who is there, the time here, its zone, and how many engines serve the store."""
    now, engines = await request.app.state.bays.call(lambda bay: bay.page.engines())
    place = request.app.state.bays.place
    return JsonAnswer(
        {
            "name": request.state.person,
            "now": moments.iso(now),
            "zone": str(env.local_zone()),
            "engines": engines,
            "version": request.app.version,
            "store": "PostgreSQL" if place.url.startswith("postgres") else "SQLite",
        }
    )


@router.delete("/session")
async def leave(request: Request) -> JsonAnswer:
    """Let the cookie go."""
    answer = JsonAnswer({"name": None})
    answer.delete_cookie(request.app.state.sessions.cookie, path="/", httponly=True, samesite="strict")
    return answer


@router.get("/tokens")
async def tokens(request: Request) -> JsonAnswer:
    """Whose tokens there are; never the tokens themselves."""

    def work(bay: Any) -> list[dict[str, Any]]:
        return [
            {"name": name, "added_at": moments.iso(at), "added_by": by} for name, at, by in bay.tokens.every()[:200]
        ]

    return JsonAnswer({"tokens": await request.app.state.bays.call(work)})


@router.post("/tokens", status_code=201)
async def add(request: Request, given: NewToken) -> JsonAnswer:
    """Make a token for a person; it is shown this once."""
    made = await request.app.state.bays.call(lambda bay: bay.tokens.add(given.name), actor=actor(request))
    return JsonAnswer({"name": given.name, "token": made}, status_code=201)


@router.delete("/tokens/{name}")
async def remove(request: Request, name: Annotated[str, Path(max_length=64)]) -> JsonAnswer:
    """Let a person's token, and every session that began with it, open nothing any more."""
    await request.app.state.bays.call(lambda bay: bay.tokens.remove(name), actor=actor(request))
    return JsonAnswer({"name": name})
