"""What is known of failures, and what surrounds them: their fingerprints, who else met the cause, what was asked."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from medbay.core.agent import never_got_to_work
from medbay.core.attempt.checks import GATE_ERROR
from medbay.core.attempt.knowledge import Known, apply_teaching
from medbay.core.decision import WorkingSet
from medbay.core.diagnosis.record import Diagnosis
from medbay.core.holds.incident import FailureSurroundings, is_shared
from medbay.core.holds.resources import command_key, crash_loop_key, incident_key
from medbay.core.rules import Ended
from medbay.core.workspace import CONFLICT, PULL_REQUEST
from medbay.service import learning
from medbay.store import breakers, patterns, questions, tasks
from medbay.store.database import Tx


def look_up(tx: Tx, failures: Iterable[Diagnosis | None]) -> dict[str, Known | None]:
    """What is known of failures, by fingerprint."""
    return patterns.of_failures(tx, [each for each in failures if each is not None and not _is_its_own(each)])


def _is_its_own(failure: Diagnosis) -> bool:
    """Whether its advice names what is one task's own."""
    return failure.subcategory in (GATE_ERROR, CONFLICT, PULL_REQUEST)


def with_what_is_known(
    tx: Tx, ended: Ended, found: Diagnosis | None, known: dict[str, Known | None], work: WorkingSet
) -> Ended:
    """A failure with its diagnosis and what is known of its fingerprint, looked up for all that end together."""
    if found is None:
        return ended
    if _is_its_own(found):
        return replace(ended, diagnosis=found)
    if found.fingerprint not in known:
        known |= look_up(tx, [found])
    taught = apply_teaching(found, known[found.fingerprint])
    around = _around(tx, ended, taught, work)
    policy = learning.in_force(tx, ended.policy, taught.kind)
    return replace(ended, diagnosis=found, known=known[found.fingerprint], around=around, policy=policy)


def _around(tx: Tx, ended: Ended, found: Diagnosis, work: WorkingSet) -> FailureSurroundings:
    """Who else met a shared cause lately, and how often this runner could not be started here."""
    around, limits = ended.around, ended.around.limits
    if ended.task.recurs:
        around = replace(around, asked=questions.newest_of_task(tx, ended.task.id))
    if never_got_to_work(ended.task, ended.outcome, around.ran_ms):
        return replace(around, crash_loop=breakers.get(tx, crash_loop_key(ended.task.runner, around.host)))
    key = incident_key(found.fingerprint)
    if not is_shared(found) or key in work.breakers:
        return around
    others = tasks.seen_failing(
        tx,
        found.fingerprint,
        but=ended.task.id,
        since=tx.now - limits.incident_window_ms,
        key=key,
        limit=limits.incident_tasks - 1,
    )
    return replace(around, others={task.id: command_key(task) for task in others})
