"""Tasks: lists, everything about one, adding, and all that a person does to them, one by one or many at once."""

from __future__ import annotations

import os
import subprocess
import threading
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Path, Query, Request
from pydantic import BaseModel, Field

from medbay import app
from medbay.areas.page import TaskQuery
from medbay.bay import Bay
from medbay.core.durations import parse_duration
from medbay.views import explanation, graph
from medbay.views import task as views
from medbay.web.answers import JsonAnswer, actor

router = APIRouter(prefix="/api/tasks", tags=["tasks"])
Id = Annotated[str, Path(max_length=80, description="its id, or an unambiguous beginning of it")]
Word = Annotated[str, Field(max_length=200)]
Words = Annotated[list[Word], Field(max_length=20)]
Act = Literal["pause", "resume", "cancel", "retry", "unblock"]
Place = Literal["you", "run", "wait", "held", "ready", "done"]
Status = Literal["pending", "in_progress", "pending_verification", "failed", "blocked", "completed", "cancelled"]


class TaskChoice(BaseModel):
    """Which tasks are meant; what is left out narrows nothing."""

    model_config = {"extra": "forbid"}
    status: Annotated[list[Status], Field(max_length=7)] = []
    tag: Words = []
    not_tag: Words = []
    queue: Word | None = None
    category: Word = ""
    fp: Word = Field(default="", description="the fingerprint of the last failure")
    agent: Word = ""
    held: Word = Field(default="", description="the key of the breaker that holds them")
    stands: Annotated[list[Place], Field(max_length=6)] = []
    text: Word = ""
    since: Word = Field(default="", description="leaves out what ended longer ago: 24h, 7d; nothing: all there is")
    triages: bool = False

    def query(self, **more: Any) -> TaskQuery:
        """Return the same for the library."""
        return TaskQuery(
            status=tuple(self.status),
            tag=tuple(self.tag),
            not_tag=tuple(self.not_tag),
            queue=self.queue,
            category=self.category,
            fingerprint=self.fp,
            agent=self.agent,
            held=self.held,
            stands=tuple(self.stands),
            text=self.text,
            since_ms=parse_duration(self.since) if self.since else None,
            triages=self.triages,
            **more,
        )


class Listed(TaskChoice):
    """A page of a list."""

    order: Literal["need", "newest", "oldest"] = "need"
    limit: int = Field(default=50, ge=1, le=200)
    cursor: str = Field(default="", max_length=500)


class Granted(BaseModel):
    """How many attempts a person grants."""

    model_config = {"extra": "forbid"}
    attempts: int = Field(default=2, ge=1, le=1000)


class MeantTasks(BaseModel):
    """Many tasks: those that are named, or all that match."""

    model_config = {"extra": "forbid"}
    ids: Annotated[list[Word], Field(max_length=100_000)] | None = None
    choice: TaskChoice | None = None
    dry_run: bool = True

    @property
    def meant(self) -> TaskQuery | list[str]:
        """Return the same for the library."""
        return self.ids if self.ids is not None else (self.choice or TaskChoice()).query()


class ManyTasks(Granted, MeantTasks):
    """One act on many tasks."""

    action: Act


class TaggedTasks(MeantTasks):
    """Tags that many tasks get, and tags that they lose."""

    add: Words = []
    remove: Words = []


class ReclassifiedTasks(MeantTasks):
    """What the last failures of many tasks were, by a person."""

    category: str = Field(min_length=1, max_length=100, description="CATEGORY or CATEGORY/SUBCATEGORY")


class Blocked(BaseModel):
    """Why a task is taken out of the way."""

    model_config = {"extra": "forbid"}
    reason: str = Field(min_length=1, max_length=2000)
    kind: Literal["human", "external", "spec", "circuit"] = "external"


class Said(BaseModel):
    """What a failure was, by a person."""

    model_config = {"extra": "forbid"}
    category: str = Field(min_length=1, max_length=100, description="CATEGORY or CATEGORY/SUBCATEGORY")
    attempt: int | None = Field(default=None, ge=1, le=1_000_000)


class Guided(BaseModel):
    """What the next attempt is told."""

    model_config = {"extra": "forbid"}
    text: str = Field(min_length=1, max_length=4000)


@router.get("")
async def listed(request: Request, asked: Annotated[Listed, Query()]) -> JsonAnswer:
    """One page of tasks, what needs a person first; how many match, and the cursor of the next page."""
    query = asked.query(order=asked.order, limit=asked.limit, cursor=asked.cursor)
    return JsonAnswer(await request.app.state.bays.call(lambda bay: bay.page.tasks(query)))


@router.post("", status_code=201)
async def add(request: Request, given: Annotated[dict[str, Any], Body()]) -> JsonAnswer:
    """Add a task; the names are those of the options of `medbay add`."""
    title = given.pop("title", None)

    def work(bay: Any) -> dict[str, Any]:
        return views.summary(bay.add(title, **_options(given)))

    return JsonAnswer(await request.app.state.bays.call(work, actor=actor(request)), status_code=201)


@router.post("/bulk")
async def bulk(request: Request, given: ManyTasks) -> JsonAnswer:
    """Act on many tasks in one transaction, or say first what would be done and whom it passes over."""
    meant, how = given.meant, {"attempts": given.attempts, "dry_run": given.dry_run}
    work = request.app.state.bays.call(lambda bay: bay.page.bulk(given.action, meant, **how), actor=actor(request))
    return JsonAnswer(await work)


@router.post("/bulk/tag")
async def bulk_tag(request: Request, given: TaggedTasks) -> JsonAnswer:
    """Give tags to many tasks and take some away, or say first to whom."""
    meant, how = given.meant, {"add": given.add, "remove": given.remove, "dry_run": given.dry_run}
    work = request.app.state.bays.call(lambda bay: bay.page.bulk_tag(meant, **how), actor=actor(request))
    return JsonAnswer(await work)


@router.post("/bulk/reclassify")
async def bulk_reclassify(request: Request, given: ReclassifiedTasks) -> JsonAnswer:
    """Say what the last failures of many tasks were, or say first whose; each fingerprint is taught once."""
    meant, how = given.meant, {"dry_run": given.dry_run}
    work = request.app.state.bays.call(
        lambda bay: bay.page.bulk_reclassify(meant, given.category, **how), actor=actor(request)
    )
    return JsonAnswer(await work)


@router.get("/{task_id}")
async def one(request: Request, task_id: Id) -> JsonAnswer:
    """Everything about one task: what is recorded, why it is where it is, its timeline, what it cost."""
    return JsonAnswer(await request.app.state.bays.call(lambda bay: bay.page.task(task_id)))


@router.get("/{task_id}/near")
async def near(request: Request, task_id: Id) -> JsonAnswer:
    """Tasks whose id begins like this."""
    return JsonAnswer({"tasks": await request.app.state.bays.call(lambda bay: bay.page.near(task_id))})


@router.get("/{task_id}/explain")
async def explain(request: Request, task_id: Id) -> JsonAnswer:
    """Why it is where it is, what happens next, and what would change that."""
    found = await request.app.state.bays.call(lambda bay: explanation.as_json(bay.explain(task_id)))
    return JsonAnswer(found)


@router.get("/{task_id}/graph")
async def around(request: Request, task_id: Id) -> JsonAnswer:
    """What it comes after, and what comes after it."""
    return JsonAnswer(await request.app.state.bays.call(lambda bay: graph.as_json(bay.graph(task_id, limit=200))))


@router.patch("/{task_id}")
async def edit(request: Request, task_id: Id, given: Annotated[dict[str, Any], Body()]) -> JsonAnswer:
    """Change it from its next attempt on; the names are those of `medbay edit`."""

    def work(bay: Any) -> dict[str, Any]:
        return views.summary(bay.edit(task_id, **_options(given)))

    return JsonAnswer(await request.app.state.bays.call(work, actor=actor(request)))


@router.post("/{task_id}/pause")
async def pause(request: Request, task_id: Id) -> JsonAnswer:
    """Keep it from starting until it is resumed."""
    return await _changed(request, lambda bay: bay.pause(task_id))


@router.post("/{task_id}/resume")
async def resume(request: Request, task_id: Id) -> JsonAnswer:
    """Let a paused task go on."""
    return await _changed(request, lambda bay: bay.resume(task_id))


@router.post("/{task_id}/cancel")
async def cancel(request: Request, task_id: Id) -> JsonAnswer:
    """End it for good."""
    return await _changed(request, lambda bay: bay.cancel(task_id))


@router.post("/{task_id}/retry")
async def retry(request: Request, task_id: Id, given: Granted) -> JsonAnswer:
    """Try it once more, now."""
    return await _changed(request, lambda bay: bay.retry(task_id, attempts=given.attempts))


@router.post("/{task_id}/unblock")
async def unblock(request: Request, task_id: Id, given: Granted) -> JsonAnswer:
    """Release a blocked task."""
    return await _changed(request, lambda bay: bay.unblock(task_id, attempts=given.attempts))


@router.post("/{task_id}/block")
async def block(request: Request, task_id: Id, given: Blocked) -> JsonAnswer:
    """Take it out of the way."""
    return await _changed(request, lambda bay: bay.block(task_id, given.reason, kind=given.kind))


@router.post("/{task_id}/guidance")
async def guide(request: Request, task_id: Id, given: Guided) -> JsonAnswer:
    """Tell its next attempt something, in place of what it would have been told."""
    return await _changed(request, lambda bay: bay.page.guide(task_id, given.text))


@router.post("/{task_id}/triage", status_code=202)
async def triage(request: Request, task_id: Id) -> JsonAnswer:
    """Look at it now, whatever its cooldown: the verdict arrives as an event."""
    return JsonAnswer(await request.app.state.bays.call(lambda bay: _start_triage(bay, task_id)), status_code=202)


@router.post("/{task_id}/reclassify")
async def reclassify(request: Request, task_id: Id, given: Said) -> JsonAnswer:
    """Say what a failure was; later failures like it follow, and it is decided about again."""
    which = task_id if given.attempt is None else f"{task_id}/{given.attempt}"

    def work(bay: Any) -> dict[str, Any]:
        made = bay.reclassify(which, given.category)
        return {
            "attempt": made.attempt,
            "fingerprint": made.fingerprint,
            "before": made.before,
            "after": made.after,
            "decided_again": made.decided_again,
            "tasks": [views.summary(each) for each in made.tasks[:200]],
        }

    return JsonAnswer(await request.app.state.bays.call(work, actor=actor(request)))


async def _changed(request: Request, work: Any) -> JsonAnswer:
    """Do something to one task, and return how it stands then."""
    changed = await request.app.state.bays.call(lambda bay: views.summary(work(bay)), actor=actor(request))
    return JsonAnswer(changed)


def _options(given: dict[str, Any]) -> dict[str, Any]:
    """What JSON names with dashes or without, under the names of the library."""
    return {str(name).replace("-", "_"): value for name, value in given.items()}


def _start_triage(bay: Bay, task_id: str) -> dict[str, Any]:
    """Start `medbay triage ID` on the same store; what forbids it is said before."""
    task = bay.get(task_id)
    bay.triage(task.id, dry_run=True)
    environ = {**os.environ, "MEDBAY_STORE": bay.place.url}
    process = subprocess.Popen(
        app.own_command("triage", task.id),
        env=environ,
        cwd=bay.place.config.folder or bay.place.folder.parent,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    threading.Thread(target=process.wait, name="medbay-triage", daemon=True).start()
    return {"task": task.id, "started": True}
