"""Captures: what people noted down, what became of it, and new ones."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, Field

from medbay.core.intake.records import CAPTURE_MAX, Capture
from medbay.views import intake as views
from medbay.web.answers import JsonAnswer, actor

router = APIRouter(prefix="/api/captures", tags=["intake"])
Named = Annotated[str, Path(max_length=200, description="the id of a capture, or an unambiguous beginning of it")]
Status = Literal["PENDING", "PROCESSED", "POISON", "DISCARDED"]


class Noted(BaseModel):
    """The text of a capture; secrets in it are redacted."""

    model_config = {"extra": "forbid"}
    text: str = Field(min_length=1, max_length=CAPTURE_MAX)


@router.get("")
async def listed(
    request: Request,
    status: Annotated[list[Status] | None, Query(max_length=4)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: Annotated[str, Query(max_length=200)] = "",
) -> JsonAnswer:
    """One page of captures, the oldest first; how many match, by status too, and the cursor of the next page."""

    def work(bay: Any) -> dict[str, Any]:
        page = bay.intake.page(Capture, status=tuple(status or ()), limit=limit, after=cursor)
        return views.page_as_json("captures", page.rows, views.capture_as_json, counts=page.counts, more=page.next)

    return JsonAnswer(await request.app.state.bays.call(work))


@router.post("", status_code=201)
async def add(request: Request, given: Noted) -> JsonAnswer:
    """Capture a thought; the intake worker of `medbay up` makes candidates of it."""

    def work(bay: Any) -> dict[str, Any]:
        return views.capture_as_json(bay.intake.capture(given.text))

    return JsonAnswer(await request.app.state.bays.call(work, actor=actor(request)), status_code=201)


@router.get("/{name}")
async def one(request: Request, name: Named) -> JsonAnswer:
    """One capture, with the workorders it was in and the candidates and tasks made of it."""
    return JsonAnswer(await request.app.state.bays.call(lambda bay: bay.intake.show_capture(name)))


@router.patch("/{name}")
async def edit(request: Request, name: Named, given: Noted) -> JsonAnswer:
    """Change the text of a capture that waits."""

    def work(bay: Any) -> dict[str, Any]:
        return views.capture_as_json(bay.intake.edit_capture(name, given.text))

    return JsonAnswer(await request.app.state.bays.call(work, actor=actor(request)))


@router.post("/{name}/retry")
async def retry(request: Request, name: Named) -> JsonAnswer:
    """Let a capture be triaged at once; one that is POISON gets new tries."""

    def work(bay: Any) -> dict[str, Any]:
        return views.capture_as_json(bay.intake.release_capture(name))

    return JsonAnswer(await request.app.state.bays.call(work, actor=actor(request)))


@router.post("/{name}/discard")
async def discard(request: Request, name: Named) -> JsonAnswer:
    """Discard a capture that waits or is POISON."""

    def work(bay: Any) -> dict[str, Any]:
        known = bay.intake.show_capture(name)["id"]
        return views.capture_as_json(bay.intake.discard(known))

    return JsonAnswer(await request.app.state.bays.call(work, actor=actor(request)))
