"""The recorded failures under another policy: what it would have done, with a stated guess where nothing was recorded.

The guess: a cause lasts until the start of the attempt that succeeded. Before that moment every attempt fails, as the
last recorded failure before it did; from it on every attempt succeeds. A cause that a person ended lasts until a person
is asked. Slots, breakers and learned delays are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from medbay.core.attempt.cause import NOT_RETRYABLE_FROM, FailureCase, cause_of, is_charged
from medbay.core.attempt.counting import count_failure, forget_failures
from medbay.core.diagnosis.record import Diagnosis
from medbay.core.holds.resources import account_of
from medbay.core.model import Task, changed
from medbay.core.outcome import Failed
from medbay.core.people.question import scope_of
from medbay.core.policy.forecast import decide_failure
from medbay.core.policy.policy import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedRun:
    """One recorded attempt that failed."""

    number: int
    started_at: int
    ended_at: int
    diagnosis: Diagnosis

    @property
    def lasted_ms(self) -> int:
        """How long it ran."""
        return self.ended_at - self.started_at


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """A task's failures in a row, from the first one to what ended them."""

    task: Task
    failures: tuple[FailedRun, ...]
    healed: tuple[int, int] | None = None  # when the attempt that succeeded started and ended
    question: str | None = None  # what a person was asked meanwhile


def as_recorded(episode: Episode) -> Played:
    """How it went."""
    first = episode.failures[0]
    wasted = len(episode.failures)
    if episode.question is not None:
        return Played(end="blocked", wasted=wasted, person=episode.question)
    if episode.healed is None:
        return Played(end="open", wasted=wasted)
    return Played(end="healed", wasted=wasted, heal_ms=episode.healed[1] - first.ended_at)


def replay(episode: Episode, policy: Policy, until: int) -> Played:
    """How it would have gone under this policy, up to the end of the record."""
    first = episode.failures[0]
    task = changed(forget_failures(episode.task), attempts=first.number - 1, status="failed", live=None)
    over_at = episode.healed[0] if episode.healed is not None and episode.question is None else None
    now, wasted, guessed = first.ended_at, 0, 0
    while True:
        wasted += 1
        failure = _in_effect(episode.failures, now)
        task = count_failure(changed(task, attempts=task.attempts + 1), charge=_charged(task, failure), now=now)
        step = decide_failure(task, failure.diagnosis, policy, now)
        if step.due_at is None:
            asked = _question(task, failure.diagnosis)
            return Played(end="blocked", wasted=wasted, person=asked, guessed=guessed)
        if over_at is not None and step.due_at >= over_at:
            assert episode.healed is not None
            ended = step.due_at + episode.healed[1] - episode.healed[0]
            return Played(end="healed", wasted=wasted, heal_ms=ended - first.ended_at, guessed=guessed)
        if step.due_at > until:
            return Played(end="open", wasted=wasted, guessed=guessed)
        guessed += step.due_at > episode.failures[-1].started_at
        now = max(step.due_at + failure.lasted_ms, now + 1)


def _in_effect(failures: Sequence[FailedRun], now: int) -> FailedRun:
    """The last recorded failure up to this moment."""
    return next((each for each in reversed(failures) if each.ended_at <= now), failures[0])


def _charged(task: Task, failure: FailedRun) -> bool:
    found = failure.diagnosis
    case = FailureCase(outcome=Failed(), diagnosis=found, account=account_of(task, found))
    return is_charged(case, cause_of(case))


def _question(task: Task, found: Diagnosis) -> str:
    """Tasks stopped by what trying again cannot heal share a question; others have their own."""
    shared = not found.retryable and found.confidence >= NOT_RETRYABLE_FROM
    return scope_of(found, account_of(task, found)) if shared else f"task {task.id} at {task.attempts}"


# Healed by itself; brought to a person; neither when the record or the night ended.
End = Literal["healed", "blocked", "open"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """How one failing task went under one policy."""

    end: End
    wasted: int  # attempts that failed
    tokens: int = 0  # that they used
    heal_ms: int | None = None  # from the first failure to the end of the attempt that succeeded
    person: str | None = None  # which question it joined, where a person was called
    guessed: int = 0  # attempts whose end is not known from the record but assumed


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyScore:
    """The figures of one policy."""

    tasks: int  # or runs of failures, where they are taken from a record
    healed: int
    blocked: int
    open: int
    wasted: int
    tokens: int
    people: int  # questions, not tasks: several may wait for one
    median_ms: int | None
    p95_ms: int | None
    guessed: int = 0


def score(played: Iterable[Played]) -> PolicyScore:
    """Sum up how the tasks went."""
    each = tuple(played)
    heals = sorted(one.heal_ms for one in each if one.heal_ms is not None)
    return PolicyScore(
        tasks=len(each),
        healed=sum(one.end == "healed" for one in each),
        blocked=sum(one.end == "blocked" for one in each),
        open=sum(one.end == "open" for one in each),
        wasted=sum(one.wasted for one in each),
        tokens=sum(one.tokens for one in each),
        people=len({one.person for one in each if one.person is not None}),
        median_ms=_at(heals, 0.5),
        p95_ms=_at(heals, 0.95),
        guessed=sum(one.guessed for one in each),
    )


def _at(ordered: Sequence[int], share: float) -> int | None:
    """The smallest value that at least this share of all do not exceed."""
    return ordered[max(0, -(-len(ordered) * round(share * 100) // 100) - 1)] if ordered else None
