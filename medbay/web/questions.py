"""Questions: what waits for a person, and their answers; what they answered before."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, Field

from medbay.views import question as views
from medbay.web.answers import JsonAnswer, actor

router = APIRouter(prefix="/api", tags=["questions"])
Named = Annotated[str, Path(max_length=200, description="the id of a question, or of a task that waits for one")]


class Answered(BaseModel):
    """An answer: the number or the words of an option, and perhaps a note."""

    model_config = {"extra": "forbid"}
    option: str = Field(default="default", min_length=1, max_length=2000)
    note: str = Field(default="", max_length=2000)
    attempts: int = Field(default=2, ge=1, le=1000)


@router.get("/questions")
async def listed(request: Request, answered: Annotated[int, Query(ge=0, le=100)] = 0) -> JsonAnswer:
    """The open questions, oldest first; with `answered` also so many that were answered last."""
    return JsonAnswer(await request.app.state.bays.call(lambda bay: bay.page.questions(answered=answered)))


@router.get("/questions/{name}")
async def one(request: Request, name: Named) -> JsonAnswer:
    """One question, by its id or that of its task."""
    return JsonAnswer(await request.app.state.bays.call(lambda bay: bay.page.question(name)))


@router.post("/questions/{name}/answer")
async def answer(request: Request, name: Named, given: Answered) -> JsonAnswer:
    """JsonAnswer it; what was chosen, and the tasks it was applied to."""

    def work(bay: Any) -> dict[str, Any]:
        chosen, tasks = bay.answer(name, given.option, note=given.note, attempts=given.attempts)
        return {"answer": chosen, "tasks": tasks[:200], "total": len(tasks)}

    return JsonAnswer(await request.app.state.bays.call(work, actor=actor(request)))


@router.get("/preferences")
async def preferences(request: Request) -> JsonAnswer:
    """What was answered before and is offered again."""

    def work(bay: Any) -> list[dict[str, Any]]:
        return [views.preference_as_json(each) for each in bay.preferences()[:200]]

    return JsonAnswer({"preferences": await request.app.state.bays.call(work)})


@router.post("/preferences/forget")
async def forget(request: Request, scope: Annotated[str, Query(min_length=1, max_length=500)]) -> JsonAnswer:
    """Forget what was answered within a scope."""
    known = await request.app.state.bays.call(lambda bay: bay.forget_preference(scope), actor=actor(request))
    return JsonAnswer(views.preference_as_json(known))
