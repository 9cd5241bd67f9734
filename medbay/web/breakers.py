"""Breakers and incidents: what is held and why, and a person's hand on them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, Field

from medbay.core.durations import parse_duration
from medbay.errors import NotFound
from medbay.views import breaker, incident
from medbay.views.overview import breaker_as_json
from medbay.web.answers import JsonAnswer, actor

router = APIRouter(prefix="/api", tags=["breakers"])
Key = Annotated[str, Path(max_length=300, description="its key, or any unambiguous beginning of it")]


class Held(BaseModel):
    """Why something is held by hand, and for how long."""

    model_config = {"extra": "forbid"}
    key: str = Field(min_length=1, max_length=300)
    reason: str = Field(default="", max_length=500)
    lasts: str = Field(default="", max_length=40, description="a duration like 2h; without one until it is closed")


@router.get("/breakers")
async def listed(request: Request, closed: bool = False) -> JsonAnswer:
    """The breakers, the newest first, each with how many tasks it holds."""

    def work(bay: Any) -> list[dict[str, Any]]:
        return [breaker_as_json(each, held) for each, held in bay.breakers(closed=closed)[:200]]

    return JsonAnswer({"breakers": await request.app.state.bays.call(work)})


@router.get("/breakers/{key:path}")
async def one(request: Request, key: Key) -> JsonAnswer:
    """One breaker."""

    def work(bay: Any) -> dict[str, Any]:
        for each, held in bay.breakers(closed=True):
            if each.key == key:
                return breaker_as_json(each, held)
        raise NotFound(f'there is no breaker "{key[:70]}"', hint="/incidents lists them")

    return JsonAnswer(await request.app.state.bays.call(work))


@router.post("/breakers/open")
async def hold(request: Request, given: Held) -> JsonAnswer:
    """Hold a provider's account, a runner on a host, or triage."""
    clock = request.app.state.hub.clock
    until = clock.now_ms() + parse_duration(given.lasts) if given.lasts else None

    def work(bay: Any) -> dict[str, Any]:
        return breaker.as_json(bay.open_breaker(given.key, why=given.reason, until=until), 0)

    return JsonAnswer(await request.app.state.bays.call(work, actor=actor(request)))


@router.post("/breakers/close")
async def close(request: Request, key: Annotated[str, Query(min_length=1, max_length=300)]) -> JsonAnswer:
    """Say that it is over: what it held is released, spread out."""

    def work(bay: Any) -> dict[str, Any]:
        return breaker.as_json(bay.close_breaker(key), 0)

    return JsonAnswer(await request.app.state.bays.call(work, actor=actor(request)))


@router.get("/incidents")
async def incidents(request: Request, closed: bool = True) -> JsonAnswer:
    """The incidents, the newest first, with how many tasks each holds and what is asked about it."""

    def work(bay: Any) -> list[dict[str, Any]]:
        return [incident.as_json(each) for each in bay.incidents(closed=closed)[:200]]

    return JsonAnswer({"incidents": await request.app.state.bays.call(work)})


@router.get("/incidents/{incident_id}")
async def one_incident(request: Request, incident_id: Annotated[str, Path(max_length=300)]) -> JsonAnswer:
    """One incident by any beginning of its fingerprint, with some of the tasks it holds."""
    return JsonAnswer(await request.app.state.bays.call(lambda bay: incident.detail_as_json(bay.incident(incident_id))))
