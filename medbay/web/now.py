"""The first page: what needs a person, what is held, what runs, what waits."""

from __future__ import annotations

from fastapi import APIRouter, Request

from medbay.web.answers import JsonAnswer

router = APIRouter(prefix="/api", tags=["now"])


@router.get("/now")
async def now(request: Request) -> JsonAnswer:
    """What needs a person first, what runs with its last line of output, what waits and until when, what is held."""
    return JsonAnswer(await request.app.state.overview.get())
