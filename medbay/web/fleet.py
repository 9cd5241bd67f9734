"""The fleet: a timeline of tasks, what comes after what, what recurs, and the engines that do the work."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request
from pydantic import Field

from medbay.core.durations import parse_duration
from medbay.views import graph as graphs
from medbay.views import worker
from medbay.web.answers import JsonAnswer
from medbay.web.tasks import TaskChoice

router = APIRouter(prefix="/api", tags=["fleet"])
FOLDED_MAX: Final = 20_000  # tasks that are folded into one drawing


class Drawn(TaskChoice):
    """Which tasks a timeline shows, and how far back it goes."""

    back: str = Field(default="12h", max_length=20)
    limit: int = Field(default=100, ge=1, le=200)


@router.get("/timeline")
async def timeline(request: Request, asked: Annotated[Drawn, Query()]) -> JsonAnswer:
    """The tasks that match with their attempts, from so far back on."""
    since = request.app.state.hub.clock.now_ms() - parse_duration(asked.back)
    query = asked.query(order="newest", limit=asked.limit)
    return JsonAnswer(await request.app.state.bays.call(lambda bay: bay.page.fleet(query, since=since)))


@router.get("/graph")
async def graph(
    request: Request, everything: bool = False, limit: Annotated[int, Query(ge=1, le=200)] = 200, fold: bool = False
) -> JsonAnswer:
    """What waits for what, and what is stuck behind it; folded: one node for all tasks of a tag."""

    def work(bay: Any) -> dict[str, Any]:
        if fold:
            return graphs.folded_as_json(bay.graph(everything=everything, limit=FOLDED_MAX), limit)
        return graphs.as_json(bay.graph(everything=everything, limit=limit))

    return JsonAnswer(await request.app.state.bays.call(work))


@router.get("/schedules")
async def schedules(request: Request) -> JsonAnswer:
    """What recurs, the one that runs next first."""
    return JsonAnswer(await request.app.state.bays.call(lambda bay: bay.page.schedules()))


@router.get("/workers")
async def workers(request: Request, stopped: Annotated[int, Query(ge=0, le=100)] = 0) -> JsonAnswer:
    """The engines on this store and what they run."""
    clock = request.app.state.hub.clock

    def work(bay: Any) -> list[dict[str, Any]]:
        return [worker.as_json(each, clock.now_ms()) for each in bay.fleet(stopped=stopped)[:200]]

    return JsonAnswer({"workers": await request.app.state.bays.call(work)})
