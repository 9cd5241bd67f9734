"""Candidates: what captures were made into; edited, promoted or discarded by a person."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, Field

from medbay.core.intake.records import Candidate
from medbay.views import intake as views
from medbay.web.answers import JsonAnswer, actor

router = APIRouter(prefix="/api/candidates", tags=["intake"])
Named = Annotated[str, Path(max_length=200, description="the id of a candidate, or an unambiguous beginning of it")]
Status = Literal["PROPOSED", "PROMOTED", "DISCARDED"]
Criterion = Annotated[str, Field(min_length=1, max_length=2000)]


class CandidateChanges(BaseModel):
    """What is different about a candidate; what is left out stays."""

    model_config = {"extra": "forbid"}
    title: str | None = Field(default=None, min_length=1, max_length=500)
    description: str | None = Field(default=None, max_length=20_000)
    acceptance_criteria: Annotated[list[Criterion], Field(min_length=1, max_length=100)] | None = None


class Promotion(BaseModel):
    """What works on it: a command or an agent; with neither it is a person's."""

    model_config = {"extra": "forbid"}
    story: bool = False
    run: str | None = Field(default=None, min_length=1, max_length=10_000)
    agent: str | None = Field(default=None, min_length=1, max_length=200)


@router.get("")
async def listed(
    request: Request,
    status: Annotated[list[Status] | None, Query(max_length=3)] = None,
    workorder: Annotated[str, Query(max_length=200)] = "",
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: Annotated[str, Query(max_length=200)] = "",
) -> JsonAnswer:
    """One page of candidates, the oldest first; how many match, by status too, and the cursor of the next page."""

    def work(bay: Any) -> dict[str, Any]:
        asked = {"status": tuple(status or ()), "workorder": workorder, "limit": limit, "after": cursor}
        page = bay.intake.page(Candidate, **asked)
        return views.page_as_json("candidates", page.rows, views.candidate_as_json, counts=page.counts, more=page.next)

    return JsonAnswer(await request.app.state.bays.call(work))


@router.get("/{name}")
async def one(request: Request, name: Named) -> JsonAnswer:
    """One candidate."""

    def work(bay: Any) -> dict[str, Any]:
        return views.candidate_as_json(bay.intake.candidate(name))

    return JsonAnswer(await request.app.state.bays.call(work))


@router.patch("/{name}")
async def edit(request: Request, name: Named, given: CandidateChanges) -> JsonAnswer:
    """Change a candidate before it is promoted; the criteria that are given replace all."""

    def work(bay: Any) -> dict[str, Any]:
        return views.candidate_as_json(bay.intake.edit_candidate(name, **given.model_dump()))

    return JsonAnswer(await request.app.state.bays.call(work, actor=actor(request)))


@router.post("/{name}/promote")
async def promote(request: Request, name: Named, given: Promotion) -> JsonAnswer:
    """Make a task of a candidate; the candidate names it, and the task its captures."""

    def work(bay: Any) -> dict[str, Any]:
        made = bay.intake.promote(name, run=given.run, agent=given.agent, story=given.story)
        kind = "story" if given.story else "task"
        return {"candidate": views.candidate_as_json(bay.intake.candidate(name)), kind: made.id}

    return JsonAnswer(await request.app.state.bays.call(work, actor=actor(request)))


@router.post("/{name}/discard")
async def discard(request: Request, name: Named) -> JsonAnswer:
    """Discard a candidate that is open."""

    def work(bay: Any) -> dict[str, Any]:
        known = bay.intake.candidate(name).id
        return views.candidate_as_json(bay.intake.discard(known))

    return JsonAnswer(await request.app.state.bays.call(work, actor=actor(request)))
