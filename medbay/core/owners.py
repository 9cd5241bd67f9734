"""What the end of a task means for others: those that come after it, and its owner.

A task may have an owner of any kind, and a role for it. What its end means there is a row of `OWNERS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from medbay.core import agent
from medbay.core.attempt.counting import record_of
from medbay.core.decision import NOTHING, Change, Decision, Draft, RetryClosed, WorkingSet, together
from medbay.core.holds.breaker import Breaker, probe_soon
from medbay.core.holds.incident import changed_breaker
from medbay.core.intake import workorder
from medbay.core.intake.workorder import IntakeCase
from medbay.core.lifecycles import BLOCKS_THAT_TIME_OUT
from medbay.core.model import TURN, Task
from medbay.core.outcome import Failed, Outcome, Succeeded
from medbay.core.people import question
from medbay.core.policy import policy
from medbay.core.schedule import loops, recurring
from medbay.core.triage import ending as triage
from medbay.core.triage.ending import LookedAt
from medbay.core.workflow import answer, phase
from medbay.core.workflow.phase import StoryCase
from medbay.core.workspace import REVISION


class Served(Struct, frozen=True):
    """The task that owns another one, as the service found it."""

    task: Task
    named: int | None = None  # the time its newest failure named: never tried before it


# The owner of a task that ends, as the service found it: a task, the members of a loop in their order, an open incident
# that waits for it, all that the end of a triage meets, a workorder with its captures, or a story. None: the task has
# no owner, or none that is concerned.
Owned = Served | tuple[Task, ...] | Breaker | LookedAt | IntakeCase | StoryCase | None


def delivered(task: Task, outcome: Outcome) -> Outcome:
    """How an attempt ended; that of a role or an agent's review is malformed unless it left what is asked of it."""
    outcome = answer.delivered(task, outcome)
    if task.role != "review" or not agent.is_agents(task) or not isinstance(outcome, Succeeded):
        return outcome
    if spec_in(outcome) is not None:
        return outcome
    said = {"category": "MALFORMED_OUTPUT", "summary": "the review left no specification: `spec` in its result"}
    return Failed(output=replace(outcome.output, result=said), exit_code=outcome.exit_code)


def spec_in(outcome: Outcome) -> str | None:
    """What an attempt left for its owner in its result: a specification, or the answer to what it was asked."""
    left = outcome.output.result or {}
    spec = left.get("spec", left.get("answer"))
    return spec if isinstance(spec, str) and spec.strip() else None


def succeeded(
    draft: Draft[Task], owner: Owned, dependents: tuple[Task, ...] = (), *, spec: str | None = None
) -> Decision:
    """A task succeeded: those that come after it, and its owner, which may be among them."""
    free = released(dependents, draft.now)
    if owner is None:
        return free
    rule = rule_of(draft.before)
    both = None
    if isinstance(owner, Served):
        both = next((each for each in free.changes if each.after.id == owner.task.id), None)
        owner = replace(owner, task=both.after) if both is not None else owner
    made = rule.succeeded(draft, owner, spec)
    last = next((each for each in made.changes if both is not None and each.after.id == both.after.id), None)
    if both is None or last is None:
        return together(free, made)
    whole = Change(both.before, last.after, both.transitions + last.transitions)
    freed = replace(free, writes=tuple(whole if each is both else each for each in free.writes))
    return together(freed, replace(made, writes=tuple(each for each in made.writes if each is not last)))


def failed(draft: Draft[Task], owner: Owned, followed: Decision, *, charged: bool) -> Decision:
    """A task failed, and this followed: what it means for its owner comes before it."""
    return followed if owner is None else rule_of(draft.before).failed(draft, owner, followed, charged)


def cancelled(draft: Draft[Task], owner: Owned, dependents: tuple[Task, ...]) -> Decision:
    """A task is cancelled: what it leaves without what it waits for, dependents and owner, needs a person's word."""
    if owner is None:
        return block_left(dependents, draft.now, because=draft.before)
    rule, known = rule_of(draft.before), {each.id for each in dependents}
    left = (*dependents, *(each for each in rule.leaves(owner) if each.id not in known))
    return together(block_left(left, draft.now, because=draft.before), rule.cancelled(draft, owner))


def ended_meanwhile(fix: Task, owner: Owned, now: int) -> Decision:
    """A fix that ended while an attempt of its owner ran means the same once that attempt has ended."""
    draft = Draft(fix, now, actor="engine")
    return succeeded(draft, owner) if fix.status == "completed" else cancelled(draft, owner, ())


def released(dependents: Iterable[Task], now: int) -> Decision:
    """One task that these come after is completed; a person is asked for what is theirs now."""
    drafts, questions = [], []
    for task in dependents:
        draft = Draft(task, now, actor="engine")
        draft.set(unmet=max(0, task.unmet - 1))
        if question.is_due(draft.task):
            questions.append(question.hand_over(draft))
        drafts.append(draft)
    return together(*map(_made, drafts)).plus(*questions) if drafts else NOTHING


def block_left(left: tuple[Task, ...], now: int, *, because: Task) -> Decision:
    """What comes directly after a cancelled task, or owns it and waits for it, needs a person's word now."""
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


def _made(draft: Draft[Task]) -> Decision:
    """The decision about it; nothing where nothing changed."""
    change = draft.change()
    return NOTHING.plus(change if change.after != change.before else None, events=draft.events)


# What the end of an owned task means


def _reviewed(draft: Draft[Task], served: Served, spec: str | None) -> Decision:
    """The reviewed specification is taken over, and the task goes on, though not before a time its failure named."""
    review, subject, now = draft.before, served.task, draft.now
    if subject.finished:
        return NOTHING
    other = Draft(subject, now, actor="engine")
    if spec is not None and spec != subject.spec:
        other.set(spec=spec)
        other.emit("task:edited", by=review.id, changed=["spec"], reset_failures=False)
    if subject.status == "blocked" and subject.block_kind == "spec":
        other.set(block_kind=None, due_at=None)
        if subject.recurs:
            recurring.goes_on(other)
        if (served.named or 0) > max(now, other.task.due_at or 0):
            other.set(due_at=served.named)
        other.move("pending", f"its specification was reviewed in {review.id}")
        other.emit("task:unblocked", by=review.id, kind="spec")
    return _made(other)


def _fixed(draft: Draft[Task], served: Served, spec: str | None) -> Decision:
    """A recurring task need not wait for its backoff any longer; only for a time that its failure named."""
    fix, subject, now = draft.before, served.task, draft.now
    at = policy.not_before(served.named, now, now, record_of(subject))
    if (
        not subject.recurs
        or subject.status != "failed"
        or subject.due_at is None
        or (at > now and at >= subject.due_at)
    ):
        return NOTHING
    other = Draft(subject, now, actor="engine")
    recurring.rerun(other, at)
    other.set(due_at=at if at > now else None)
    other.move("pending", f"its fix {fix.id} is completed")
    if at > now:
        return other.decision(RetryClosed(subject.id, "cancelled"))
    other.emit("task:retry_executed", attempt=subject.attempts, fix=fix.id)
    return other.decision(RetryClosed(subject.id, "executed"))


def _mended(draft: Draft[Task], incident: Breaker, spec: str | None) -> Decision:
    """What many tasks met may be over: one of them goes ahead soon."""
    return changed_breaker(incident, probe_soon(incident, draft.now))


def _passed_on(draft: Draft[Task], members: tuple[Task, ...], spec: str | None = None) -> Decision:
    """The next member of the loop has the turn."""
    passed = loops.passed_on(draft, members)
    return Decision(writes=passed) if passed else NOTHING


def _given_up(draft: Draft[Task], members: tuple[Task, ...]) -> Decision:
    """A member that is cancelled passes the turn on, if it has it."""
    return _passed_on(draft, members) if draft.before.waits_for != TURN else NOTHING


def _began_again(draft: Draft[Task], members: tuple[Task, ...], followed: Decision, charged: bool) -> Decision:
    """The turn goes back to the first of the loop."""
    followed, others = loops.began_again(draft, members, followed, charged=charged)
    return replace(together(others, followed), work=followed.work)


def _nothing(draft: Draft[Task], owner: Any, spec: str | None = None) -> Decision:
    return NOTHING


def _as_it_followed(draft: Draft[Task], owner: Any, followed: Decision, charged: bool) -> Decision:
    return followed


def _nobody(owner: Any) -> tuple[Task, ...]:
    return ()


class OwnerRule(Struct, frozen=True, kw_only=True):
    """What the end of an owned task means for its owner, which each is given as the service found it."""

    succeeded: Callable[[Draft[Task], Any, str | None], Decision] = _nothing  # with the specification it left
    failed: Callable[[Draft[Task], Any, Decision, bool], Decision] = _as_it_followed  # what followed, and if charged
    cancelled: Callable[[Draft[Task], Any], Decision] = _nothing
    leaves: Callable[[Any], tuple[Task, ...]] = _nobody  # who is left without what it waits for, when it is cancelled
    # Of a task that gets one attempt and no ladder: all that follows from its end, and from an error of our own.
    settles: Callable[[Any, Outcome, Draft[Task], WorkingSet], Decision] | None = None
    breaks: Callable[[Any, Draft[Task], WorkingSet, str], Decision] | None = None


ANY_ROLE: Final = "*"  # of an owner whose roles are people's own names
_TRIAGE: Final = OwnerRule(settles=triage.settle, breaks=triage.broke)
OWNERS: Final[Mapping[tuple[str, str], OwnerRule]] = {
    ("task", "triage"): _TRIAGE,
    ("task", "review"): OwnerRule(
        succeeded=_reviewed, leaves=lambda served: (served.task,) if served.task.block_kind == "spec" else ()
    ),
    ("task", "fix"): OwnerRule(
        succeeded=_fixed, leaves=lambda served: (served.task,) if served.task.streak > 0 else ()
    ),
    ("task", "part"): OwnerRule(),  # what came after the task comes after its parts, by edges of their own
    ("task", "follow_up"): OwnerRule(),
    ("task", REVISION): OwnerRule(),
    ("incident", "triage"): _TRIAGE,
    ("incident", "fix"): OwnerRule(succeeded=_mended),
    ("workorder", "intake"): OwnerRule(
        succeeded=workorder.answered, failed=workorder.gave_up, cancelled=workorder.cancelled, breaks=workorder.broke
    ),
    ("story", ANY_ROLE): OwnerRule(
        succeeded=phase.part_succeeded,
        failed=phase.part_failed,
        cancelled=phase.part_cancelled,
        breaks=phase.part_broke,
    ),
    ("loop", ""): OwnerRule(succeeded=_passed_on, failed=_began_again, cancelled=_given_up),
}
_NO_OWNER: Final = OwnerRule()


def rule_of(task: Task) -> OwnerRule:
    """What the end of this task means for its owner."""
    if not task.owner_kind:
        return _NO_OWNER
    found = OWNERS.get((task.owner_kind, task.role))
    return OWNERS[task.owner_kind, ANY_ROLE] if found is None else found
