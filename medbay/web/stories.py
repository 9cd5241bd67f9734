"""Stories: the board, one story, and a person's move of it."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from pydantic import BaseModel, Field

from medbay.web.answers import JsonAnswer, actor

router = APIRouter(prefix="/api", tags=["stories"])
Named = Annotated[str, Path(max_length=64, description="the id of a story, or an unambiguous beginning of it")]


class StoryMove(BaseModel):
    """Where a story goes, and why."""

    model_config = {"extra": "forbid"}
    to: str = Field(min_length=1, max_length=64)
    why: str = Field(default="by a person", max_length=2_000)


@router.get("/board")
async def board(request: Request) -> JsonAnswer:
    """The stories by the directory of their status: what runs, what waits, and which moves a person may make."""
    return JsonAnswer(await request.app.state.bays.call(lambda bay: bay.board.overview()))


@router.get("/stories/{name}")
async def one(request: Request, name: Named) -> JsonAnswer:
    """Everything about one story: its phases, budgets, evidence, decisions and questions."""
    return JsonAnswer(await request.app.state.bays.call(lambda bay: bay.board.story(name)))


@router.post("/stories/{name}/move")
async def move(request: Request, name: Named, given: StoryMove) -> JsonAnswer:
    """Move a story to another status, where its lifecycle allows it."""

    def work(bay: Any) -> dict[str, Any]:
        moved = bay.stories.update(name, given.to, given.why.strip() or "by a person")
        return {"id": moved.id, "status": moved.status}

    return JsonAnswer(await request.app.state.bays.call(work, actor=actor(request)))
