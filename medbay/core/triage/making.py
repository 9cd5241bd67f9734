"""The tasks that a verdict makes: a fix, a specification review, the parts of a split, what was left for later.

Each names the task it serves. What no agent is configured for becomes a person's task, which is a question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from medbay.core import person
from medbay.core.agent import runner_of
from medbay.core.breaker import Breaker
from medbay.core.decision import Added, Draft
from medbay.core.diagnosis.record import Diagnosis
from medbay.core.model import TEXT_MAX, TITLE_MAX, Event, Question, Role, Task
from medbay.core.plain import block, line
from medbay.core.question import EVIDENCE_MAX
from medbay.core.triage.adjusting import Criterion
from medbay.core.triage.case import Case
from medbay.core.triage.verdict import Piece, Verdict

WHOLE_MAX: Final = 8_000  # of the original, quoted in its parts
GUIDANCE_SHOWN: Final = 5

# What the parts of a task have from it, and what is left of it for later.
_INHERITED: Final = (
    "runner command cwd env timeout_ms memory_bytes cpu_ms priority queue tags policy resources checks check_timeout_ms"
    " fail_fast threshold model max_tokens max_cost"
).split()


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A new task with what is told of it, and the question that a person's task is."""

    added: Added
    events: tuple[Event, ...]
    questions: tuple[Question, ...] = ()

    @property
    def task(self) -> Task:
        """The task as it is added."""
        return self.added.change.after


def fix_task(case: Case, verdict: Verdict, now: int, *, incident: Breaker | None = None) -> Made:
    """One fix for what makes the task fail; worked on by `[triage] fix_agent`, otherwise by a person.

    That of an incident is for what many tasks meet: it names one of them, and none of them waits for it by itself.
    """
    piece, named = verdict.fixes[0], f"{case.task.id} ({case.task.title})"
    why = f"It was filed because {named} keeps failing."
    if incident is not None:
        why = f"It was filed for {incident.key}: {incident.why}. {named} is one of them."
    cause = f"Root cause: {verdict.root_cause}" if verdict.root_cause else ""
    about = _sections(piece.description, why, cause, _shown(case, verdict.evidence))
    return _served(case, "fix", piece.title, about, case.means.fix_agent, now)


def review_task(case: Case, unclear: str, now: int, *, evidence: Sequence[str] = ()) -> Made:
    """One review of the specification, with what the failures showed; worked on by the profile of role `spec`."""
    task = case.task
    tried = "\n".join(f"- {each.advice}" for each in task.guidance[-GUIDANCE_SHOWN:] if each.advice)
    about = _sections(
        f"What is unclear: {unclear}",
        f"{task.id} ({task.title}) failed {task.streak} times in a row.",
        _shown(case, evidence),
        f"What was advised and did not help:\n{tried}" if tried else "",
    )
    title = f"Review specification of {task.title}"
    return _served(case, "review", title, about, case.means.spec_agent, now, spec=task.spec)


def parts(case: Case, pieces: Sequence[Piece], now: int) -> tuple[Made, ...]:
    """The parts of a split, one after another, each like the original with its share of the budget.

    The checks of the whole are for the last one: before it there is no whole that could pass them.
    """
    whole = block("\n\n".join(part for part in (case.task.description, case.task.spec) if part), WHOLE_MAX)
    made: list[Made] = []
    for at, piece in enumerate(pieces):
        before = (made[-1].task.id,) if made else ()
        about = _sections(
            piece.description,
            f"Only this is to be done now: part {at + 1} of {len(pieces)} of {case.task.id} ({case.task.title}).",
            f"The whole it is a part of:\n{whole}" if whole else "",
        )
        share = {
            name: max(1, limit // len(pieces))
            for name in ("max_tokens", "max_cost")
            if (limit := getattr(case.task, name)) is not None
        }
        own = {**share, "checks": case.task.checks if at == len(pieces) - 1 else ()}
        unmet = case.task.unmet + len(before)
        task = _like(case, "part", case.new_ids[at], piece.title, about, now, unmet=unmet, **own)
        made.append(_added(task, now, after=(*case.after, *before)))
    return tuple(made)


def follow_up(case: Case, left: Sequence[Criterion], now: int) -> Made:
    """What a narrowed task leaves for later: like the original, after it, with the criteria that are left."""
    task = case.task
    wanted = "\n".join(f"- {each.text}" for each in left)
    about = _sections(task.description, f"This is what {task.id} ({task.title}) left for later.")
    title = f"Rest of {task.title}"
    spec = f"Acceptance criteria:\n{wanted}"
    made = _like(case, "follow_up", case.new_ids[0], title, about, now, unmet=1, spec=spec)
    return _added(made, now, after=(task.id,))


def _served(case: Case, role: Role, title: str, about: str, profile: str, now: int, *, spec: str = "") -> Made:
    """A task beside the failing one: an agent's where one is configured, otherwise a person's."""
    of = case.task
    task = Task(
        id=case.new_ids[0],
        title=line(title, TITLE_MAX),
        runner=runner_of(profile) if profile else person.RUNNER,
        cwd=of.cwd,
        env=of.env if profile else (),
        description=about,
        spec=spec,
        priority=of.priority,
        queue=of.queue,
        policy=of.policy,
        resources=case.means.accounts.get(profile, ()),
        max_tokens=of.max_tokens,
        max_cost=of.max_cost,
        **_service(case, role, now),
    )
    return _added(task, now) if profile else _asked(task, now)


def _like(case: Case, role: Role, task_id: str, title: str, about: str, now: int, **own: Any) -> Task:
    """A task that is worked on exactly as the original was."""
    inherited = {name: getattr(case.task, name) for name in _INHERITED}
    fields = inherited | _service(case, role, now) | own
    return Task(id=task_id, title=line(title, TITLE_MAX), description=about, **fields)


def _service(case: Case, role: Role, now: int) -> dict[str, Any]:
    return {
        "subject": case.task.id,
        "role": role,
        "depth": case.task.depth + 1,
        "created_at": now,
        "created_by": case.triage.id,
        "since": now,
    }


def _added(task: Task, now: int, *, after: tuple[str, ...] = ()) -> Made:
    draft = _created(task, now)
    return Made(added=Added(draft.change(), after), events=tuple(draft.events))


def _asked(task: Task, now: int) -> Made:
    """A person's task: a question, and answering it completes the task."""
    draft = _created(task, now)
    asked = person.hand_over(draft)
    return Made(added=Added(draft.change()), events=tuple(draft.events), questions=(asked,))


def _created(task: Task, now: int) -> Draft:
    draft = Draft(task, now, actor=task.created_by)
    served = {"subject": task.subject, "role": task.role}
    draft.tell("task:created", title=task.title, queue=task.queue, priority=task.priority, serves=served)
    return draft


def _sections(*parts: str) -> str:
    return block("\n\n".join(part for part in parts if part), TEXT_MAX)


def _shown(case: Case, evidence: Sequence[str]) -> str:
    """What the failures themselves say: the diagnosis, its place, its words, and the lines that were quoted."""
    found = [*_diagnosed(case.diagnosis), *evidence] if case.diagnosis else [case.task.last_summary, *evidence]
    lines = [each for each in dict.fromkeys(found) if each]
    return "Evidence:\n" + "\n".join(lines) if lines else ""


def _diagnosed(found: Diagnosis) -> list[str]:
    place = f" at {found.location}" if found.location else ""
    return [f"{found.kind}{place}: {found.summary}", block(found.pattern.excerpt, EVIDENCE_MAX)]
