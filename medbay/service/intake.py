"""Intake as use cases: capture, claim an event, schedule a workorder, promote, discard. Each in an open transaction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeVar

from msgspec import Struct

from medbay.core import rules
from medbay.core.decision import Draft
from medbay.core.intake import workorder as intake_rules
from medbay.core.intake.records import (
    CAPTURE_MAX,
    Candidate,
    Capture,
    CaptureEvent,
    ContextSnapshot,
    RunRecord,
    Workorder,
)
from medbay.core.intake.workorder import IntakeWork
from medbay.core.model import Question, Task
from medbay.core.people.commands import Edit
from medbay.core.untrusted import lines
from medbay.env import Ids
from medbay.errors import NotAllowed, NotFound, UsageError
from medbay.service import additions
from medbay.service.additions import NewTask
from medbay.store import intake, questions, tasks, workers
from medbay.store.apply import apply
from medbay.store.database import Tx

CLAIM_MS: Final = 60_000  # after which another worker goes on with an event
ID_TRIES: Final = 100
R = TypeVar("R", bound=Struct)


class WorkorderDetail(Struct, frozen=True, kw_only=True):
    """A workorder with everything that belongs to it."""

    workorder: Workorder
    snapshot: ContextSnapshot | None
    captures: tuple[Capture, ...]
    candidates: tuple[Candidate, ...]
    run_record: RunRecord | None
    question: Question | None


def capture(tx: Tx, text: str, *, ids: Ids, actor: str) -> Capture:
    """Store a capture and emit `capture:ready`."""
    made = Capture(id=_free_id(tx, ids), text=checked(text), created_at=tx.now, created_by=actor, since=tx.now)
    apply(tx, intake_rules.captured(made, tx.now, actor=actor))
    return made


def checked(text: str) -> str:
    """The text of a capture; an empty or endless one is refused."""
    said = lines(text).strip()
    if not said:
        raise UsageError("the capture is empty", hint='write medbay capture "TEXT"')
    if len(said) > CAPTURE_MAX:
        raise UsageError(
            f"the capture is longer than {CAPTURE_MAX} characters", hint="capture the gist, and name the file"
        )
    return said


def _free_id(tx: Tx, ids: Ids) -> str:
    for existing in (1, *(10**5,) * ID_TRIES):  # short at first
        made = f"cap-{ids.task(existing)}"
        if intake.get(tx, Capture, made) is None:
            return made
    raise NotAllowed("no free capture id was found", hint="try again")


def claim(tx: Tx, *, by: str, early: bool = False) -> CaptureEvent | None:
    """Take the oldest event that nobody has; None where there is none."""
    return intake.claim_event(tx, by=by, until=tx.now + CLAIM_MS, early=early)


def schedule(tx: Tx, event_id: int, work: IntakeWork, *, by: str) -> tuple[Workorder | None, tuple[Capture, ...]]:
    """Process a claimed event: the workorder with its captures, or nothing where none is pending.

    One worker at a time chooses captures. An event that another processed raises StaleClaim, and changes nothing.
    """
    tx.serialise("intake")
    event = intake.get_event(tx, event_id)
    assert event is not None
    batch = tuple(intake.free_captures(tx, work.batch))
    asked = intake.open_questions_about(tx, [each.id for each in batch]) if batch else []
    apply(tx, intake_rules.schedule(event, batch, work, tx.now, by=by, asked=asked))
    return (intake.get(tx, Workorder, f"wo-{event_id}"), batch) if batch else (None, ())


def take_unserved(tx: Tx, queue: str) -> None:
    """Run the tasks of workorders here whose queue nobody serves: whoever scheduled them is gone."""
    served = {each for worker in workers.alive(tx) if worker.lease_until > tx.now for each in worker.queues}
    for task_id in intake.unbegun_tasks(tx):
        task = tasks.get(tx, task_id)
        if task is not None and task.queue != queue and task.queue not in served:
            apply(tx, rules.on_edit_command(task, tx.now, actor="engine", edit=Edit(fields={"queue": queue})))


def prompt_of(tx: Tx, task: Task) -> str:
    """What the agent of a workorder is shown: its snapshot, whatever was captured or edited since."""
    found = intake.get(tx, Workorder, task.owner_id)
    snapshot = intake.snapshot(tx, found.snapshot_id) if found is not None else None
    return snapshot.full_prompt_text if snapshot is not None else ""


def detail(tx: Tx, given: str) -> WorkorderDetail:
    """Everything about one workorder."""
    found = resolve(tx, Workorder, given)
    case = intake.case_of(tx, found.id)
    assert case is not None
    asked = intake.newest_question(tx, found.id)
    return WorkorderDetail(
        workorder=found,
        snapshot=intake.snapshot(tx, found.snapshot_id),
        captures=case.captures,
        candidates=case.candidates,
        run_record=intake.run_record(tx, found.id),
        question=questions.get(tx, asked) if asked else None,
    )


def resolve(tx: Tx, kind: type[R], given: str) -> R:
    """One capture, workorder or candidate by its id or an unambiguous beginning of it."""
    name, given = kind.__name__.lower(), given.strip()
    found = intake.get(tx, kind, given) if given else None
    if found is not None:
        return found
    like = intake.ids_like(tx, kind, given) if given else []
    if len(like) > 1:
        raise UsageError(f'"{given}" could be {like[0]} or {like[1]}', hint="type one more letter")
    found = intake.get(tx, kind, like[0]) if like else None
    if found is None:
        raise NotFound(f'there is no {name} "{given}"', hint=f"medbay {name}s lists them")
    return found


# What people do


def edit_capture(tx: Tx, given: str, text: str, *, actor: str) -> Capture:
    """Change the text of a capture that waits."""
    found = resolve(tx, Capture, given)
    if found.status != "PENDING" or found.workorder:
        hint = "capture it again" if found.status != "PENDING" else f"medbay workorders show {found.workorder}"
        what = f"is {found.status}" if found.status != "PENDING" else f"is being triaged in {found.workorder}"
        raise NotAllowed(f"{found.id} {what} and cannot be edited", hint=hint)
    draft = Draft(found, tx.now, actor=actor)
    draft.set(text=checked(text))
    apply(tx, draft.decision())
    return resolve(tx, Capture, found.id)


def release_capture(tx: Tx, given: str, *, actor: str) -> Capture:
    """Let a capture be triaged at once; one that is poison gets new tries."""
    found = resolve(tx, Capture, given)
    if not intake_rules.is_free(found):
        raise NotAllowed(
            f"{found.id} is {found.status}", hint="only a capture that waits or is poison is triaged again"
        )
    apply(tx, intake_rules.release(found, tx.now, actor=actor))
    return resolve(tx, Capture, found.id)


def discard(tx: Tx, given: str, *, actor: str) -> Capture | Candidate:
    """Discard a candidate or a capture, whichever has this id."""
    found: Capture | Candidate
    try:
        found = resolve(tx, Candidate, given)
    except NotFound:
        try:
            found = resolve(tx, Capture, given)
        except NotFound:
            hint = "medbay candidates and medbay captures list them"
            raise NotFound(f'there is no candidate and no capture "{given}"', hint=hint) from None
    apply(tx, intake_rules.discard(found, tx.now, actor=actor))
    if isinstance(found, Candidate):
        _settle(tx, found, actor=actor)
        return resolve(tx, Candidate, found.id)
    return resolve(tx, Capture, found.id)


def edit_candidate(tx: Tx, given: str, changes: Mapping[str, Any], *, actor: str) -> Candidate:
    """Change a candidate before it is promoted."""
    found = resolve(tx, Candidate, given)
    _refuse_decided(found, "edited")
    wanted = {name: value for name, value in changes.items() if value is not None}
    if "title" in wanted and not str(wanted["title"]).strip():
        raise UsageError("the title is empty", hint="leave --title out to keep it")
    if "acceptance_criteria" in wanted:
        kept = tuple(each.strip() for each in wanted["acceptance_criteria"] if each.strip())
        if not kept:
            raise UsageError("a candidate needs at least one acceptance criterion", hint="name one")
        wanted["acceptance_criteria"] = kept
    if not wanted:
        raise UsageError("nothing to change was named", hint="medbay help candidates has the options")
    draft = Draft(found, tx.now, actor=actor)
    draft.set(**wanted)
    apply(tx, draft.decision())
    return resolve(tx, Candidate, found.id)


def promote(tx: Tx, given: str, new: Mapping[str, Any], *, ids: Ids, actor: str) -> Task:
    """Make a task of a candidate, linked both ways; of one that was promoted already, refuse.

    `new` are the fields of how it is worked on: runner, command and where.
    """
    found = resolve(tx, Candidate, given)
    _refuse_decided(found, "promoted")
    criteria = "\n".join(f"- {each}" for each in found.acceptance_criteria)
    task = additions.add(
        tx,
        NewTask(
            title=found.title,
            description=found.description,
            spec=f"Acceptance criteria:\n{criteria}",
            tags=("intake",),
            key=f"candidate:{found.id}",
            **new,
        ),
        ids=ids,
        actor=actor,
    )
    promoted_to(tx, found.id, task.id, actor=actor)
    return task


def promoted_to(tx: Tx, given: str, target: str, *, actor: str) -> None:
    """A candidate became this task or story; one that was decided about already is refused."""
    found = resolve(tx, Candidate, given)
    _refuse_decided(found, "promoted")
    draft = Draft(found, tx.now, actor=actor)
    draft.set(task_id=target)
    draft.move("PROMOTED", f"promoted to {target}")
    apply(tx, draft.decision())
    _settle(tx, found, actor=actor)


def _refuse_decided(found: Candidate, what: str) -> None:
    if found.status != "PROPOSED":
        to = f" to {found.task_id}" if found.task_id else ""
        raise NotAllowed(
            f"{found.id} was {found.status.lower()}{to} and cannot be {what}",
            hint="medbay candidates lists what is open",
        )


def _settle(tx: Tx, candidate: Candidate, *, actor: str) -> None:
    """Close the pause state of a workorder once nothing of it is left to decide."""
    if intake.select(tx, Candidate, status=("PROPOSED",), workorder=candidate.workorder, limit=1):
        return
    asked = intake.newest_question(tx, candidate.workorder)
    found = questions.get(tx, asked) if asked else None
    if found is not None and found.status == "open":
        apply(tx, intake_rules.settled(found, actor=actor, answer="every candidate was decided about"))
