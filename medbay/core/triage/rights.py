"""What a verdict may do: rights in code, not in a prompt. A verdict touches the failing task and what it creates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from medbay.core.agent import is_agents, needs_change
from medbay.core.diagnosis.record import Diagnosis
from medbay.core.model import TRIAGE, Task
from medbay.core.resources import incident_key
from medbay.core.triage import adjusting
from medbay.core.triage.case import Case
from medbay.core.triage.starting import RUNNER, is_newest, of_incident
from medbay.core.triage.verdict import WORDS, Refusal, Verdict, Word

DEPTH_MAX: Final = 2  # no fix of a fix of a fix, no part of a part of a part
PARTS: Final = range(2, 11)
DESCENDANTS_MAX: Final = 20

# A verdict on an incident touches its question, its canaries and one fix.
ON_INCIDENTS: Final[tuple[Word, ...]] = ("NOOP", "FILE_FIX", "PAUSE", "RECOMMEND_CONFIG", "ESCALATE")

# What has happened to a task since its triage started that makes the verdict stale.
_ACTS: Final = {
    "task:started": "it has started again",
    "task:completed": "it has succeeded",
    "task:iteration_done": "it has succeeded",
    "task:rescued": "it was rescued",
    "task:cancelled": "it was cancelled",
    "task:cancel_requested": "somebody cancels it",
    "task:paused": "it was paused",
    "task:resumed": "it was paused and resumed",
    "task:edited": "it was edited",
    "task:reclassified": "its failure was corrected by a person",
    "question:answered": "its question was answered",
    "task:unblocked": "it was released from a block",
    "task:blocked": "it was blocked",
}

# Where only a change can help: the same again would be the same failure.
_CHANGES_NOTHING_FOR_AN_AGENT: Final = frozenset({"retry_delay_ms", "timeout_ms"})


def stale(case: Case) -> str | None:
    """Why the verdict comes too late: what happened to the task since the triage started."""
    task = case.task
    if task.finished:
        return "it has succeeded" if task.status == "completed" else "it was cancelled"
    if task.live is not None or task.attempts != case.triage.number:
        return _ACTS["task:started"]
    if task.cancel_requested:
        return _ACTS["task:cancel_requested"]
    if task.paused:
        return _ACTS["task:paused"]
    return next((_ACTS[each] for each in case.acts if each in _ACTS), None)


def overtaken(case: Case) -> bool:
    """Whether the task has failed again since and waits for a look at that: this triage lets it neither go nor ask."""
    task = case.task
    return task.waits_for == TRIAGE and (task.wants_triage or not is_newest(task, case.triage))


def outside(verdict: Verdict, case: Case) -> Refusal | None:
    """Every right that the verdict lacks; None when it keeps them all."""
    checks = _FOR_INCIDENTS if of_incident(case.triage.id) else _CHECKS
    found = [why for check in checks for why in check(verdict, case)]
    return Refusal("; ".join(dict.fromkeys(found))) if found else None


def repetition_forbidden(task: Task, diagnosis: Diagnosis) -> bool:
    """Whether the same again must not be tried: an agent's second failure of a kind where only a change can help."""
    return task.streak >= 2 and needs_change(task, diagnosis)


def allowed(task: Task, descendants: int) -> tuple[Word, ...]:
    """The verdicts that can be within the rights for this task."""
    if _is_triage(task):
        return ()
    room = task.depth < DEPTH_MAX and task.status != "blocked"
    without: set[Word] = set()
    if not room or any(_cannot_be_split(task)) or descendants + PARTS.start > DESCENDANTS_MAX:
        without.add("SPLIT")
    if not room:
        without.add("FILE_FIX")
    if any(_cannot_be_reviewed(task)):
        without.add("SPEC_REFRESH")
    if task.status == "blocked":
        without |= {"SPEC_REFRESH", "PAUSE"}
    return tuple(word for word in WORDS if word not in without)


def _is_triage(task: Task) -> bool:
    return task.role == "triage" or task.runner == RUNNER


def _of_a_triage(verdict: Verdict, case: Case) -> Iterator[str]:
    if _is_triage(case.task):
        yield "there is no triage of a triage"


def _names_another(verdict: Verdict, case: Case) -> Iterator[str]:
    mine = incident_key(case.triage.fingerprint) if of_incident(case.triage.id) else ""
    if verdict.task_id not in ("", case.task.id, mine):
        yield f"it is about {verdict.task_id}, not {case.task.id}"
    if verdict.attempt not in (None, case.triage.number):
        yield f"it judges attempt {verdict.attempt}, not {case.triage.number}"


def _changes_many(verdict: Verdict, case: Case) -> Iterator[str]:
    if verdict.word not in ON_INCIDENTS:
        yield f"{verdict.word} changes a task, and an incident is about many: no verdict changes them all"


def _gives_orders(verdict: Verdict, case: Case) -> Iterator[str]:
    if verdict.orders:
        yield f"no verdict can carry this: {', '.join(verdict.orders)}"


def _carries_more(verdict: Verdict, case: Case) -> Iterator[str]:
    if verdict.adjust is not None and verdict.word != "ADJUST":
        yield f"{verdict.word} cannot change the task"
    if verdict.parts and verdict.word != "SPLIT":
        yield f"{verdict.word} cannot make parts"
    if verdict.fixes and verdict.word != "FILE_FIX":
        yield f"{verdict.word} cannot file a fix"


def _while_blocked(verdict: Verdict, case: Case) -> Iterator[str]:
    """What a person was asked, only a person answers: a verdict may advise and adjust, not release or replace."""
    waits = case.task.status == "blocked" or (verdict.word == "SPLIT" and case.question is not None)
    if waits and verdict.word in ("SPLIT", "FILE_FIX", "SPEC_REFRESH", "PAUSE"):
        yield f"{case.task.id} waits for somebody else, which {verdict.word} cannot change"


def _adjusts(verdict: Verdict, case: Case) -> Iterator[str]:
    if verdict.word != "ADJUST":
        return
    wanted = verdict.adjust
    if wanted is None:
        yield "ADJUST changes nothing"
        return
    yield from adjusting.beyond(case.task, wanted, case.means)
    changed = adjusting.diff(case.task, wanted).keys()
    if not changed:
        yield adjusting.why_nothing(case.task, wanted)
    elif changed <= _CHANGES_NOTHING_FOR_AN_AGENT and _forbidden(case):
        yield "ADJUST changes nothing that the next attempt would do differently"
    if "criteria" in changed and case.task.depth >= DEPTH_MAX:
        yield _too_deep("follow-up", case.task)


def _forbidden(case: Case) -> bool:
    return case.diagnosis is not None and repetition_forbidden(case.task, case.diagnosis)


def _splits(verdict: Verdict, case: Case) -> Iterator[str]:
    if verdict.word != "SPLIT":
        return
    task, number = case.task, len(verdict.parts)
    yield from _cannot_be_split(task)
    if number not in PARTS:
        yield f"a split makes {PARTS.start} to {PARTS.stop - 1} parts, not {number}"
    if task.depth >= DEPTH_MAX:
        yield _too_deep("part", task)
    if case.descendants + number > DESCENDANTS_MAX:
        yield f"its family would have {case.descendants + number} parts, {DESCENDANTS_MAX} are allowed"


def _cannot_be_split(task: Task) -> Iterator[str]:
    if not is_agents(task):
        yield "only what an agent works on can be split"
    if task.recurs:
        yield "a split ends the task, and this one recurs"
    if task.role in ("review", "fix"):
        yield f"it is the {task.role} that {task.subject} waits for, as a whole"


def _files(verdict: Verdict, case: Case) -> Iterator[str]:
    if verdict.word != "FILE_FIX":
        return
    if len(verdict.fixes) != 1:
        yield f"one fix may be filed, not {len(verdict.fixes)}"
    if case.task.depth >= DEPTH_MAX:
        yield _too_deep("fix", case.task)


def _refreshes(verdict: Verdict, case: Case) -> Iterator[str]:
    if verdict.word == "SPEC_REFRESH":
        yield from _cannot_be_reviewed(case.task)


def _cannot_be_reviewed(task: Task) -> Iterator[str]:
    if task.role == "review":
        yield "it is a review itself"
    elif task.depth >= DEPTH_MAX:
        yield _too_deep("review", task)


def _too_deep(what: str, task: Task) -> str:
    return (
        f"a {what} of {task.id} would be {task.depth + 1} steps away from what a person added, {DEPTH_MAX} are allowed"
    )


_Check = Callable[[Verdict, Case], Iterator[str]]
_CHECKS: Final[tuple[_Check, ...]] = (
    _of_a_triage,
    _names_another,
    _gives_orders,
    _carries_more,
    _while_blocked,
    _adjusts,
    _splits,
    _files,
    _refreshes,
)
_FOR_INCIDENTS: Final[tuple[_Check, ...]] = (_changes_many, _names_another, _gives_orders, _carries_more, _files)
