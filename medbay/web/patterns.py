"""Fingerprints: failures seen so far, what was taught about them, and which advice worked."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request

from medbay.views import pattern as views
from medbay.web.answers import JsonAnswer, actor

router = APIRouter(prefix="/api/fingerprints", tags=["fingerprints"])
Fingerprint = Annotated[str, Path(max_length=200, description="it, or an unambiguous beginning of it")]


@router.get("")
async def listed(
    request: Request,
    category: Annotated[str, Query(max_length=100)] = "",
    order: Literal["seen", "count"] = "seen",
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> JsonAnswer:
    """What is known of failures, the one seen last or most often first."""

    def work(bay: Any) -> list[dict[str, Any]]:
        return [views.as_json(each) for each in bay.page.patterns(category=category, order=order, limit=limit)]

    return JsonAnswer({"fingerprints": await request.app.state.bays.call(work)})


@router.get("/{fingerprint}")
async def one(request: Request, fingerprint: Fingerprint) -> JsonAnswer:
    """One fingerprint, with the tasks that met it."""

    def work(bay: Any) -> dict[str, Any]:
        known, tasks = bay.pattern(fingerprint)
        titles = bay.titles(tasks)
        met = [{"id": each, "title": titles.get(each, "")} for each in tasks]
        return {**views.as_json(known), "met_by": met}

    return JsonAnswer(await request.app.state.bays.call(work))


@router.post("/{fingerprint}/forget")
async def forget(request: Request, fingerprint: Fingerprint) -> JsonAnswer:
    """Forget it: its count, what was taught, the record of its advice. What was known is returned."""

    def work(bay: Any) -> dict[str, Any]:
        return views.as_json(bay.forget_pattern(fingerprint))

    return JsonAnswer(await request.app.state.bays.call(work, actor=actor(request)))
