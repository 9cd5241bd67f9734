"""A task: its row in a list, everything `show` says of it, and their JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from medbay.core.cluster import away
from medbay.core.holds.breaker import Breaker
from medbay.core.holds.holding import Reason, waits_for_load
from medbay.core.holds.resources import crash_loop_key
from medbay.core.model import DEFAULT_PRIORITY, DEFAULT_QUEUE, Task
from medbay.core.snapshot import TaskDetail, TaskList
from medbay.core.triage.cycle import cooling_until
from medbay.views import attempt, breaker, glyphs, intake, moments, question, schedule, spending, triage, work
from medbay.views.status import Phrase, phrase_as_json, says, status_phrase
from medbay.views.text import clean

LISTED: Final = (
    "status",
    "block_kind",
    "reason",
    "paused",
    "held_by",
    "next_attempt_at",
    "priority",
    "queue",
    "cwd",
    "warning",
)
ORPHANED: Final = "nothing runs it until medbay up takes over, ends what is left and tries again"
_BY_CAPACITY: Final = 13  # the first of the reasons that only capacity ends
_GROUPS: Final = {
    "you": "need you",
    "run": "running",
    "wait": "waiting",
    "held": "held",
    "idle": "ready",
    "done": "ended",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ListRow:
    """A task and what is said about it in a list."""

    task: Task
    phrase: Phrase
    why: str
    next: str
    next_at: int | None
    counters: str = ""
    used: tuple[int, int] | None = None  # tokens, and money in millionths
    unserved: bool = False  # no live worker serves its queue


@dataclass(frozen=True, slots=True)
class LogSeen:
    """When the log of a live attempt was written last, and how long it is."""

    at: int
    size: int


def summary(task: Task) -> dict[str, Any]:
    """Return one row of a list as data."""
    return {
        "id": task.id,
        "title": task.title,
        "status": task.status,
        "block_kind": task.block_kind,
        "reason": task.reason,
        "category": task.last_category or None,
        "summary": task.last_summary or None,
        "warning": task.warning or None,
        "attempts": task.attempts,
        "consecutive_failures": task.streak,
        "charged_failures": task.charged,
        "next_attempt_at": moments.iso(next_attempt_at(task)),
        "last_triaged_at": moments.iso(task.triaged_at),
        "priority": task.priority,
        "queue": task.queue,
        "tags": list(task.tags),
        "paused": task.paused,
        "held_by": task.hold,
        "created_at": moments.iso(task.created_at),
        "since": moments.iso(task.since),
    }


def listed(found: TaskList, task: Task) -> dict[str, Any]:
    """Return one row of `list --json`: the task, and the first thing that holds it back."""
    first = found.held_back.get(task.id)
    return {**summary(task), "held_back": reason_as_json(first) if first is not None else None}


def detail(found: TaskDetail) -> dict[str, Any]:
    """Return everything `show --json` prints of one task."""
    task = found.task
    return {
        **summary(task),
        **_specification(task),
        "created_by": task.created_by,
        "ended_at": moments.iso(task.ended_at),
        "cancel_requested": task.cancel_requested,
        "uncharged_run": task.uncharged,
        "granted_attempts": task.granted,
        "crashes": task.crashes,
        "attempts": [attempt.as_json(each, found.checks.get(each.number, ())) for each in found.attempts],
        "attempts_total": task.attempts,
        "result": found.result,
        "guidance": [attempt.guidance_as_json(*each) for each in found.guidance],
        "retries": [attempt.retry_as_json(each) for each in found.retries],
        "history": [attempt.history_as_json(each) for each in found.history],
        "after": list(found.after),
        "waits_for": task.waits_for,
        "triage": triage.as_json(found.triage) if found.triage is not None else None,
        "triages": [triage.as_json(each) for each in found.triages],
        "subject": found.subject or None,
        "role": task.role or None,
        "question": question.as_json(found.question) if found.question else None,
        "questions": [question.as_json(each) for each in found.questions],
        "backoff": schedule.backoff_as_json(task, found.rules, found.now),
        "triage_cooldown_until": moments.iso(cooling_until(task, found.rules)),
        "held_back": reason_as_json(found.held_back) if found.held_back else None,
        "rescue_threshold": found.rescue_threshold,
        "candidate": intake.origin_as_json(found.candidate) if found.candidate is not None else None,
    }


def _specification(task: Task) -> dict[str, Any]:
    """What it does, and under which limits, checks and schedule."""
    return {
        "description": task.description,
        "spec": task.spec,
        "runner": task.runner,
        "run": work.run_as_json(task),
        **work.call_as_json(task),
        "cwd": task.cwd,
        "env": dict(task.env),
        "env_file": task.env_file or None,
        "env_from": list(task.env_from),
        **work.agent_limits(task),
        "timeout_s": moments.seconds(task.timeout_ms),
        "memory_bytes": task.memory_bytes,
        "cpu_time_s": moments.seconds(task.cpu_ms),
        "stall_s": moments.seconds(task.stall_ms),
        "shell": task.shell or None,
        "takes_advice": work.ADVISED[task.advice],
        "providers": [each.removeprefix("provider:") for each in task.resources],
        "mutex": task.mutex or None,
        "place": task.place or None,
        "expect_by": task.expect_by or None,
        "expected_at": moments.iso(task.expect_at),
        "checks": [{"command": work.words(each.command), "required": each.required} for each in task.checks],
        "check_timeout_s": moments.seconds(task.check_timeout_ms),
        "check_threshold": task.threshold,
        "fail_fast": task.fail_fast,
        "key": task.key,
        "policy": task.policy or ("recurring" if task.recurs else "ladder"),
        **schedule.as_json(task),
    }


def reason_as_json(each: Reason) -> dict[str, Any]:
    """Return what holds a task back: its number, its stable code, and in words."""
    return {"number": each.number, "code": each.code, "what": each.what, "until": moments.iso(each.until)}


def next_attempt_at(task: Task) -> int | None:
    """Return when it is tried next, where a time is known."""
    if task.finished or task.paused or task.status == "blocked":
        return None
    return task.ready_at if task.ready else task.due_at


def rows(found: TaskList, seen: Mapping[str, LogSeen], orphaned: Collection[str] = ()) -> list[ListRow]:
    """Return what is said about each task of a list; `seen` are the logs of those that run.

    `orphaned` are those whose engine died while they ran.
    """
    made = []
    for task in found.tasks:
        phrase = status_phrase(task, found.now, after=found.waits_for.get(task.id, ()))
        if phrase.kind == "warned":  # what its log says stands beside it
            phrase = replace(phrase, words=f"{task.status} · warned")
        gone = task.id in orphaned
        if gone:
            phrase = Phrase(glyph=glyphs.LOST, words=f"{task.status} #{task.live} · engine died", token="wait")
        made.append(
            ListRow(
                task=task,
                phrase=phrase,
                why=ORPHANED if gone else clean(_why(found, task, phrase, seen.get(task.id))),
                next=_next(task, phrase, found.now),
                next_at=_next_at(task),
                counters=_counters(task, found.now, found.used.get(task.id)),
                used=found.used.get(task.id),
                unserved=phrase.glyph == glyphs.READY and task.queue not in found.served,
            )
        )
    return made


def row_as_json(row: ListRow) -> dict[str, Any]:
    """Return one row of a list with what is said of it: how it stands, why, what comes next and when."""
    return {
        **summary(row.task),
        "phrase": phrase_as_json(row.phrase),
        "why": row.why,
        "next": row.next,
        "next_at": moments.iso(row.next_at),
        "fingerprint": row.task.last_fingerprint or None,
        "live": row.task.live,
        "role": row.task.role or None,
    }


def cells(row: ListRow, *, verbose: bool) -> list[object]:
    """Return one line for programs: id, status, what holds it, next time, title, why; streak, tries, use, place."""
    task = row.task
    why = f'no worker serves "{task.queue}": medbay up' if row.unserved else row.why
    line: list[object] = [task.id, task.status, row.phrase.kind, moments.iso(row.next_at), task.title, why]
    if not verbose:
        return line
    used = row.used or ("", "")
    cost = spending.money(row.used[1]) if row.used else ""
    return [*line, task.streak, task.attempts, moments.iso(task.triaged_at), used[0], cost, task.place]


def footer(found: TaskList, listed: Sequence[ListRow]) -> str:
    """Return the last line of a list: how many of which kind, what is asked, and what is not shown."""
    if not listed:
        return _nothing_listed(found)
    groups: Counter[str] = Counter("done" if row.task.finished else row.phrase.token for row in listed)
    said = [f"{groups[group]} {word}" for group, word in _GROUPS.items() if groups[group]]
    if groups["you"] == 1:
        said[0] = "1 needs you"
    shown = {row.task.id for row in listed if row.phrase.token == "you"}
    if more := sum(shown.isdisjoint(asked.task_ids) for asked in found.questions):
        # about what goes on meanwhile, what is not shown, or an incident
        said.append(f"{more} {'other ' if shown else ''}question{'' if more == 1 else 's'} in medbay inbox")
    if warned := sum(bool(row.task.warning) for row in listed):
        said.append(f"{warned} succeeded with a failure in the log (medbay list --warned)")
    number = found.total
    cut = f"{len(listed)} of {number} shown, what needs you first (medbay list --all): " if len(listed) < number else ""
    triages = found.hidden_triages
    hidden = f"; {triages} triage{'' if triages == 1 else 's'} hidden (medbay list --all)" if triages else ""
    return cut + ", ".join(said) + hidden


def unserved(listed: Sequence[ListRow]) -> str:
    """Return which queues of the list no worker serves, once for all of their tasks; empty where each is served."""
    queues = Counter(row.task.queue for row in listed if row.unserved)
    served = "".join(f" --queue {queue}" for queue in queues if queue != DEFAULT_QUEUE) if len(queues) == 1 else ""
    names = ", ".join(f'"{clean(queue)}"' for queue in queues)
    return f"no worker serves {names}: medbay up{served}" if queues else ""


def facts(task: Task) -> list[str]:
    """Return what `show` shows next to the status: tags, failures, and what differs from the defaults."""
    said = [f"tag {clean(tag)}" for tag in task.tags]
    if task.streak:
        said.append(failures(task))
    if task.priority != DEFAULT_PRIORITY:
        said.append(f"priority {task.priority}")
    if task.queue != DEFAULT_QUEUE:
        said.append(f"queue {clean(task.queue)}")
    if task.expect_by:
        said.append(f"expected by {task.expect_by}")
    if task.mutex:
        said.append(f"mutex {clean(task.mutex)}")
    if task.place:
        said.append(f"place {clean(task.place)}")
    if task.timeout_ms:
        said.append(f"time limit {moments.short(task.timeout_ms)}")
    return said


def failures(task: Task) -> str:
    """Return how often it failed in a row: `7 failures in a row, 3 of them counted`."""
    if task.streak == 1:
        return "1 failure" if task.charged else "1 failure, not counted"
    return f"{task.streak} failures in a row, {task.charged} of them counted"


def waits(found: TaskDetail) -> str:
    """Return what a ready task waits for that its status does not say: a worker, its share of the slots, a slot."""
    first = found.held_back
    return first.what if first is not None and first.number >= _BY_CAPACITY else ""


def learned(found: TaskDetail) -> str:
    """Return why the coming retry does not wait as long as the schedule says."""
    return next((each.learned for each in found.retries if each.status == "pending"), "") or ""


def advice(found: TaskDetail) -> tuple[str, str]:
    """Return the newest advice of an open task and its record; empty where there is none."""
    if not found.guidance or found.task.finished:
        return "", ""
    newest, record = found.guidance[-1]
    fared = record.record
    return f"advice for attempt {newest.attempt}: {clean(newest.advice)}", f" ({fared})" if fared else ""


def next_command(found: TaskDetail) -> str:
    """Return what a person would type next."""
    task = found.task
    if found.question:
        return f"next: medbay explain {task.id}, then medbay answer {task.id}"
    if task.role == "triage":
        return f"more: medbay log {task.id}, medbay show {found.subject}"
    if task.attempts:
        return f"more: medbay log {task.id}, medbay explain {task.id}"
    return f"more: medbay explain {task.id}"


def _nothing_listed(found: TaskList) -> str:
    if found.narrowed:
        return "nothing matches; medbay list --all has everything"
    if found.older:
        return f"nothing is open; {found.older} ended more than 24h ago (medbay list --all)"
    return "no tasks yet; medbay add TITLE --run 'CMD' makes one"


def _why(found: TaskList, task: Task, phrase: Phrase, seen: LogSeen | None) -> str:
    if task.live is not None:
        return _output(seen, found.now)
    if task.status == "blocked":
        return task.reason
    if task.finished and task.warning:
        return says(task)
    if task.finished:
        return f"{task.attempts} attempts, last failure {task.last_category}" if phrase.kind == "healed" else ""
    if task.status == "failed":
        return task.last_summary or task.last_category
    if phrase.glyph == glyphs.HELD and (held := found.breakers.get(task.hold or "")) is not None:
        return breaker.holding(held, task, found.now)
    if (holder := found.mutexes.get(task.mutex)) is not None and task.hold == task.behind_mutex:
        return f"{holder} has it, and one runs at a time"
    if phrase.glyph == glyphs.READY or task.hold is not None:
        return _why_not_started(found, task)
    return _how_it_stands(task)


def _why_not_started(found: TaskList, task: Task) -> str:
    """Why a ready task has not started: its queue, load, place, runner or share; else how it failed or recurs."""
    if task.queue in found.full_queues:
        slots = found.full_queues[task.queue]
        return f'{"the one slot" if slots == 1 else f"all {slots} slots"} of the queue "{task.queue}" taken'
    if waits_for_load(task) and (short := _short_of(found, task)):
        return f"the machine is short of {short}: retries wait"
    if gone := away(task.place, [each for each in found.serving if task.queue in each.queues], found.now):
        return gone
    if (looping := _crash_loop(found, task)) is not None:
        return f"held by {looping.key}: {breaker.holding(looping, task, found.now)}"
    if task.recovery and task.queue in found.out_of_share:
        return "retries have their share of the slots; fresh work goes first"
    return _how_it_stands(task)


def _how_it_stands(task: Task) -> str:
    """How it failed last, what its last success says against itself, or when it recurs."""
    return task.last_summary if task.streak else says(task) or schedule.how(task)


def _short_of(found: TaskList, task: Task) -> str:
    """What every machine lacks that would run it."""
    serving = [each.short_of for each in found.serving if task.queue in each.queues]
    return serving[0] if serving and all(serving) else ""


def _crash_loop(found: TaskList, task: Task) -> Breaker | None:
    """What keeps its runner from starting, on every host that would run it."""
    hosts = {task.place or each.host for each in found.serving if task.queue in each.queues}
    loops = [found.breakers.get(crash_loop_key(task.runner, host)) for host in sorted(hosts)]
    return loops[0] if loops and all(loops) else None


def _output(seen: LogSeen | None, now_ms: int) -> str:
    """When the running attempt last wrote something."""
    if seen is None:
        return ""
    return f"output {moments.ago(seen.at, now_ms)}" if seen.size else "no output yet"


def _next(task: Task, phrase: Phrase, now_ms: int) -> str:
    """The last cell: what to type, when it is tried, or when it is stopped."""
    if phrase.token == "you":
        return f"medbay answer {task.id}"
    if task.live is not None and task.timeout_ms is not None:
        return f"time limit in {moments.short(task.since + task.timeout_ms - now_ms)}"
    if phrase.kind == "paused":
        return f"medbay resume {task.id}"
    if phrase.token == "wait" and task.due_at is not None and phrase.kind == "due":  # its status says when
        return f"in {moments.short(task.due_at - now_ms)}" if task.due_at > now_ms else ""
    if phrase.token == "wait" and task.due_at is not None:
        return moments.clock(task.due_at, now_ms)
    if task.finished:
        return moments.clock(task.since, now_ms)
    return ""


def _next_at(task: Task) -> int | None:
    if task.finished or task.paused or task.live is not None:
        return None
    return task.ready_at if task.ready else task.due_at


def _counters(task: Task, now_ms: int, used: tuple[int, int] | None) -> str:
    triaged = "never triaged" if task.triaged_at is None else f"triaged {moments.ago(task.triaged_at, now_ms)}"
    tries = "1 try" if task.attempts == 1 else f"{task.attempts} tries"
    spent = f", {spending.used(*used)}" if used is not None else ""
    place = f", place {clean(task.place)}" if task.place else ""
    return f"{tries}, {task.streak} failed in a row, {triaged}{spent}{place}"
