"""The checks of attempts that succeeded: begun by the worker that owns the attempt, or by who took it over."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from medbay.core import rules
from medbay.core.agent import is_agents
from medbay.core.attempt import rescue
from medbay.core.attempt.checks import ROUNDS_MAX
from medbay.core.model import Attempt, CheckResult, Worker
from medbay.core.outcome import Lost
from medbay.core.redaction import Redaction
from medbay.core.workspace import WorkSeen, seen
from medbay.service import evaluations
from medbay.service.attempts import Claim, Finished
from medbay.store import attempts, checks, tasks
from medbay.store.apply import apply
from medbay.store.database import Tx


@dataclass(frozen=True, slots=True)
class Begun:
    """An attempt whose checks start now."""

    claim: Claim
    results: tuple[CheckResult, ...]
    shown: str = ""  # what an evaluator is shown; its only result is at its own place then
    work: WorkSeen | None = None  # what was seen of its work: where that is, and what is to become of it


def waiting(tx: Tx, worker_id: str) -> list[Claim]:
    """The attempts of a worker that succeeded and are not judged yet."""
    found = ((tasks.get(tx, each.task_id), each) for each in attempts.verifying(tx, worker_id))
    return [Claim(task, attempt) for task, attempt in found if task is not None]


def begun_before(tx: Tx, claims: Iterable[Claim]) -> list[Claim]:
    """Those whose checks were begun already, so that something of that may still run."""
    return [
        claim
        for claim in claims
        if any(each.round > 0 for each in checks.of_attempt(tx, claim.task.id, claim.attempt.number))
    ]


def begin(
    tx: Tx,
    worker_id: str,
    claims: Sequence[Claim],
    *,
    log_path: Callable[[str, int, int], str],
    redaction: Redaction,
) -> list[Begun]:
    """Record that the checks of these attempts start now; committed before they do. Not of what was taken from us."""
    tasks.lock(tx, {claim.task.id for claim in claims})
    ours = {(each.task_id, each.number) for each in attempts.verifying(tx, worker_id)}
    begun = []
    for claim in claims:
        if (claim.task.id, claim.attempt.number) not in ours:
            continue
        results = tuple(
            replace(
                each,
                status="RUNNING",
                exit_code=None,
                signal=None,
                round=each.round + 1,
                started_at=tx.now,
                ended_at=None,
                log_path=log_path(each.task_id, each.number, each.position),
            )
            for each in checks.of_attempt(tx, claim.task.id, claim.attempt.number)
        )
        checks.save(tx, results)
        shown = evaluations.context(tx, claim.task, claim.attempt, redaction=redaction)
        left = attempts.output(tx, claim.task.id, claim.attempt.number) if is_agents(claim.task) else None
        begun.append(Begun(claim, results, shown, seen(left.result) if left else None))
    return begun


def take_over(tx: Tx, attempt: Attempt, me: Worker, *, why: str, hard: bool, crash_budget: int) -> bool:
    """Let this worker repeat the checks alone; False when the attempt itself has to be repeated."""
    task = tasks.get(tx, attempt.task_id)
    if task is None or task.status != "pending_verification" or task.cancel_requested:
        return False
    results = checks.of_attempt(tx, attempt.task_id, attempt.number)
    running = any(each.status == "RUNNING" for each in results)
    crashed = hard and running  # what only waited for its turn had no part in it
    if _are_worn_out(attempt, results) or (crashed and task.crashes + 1 >= crash_budget):
        return False
    if not attempts.take_over(tx, attempt, worker_id=me.id, host=attempt.place or me.host):
        return False
    checks.save(tx, tuple(replace(each, status="WAITING") for each in results))
    number = attempt.number
    apply(tx, rules.on_checks_taken_over(task, tx.now, number=number, worker_id=me.id, why=why, crashed=crashed))
    return True


def worn_out(tx: Tx, claims: Iterable[Claim], *, now: int) -> list[Finished]:
    """Attempts whose checks were begun as often as they may be: those are lost, and repeated as a whole."""
    lost = Lost(why=f"its checks were begun {ROUNDS_MAX} times and never ended")
    return [
        Finished(task_id=claim.task.id, number=claim.attempt.number, outcome=lost, ended_at=now)
        for claim in claims
        if _are_worn_out(claim.attempt, checks.of_attempt(tx, claim.task.id, claim.attempt.number))
    ]


def _are_worn_out(attempt: Attempt, results: Sequence[CheckResult]) -> bool:
    """Whether checks were begun as often as they may be; those of a place are only read, any number of times."""
    read_only = attempt.place and all(each.position != rescue.POSITION for each in results)
    return not read_only and all(each.round >= ROUNDS_MAX for each in results)
