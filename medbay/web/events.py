"""Events: what happened, in order, with its words."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request

from medbay.web.answers import JsonAnswer

router = APIRouter(prefix="/api", tags=["events"])
Seq = Annotated[int | None, Query(ge=0, le=2**62)]


@router.get("/events")
async def listed(
    request: Request,
    since: Annotated[int | None, Query(alias="from", ge=0, le=2**62)] = None,
    before: Seq = None,
    task: Annotated[str | None, Query(max_length=80)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 100,
) -> JsonAnswer:
    """Those after a number; or the last ones before one, which without a number are the newest."""
    how = {"since": since, "before": before, "task_id": task, "limit": limit}
    return JsonAnswer(await request.app.state.bays.call(lambda bay: bay.page.events(**how)))
