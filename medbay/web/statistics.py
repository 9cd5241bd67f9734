"""Figures for Insights, rolled up by hour outside the loop of any engine."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request

from medbay.core.durations import parse_duration
from medbay.views import moments
from medbay.web.answers import JsonAnswer

router = APIRouter(prefix="/api/statistics", tags=["statistics"])
Since = Annotated[str, Query(max_length=20, description="how long ago it begins: 24h, 7d, 30d")]


@router.get("")
async def figures(request: Request, since: Since = "7d") -> JsonAnswer:
    """What healed, how often retries helped, what it cost, what people were called for; and the time before."""
    since_ms = parse_duration(since)
    return JsonAnswer(await request.app.state.bays.call(lambda bay: bay.statistics.figures(since_ms)))


@router.get("/failures")
async def failures(request: Request, since: Since = "48h") -> JsonAnswer:
    """Failures by hour and category."""
    since_ms = parse_duration(since)
    now = request.app.state.hub.clock.now_ms()

    def work(bay: Any) -> dict[str, Any]:
        return {
            "since": moments.iso(now - since_ms),
            "until": moments.iso(now),
            "series": bay.statistics.failures(since_ms),
        }

    return JsonAnswer(await request.app.state.bays.call(work))
