"""Where a task stands, in words: the status word first, then what holds it back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from medbay.core.lifecycles import BLOCKS_THAT_TIME_OUT
from medbay.core.model import TURN, Task
from medbay.views import glyphs, moments
from medbay.views.glyphs import Token
from medbay.views.text import clean

Form = Literal["", "in", "at", "until", "for"]  # how the time of a phrase is said


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrase:
    """How a status is shown: glyph, words, and the token that gives its colour.

    The words are a stem, a time said in one of a few forms, and perhaps more; what ticks says the time itself.
    """

    glyph: str
    words: str
    token: Token
    kind: str = ""  # the words after the status, without times: `retry`, `human`, `after m2xa`
    stem: str = ""
    form: Form = ""
    at: int | None = None
    more: str = ""


def phrase_as_json(each: Phrase) -> dict[str, Any]:
    """Return a phrase as data: `words` as they are now, and the parts that a ticking surface makes them of."""
    return {
        "glyph": each.glyph,
        "token": each.token,
        "words": each.words,
        "stem": each.stem,
        "form": each.form or None,
        "at": moments.iso(each.at),
        "more": each.more,
    }


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
        return _timed(glyphs.WAITING, "failed", "retry", "wait", "in", task.due_at, now_ms)
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
    stem, more = f"in_progress #{task.live or task.attempts}", f" · {kind}" if kind else ""
    words = f"{stem}{_said('for', task.since, now_ms)}{more}"
    return Phrase(
        glyph=glyphs.RUNNING, words=words, token="run", kind=kind, stem=stem, form="for", at=task.since, more=more
    )


def _blocked(task: Task, now_ms: int) -> Phrase:
    kind = task.block_kind or "human"
    paused = " · paused" if task.paused else ""
    if kind not in BLOCKS_THAT_TIME_OUT or task.due_at is None:
        return _phrase(glyphs.YOU, "blocked", kind, "you", more=paused)
    return _timed(glyphs.WAITING, "blocked", kind, "wait", "until", task.due_at, now_ms, more=paused)


def _pending(task: Task, now_ms: int) -> Phrase:
    if not task.ready and task.due_at is not None:
        zone = task.zone if task.cron else ""
        return _timed(glyphs.WAITING, "pending", "due", "wait", "at", task.due_at, now_ms, zone=zone)
    if task.hold is not None and task.hold == task.behind_mutex:
        return _phrase(glyphs.HELD, "pending", f"mutex {task.mutex}", "held")
    if task.hold is not None:
        return _phrase(glyphs.HELD, "pending", f"held by {task.hold}", "held")
    return _phrase(glyphs.READY, "pending", "ready", "idle")


def _phrase(glyph: str, status: str, kind: str, token: Token, *, more: str = "") -> Phrase:
    stem = f"{status} · {kind}" if kind else status
    return Phrase(glyph=glyph, words=stem + more, token=token, kind=kind, stem=stem, more=more)


def _timed(
    glyph: str,
    status: str,
    kind: str,
    token: Token,
    form: Form,
    at: int | None,
    now_ms: int,
    *,
    more: str = "",
    zone: str = "",
) -> Phrase:
    if at is None:
        return _phrase(glyph, status, kind, token, more=more)
    stem = f"{status} · {kind}"
    words = f"{stem}{_said(form, at, now_ms, zone)}{more}"
    return Phrase(glyph=glyph, words=words, token=token, kind=kind, stem=stem, form=form, at=at, more=more)


def _said(form: Form, at: int, now_ms: int, zone: str = "") -> str:
    """The time of a phrase in words, a blank before it; a due time in the zone of its schedule."""
    match form:
        case "in":
            return f" in {moments.short(at - now_ms)}" if at > now_ms else " due"
        case "at":
            return f" {moments.in_zone(at, now_ms, zone)}" if at > now_ms else " now"
        case "until":
            return f" until {moments.clock(at, now_ms, seconds=False)}"
        case "for":
            return f" {moments.short(now_ms - at)}"
        case _:
            return ""
