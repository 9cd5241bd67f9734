"""The words, glyphs and colours of a status: one function, the same in every command. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from medbay.core.lifecycles import BLOCKS_THAT_TIME_OUT
from medbay.core.model import TURN, Task
from medbay.views import moments

Token = Literal["run", "wait", "held", "you", "fail", "done", "idle"]

RUNNING: Final = "▶"
VERIFYING: Final = "◐"
WAITING: Final = "◷"
AFTER: Final = "↳"
HELD: Final = "‖"
YOU: Final = "!"
FAILED: Final = "✗"
DONE: Final = "✓"
READY: Final = "○"
CANCELLED: Final = "–"
LOST: Final = "◌"
JUDGED: Final = "▣"

# Only the 16 colours of every terminal, readable on light and dark grounds.
COLOURS: Final[Mapping[Token, str]] = {
    "run": "1;36",
    "wait": "33",
    "held": "36",
    "you": "1;35",
    "fail": "31",
    "done": "32",
    "idle": "2",
}

_ASCII: Final = str.maketrans(
    {
        RUNNING: ">",
        VERIFYING: "%",
        WAITING: "~",
        AFTER: "^",
        HELD: "=",
        FAILED: "x",
        DONE: "+",
        READY: "o",
        CANCELLED: "-",
        LOST: "?",
        JUDGED: "#",
        "·": "-",
        "…": "~",
        "→": ">",
        "├": "|",
        "│": "|",
        "└": "`",
        "─": "-",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrase:
    """How a status is shown: glyph, words, and the token that gives its colour."""

    glyph: str
    words: str
    token: Token
    kind: str = ""  # the words after the status, without times: `retry`, `human`, `after m2xa`

    @property
    def colour(self) -> str:
        """The ANSI codes of the token."""
        return COLOURS[self.token]


def status_phrase(task: Task, now_ms: int, *, after: Sequence[str] = ()) -> Phrase:
    """Where a task stands: its status word first, then the first thing that holds it back.

    `after` names the tasks it waits for, where the caller knows them.
    """
    if task.finished:
        return _finished(task)
    if task.live is not None or task.status in ("in_progress", "pending_verification"):
        return _running(task, now_ms)
    if task.status == "blocked":
        return _blocked(task, now_ms)
    if task.paused:
        return _phrase(HELD, task.status, "paused", "held")
    if task.waits_for is not None:
        turn = task.waits_for == TURN
        return _phrase(WAITING, task.status, "its turn" if turn else f"waits for {task.waits_for}", "wait")
    if task.unmet > 0:
        names = ", ".join(after) if after else "1 task" if task.unmet == 1 else f"{task.unmet} tasks"
        return _phrase(AFTER, task.status, f"after {names}", "wait")
    if task.status == "failed":
        return _phrase(WAITING, "failed", "retry", "wait", _countdown(task.due_at, now_ms))
    return _pending(task, now_ms)


def outcome_glyph(outcome: str | None) -> tuple[str, Token]:
    """The glyph of an attempt: running, well, lost or wrong."""
    match outcome:
        case None:
            return RUNNING, "run"
        case "succeeded" | "rescued":
            return DONE, "done"
        case "lost" | "requeued":
            return LOST, "idle"
        case "cancelled":
            return CANCELLED, "idle"
        case _:
            return FAILED, "fail"


def to_ascii(text: str) -> str:
    """The same with plain letters for our glyphs, for terminals that have no others."""
    return text.translate(_ASCII)


def _finished(task: Task) -> Phrase:
    if task.status == "cancelled":
        return _phrase(CANCELLED, "cancelled", "", "idle")
    return _phrase(DONE, "completed", "healed" if task.last_category else "", "done")


def _running(task: Task, now_ms: int) -> Phrase:
    if task.status == "pending_verification":
        return _phrase(VERIFYING, task.status, "", "run")
    kind = "asked to stop" if task.cancel_requested else "pauses after this" if task.paused else ""
    number = task.live or task.attempts
    words = f"in_progress #{number} {moments.short(now_ms - task.since)}" + (f" · {kind}" if kind else "")
    return Phrase(glyph=RUNNING, words=words, token="run", kind=kind)


def _blocked(task: Task, now_ms: int) -> Phrase:
    kind = task.block_kind or "human"
    paused = " · paused" if task.paused else ""
    if kind not in BLOCKS_THAT_TIME_OUT or task.due_at is None:
        return _phrase(YOU, "blocked", kind, "you", paused)
    return _phrase(WAITING, "blocked", kind, "wait", _until(task.due_at, now_ms) + paused)


def _pending(task: Task, now_ms: int) -> Phrase:
    if not task.ready and task.due_at is not None:
        return _phrase(WAITING, "pending", "due", "wait", _at(task.due_at, now_ms))
    if task.hold is not None:
        return _phrase(HELD, "pending", f"held by {task.hold}", "held")
    return _phrase(READY, "pending", "ready", "idle")


def _phrase(glyph: str, status: str, kind: str, token: Token, when: str = "") -> Phrase:
    words = f"{status} · {kind}{when}" if kind else status
    return Phrase(glyph=glyph, words=words, token=token, kind=kind)


def _countdown(due_at: int | None, now_ms: int) -> str:
    if due_at is None:
        return ""
    return f" in {moments.short(due_at - now_ms)}" if due_at > now_ms else " due"


def _at(due_at: int, now_ms: int) -> str:
    return f" {moments.clock(due_at, now_ms, seconds=False)}" if due_at > now_ms else " now"


def _until(due_at: int, now_ms: int) -> str:
    return f" until {moments.clock(due_at, now_ms, seconds=False)}"
