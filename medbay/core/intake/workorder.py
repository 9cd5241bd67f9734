"""A workorder from its event to its end: scheduled, answered and gated, or failed. Each is one decision.

The task that runs it gets one charged attempt; what is nobody's fault (a lost engine, a rate limit) is tried again by
the rules of all tasks. A pause state is a question whose options are the next actions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Struct

from medbay.core.decision import (
    NOTHING,
    Added,
    Decision,
    Draft,
    QuestionClosed,
    QuestionJoined,
    WorkingSet,
    together,
)
from medbay.core.intake import bundle as bundles
from medbay.core.intake.bundle import Bundle, BundleRefused
from medbay.core.intake.prompt import prompt_text
from medbay.core.intake.records import (
    NO_PENDING_CAPTURES,
    OBJECTIVE,
    RUNNER,
    SCHEDULED,
    Candidate,
    Capture,
    CaptureEvent,
    CaptureEventProcessed,
    CaptureReady,
    CapturesFreed,
    CapturesTaken,
    ContextSnapshot,
    RunRecord,
    Workorder,
)
from medbay.core.model import Event, Option, Owner, Question, Retry, Task

ACTOR: Final = "intake"
READY: Final = "capture:ready"
AGAIN_AFTER_MS: Final = 60_000  # for each try so far
PASSED: Final = "RUN_COMPLETE"
FAILED: Final = "GATE_FAILED"
SHOWN: Final = 5  # candidates in a question
_LADDERS: Final = frozenset(
    """
    task:retry_scheduled task:recovery_action task:retry_exhausted task:blocked task:escalated question:asked
    task:permanently_blocked
    """.split()
)


class IntakeWork(Struct, frozen=True, kw_only=True):
    """How workorders are run, by the configuration."""

    agent: str = "rules"
    command: tuple[str, ...] = ()
    cwd: str = ""
    budget_ms: int = 300_000
    max_tries: int = 3
    promote_above: float = 0.0
    batch: int = 20
    queue: str = "default"
    commit: str | None = None  # of the repository, where there is one


class IntakeCase(Struct, frozen=True, kw_only=True):
    """A workorder with its captures and candidates, as the service found them."""

    workorder: Workorder
    captures: tuple[Capture, ...] = ()
    candidates: tuple[Candidate, ...] = ()


def captured(capture: Capture, now: int, *, actor: str) -> Decision:
    """A capture is stored and its event emitted."""
    draft = Draft(capture, now, actor=actor)
    return Decision(writes=(Added(draft.change()), CaptureReady(due_at=now)), events=(_ready(capture.id),))


def schedule(
    event: CaptureEvent, captures: Sequence[Capture], work: IntakeWork, now: int, *, by: str, asked: Sequence[str] = ()
) -> Decision:
    """Process an event: a snapshot, a workorder and the task that runs it; nothing where no capture is pending.

    `asked` are questions about earlier workorders of these captures, which need no answer any more.
    """
    if not captures:
        return Decision(writes=(CaptureEventProcessed(event_id=event.id, by=by, reason=NO_PENDING_CAPTURES),))
    snapshot = ContextSnapshot(
        id=f"snap-{event.id}",
        objective_id=OBJECTIVE,
        repo_commit_sha=work.commit,
        full_prompt_text=prompt_text(captures),
        created_at=now,
    )
    order = Workorder(
        id=f"wo-{event.id}",
        event_id=event.id,
        snapshot_id=snapshot.id,
        agent=work.agent,
        budget_ms=work.budget_ms,
        max_tries=work.max_tries,
        promote_above=work.promote_above,
        task_id=f".intake-wo-{event.id}",
        created_at=now,
        since=now,
    )
    draft = Draft(order, now, actor=ACTOR)
    draft.emit("workorder:created", snapshot=snapshot.id, captures=[each.id for each in captures])
    taken = []
    for each in captures:
        mine = Draft(each, now, actor=ACTOR)
        mine.set(workorder=order.id)
        taken.append(mine.decision())
    own = Draft(_task(order, work, now), now, actor=ACTOR)
    own.emit("task:created", title=own.task.title, queue=own.task.queue, priority=own.task.priority)
    writes = (
        snapshot,
        Added(draft.change()),
        CapturesTaken(workorder_id=order.id, capture_ids=tuple(each.id for each in captures)),
        Added(own.change()),
        CaptureEventProcessed(event_id=event.id, by=by, reason=SCHEDULED, workorder_id=order.id),
        *(_withdrawn(each, "triaged again") for each in asked),
    )
    return together(Decision(writes=writes, events=(*draft.events, *own.events)), *taken)


def _task(order: Workorder, work: IntakeWork, now: int) -> Task:
    return Task(
        id=order.task_id,
        title=f"intake {order.id}",
        runner=RUNNER,
        command=work.command,
        cwd=work.cwd,
        timeout_ms=work.budget_ms,
        queue=work.queue,
        owner_kind="workorder",
        owner_id=order.id,
        role=RUNNER,
        created_at=now,
        created_by=ACTOR,
        since=now,
    )


def answered(draft: Draft[Task], case: IntakeCase, answer: str | None) -> Decision:
    """The agent answered: the bundle is stored, the gate looks at it, and what follows is decided with it."""
    if case.workorder.status != "CREATED":
        return NOTHING
    order = Draft(case.workorder, draft.now, actor=ACTOR)
    why, found = "", None
    try:
        found = bundles.read(answer or "", {each.id for each in case.captures})
        order.set(bundle=msgspec.to_builtins(found))
    except BundleRefused as error:
        why = str(error)
    order.move("EXECUTED", "the triage agent answered")
    order.emit("workorder:executed", task=draft.before.id)
    return _passed(order, case, found) if found is not None else _failed(order, case, why)


def gave_up(draft: Draft[Task], case: IntakeCase, followed: Decision, charged: bool) -> Decision:
    """An attempt failed: what is charged ends the workorder, anything else is tried again like any task."""
    if case.workorder.status != "CREATED" or (not charged and draft.task.status != "blocked"):
        return followed
    why = draft.task.last_summary or draft.task.reason
    draft.events[:] = [each for each in draft.events if each.name not in _LADDERS]
    draft.set(block_kind=None, due_at=None, waits_for=None, wants_triage=False)
    draft.move("cancelled", "a workorder gets one attempt")
    draft.emit("task:cancelled", by=ACTOR)
    kept = followed.without(Retry).without(Question).without(QuestionJoined)
    order = Draft(case.workorder, draft.now, actor=ACTOR)
    ended = _failed(order, case, f"the runner gave up: {why}", counts=charged)
    return msgspec.structs.replace(together(ended, kept), work=followed.work)


def cancelled(draft: Draft[Task], case: IntakeCase) -> Decision:
    """A person cancelled the task that runs it: no try is counted, and nothing starts by itself."""
    if case.workorder.status != "CREATED":
        return NOTHING
    order = Draft(case.workorder, draft.now, actor=draft.actor)
    return _failed(order, case, "its task was cancelled", counts=False, again=False)


def broke(case: IntakeCase, draft: Draft[Task], work: WorkingSet, why: str) -> Decision:
    """A rule of ours broke on its answer: the workorder fails, and its captures are triaged again."""
    draft.move("failed", why[:500])
    draft.move("cancelled", "a workorder gets one attempt")
    order = Draft(case.workorder, draft.now, actor="engine")
    return msgspec.structs.replace(_failed(order, case, why[:500]), work=work)


def _passed(order: Draft[Workorder], case: IntakeCase, found: Bundle) -> Decision:
    """Captures that were used are processed, candidates proposed; what was left out is triaged again."""
    used, now = set(bundles.used(found)), order.now
    order.move("PASSED", "the gate passed")
    why = f"{len(found.content)} candidates from {len(used)} captures"
    proposed = tuple(
        Candidate(
            id=f"{order.before.id}-{number}",
            workorder=order.before.id,
            title=each.title,
            description=each.description,
            acceptance_criteria=each.acceptance_criteria,
            captures=each.captures or found.metadata.capture_ids,
            confidence=each.confidence,
            created_at=now,
            since=now,
        )
        for number, each in enumerate(found.content, start=1)
    )
    order.emit("workorder:passed", candidates=[each.id for each in proposed])
    done = []
    for each in case.captures:
        if each.id in used and each.status == "PENDING":
            mine = Draft(each, now, actor=ACTOR)
            mine.move("PROCESSED", f"{order.before.id} passed")
            done.append(mine.decision())
    left = tuple(each for each in case.captures if each.id not in used)
    asked = order.ask(_pause(order.record, PASSED, why, tuple(each.title for each in proposed), now))
    record = RunRecord(workorder_id=order.before.id, gate_result="PASS", gate_reason=why, at=now)
    added = tuple(Added(Draft(each, now, actor=ACTOR).change()) for each in proposed)
    own = order.decision(record, CapturesFreed(workorder_id=order.before.id), asked, *added)
    return together(own, *done, _freed(left, order, counts=True, again=True))


def _failed(
    order: Draft[Workorder], case: IntakeCase, why: str, *, counts: bool = True, again: bool = True
) -> Decision:
    """The captures stay pending and count the try; after too many they are poison."""
    order.move("FAILED", why)
    order.emit("workorder:failed", why=why)
    texts = tuple(each.text for each in case.captures)
    asked = order.ask(_pause(order.record, FAILED, why, texts, order.now))
    record = RunRecord(workorder_id=order.before.id, gate_result="FAIL", gate_reason=why, at=order.now)
    own = order.decision(record, CapturesFreed(workorder_id=order.before.id), asked)
    return together(own, _freed(case.captures, order, counts=counts, again=again))


def _freed(captures: Sequence[Capture], order: Draft[Workorder], *, counts: bool, again: bool) -> Decision:
    """Captures that are not processed belong to no workorder any more; those that may be tried again get an event."""
    made, tries = [], 0
    for each in captures:
        if each.status != "PENDING":  # a person discarded it meanwhile
            continue
        mine = Draft(each, order.now, actor=ACTOR)
        count = each.tries + (1 if counts else 0)
        mine.set(tries=count, workorder="")
        if count >= order.before.max_tries:
            mine.move("POISON", f"{count} workorders failed on it, last {order.before.id}")
        else:
            tries = max(tries, count, 1)
        made.append(mine.decision())
    if again and tries:
        due = order.now + AGAIN_AFTER_MS * tries
        made.append(Decision(writes=(CaptureReady(due_at=due),), events=(_ready(order.before.id),)))
    return together(*made)


def _pause(order: Workorder, reason: str, why: str, evidence: Sequence[str], now: int) -> Question:
    """A pause state: what happened, and the next actions in their order."""
    if reason == PASSED:
        need = f"Review the candidates of {order.id}, then promote or discard each"
        options: tuple[Option, ...] = (
            Option("review and promote each", "note", f"medbay candidates --workorder {order.id}; medbay promote ID"),
            Option("discard them all", "discard", "its proposed candidates are discarded"),
        )
    else:
        need = f"Read why {order.id} failed, then run it again or handle its captures by hand"
        options = (
            Option("read the reason", "note", "its captures are triaged again by the next run"),
            Option("run again now", "retry", "its captures are triaged again at once, also those that are poison"),
            Option("handle by hand", "discard", "its captures are discarded; what they ask for is yours to do"),
        )
    return Question(
        id=f"q-{order.id}-{order.questions + 1}",
        need=need,
        why=f"{reason}: {why}",
        evidence="\n".join(f"- {each.strip()}" for each in evidence[:SHOWN])[:2_000],
        options=options,
        default=1,
        owner=Owner("workorder", order.id),
        asked_at=now,
    )


def pause_reason(question: Question) -> str:
    """The reason of a pause state."""
    return question.why.partition(":")[0]


# What people decide


def on_run_again(case: IntakeCase, now: int, *, actor: str) -> Decision:
    """The captures of a workorder that failed are triaged again at once, with new tries where they are poison."""
    return together(*(release(each, now, actor=actor) for each in case.captures if is_free(each)))


def is_free(capture: Capture) -> bool:
    """Whether a capture waits, or is poison, and belongs to no open workorder."""
    return capture.status == "POISON" or (capture.status == "PENDING" and not capture.workorder)


def release(capture: Capture, now: int, *, actor: str) -> Decision:
    """Let a capture be triaged at once."""
    draft = Draft(capture, now, actor=actor)
    if capture.status == "POISON":
        draft.set(tries=0)
        draft.move("PENDING", "released by a person")
    change = draft.change()
    changed = Decision(events=tuple(draft.events)).plus(change if change.after != capture else None)
    return changed.plus(CaptureReady(due_at=now), events=(_ready(capture.id),))


def on_discard_all(case: IntakeCase, now: int, *, actor: str) -> Decision:
    """What a workorder left is discarded: its proposed candidates, or its captures where it failed."""
    left: list[Capture | Candidate] = [each for each in case.candidates if each.status == "PROPOSED"]
    if case.workorder.status == "FAILED":
        left += [each for each in case.captures if is_free(each)]
    return together(*(discard(each, now, actor=actor) for each in left))


def discard(record: Capture | Candidate, now: int, *, actor: str) -> Decision:
    """A person does not want it."""
    draft: Draft[Capture | Candidate] = Draft(record, now, actor=actor)
    draft.move("DISCARDED", "discarded by a person" if actor.startswith("person") else f"discarded by {actor}")
    return draft.decision()


def settled(question: Question, *, actor: str, answer: str) -> Decision:
    """The last candidate of a workorder is decided about: its pause state is over."""
    closed = QuestionClosed(question_id=question.id, task_id="", whole=True, by=actor, answer=answer)
    event = Event(name="question:answered", data={"question": question.id, "by": actor, "answer": answer})
    return Decision(writes=(closed,), events=(event,))


def _withdrawn(question_id: str, why: str) -> QuestionClosed:
    return QuestionClosed(question_id=question_id, task_id="", whole=True, status="withdrawn", by="engine", answer=why)


def _ready(about: str) -> Event:
    return Event(name=READY, data={"about": about})
