"""How triage asks a person: tier 3. One open question per task; a recurring task asks and stays on its backoff."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from medbay.core.decision import Draft
from medbay.core.diagnosis.record import Diagnosis, Pattern
from medbay.core.model import TRIAGE, Option, Owner, Question, Task
from medbay.core.people import question
from medbay.core.people.question import EVIDENCE_MAX
from medbay.core.triage import rights
from medbay.core.triage.case import TriageCase
from medbay.core.triage.verdict import Verdict
from medbay.core.untrusted import block, line

NEED_MAX: Final = 500
RECOMMENDED: Final = "recommend|"  # the scope of a recommendation: one per fingerprint
NOTED: Final = Option("noted", "wait", "nothing is changed by Medbay; the task goes on as it is")


def diagnosis_of(case: TriageCase) -> Diagnosis:
    """Why the judged attempt failed; from what the task remembers, where the attempt is gone."""
    if case.diagnosis is not None:
        return case.diagnosis
    task = case.task
    category, _, subcategory = (task.last_category or "unknown").partition("/")
    return Diagnosis(
        category=category if category in case.policy.rungs else "unknown",
        subcategory=subcategory or None,
        confidence=1.0,
        pattern=Pattern("triage.remembered"),
        location=None,
        fingerprint=task.last_fingerprint,
        summary=task.last_summary,
        suggested_fix="",
        retryable=True,
        retry_after_ms=None,
        provider=None,
        charge=True,
        session=None,
    )


def is_due(case: TriageCase) -> bool:
    """Whether a triage that came to nothing leaves the task to a person: not when it has moved on since."""
    task = case.task
    if task.recurs:
        stands = task.finished or task.status == "blocked" or task.paused or task.cancel_requested
        return not stands and task.streak > 0
    if task.status == "failed" and task.waits_for == TRIAGE:
        return not rights.overtaken(case)
    return task.status in ("failed", "pending") and rights.stale(case) is None


def escalate(
    draft: Draft[Task], case: TriageCase, why: str, *, verdict: Verdict | None = None, headline: str = ""
) -> tuple[Question, ...]:
    """Tier 3: a one-off is blocked for a person, a recurring task only asks."""
    blocks = not case.task.recurs and case.task.status in ("failed", "pending")
    number, known = case.triage.number, case.question.id if case.question is not None else None
    new = _question(draft, case, why, verdict=verdict, headline=headline)
    return draft.escalate(why, attempt=number, asked=new, known=known, blocks=blocks)


def ask(
    draft: Draft[Task], case: TriageCase, why: str, *, verdict: Verdict | None = None, headline: str = ""
) -> tuple[Question, ...]:
    """The question with what triage found out, unless one about the task is open already."""
    new = _question(draft, case, why, verdict=verdict, headline=headline)
    return (draft.ask(new),) if new is not None else ()


def _question(
    draft: Draft[Task], case: TriageCase, why: str, *, verdict: Verdict | None, headline: str
) -> Question | None:
    """Where the triage itself is the reason to ask, that is the headline, and why the task failed stands below it."""
    if case.question is not None:
        return None
    below = f"{why}; {_more(case)}" if not headline else f"{_failed(case, verdict)}; {_more(case)}"
    made = question.ask(draft.task, kind="human", why=below, now=draft.now, diagnosis=case.diagnosis)
    meant = headline or (verdict and (verdict.look_at or verdict.suggestion or verdict.root_cause))
    if meant:
        made = replace(made, need=line(f"{case.task.title}: {meant}", NEED_MAX))
    if verdict is not None:
        shown = block("\n".join(dict.fromkeys((*verdict.evidence, *made.evidence.split("\n")))), EVIDENCE_MAX)
        made = replace(made, evidence=shown)
    return made


def _failed(case: TriageCase, verdict: Verdict | None) -> str:
    """What is the matter with the task itself, as far as is known."""
    times = "once" if case.task.streak == 1 else f"{case.task.streak} times"
    cause = verdict.root_cause if verdict is not None else ""
    return cause or f"it failed {times}: {diagnosis_of(case).summary}"


def _more(case: TriageCase) -> str:
    """Where the words of the triage are."""
    return f"more: medbay log {case.triage.id}"


def recommend(draft: Draft[Task], case: TriageCase, verdict: Verdict) -> tuple[Question, ...]:
    """A change elsewhere, filed for a person; blocks no task, and is filed once per fingerprint."""
    scope = RECOMMENDED + case.triage.fingerprint
    if scope in case.scopes:
        return ()
    task = draft.task
    made = Question(
        id=f"q-{task.id}-{task.questions + 1}",
        need=line(f"recommended for {task.title}: {verdict.suggestion}", NEED_MAX),
        why=verdict.why or verdict.root_cause or f"{task.id} failed {task.streak} times in a row",
        evidence=block("\n".join(verdict.evidence), EVIDENCE_MAX),
        options=(NOTED,),
        owner=Owner("task", task.id),
        scope=scope,
        asked_at=draft.now,
    )
    return (draft.ask(made),)
