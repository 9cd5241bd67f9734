"""What would happen if a task kept failing the same way: the same policy, asked again and again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from medbay.core.attempt import deaf
from medbay.core.attempt.cause import FailureCase, cause_of, is_charged
from medbay.core.attempt.counting import count_failure, grant, record_of
from medbay.core.diagnosis import Diagnosis
from medbay.core.holds.resources import account_of
from medbay.core.model import Task
from medbay.core.outcome import Failed
from medbay.core.people.question import GRANTED_BY_A_RELEASE
from medbay.core.policy import policy
from medbay.core.policy.policy import NextStep, Policy
from medbay.core.schedule import recurring

STEPS: Final = 5


@dataclass(frozen=True, slots=True)
class Forecast:
    """One coming decision: when it falls, after which attempt, and what it would be."""

    at: int
    attempt: int
    step: NextStep


def forecast(
    task: Task, diagnosis: Diagnosis, rules: Policy, now: int, *, steps: int = STEPS, takes_advice: bool = True
) -> tuple[Forecast, ...]:
    """The next decisions if every coming attempt failed at once with this diagnosis."""
    # A time the failure named belongs to that one failure; the ones to come name none.
    diagnosis = replace(diagnosis, retry_after_ms=None)
    case = FailureCase(outcome=Failed(), diagnosis=diagnosis, account=account_of(task, diagnosis))
    charge = is_charged(case, cause_of(case))
    if task.live is not None:  # that one is the next to end
        task = replace(task, attempts=task.attempts - 1)
    if task.status == "blocked" and task.due_at is None:  # only a person releases it, and that grants more
        task = grant(task, GRANTED_BY_A_RELEASE)
    found: list[Forecast] = []
    at = max(now, task.due_at or now)
    while len(found) < steps:
        asks = deaf.why_ask(task, diagnosis, takes_advice=takes_advice, charged=charge)
        task = count_failure(replace(task, attempts=task.attempts + 1), charge=charge, now=at)
        step = policy.ask_a_person(asks) if asks else decide_failure(task, diagnosis, rules, at)
        task = replace(task, last_fingerprint=diagnosis.fingerprint)
        found.append(Forecast(at, task.attempts, step))
        if step.due_at is None:
            break
        at = step.due_at
    return tuple(found)


def decide_failure(task: Task, diagnosis: Diagnosis, rules: Policy, now: int) -> NextStep:
    """What the policy says to a failure that is already counted."""
    record = record_of(task)
    used_up = policy.retries_used_up(diagnosis, record, rules)
    account = account_of(task, diagnosis)
    cause = cause_of(FailureCase(outcome=Failed(), diagnosis=diagnosis, account=account, used_up=used_up))
    return recurring.decide(task, diagnosis, rules, now, cause=cause, record=record)
