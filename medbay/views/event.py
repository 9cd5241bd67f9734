"""Events: one sentence per change, a failure together with what follows from it; and their JSON."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from medbay.core.model import Event
from medbay.core.redaction import Redaction, redact
from medbay.views import glyphs, moments
from medbay.views.glyphs import Token
from medbay.views.text import clean

SUMMARY_MAX: Final = 200
_REDACTION: Final = Redaction()


@dataclass(slots=True, kw_only=True)  # not frozen: a busy daemon has thousands a second
class EventLine:
    """What an event is in words: what happened to a task or to the engine, and what follows."""

    at: int
    glyph: str
    token: Token
    what: str
    then: str = ""
    task_id: str = ""
    attempt: int = 0
    title: str = ""
    level: str = "info"


LEVELS: Final = ("debug", "info", "warn", "error")
_LEVELS: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        "task:failed task:blocked task:permanently_blocked task:escalated task:retry_exhausted gate:failed gate:error"
        " triage:failed triage:refused delivery:failed budget:exceeded workorder:failed".split(),
        "error",
    ),
    **dict.fromkeys(
        "task:retry_scheduled task:retry_executed task:retry_cancelled task:recovery_action task:requeued task:lost"
        " task:occurrences_skipped budget:warning breaker:opened breaker:half_open hold:placed incident:opened"
        " clock:jumped worker:lost question:asked agent:asked".split(),
        "warn",
    ),
    "capture:ready": "debug",
}
"""How serious an event is: failures and blocks are errors, thresholds and retries warnings; the rest is `info`."""


def level(event: Event) -> str:
    """Return how serious an event is."""
    return _LEVELS.get(event.name, "info")


def is_shown(found: str, wanted: str) -> bool:
    """Return whether something of a level is printed where another one is asked for."""
    return LEVELS.index(found) >= LEVELS.index(wanted)


def lines(events: Iterable[Event], title_of: Callable[[str], str], *, triages: Collection[str] = ()) -> list[EventLine]:
    """Return the events in words, in their order; what follows from a failure stands in its line."""
    made: list[EventLine] = []
    failed: dict[str, int] = {}  # where the failure of a task stands, while its consequence is still to come
    for event in events:
        name, task_id = event.name, event.task_id or ""
        if task_id in triages:  # part of the task whose failure it examines
            continue
        if name in _CONSEQUENCES and task_id in failed:
            where = failed.pop(task_id)
            made[where].then = _CONSEQUENCES[name](event)
            continue
        change = _WORDS[name](event) if name in _WORDS else None
        if change is None:
            continue
        if name in ("task:failed", "task:requeued", "task:lost"):
            failed[task_id] = len(made)
        change.task_id, change.attempt, change.level = task_id, event.attempt or 0, level(event)
        change.title = clean(title_of(task_id)) if task_id else ""
        made.append(change)
    return made


def diagnosis(found: Mapping[str, Any]) -> str:
    """Return a diagnosis in one phrase: `transient/network 0.81, host did not resolve`."""
    sub = found.get("subcategory")
    kind = f"{found['category']}/{sub}" if sub else str(found["category"])
    return f"{kind} {found['confidence']:.2f}, {clean(str(found['summary']))[:SUMMARY_MAX]}".rstrip(" ,")


def as_json(each: Event) -> dict[str, Any]:
    """Return one event as data."""
    return {
        "seq": each.seq,
        "at": moments.iso(each.at),
        "name": each.name,
        "task": each.task_id,
        "attempt": each.attempt,
        "data": _REDACTION.data(each.data),
    }


def log_as_json(each: Event, words: str) -> dict[str, Any]:
    """Return an event as a line of the log: its level and words, then what `events --json` has."""
    return {"level": level(each), "message": words or each.name, **as_json(each)}


def data_words(data: Mapping[str, Any]) -> str:
    """Return the data of an event as `name=value`, without what is empty."""
    found = data.get("diagnosis")
    if isinstance(found, dict):
        data = {**data, "diagnosis": f"{found.get('category')}/{found.get('subcategory')}: {found.get('summary')}"}
    words = "  ".join(f"{name}={_value(value)}" for name, value in data.items() if value not in (None, "", []))
    return clean(redact(words))


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _started(event: Event) -> EventLine:
    return _change(event, glyphs.RUNNING, "run", f"attempt {event.attempt}")


def _failed(event: Event) -> EventLine:
    word = {"timed_out": "hit its time limit", "stalled": "stalled", "over_budget": "went over budget"}
    how = word.get(event.data["outcome"], "failed")
    what = f"attempt {event.attempt} {how}: {diagnosis(event.data['diagnosis'])}"
    return _change(event, glyphs.FAILED, "fail", what)


def _verifying(event: Event) -> EventLine | None:
    if "evaluation" in event.data:
        return _change(event, glyphs.VERIFYING, "run", f"attempt {event.attempt} failed, its work is evaluated")
    if "checks" not in event.data:
        return _change(event, glyphs.VERIFYING, "run", f"the checks of attempt {event.attempt} are repeated")
    number = len(event.data["checks"])
    what = f"attempt {event.attempt} succeeded, {number} check{'s' if number > 1 else ''} to come"
    return _change(event, glyphs.VERIFYING, "run", what)


def _rescued(event: Event) -> EventLine:
    why = clean(str(event.data.get("why", "")))[:SUMMARY_MAX]
    return _change(event, glyphs.DONE, "done", f"attempt {event.attempt} rescued: {why}".rstrip(": "))


def _judged(event: Event) -> EventLine:
    """The verdict of a triage, in the fewest words."""
    found = event.data
    changes = ", ".join(map(str, found.get("changes") or ()))  # of ADJUST; what failed stands in the line before
    why = clean(changes or str(found.get("root_cause") or found.get("why") or ""))[:SUMMARY_MAX]
    if not found.get("applied", True):
        return _change(event, glyphs.JUDGED, "idle", f"triage came too late: {found.get('stale', '')}")
    return _change(event, glyphs.JUDGED, "wait", f"triage says {found['verdict']}: {why}".rstrip(": "))


def _triage_went_wrong(event: Event) -> EventLine:
    role = "evaluation" if event.data.get("role") == "evaluation" else "triage"
    word = "triage was refused" if event.name == "triage:refused" else f"{role} failed"
    what = f"{word}: {clean(str(event.data.get('why', '')))[:SUMMARY_MAX]}"
    return _change(event, glyphs.JUDGED, "you", what.rstrip(": "))


def _triaged(event: Event) -> str:
    return f"{glyphs.JUDGED} triaged by {event.data['agent']}"


def _gate_passed(event: Event) -> EventLine | None:
    warning, landed = event.data.get("warning"), event.data.get("landed")
    if landed and not warning:
        return _change(event, glyphs.DONE, "done", clean(str(landed)))
    if not warning:
        return None
    return _change(event, glyphs.VERIFYING, "wait", f"accepted with a warning: {clean(str(warning))}")


def _completed(event: Event) -> EventLine:
    failures = event.data.get("failures", 0)
    healed = f" · healed after {failures} failure{'s' if failures > 1 else ''}" if failures else ""
    warning = f" · its log says: {clean(str(event.data['warning']))}" if event.data.get("warning") else ""
    return _change(event, glyphs.DONE, "done", f"completed{healed}{warning}")


def _iteration_done(event: Event) -> EventLine:
    return _change(event, glyphs.DONE, "done", f"run {event.data['iteration']} succeeded")


def _requeued(event: Event) -> EventLine:
    if event.data["asked"]:
        return _change(event, glyphs.WAITING, "wait", f"attempt {event.attempt} asks to be tried again later")
    why = clean(str(event.data["why"]))
    return _change(event, glyphs.READY, "idle", f"attempt {event.attempt} handed back: {why}")


def _lost(event: Event) -> EventLine:
    why = clean(str(event.data["why"]))
    return _change(event, glyphs.LOST, "idle", f"attempt {event.attempt} lost: {why}")


def _blocked(event: Event) -> EventLine:
    kind = event.data["kind"]
    what = f"blocked · {kind}: {clean(str(event.data['reason']))}"
    token: Token = "wait" if kind in ("spec", "external") else "you"
    return replace(_change(event, glyphs.YOU, token, what), then=_answer(event))


def _answered(event: Event) -> EventLine:
    by = clean(str(event.data.get("by", "")))
    return _change(event, glyphs.READY, "idle", f"answered by {by}: {clean(str(event.data['answer']))}")


def _asked(event: Event) -> EventLine | None:
    """The first time is part of the block; later ones say that it has not been answered."""
    if not event.data.get("again"):
        return None
    named = event.task_id or event.data["question"]
    what = f"still waits for you: {clean(str(event.data['need']))}"
    return replace(_change(event, glyphs.YOU, "you", what), then=f"medbay answer {named}")


def _by(glyph: str, token: Token, word: str) -> Callable[[Event], EventLine]:
    def words(event: Event) -> EventLine:
        by = clean(str(event.data.get("by", "")))
        return _change(event, glyph, token, f"{word} by {by}" if by else word)

    return words


def _clock(event: Event) -> EventLine:
    by_s = event.data.get("by_ms", 0) / 1000
    return _change(event, glyphs.HELD, "held", f"the clock jumped by {by_s:+.1f} s")


def _worker_lost(event: Event) -> EventLine:
    why = clean(str(event.data.get("why", "")))
    return _change(event, glyphs.LOST, "idle", f"worker {event.data.get('worker', '')} is gone: {why}".rstrip(": "))


def _channel_down(event: Event) -> EventLine:
    why = clean(str(event.data["why"]))[:SUMMARY_MAX]
    return _change(event, glyphs.FAILED, "fail", f"channel {event.data['channel']} does not deliver: {why}")


def _channel_back(event: Event) -> EventLine:
    after = moments.soon(event.data["down_s"])
    return _change(event, glyphs.DONE, "done", f"channel {event.data['channel']} delivers again after {after}")


def _retry_in(event: Event) -> str:
    return f"{glyphs.WAITING} retry in {moments.soon(event.data['delay_s'])}"


def _needs_you(event: Event) -> str:
    answer = _answer(event)
    return f"{glyphs.YOU} blocked · {event.data['kind']}: {answer}" if answer else ""


def _answer(event: Event) -> str:
    """What to type about a block; nothing where it ends without a person."""
    return "" if event.data["kind"] in ("spec", "external") else f"medbay answer {event.task_id}"


def _change(event: Event, glyph: str, token: Token, what: str) -> EventLine:
    return EventLine(at=event.at, glyph=glyph, token=token, what=what)


_CONSEQUENCES: Final[Mapping[str, Callable[[Event], str]]] = {
    "task:retry_scheduled": _retry_in,
    "task:blocked": _needs_you,
    "triage:started": _triaged,
}
_WORDS: Final[Mapping[str, Callable[[Event], EventLine | None]]] = {
    "task:created": _by(glyphs.READY, "idle", "added"),
    "task:started": _started,
    "task:failed": _failed,
    "task:verifying": _verifying,
    "gate:passed": _gate_passed,
    "task:rescued": _rescued,
    "triage:started": lambda event: _change(event, glyphs.JUDGED, "wait", f"triaged by {event.data['agent']}"),
    "triage:verdict": _judged,
    "triage:refused": _triage_went_wrong,
    "triage:failed": _triage_went_wrong,
    "task:iteration_done": _iteration_done,
    "task:completed": _completed,
    "task:rolled_back": lambda event: _change(event, glyphs.YOU, "you", f"its revert is on {event.data['branch']}"),
    "task:requeued": _requeued,
    "task:lost": _lost,
    "task:blocked": _blocked,
    "task:cancelled": _by(glyphs.CANCELLED, "idle", "cancelled"),
    "task:cancel_requested": _by(glyphs.CANCELLED, "idle", "asked to stop"),
    "task:paused": _by(glyphs.HELD, "held", "paused"),
    "task:resumed": _by(glyphs.READY, "idle", "resumed"),
    "question:asked": _asked,
    "question:answered": _answered,
    "clock:jumped": _clock,
    "worker:lost": _worker_lost,
    "delivery:failed": _channel_down,
    "delivery:restored": _channel_back,
}
