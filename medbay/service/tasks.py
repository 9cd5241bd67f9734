"""Everything a person does to a task, and waking what is due."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal

from msgspec.structs import replace

from medbay.core import rules
from medbay.core.decision import Decision
from medbay.core.holds.breaker import Breaker, Limits
from medbay.core.lifecycles import BlockKind
from medbay.core.model import Option, Question, Task
from medbay.core.people.question import GRANTED_BY_A_RELEASE, choose, free_text
from medbay.core.redaction import Redaction
from medbay.core.rules import Answer, AskedTask, Edit
from medbay.core.workflow.question import DECIDE
from medbay.errors import NotAllowed, NotFound, UsageError
from medbay.service import breakers, dependencies, owners, schedules, stories, teaching, triage
from medbay.service.repeats import Steps
from medbay.store import breakers as breaker_rows
from medbay.store import foresight, intake, questions, tasks, workers
from medbay.store.apply import apply
from medbay.store.database import Tx

RELEASED_AT_ONCE: Final = 500
HELD: Final = ("incident", "hold")  # owners of questions that are breakers

Action = Literal["pause", "resume", "cancel", "retry", "unblock"]  # what a person does to a task, or to many


def resolve(tx: Tx, given: str, *, or_key: bool = False) -> Task:
    """The task a person means: its id, any unambiguous prefix, or (where allowed) its key.

    In a transaction that writes it comes with its question and what comes after it, locked in the one order.
    """
    task_id = id_of(tx, given, or_key=or_key)
    questions.lock_of_tasks(tx, [task_id])
    tasks.lock(tx, [task_id], dependents_of=[task_id])
    task = tasks.get(tx, task_id)
    assert task is not None
    return task


def id_of(tx: Tx, given: str, *, or_key: bool = False) -> str:
    """The id of the task a person means, read and not locked."""
    given = given.strip()
    if or_key and (known := tasks.id_by_key(tx, given)) is not None:
        return known
    found = tasks.ids_with_prefix(tx, given) if given else []
    if found and (found[0] == given or len(found) == 1):
        return found[0]
    if found:
        names = " or ".join(found[:2]) + (" or others" if len(found) > 2 else "")
        raise UsageError(f'"{given}" could be {names}', hint="type one more letter")
    raise NotFound(f'there is no task "{given}"', hint="medbay list --all shows them")


def release_due(tx: Tx, *, actor: str, limits: Limits = Limits()) -> int:
    """Wake what is due: retries, future tasks, blocks that time out. At most 500 a call."""
    foresight.due(tx, RELEASED_AT_ONCE)
    found = tasks.due(tx, RELEASED_AT_ONCE)
    if not found:
        return 0
    breakers.notice_storm(tx, sum(task.status == "failed" for task in found), limits=limits)
    up_since = min((each.started_at for each in workers.alive(tx) if each.lease_until > tx.now), default=tx.now)
    steps = Steps(tx, many=len(found) > 1)
    with tx.together():
        for task in found:
            if steps.after(task) is None:
                steps.apply(task, rules.on_due(task, tx.now, actor=actor, up_since=up_since))
    return len(found)


def pause(tx: Tx, task: Task, *, actor: str) -> None:
    """Keep it from starting until it is resumed."""
    apply(tx, decide(tx, "pause", task, actor=actor))


def resume(tx: Tx, task: Task, *, actor: str) -> None:
    """Let it go on."""
    apply(tx, decide(tx, "resume", task, actor=actor))


def cancel(tx: Tx, task: Task, *, actor: str) -> None:
    """End it for good, or ask its worker to."""
    apply(tx, decide(tx, "cancel", task, actor=actor))
    triage.abandon(tx, task)


def retry(tx: Tx, task: Task, *, actor: str, attempts: int = GRANTED_BY_A_RELEASE) -> None:
    """Once more, now."""
    apply(tx, decide(tx, "retry", task, actor=actor, attempts=attempts))


def unblock(tx: Tx, task: Task, *, actor: str, attempts: int = GRANTED_BY_A_RELEASE) -> None:
    """Release a blocked task."""
    apply(tx, decide(tx, "unblock", task, actor=actor, attempts=attempts))


def decide(tx: Tx, action: Action, task: Task, *, actor: str, attempts: int = GRANTED_BY_A_RELEASE) -> Decision:
    """What one of these would change; nothing has happened yet. What may not be done now is refused."""
    match action:
        case "pause":
            return rules.on_pause_command(task, tx.now, actor=actor)
        case "resume":
            return rules.on_resume_command(task, tx.now, actor=actor, question=questions.open_of_task(tx, task.id))
        case "cancel":
            after, asked = tasks.dependents(tx, task.id), questions.open_of_task(tx, task.id)
            owner = owners.of(tx, task)
            return rules.on_cancel_command(task, tx.now, actor=actor, dependents=after, question=asked, owner=owner)
        case "retry" | "unblock":
            command = rules.on_retry_command if action == "retry" else rules.on_unblock_command
            asked, unmet = questions.open_of_task(tx, task.id), dependencies.unmet(tx, task.id)
            return command(task, tx.now, actor=actor, attempts=attempts, question=asked, unmet=unmet)


def block(tx: Tx, task: Task, *, actor: str, kind: BlockKind, reason: str, timeout_ms: int) -> None:
    """Take it out of the way, for a person or until something outside happens."""
    if task.status == "blocked":
        raise NotAllowed(f"{task.id} is blocked already: {task.reason}")
    apply(tx, rules.on_block_command(task, tx.now, actor=actor, kind=kind, reason=reason, timeout_ms=timeout_ms))


def edit(
    tx: Tx,
    task: Task,
    *,
    actor: str,
    fields: Mapping[str, Any],
    reset_failures: bool,
    clear_triage_cooldown: bool = False,
    after: Sequence[str] = (),
) -> None:
    """Change it from the next attempt on."""
    fields = schedules.edited(tx, task, fields)
    edit = Edit(fields=fields, reset_failures=reset_failures, clear_triage_cooldown=clear_triage_cooldown)
    apply(tx, rules.on_edit_command(task, tx.now, actor=actor, edit=edit))
    for other in after:
        dependencies.add(tx, task.id, resolve(tx, other).id, actor=actor)


def answer(
    tx: Tx,
    given: str,
    choice: str,
    *,
    actor: str,
    note: str = "",
    attempts: int = GRANTED_BY_A_RELEASE,
    redaction: Redaction = Redaction(),
) -> tuple[str, list[str]]:
    """Answer a question by its id or by any of its tasks; what was chosen, and for which tasks."""
    held = breaker_rows.not_closed(tx, changing=True)  # first: locks are taken in one order
    asked = _asked(tx, given.strip())
    said = redaction.text(free_text(asked, choice))
    option = choose(asked if said else teaching.offered(tx, [asked])[0], choice)
    if said and option.effect == DECIDE:  # a person's own words are another option
        option, said = replace(option, label=said), ""
    teaching.remember(tx, asked, option, actor=actor)
    words = "\n".join(each for each in (said, redaction.text(note)) if each)
    answered = Answer(question=asked, option=option, words=words, actor=actor, now=tx.now, attempts=attempts)
    tasks.lock(tx, asked.task_ids, dependents_of=asked.task_ids)
    for task_id in asked.task_ids:
        task = tasks.get(tx, task_id)
        assert task is not None
        apply(tx, rules.on_answer(answered, "task", _asked_task(tx, task, option)))
        if option.effect == "cancel":
            triage.abandon(tx, task)
    _answer_for_owner(tx, answered, held)
    return option.label, list(asked.task_ids)


def _asked_task(tx: Tx, task: Task, option: Option) -> AskedTask:
    return AskedTask(
        task=task,
        dependents=tasks.dependents(tx, task.id) if option.effect in ("cancel", "done") else (),
        owner=owners.of(tx, task),
        unmet=dependencies.unmet(tx, task.id),
    )


def _answer_for_owner(tx: Tx, answered: Answer, held: Mapping[str, Breaker]) -> None:
    """Apply an answer to what the question is about, where that is no task; without any, that it was is recorded.

    `held` are the breakers that are not closed, taken before the question was: locks have one order.
    """
    asked = answered.question
    mine = held.get(asked.owner.id) if asked.owner is not None and asked.owner.kind in HELD else None
    if asked.owner is not None and mine is not None and mine.question_id == asked.id:
        apply(tx, rules.on_answer(answered, asked.owner.kind, mine))
    elif asked.owner is not None and asked.owner.kind == "workorder":
        apply(tx, rules.on_answer(answered, asked.owner.kind, intake.case_of(tx, asked.owner.id)))
    elif asked.owner is not None and asked.owner.kind == "story":
        about = stories.asked_about(tx, asked)
        apply(tx, rules.on_answer(answered, asked.owner.kind, about))
        stories.remember(tx, about, answered.option.label, actor=answered.actor)
    elif not asked.task_ids:
        apply(tx, rules.on_noted(answered))


def _asked(tx: Tx, given: str) -> Question:
    """The open question that is meant, by its own id or by a task; what was asked before says what became of it."""
    asked = questions.get(tx, given)
    if asked is None and (about := intake.newest_question(tx, given) or stories.newest_question(tx, given)):
        asked = questions.get(tx, about)
    if asked is None:
        try:
            task_id = id_of(tx, given)
        except NotFound:
            hint = "medbay inbox lists the questions"
            raise NotFound(f'there is no question and no task "{given}"', hint=hint) from None
        asked = questions.open_of_task(tx, task_id) or next(reversed(questions.of_task(tx, task_id)), None)
    if asked is None:
        raise NotAllowed(f"nothing was asked about {given}", hint="medbay inbox lists the questions")
    if asked.status != "open":
        how = f"answered by {asked.answered_by}: {asked.answer}" if asked.status == "answered" else "withdrawn"
        raise NotAllowed(f"{asked.id} was {how}", hint="medbay inbox lists what is open")
    return asked


def act_on(tx: Tx, given: str, command: Callable[[Tx, Task], None]) -> Task:
    """Do something to the task that is named, and return it as it is then."""
    task = resolve(tx, given)
    command(tx, task)
    return resolve(tx, task.id)
