"""Answering by the link of a message. The link is the key: it comes in the body, never in an address that is logged.

An address in a message is `PAGE/inbox/NAME#answer=LINK`: what stands behind the # is never sent to a server, so that a
preview of the message opens and uses up nothing.
"""

from __future__ import annotations

from typing import Any, Final

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from medbay.web.answers import JsonAnswer

LINK_MAX: Final = 600  # characters
router = APIRouter(prefix="/api", tags=["questions"])


class OpenedLink(BaseModel):
    """A link out of a message."""

    model_config = {"extra": "forbid"}
    link: str = Field(min_length=1, max_length=LINK_MAX)


class AnsweredLink(OpenedLink):
    """An answer by link: the number or the words of an option, and perhaps a note."""

    option: str = Field(default="default", min_length=1, max_length=2000)
    note: str = Field(default="", max_length=2000)


@router.post("/link", openapi_extra={"security": []})
async def opened(request: Request, given: OpenedLink) -> JsonAnswer:
    """The one question that a link opens; nothing is changed or used up."""
    return JsonAnswer(await request.app.state.bays.call(lambda bay: bay.links.question(given.link)))


@router.post("/link/answer", openapi_extra={"security": []})
async def answer(request: Request, given: AnsweredLink) -> JsonAnswer:
    """Answer the question of a link, which is used up by it; what was chosen, and the tasks it was applied to."""

    def work(bay: Any) -> dict[str, Any]:
        chosen, tasks = bay.links.answer(given.link, given.option, note=given.note)
        return {"answer": chosen, "tasks": tasks[:200], "total": len(tasks)}

    return JsonAnswer(await request.app.state.bays.call(work))
