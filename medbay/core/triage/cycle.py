"""What one cycle answers: a result per item, counts that add up, every error once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

from msgspec.structs import replace

from medbay.core.decision import Added, Decision, Draft, RetryClosed, together
from medbay.core.durations import iso
from medbay.core.holds.breaker import Breaker
from medbay.core.holds.incident import changed_breaker
from medbay.core.model import DECIDED_ELSEWHERE, Question, Task, Triage
from medbay.core.people import question
from medbay.core.policy.presets import Recurring
from medbay.core.triage import agency
from medbay.core.triage.case import Means

RUNNER: Final = "triage"
OPTED_OUT: Final = "no-recurring-triage"
TAGS: Final = ("recurring-triage", OPTED_OUT)
TRIAGES_AT_ALL: Final = 2  # of one fingerprint on one task; the next failure is a person's

What = Literal["start", "wait", "held_back", "to_a_person", "drop"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StartSurroundings:
    """What decides beyond the task itself."""

    earlier: Sequence[Triage] = ()  # of this task, the newest first
    told: bool = False  # a person was asked about it since the newest of them began
    fix: str | None = None  # one of it that is worked on
    running: Triage | None = None  # the running triage of the same fingerprint
    incident: bool = False  # one on its fingerprint is open
    agency: Breaker | None = None
    asked_for: bool = False  # a person wants it now: neither threshold nor cooldown count


@dataclass(frozen=True, slots=True)
class StartAnswer:
    """Whether a triage starts, and why not."""

    what: What
    why: str = ""


def is_wanted(task: Task, rules: Recurring, *, charged: bool, covered: bool) -> bool:
    """Whether the newest failure of a recurring task asks for a triage while its backoff goes on."""
    if not task.recurs or task.streak < rules.triage_threshold or task.status == "blocked":
        return False
    return charged and not covered and OPTED_OUT not in task.tags and task.role != "triage"


def is_newest(task: Task, looked: Triage) -> bool:
    """Whether no other triage of this task was started after this one."""
    return looked.id == _id(task, task.triages)


def _id(task: Task, number: int) -> str:
    return f".triage-{task.id}-{number}"


def cooling_until(task: Task, rules: Recurring) -> int | None:
    """When the cooldown after its last triage is over."""
    return None if task.triaged_at is None else task.triaged_at + rules.triage_cooldown_ms


def decide(task: Task, rules: Recurring, now: int, around: StartSurroundings) -> StartAnswer:
    """Whether a triage of this task may start now."""
    if task.live is not None:
        return StartAnswer("wait", f"attempt {task.live} runs, and may say more")
    if around.running is not None:  # what it says comes first
        return StartAnswer("wait", f"{around.running.id} examines the same failure")
    against = None if around.asked_for else _speaks_against(task, rules, now, around)
    if against is not None:
        return against
    if around.incident:
        return StartAnswer("wait", "an incident on this failure is open")
    if agency.lets(around.agency) == "none":
        return StartAnswer("held_back", "the agency breaker is open")
    return StartAnswer("start")


def _speaks_against(task: Task, rules: Recurring, now: int, around: StartSurroundings) -> StartAnswer | None:
    """Why only a person may have it triaged once more: it does not run, or was triaged before."""
    if task.finished or (task.status == "blocked" and not _its_loop_gave_up(task)):
        return StartAnswer("drop", f"it is {task.status}")
    if task.recurs and (OPTED_OUT in task.tags or task.streak == 0):
        return StartAnswer("drop", "it does not want one any more")
    until = cooling_until(task, rules)
    own = (each for each in around.earlier if not each.incident)  # that of an incident was of many tasks
    alike = [each for each in own if each.fingerprint == task.last_fingerprint and not _was_silent(task, each)]
    seen_to = task.recurs and bool(around.told or around.fix)  # a person was asked, or a fix is under way
    if until is not None and now < until:
        lately = any(now < each.started_at + rules.triage_cooldown_ms for each in alike)
        if lately and not seen_to:
            return StartAnswer("to_a_person", f"the same failure again: {_story(task, alike)}")
        if task.recurs:
            return StartAnswer("drop", "it was triaged within its cooldown")
    if len(alike) >= TRIAGES_AT_ALL and seen_to:
        return StartAnswer("drop", f"it was triaged {len(alike)} times, and a person knows")
    if len(alike) >= TRIAGES_AT_ALL:
        return StartAnswer("to_a_person", f"the same failure after {len(alike)} triages: {_story(task, alike)}")
    return None


def _was_silent(task: Task, each: Triage) -> bool:
    """NOOP on a recurring task: nothing has to change, so the same failure afterwards is no reason to ask."""
    return task.recurs and each.action == "no_action"


def _story(task: Task, looked: Sequence[Triage]) -> str:
    """The failure, how often and since when, and what was tried against it."""
    since = f" since {iso(task.failing_since)}" if task.failing_since is not None else ""
    times = "once" if task.streak == 1 else f"{task.streak} times in a row"
    last = max(looked, key=lambda each: each.started_at)
    tried = f"; triage {last.id} said {last.action or 'nothing'}" + (f": {last.detail}" if last.detail else "")
    return f"{task.last_summary} (failed {times}{since}){tried}"


def _its_loop_gave_up(task: Task) -> bool:
    """An owner is blocked together with the failure that asks for a triage, which is due all the same."""
    return bool(task.loop) and task.block_kind == "exhausted"


def start(task: Task, now: int, *, means: Means, last_seq: int, queue: str = "") -> tuple[Decision, Triage]:
    """Begin a triage: the task that runs it, its row, and the failing task that remembers when."""
    number = task.triages + 1
    looked = Triage(
        id=_id(task, number),
        task_id=task.id,
        number=task.attempts,
        fingerprint=task.last_fingerprint,
        agent=means.agent,
        started_at=now,
        since_seq=last_seq,
    )
    draft = Draft(task, now, actor="triage")
    draft.set(wants_triage=False, triages=number, triaged_at=now)
    draft.emit("triage:started", attempt=task.attempts, triage=looked.id, agent=means.agent)
    own = Draft(own_task(task, looked, means, now, queue), now, actor="triage")
    own.emit("task:created", title=own.task.title, queue=own.task.queue, priority=own.task.priority)
    return draft.decision(Added(own.change()), looked).plus(events=own.events), looked


def waits_no_more(draft: Draft[Task]) -> None:
    """It was decided: a triage has nothing more to add."""
    if draft.task.waits_for in DECIDED_ELSEWHERE:
        draft.set(waits_for=None)
    draft.set(wants_triage=False)


def drop(task: Task, now: int) -> Decision:
    """It does not want a triage any more."""
    draft = Draft(task, now, actor="triage")
    draft.set(wants_triage=False)
    return draft.decision()


def to_a_person(task: Task, now: int, why: str, *, open_question: Question | None) -> Decision:
    """Another triage would not help: a one-off is blocked and asks, a recurring task asks and stays on its backoff."""
    draft = Draft(task, now, actor="triage")
    waits_no_more(draft)
    new = question.ask(draft.task, kind="human", why=why, now=now) if open_question is None else None
    known = open_question.id if open_question is not None else None
    asked = draft.escalate(why, attempt=task.attempts, asked=new, known=known, blocks=not task.recurs)
    closed = () if task.recurs else (RetryClosed(task.id, "cancelled"),)
    return draft.decision(*closed, *asked)


def own_task(task: Task, looked: Triage, means: Means, now: int, queue: str) -> Task:
    """The task that runs a triage of this one."""
    return Task(
        id=looked.id,
        title=f"Triage of {task.title}"[:500],
        runner=RUNNER,
        cwd=task.cwd,
        timeout_ms=means.timeout_ms,
        priority=task.priority,
        queue=queue or task.queue,
        tags=TAGS if task.recurs else (OPTED_OUT,),
        owner_kind="incident" if looked.incident else "task",
        owner_id=looked.incident or task.id,
        due_at=task.since,  # in the order in which they failed
        role="triage",
        max_tokens=None if means.free else means.max_tokens,
        max_cost=None if means.free else means.max_cost,
        created_at=now,
        created_by="triage",
        since=now,
    )


def under_agency(made: Decision, state: Breaker | None, looked: Triage) -> tuple[Decision, Breaker | None]:
    """The decision with the breaker that lets this one through, and the breaker the next one meets."""
    if state is None or agency.lets(state) != "one":
        return made, state
    after = agency.sent(state, looked.id)
    return together(made, changed_breaker(state, after)), replace(after, version=state.version + 1)


ERRORS: Final = "triage_errors"
COUNTED_AS: Final[Mapping[str, str]] = {
    "cleared_for_retry": "tier1_cleared",
    "cooldown_pending": "tier1_pending",
    "adjusted": "tier2_adjusted",
    "split": "tier2_split",
    "fix_filed": "tier2_fix_filed",
    "spec_refresh_requested": "tier2_spec_refresh",
    "paused": "tier2_paused",
    "no_action": "tier2_no_action",
    "stale": "tier2_no_action",
    "config_recommended": "tier2_recommended",
    "triage_started": "tier2_started",
    "escalated_to_human": "tier3_escalated",
    "refused": "tier3_escalated",
    "record_unreadable": "unreadable",
    "issue_unreadable": "unreadable",
    "escalation_failed": ERRORS,
}
"""Every other action went wrong: counted as an escalation where a person was asked, else as an error of triage."""

TO_A_PERSON: Final = 3  # the tier
COUNTS: Final = (*(name for name in dict.fromkeys(COUNTED_AS.values()) if name != ERRORS), ERRORS)
_TOLD_AS: Final = {"refused": "escalated_to_human", "stale": "no_action", "record_unreadable": "escalated_to_human"}


@dataclass(frozen=True, slots=True)
class Item:
    """What became of one failed item."""

    issue_id: str
    tier: int
    action: str
    detail: str = ""
    diff: tuple[str, ...] = ()  # what was changed, in words


@dataclass(frozen=True, slots=True)
class Cycle:
    """One cycle over all items; `broken` says why they could not be listed at all."""

    items: tuple[Item, ...] = ()
    broken: str = ""
    refused: tuple[str, ...] = ()  # what a tracker did not take of earlier cycles; it is tried again

    @property
    def counts(self) -> dict[str, int]:
        """Every count there is; they sum to the number of items."""
        found = Counter(_counted_as(each) for each in self.items)
        return {name: found[name] for name in COUNTS}

    @property
    def errors(self) -> tuple[str, ...]:
        """Every error, once."""
        wrong = (each for each in self.items if COUNTED_AS.get(each.action, ERRORS) == ERRORS)
        messages = (f"{each.issue_id}: {each.action}: {each.detail}" for each in wrong)
        return ((self.broken,) if self.broken else ()) + tuple(dict.fromkeys((*messages, *self.refused)))

    def as_data(self) -> dict[str, Any]:
        """The documented shape."""
        results = [_as_data(each) for each in self.items]
        return {"issues_found": len(self.items), **self.counts, "errors": list(self.errors), "results": results}

    def line(self) -> str:
        """One line for the log: every count, and the errors as one number."""
        counts = ", ".join(f"{name} {count}" for name, count in self.counts.items() if name != ERRORS)
        return f"triage: issues_found {len(self.items)}, {counts}, errors {len(self.errors)}"


def _as_data(each: Item) -> dict[str, Any]:
    made = asdict(each) | {"action": _TOLD_AS.get(each.action, each.action), "diff": list(each.diff)}
    return {name: value for name, value in made.items() if name != "diff" or value}


def _counted_as(each: Item) -> str:
    """Under which count an item falls: a triage that failed and left its task to a person is an escalation."""
    return COUNTED_AS.get(each.action) or ("tier3_escalated" if each.tier == TO_A_PERSON else ERRORS)
