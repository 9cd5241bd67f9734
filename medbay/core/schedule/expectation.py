"""What is expected of a task in time: to have ended well by a time of day, and to take no longer than it used to.

What is late, or takes strangely long, becomes one question that blocks nothing; the next success withdraws it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from statistics import median
from typing import Final

from medbay.core.decision import Decision, Draft
from medbay.core.durations import format_duration
from medbay.core.model import Option, Owner, Question, Task
from medbay.core.people.question import CANCEL, PAUSE, failing_scope
from medbay.core.schedule import cron, occurrences
from medbay.errors import UsageError

TIMES_ITS_MEDIAN: Final = 5
SUCCESSES_NEEDED: Final = 5
LOOKED_AT: Final = 11  # successes
LEAST_MS: Final = 60_000  # what takes less than this is never strangely long
DAY_MS: Final = 24 * 3_600_000
_TIME: Final = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")
_SEEN: Final = Option("seen, leave it", "wait", "nothing changes; it goes on as planned")


def time_of_day(text: str) -> str:
    """Check a time of day, and write it as 06:00."""
    found = _TIME.fullmatch(text.strip())
    if found is None:
        raise UsageError(f'"{text}" is not a time of day', hint="write 06:00, in the zone of its schedule, else UTC")
    return f"{int(found[1]):02d}:{found[2]}"


def next_at(task: Task, now: int) -> int | None:
    """When it is looked at next whether the task ended in time; None where nothing is expected."""
    if not task.expect_by or task.finished:
        return None
    hour, _, minute = task.expect_by.partition(":")
    return cron.next_fire(f"{int(minute)} {int(hour)} * * *", task.zone or "UTC", now)


def slow_at(task: Task, took_ms: Sequence[int], now: int) -> int | None:
    """From when on an attempt that starts now takes strangely long; `took_ms` are its last successes."""
    if not task.recurs or len(took_ms) < SUCCESSES_NEEDED:
        return None
    return now + max(LEAST_MS, round(TIMES_ITS_MEDIAN * median(took_ms)))


def on_expected(task: Task, now: int, *, succeeded_at: int | None, asked: bool) -> Decision:
    """The time has come by which it should have ended: a person is asked if it did not, and nobody asked them yet."""
    draft = Draft(task, now, actor="engine")
    due = now if task.expect_at is None else task.expect_at
    draft.set(expect_at=next_at(task, now) if task.recurs else None)
    late = _was_planned(task, due) and (succeeded_at is None or succeeded_at <= due - DAY_MS)
    if not late or asked or task.paused or task.finished:
        return draft.decision()
    since = "it never succeeded" if succeeded_at is None else f"its last success was {_ago(now - succeeded_at)} ago"
    return draft.decision(draft.ask(_late(task, f"expected by {task.expect_by}, and {since}", now)))


def on_slow(task: Task, now: int, *, asked: bool) -> Decision:
    """Its live attempt takes more than five times its median: a person is asked, once for the attempt."""
    draft = Draft(task, now, actor="engine")
    draft.set(slow_at=None)
    if asked or task.live is None:
        return draft.decision()
    took = _ago(now - task.since)
    why = f"attempt {task.live} runs for {took}, more than {TIMES_ITS_MEDIAN} times as long as it usually takes"
    return draft.decision(draft.ask(_late(task, why, now)))


def _was_planned(task: Task, due: int) -> bool:
    """Whether it had anything to do within the day before this moment."""
    if not task.recurs or task.loop:
        return True
    planned = occurrences.next_after(task, due - DAY_MS)
    return planned is not None and planned <= due


def _late(task: Task, why: str, now: int) -> Question:
    return Question(
        id=f"q-{task.id}-{task.questions + 1}",
        need=f"{task.title}: see why it has not ended",
        why=why,
        options=(_SEEN, PAUSE, CANCEL),
        owner=Owner("task", task.id),
        scope=failing_scope(task.id),
        task_ids=(task.id,),
        asked_at=now,
    )


def _ago(ms: int) -> str:
    return format_duration(max(1_000, ms - ms % 1_000))
