"""Where a task stands, in words: the status word first, then what holds it back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from medbay.core.lifecycles import BLOCKS_THAT_TIME_OUT
from medbay.core.model import TURN, Task
from medbay.views import glyphs, moments
from medbay.views.glyphs import Token
from medbay.views.text import clean


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrase:
    """How a status is shown: glyph, words, and the token that gives its colour."""

    glyph: str
    words: str
    token: Token
    kind: str = ""  # the words after the status, without times: `retry`, `human`, `after m2xa`


def status_phrase(task: Task, now_ms: int, *, after: Sequence[str] = ()) -> Phrase:
    """Return where a task stands: its status word, then the first thing that holds it back.

    `after` names the tasks it waits for, where the caller knows them.
    """
    if task.finished:
        return _finished(task)
    if task.live is not None or task.status in ("in_progress", "pending_verification"):
        return _running(task, now_ms)
    if task.status == "blocked":
        return _blocked(task, now_ms)
    if task.paused:
        return _phrase(glyphs.HELD, task.status, "paused", "held")
    if task.waits_for is not None:
        turn = task.waits_for == TURN
        return _phrase(glyphs.WAITING, task.status, "its turn" if turn else f"waits for {task.waits_for}", "wait")
    if task.unmet > 0:
        names = ", ".join(after) if after else "1 task" if task.unmet == 1 else f"{task.unmet} tasks"
        return _phrase(glyphs.AFTER, task.status, f"after {names}", "wait")
    if task.status == "failed":
        return _phrase(glyphs.WAITING, "failed", "retry", "wait", _countdown(task.due_at, now_ms))
    return _pending(task, now_ms)


def _finished(task: Task) -> Phrase:
    if task.status == "cancelled":
        return _phrase(glyphs.CANCELLED, "cancelled", "", "idle")
    if task.warning:
        words = f"completed · {says(task)}"
        return Phrase(glyph=glyphs.DONE, words=words, token="done", kind="warned")
    return _phrase(glyphs.DONE, "completed", "healed" if task.last_category else "", "done")


def says(task: Task) -> str:
    """Return what the log of a success says against it: `its log says: mysqldump: not found`."""
    return f"its log says: {clean(task.warning)}" if task.warning else ""


def _running(task: Task, now_ms: int) -> Phrase:
    if task.status == "pending_verification":
        return _phrase(glyphs.VERIFYING, task.status, "", "run")
    kind = "asked to stop" if task.cancel_requested else "pauses after this" if task.paused else ""
    number = task.live or task.attempts
    words = f"in_progress #{number} {moments.short(now_ms - task.since)}" + (f" · {kind}" if kind else "")
    return Phrase(glyph=glyphs.RUNNING, words=words, token="run", kind=kind)


def _blocked(task: Task, now_ms: int) -> Phrase:
    kind = task.block_kind or "human"
    paused = " · paused" if task.paused else ""
    if kind not in BLOCKS_THAT_TIME_OUT or task.due_at is None:
        return _phrase(glyphs.YOU, "blocked", kind, "you", paused)
    return _phrase(glyphs.WAITING, "blocked", kind, "wait", _until(task.due_at, now_ms) + paused)


def _pending(task: Task, now_ms: int) -> Phrase:
    if not task.ready and task.due_at is not None:
        return _phrase(glyphs.WAITING, "pending", "due", "wait", _at(task, task.due_at, now_ms))
    if task.hold is not None and task.hold == task.behind_mutex:
        return _phrase(glyphs.HELD, "pending", f"mutex {task.mutex}", "held")
    if task.hold is not None:
        return _phrase(glyphs.HELD, "pending", f"held by {task.hold}", "held")
    return _phrase(glyphs.READY, "pending", "ready", "idle")


def _phrase(glyph: str, status: str, kind: str, token: Token, when: str = "") -> Phrase:
    words = f"{status} · {kind}{when}" if kind else status
    return Phrase(glyph=glyph, words=words, token=token, kind=kind)


def _countdown(due_at: int | None, now_ms: int) -> str:
    if due_at is None:
        return ""
    return f" in {moments.short(due_at - now_ms)}" if due_at > now_ms else " due"


def _at(task: Task, due_at: int, now_ms: int) -> str:
    """The time in the zone of its schedule, and how far away it is."""
    if due_at <= now_ms:
        return " now"
    zone = task.zone if task.cron else ""
    return f" {moments.in_zone(due_at, now_ms, zone)} (in {moments.short(due_at - now_ms)})"


def _until(due_at: int, now_ms: int) -> str:
    return f" until {moments.clock(due_at, now_ms, seconds=False)}"
