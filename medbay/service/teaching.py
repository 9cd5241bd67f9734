"""A person teaches what a failure is, and reads what is known of failures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from medbay.core import rules
from medbay.core.attempt import knowledge
from medbay.core.attempt.knowledge import Known, apply_teaching
from medbay.core.model import Attempt, Option, Question, Task
from medbay.core.people import preference
from medbay.core.people.preference import Preference
from medbay.core.people.teaching import is_open
from medbay.core.policy.policy import Policy
from medbay.core.rules import Correction
from medbay.errors import NotAllowed, NotFound, UsageError
from medbay.service import learning, tasks, working_set
from medbay.store import attempts, history, patterns, questions
from medbay.store import tasks as task_rows
from medbay.store.apply import apply
from medbay.store.database import Tx

_NUMBER: Final = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reclassified:
    """What a correction did: to which attempt, from what to what, and to which tasks, the named one first."""

    attempt: int
    fingerprint: str
    before: str
    after: str
    decided_again: bool
    tasks: tuple[Task, ...]


def reclassify(tx: Tx, given: str, kind: str, *, actor: str, policy: Policy) -> Reclassified:
    """Say what a failure was: `k7f2` is the newest failed attempt of a task, `k7f2/3` its third one.

    Tasks that wait for the same shared question were stopped by the same failure, so they are decided about again too.
    """
    said = knowledge.read_kind(kind)
    task, attempt = _resolve(tx, given)
    _refuse_same(tx, task, attempt, said)
    asked = questions.open_of_task(tx, task.id)
    opened = is_open(task, attempt.number, history.last(tx, task.id))
    affected = [(task, attempt), *(_others(tx, task, attempt, asked) if opened and asked else ())]
    ids = [each.id for each, _ in affected]
    whole = asked is not None and set(asked.task_ids) <= set(ids)
    work = working_set.load(tx)
    for each, its_attempt in affected:
        correction = _correction(tx, each, its_attempt, said, policy, question=asked, whole=whole)
        decision = rules.on_reclassify_command(correction, tx.now, work, actor=actor)
        apply(tx, decision)
        work, whole = decision.work, False  # the first one closes the question, the others only leave it
    assert attempt.diagnosis is not None
    return Reclassified(
        attempt=attempt.number,
        fingerprint=attempt.diagnosis.fingerprint,
        before=attempt.diagnosis.kind,
        after="/".join(part for part in said if part),
        decided_again=opened,
        tasks=tuple(tasks.resolve(tx, each) for each in ids),
    )


def _refuse_same(tx: Tx, task: Task, attempt: Attempt, said: tuple[str, str | None]) -> None:
    """A correction that changes nothing is a typing mistake, and would be recorded as a lesson."""
    assert attempt.diagnosis is not None
    known = apply_teaching(attempt.diagnosis, patterns.get(tx, attempt.diagnosis.fingerprint))
    if (known.category, known.subcategory) == said:
        hint = f"medbay show {task.id} has its attempts"
        raise NotAllowed(f"attempt {attempt.number} of {task.id} is {known.kind} already", hint=hint)


def resolve_pattern(tx: Tx, given: str) -> Known:
    """The pattern a person means: its fingerprint, or any unambiguous beginning of it."""
    given = given.strip()
    found = patterns.with_prefix(tx, given) if given else []
    if len(found) > 1 and found[0] != given:
        names = " or ".join(found[:2]) + (" or others" if len(found) > 2 else "")
        raise UsageError(f'"{given}" could be {names}', hint="type one more letter")
    known = patterns.get(tx, found[0]) if found else None
    if known is None:
        raise NotFound(f'nothing is known of "{given}"', hint="medbay patterns list shows what is")
    return known


def _resolve(tx: Tx, given: str) -> tuple[Task, Attempt]:
    name, slash, number = given.strip().partition("/")
    if slash and not _NUMBER.fullmatch(number):
        raise UsageError(f'"{number}" is not the number of an attempt', hint="write ID/NUMBER, such as k7f2/3")
    task = tasks.resolve(tx, name)
    if slash:
        attempt = attempts.get(tx, task.id, int(number))
        if attempt is None:
            raise NotFound(f"{task.id} has no attempt {int(number)}", hint=f"medbay show {task.id} lists them")
        return task, attempt
    attempt = attempts.newest_diagnosed(tx, task.id)
    if attempt is None:
        raise NotAllowed(f"no attempt of {task.id} has failed", hint="there is nothing to reclassify yet")
    return task, attempt


def _others(tx: Tx, task: Task, attempt: Attempt, asked: Question) -> list[tuple[Task, Attempt]]:
    """Who waits for the same answer because of the same failure."""
    found = []
    task_rows.lock(tx, asked.task_ids)
    for task_id in asked.task_ids:
        other, newest = task_rows.get(tx, task_id), attempts.newest_diagnosed(tx, task_id)
        if task_id == task.id or other is None or newest is None:
            continue
        assert attempt.diagnosis is not None and newest.diagnosis is not None
        same = newest.diagnosis.fingerprint == attempt.diagnosis.fingerprint
        if same and is_open(other, newest.number, history.last(tx, task_id)):
            found.append((other, newest))
    return found


def _correction(
    tx: Tx,
    task: Task,
    attempt: Attempt,
    said: tuple[str, str | None],
    policy: Policy,
    *,
    question: Question | None,
    whole: bool,
) -> Correction:
    failing = history.last(tx, task.id, to="failed")
    found = attempt.diagnosis
    return Correction(
        task=task,
        attempt=attempt,
        category=said[0],
        subcategory=said[1],
        policy=learning.in_force(tx, policy, "/".join(part for part in said if part)),
        known=patterns.get(tx, found.fingerprint) if found else None,
        open=is_open(task, attempt.number, history.last(tx, task.id)),
        before=failing.context.get("before", {}) if failing else {},
        question=question,
        whole=whole,
    )


def offered(tx: Tx, asked: Sequence[Question]) -> list[Question]:
    """Questions as they are shown: with what was chosen last time."""
    known = questions.within(tx, (scope for each in asked for scope in preference.scopes(each)))
    return [preference.offered(each, known) for each in asked] if known else list(asked)


def remember(tx: Tx, asked: Question, option: Option, *, actor: str) -> None:
    """Keep what was answered, for the next question of the same scope."""
    known = questions.within(tx, preference.scopes(asked))
    for kept in preference.to_keep(asked, option, known, by=actor, now=tx.now):
        questions.save(tx, kept)


def forget(tx: Tx, given: str) -> Preference:
    """Forget one by its scope, or by any beginning of it that only it has; what was known is returned."""
    known = questions.every(tx)
    found = [each for each in known if each.scope == given] or [each for each in known if each.scope.startswith(given)]
    if not found:
        raise NotFound(f'nothing is remembered for "{given}"', hint="medbay preferences lists what is")
    if len(found) > 1:
        raise UsageError(f'"{given}" could be {found[0].scope} or {found[1].scope}', hint="type more of it")
    questions.forget(tx, found[0].scope)
    return found[0]
