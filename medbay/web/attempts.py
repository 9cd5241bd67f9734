"""Attempts: their records, and their logs by line, by search and as they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import StreamingResponse

from medbay.errors import NotFound
from medbay.views import attempt as views
from medbay.web.answers import JsonAnswer
from medbay.web.tasks import Id

router = APIRouter(prefix="/api/tasks/{task_id}/attempts", tags=["attempts"])
Number = Annotated[int, Path(ge=1, le=100_000_000)]
Line = Annotated[int, Query(ge=0, le=10**12)]


@router.get("")
async def listed(request: Request, task_id: Id, limit: Annotated[int, Query(ge=1, le=200)] = 50) -> JsonAnswer:
    """The newest attempts of a task, in their order."""

    def work(bay: Any) -> list[dict[str, Any]]:
        checked = bay.checks(task_id)
        return [views.as_json(each, checked.get(each.number, ())) for each in bay.attempts(task_id, limit)]

    return JsonAnswer({"attempts": await request.app.state.bays.call(work)})


@router.get("/{number}/log")
async def log(
    request: Request,
    task_id: Id,
    number: Number,
    first: Annotated[int | None, Query(ge=1, le=10**12)] = None,
    count: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> JsonAnswer:
    """Some lines from a number on; without one, the last lines."""
    return JsonAnswer(
        await request.app.state.bays.call(lambda bay: bay.page.log(task_id, number, first=first, count=count))
    )


@router.get("/{number}/log/cause")
async def cause(request: Request, task_id: Id, number: Number) -> JsonAnswer:
    """The line that its diagnosis matched."""
    return JsonAnswer({"line": await request.app.state.bays.call(lambda bay: bay.page.cause(task_id, number))})


@router.get("/{number}/log/search")
async def search(
    request: Request,
    task_id: Id,
    number: Number,
    text: Annotated[str, Query(min_length=1, max_length=1000)],
    ignore_case: bool = False,
    regex: bool = False,
) -> JsonAnswer:
    """Which lines match in the whole log: the numbers of the first 2,000, and how many in all."""
    how = {"ignore_case": ignore_case, "regex": regex}
    return JsonAnswer(await request.app.state.bays.call(lambda bay: bay.page.search(task_id, number, text, **how)))


@router.get("/{number}/log/error")
async def error(request: Request, task_id: Id, number: Number, line: Line = 0, back: bool = False) -> JsonAnswer:
    """The next line after one that reads like an error, or the last one before it."""
    found = await request.app.state.bays.call(lambda bay: bay.page.error_line(task_id, number, line, back=back))
    return JsonAnswer({"line": found})


@router.get("/{number}/log/raw", response_class=StreamingResponse)
async def raw(request: Request, task_id: Id, number: Number) -> StreamingResponse:
    """The whole log as a file, without secrets."""
    index, redaction = await request.app.state.bays.call(lambda bay: bay.page.log_file(task_id, number))
    if index is None:
        raise NotFound("this log is not on this machine", hint="the page shows what the store keeps of it")

    def pieces() -> Iterator[bytes]:
        first = 1
        while lines := index.read(first, 1000):
            text = "\n".join(f"[{each.dropped} bytes dropped here]" if each.dropped else each.text for each in lines)
            yield redaction.text(text).encode("utf-8", "replace") + b"\n"
            first = lines[-1].number + 1

    name = f'attachment; filename="{task_id[:20].encode("ascii", "ignore").decode()}-{number}.log"'
    headers = {"content-disposition": name, "content-type": "text/plain; charset=utf-8"}
    return StreamingResponse(pieces(), headers=headers, media_type="text/plain")
