"""What the end of a task means for others: those that come after it, and the one it serves (`subject`, `role`)."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from medbay.core import agent
from medbay.core.attempt.counting import record_of
from medbay.core.decision import NOTHING, Change, Decision, Draft, RetryClosed, together
from medbay.core.holds.breaker import Breaker, probe_soon
from medbay.core.holds.incident import changed_breaker
from medbay.core.lifecycles import BLOCKS_THAT_TIME_OUT
from medbay.core.model import Task
from medbay.core.outcome import Failed, Outcome, Succeeded
from medbay.core.people import question
from medbay.core.policy import policy
from medbay.core.schedule import recurring


class Served(Struct, frozen=True):
    """The task that another one serves, as the service found it."""

    task: Task
    named: int | None = None  # the time its newest failure named: never tried before it
    of_incident: bool = False  # it is only an example: what is served is an incident
    incident: Breaker | None = None  # while that is open, and waits for this


def delivered(task: Task, outcome: Outcome) -> Outcome:
    """How an attempt ended; that of an agent's review is malformed unless it left a specification."""
    if task.role != "review" or not agent.is_agents(task) or not isinstance(outcome, Succeeded):
        return outcome
    if spec_in(outcome) is not None:
        return outcome
    said = {"category": "MALFORMED_OUTPUT", "summary": "the review left no specification: `spec` in its result"}
    return Failed(output=replace(outcome.output, result=said), exit_code=outcome.exit_code)


def spec_in(outcome: Outcome) -> str | None:
    """The specification an attempt left in its result."""
    spec = (outcome.output.result or {}).get("spec")
    return spec if isinstance(spec, str) and spec.strip() else None


def ended_well(
    task: Task, served: Served | None, dependents: tuple[Task, ...], now: int, *, spec: str | None = None
) -> Decision:
    """A task is completed: those that come after it, and the one it serves, which may be among them."""
    free = released(dependents, now)
    both = next((each for each in free.changes if served is not None and each.after.id == served.task.id), None)
    if served is None or both is None:
        return together(free, completed(task, served, now, spec=spec))
    made = completed(task, replace(served, task=both.after), now, spec=spec)
    last = next((each for each in made.changes if each.after.id == both.after.id), None)
    if last is None:
        return together(free, made)
    whole = Change(both.before, last.after, both.transitions + last.transitions)
    freed = replace(free, writes=tuple(whole if each is both else each for each in free.writes))
    return together(freed, replace(made, writes=tuple(each for each in made.writes if each is not last)))


def released(dependents: Iterable[Task], now: int) -> Decision:
    """One task that these come after is completed; a person is asked for what is theirs now."""
    drafts, questions = [], []
    for task in dependents:
        draft = Draft(task, now, actor="engine")
        draft.set(unmet=max(0, task.unmet - 1))
        if question.is_due(draft.task):
            questions.append(question.hand_over(draft))
        drafts.append(draft)
    return _made(drafts).plus(*questions) if drafts else NOTHING


def completed(task: Task, served: Served | None, now: int, *, spec: str | None = None) -> Decision:
    """A task that serves another is completed: the reviewed specification is taken over, the waiting is over."""
    if served is not None and served.of_incident:
        return changed_breaker(served.incident, probe_soon(served.incident, now)) if served.incident else NOTHING
    if served is None or served.task.finished:
        return NOTHING
    if task.role == "review":
        return _reviewed(task, served, now, spec)
    if task.role == "fix" and served.task.recurs:
        return _fixed(task, served, now)
    return NOTHING


def ended_meanwhile(fix: Task, served: Served | None, now: int) -> Decision:
    """A fix that ended while an attempt of its subject ran means the same once that attempt has ended."""
    if fix.status == "completed":
        return completed(fix, served, now)
    return block_dependents(cancelled(fix, served, ()), now, because=fix)


def cancelled(task: Task, served: Served | None, dependents: tuple[Task, ...]) -> tuple[Task, ...]:
    """Whom a cancelled task leaves without what it waits for: those after it, and the one it served."""
    if served is None or served.of_incident or task.role not in ("fix", "review"):
        return dependents
    waits = served.task.block_kind == "spec" if task.role == "review" else served.task.streak > 0
    known = {each.id for each in dependents}
    return dependents if not waits or served.task.id in known else (*dependents, served.task)


def block_dependents(left: tuple[Task, ...], now: int, *, because: Task) -> Decision:
    """What comes directly after a cancelled task, or was served by it, needs a person's word now."""
    drafts, questions = [], []
    for task in left:
        waited = "waits for" if task.id == because.subject else "comes after"
        why = f"it {waited} {because.id}, which was cancelled"
        asked_already = task.status == "blocked" and task.block_kind not in BLOCKS_THAT_TIME_OUT
        if task.finished or task.live is not None or asked_already:
            continue
        draft = Draft(task, now, actor="engine")
        draft.emit("task:recovery_action", action="mark_as_blocked", why=why)
        questions.append(draft.ask(question.ask(task, kind="dependency", why=why, now=now)))
        if task.status == "blocked":  # it waits for more than time now
            draft.set(block_kind="dependency", reason=why, due_at=None)
            draft.emit("task:blocked", kind="dependency", reason=why)
        else:
            draft.block("dependency", why)
        drafts.append(draft)
    closed = (RetryClosed(draft.task.id, "cancelled") for draft in drafts)
    return together(*(draft.decision() for draft in drafts)).plus(*closed, *questions)


def spec_block_until(review: Task, now: int, timeout_ms: int) -> int | None:
    """When a task goes on without its review: never while a person has it."""
    return None if question.is_persons(review) else now + timeout_ms


def _reviewed(task: Task, served: Served, now: int, spec: str | None) -> Decision:
    """Goes on, though not before a time that its failure named."""
    subject = served.task
    draft = Draft(subject, now, actor="engine")
    if spec is not None and spec != subject.spec:
        draft.set(spec=spec)
        draft.emit("task:edited", by=task.id, changed=["spec"], reset_failures=False)
    if subject.status == "blocked" and subject.block_kind == "spec":
        draft.set(block_kind=None, due_at=None)
        if subject.recurs:
            recurring.goes_on(draft)
        if (served.named or 0) > max(now, draft.task.due_at or 0):
            draft.set(due_at=served.named)
        draft.move("pending", f"its specification was reviewed in {task.id}")
        draft.emit("task:unblocked", by=task.id, kind="spec")
    return _made([draft])


def _fixed(task: Task, served: Served, now: int) -> Decision:
    """A recurring task need not wait for its backoff any longer; only for a time that its failure named."""
    subject = served.task
    at = policy.not_before(served.named, now, now, record_of(subject))
    if subject.status != "failed" or subject.due_at is None or (at > now and at >= subject.due_at):
        return NOTHING
    draft = Draft(subject, now, actor="engine")
    recurring.rerun(draft, at)
    draft.set(due_at=at if at > now else None)
    draft.move("pending", f"its fix {task.id} is completed")
    if at > now:
        return draft.decision(RetryClosed(subject.id, "cancelled"))
    draft.emit("task:retry_executed", attempt=subject.attempts, fix=task.id)
    return draft.decision(RetryClosed(subject.id, "executed"))


def _made(drafts: list[Draft[Task]]) -> Decision:
    changes = (draft.change() for draft in drafts)
    return Decision(
        writes=tuple(change for change in changes if change.after != change.before),
        events=tuple(event for draft in drafts for event in draft.events),
    )
