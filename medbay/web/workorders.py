"""Workorders: the runs of the intake agent, what it was shown and what it answered."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request

from medbay.core.intake.records import Workorder
from medbay.views import intake as views
from medbay.web.answers import JsonAnswer

router = APIRouter(prefix="/api/workorders", tags=["intake"])
Named = Annotated[str, Path(max_length=200, description="the id of a workorder, or an unambiguous beginning of it")]


@router.get("")
async def listed(
    request: Request,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: Annotated[str, Query(max_length=200)] = "",
) -> JsonAnswer:
    """One page of workorders, the oldest first; how many there are, by status too, and the cursor of the next page."""

    def work(bay: Any) -> dict[str, Any]:
        page = bay.intake.page(Workorder, limit=limit, after=cursor)
        return views.page_as_json("workorders", page.rows, views.workorder_as_json, counts=page.counts, more=page.next)

    return JsonAnswer(await request.app.state.bays.call(work))


@router.get("/{name}")
async def one(request: Request, name: Named) -> JsonAnswer:
    """One workorder with its snapshot, bundle, run record, pause state and candidates."""

    def work(bay: Any) -> dict[str, Any]:
        found = bay.intake.workorder(name)
        parts = {"snapshot": found.snapshot, "captures": found.captures, "candidates": found.candidates}
        return views.workorder_in_full(found.workorder, record=found.run_record, question=found.question, **parts)

    return JsonAnswer(await request.app.state.bays.call(work))
