"""From a diagnosis and what came before to what happens next; `decide` is pure. Presets are data (`presets`)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Literal

from msgspec import Struct

from medbay.core.attempt import guidance
from medbay.core.attempt.cause import Cause
from medbay.core.attempt.knowledge import Advice
from medbay.core.diagnosis.record import Diagnosis
from medbay.core.durations import format_duration
from medbay.core.holds.breaker import DOUBLING_TO_AN_HOUR
from medbay.core.lifecycles import BlockKind
from medbay.core.model import Guidance
from medbay.core.policy import backoff, learning, phases
from medbay.core.policy.learning import Learned
from medbay.core.policy.presets import LADDER, MAX_RETRIES_TOTAL, Recurring, Rungs

HOUR_MS: Final = 3_600_000
ACTED_ON_FROM: Final = 0.5  # below this confidence a category is `unknown`

# Free retries are bounded too: nothing is tried for ever.
UNCHARGED_PATIENCE_MS: Final = 24 * HOUR_MS
UNCHARGED_TRIES: Final = 20
FREE_AND_QUICK: Final = 10  # free tries in a row that may follow each other as fast as is configured
UNCHARGED_LIMIT_MS: Final = 72 * HOUR_MS

# A limit without a time, and exit 75: 1m doubling to 1h. A lock that another holds: seconds.
_UNCHARGED_LISTS: Final[Mapping[str, tuple[int, ...]]] = {
    "rate_limit": DOUBLING_TO_AN_HOUR,
    "usage_limit": DOUBLING_TO_AN_HOUR,
    "merge_conflict": (1_000, 10_000, 60_000),  # the others are merged already: nothing is to be waited for
    "lock": (5_000, 10_000, 20_000, 40_000, 60_000),
}
# What time does not change: a full context, a session that is refused, a model that will not. A fresh session may.
_NOT_WAITED_FOR: Final[Mapping[str, tuple[int, ...]]] = dict.fromkeys(
    ("context_window", "session", "refused"), (5_000,)
)

Action = Literal["retry_with_guidance", "triage", "retry_with_spec_refresh", "escalate_to_human", "mark_as_blocked"]


@dataclass(frozen=True, kw_only=True)  # with a dict, for the hash that is worked out once
class Policy:
    """The rules in force: a preset with its lists and limits."""

    preset: str = "ladder"
    rungs: Mapping[str, Rungs] = field(default_factory=lambda: LADDER)
    max_retries_total: int = MAX_RETRIES_TOTAL
    recurring: Recurring = field(default_factory=Recurring)
    adaptive: bool = False  # delays are learned from what was tried
    fallback_after_ms: int = 30 * 60_000  # an account that is held for longer lets the next agent of a task go on
    learned: Mapping[str, Learned] = field(default_factory=dict)  # by class; no part of the rules

    def hash(self) -> str:
        """A short name for exactly these values, recorded with every decision."""
        return self._hash

    @cached_property
    def _hash(self) -> str:
        parts = [self.preset, str(self.max_retries_total), str(self.recurring)]
        parts += [f"{name}:{r.delays_ms}:{r.max_retries}" for name, r in sorted(self.rungs.items())]
        parts += ["adaptive"] if self.adaptive else []
        return hashlib.blake2b("|".join(parts).encode(), digest_size=6).hexdigest()


class Record(Struct, frozen=True, kw_only=True):
    """What a policy needs to know of a task's past, the newest failure counted in."""

    task_id: str
    attempt: int
    charged: int
    uncharged: int = 0
    uncharged_since: int | None = None
    granted: int = 0
    asks_at: int = 0
    raised: int = 0  # rungs that are passed over: the same again would not help

    @property
    def under_grant(self) -> bool:
        """Whether a person's grant still covers this failure."""
        return self.granted > 0 and self.charged < self.asks_at

    @property
    def rung(self) -> int:
        """The rung of the ladder: charged failures, less what people granted on top."""
        return max(0, self.charged - self.granted) + self.raised

    def uncharged_for(self, now: int) -> int:
        """How long the run of free tries has lasted, in milliseconds."""
        return 0 if self.uncharged_since is None else max(0, now - self.uncharged_since)


class NextStep(Struct, frozen=True, kw_only=True):
    """What happens next, and why."""

    action: Action
    why: str
    delay_ms: int | None = None
    due_at: int | None = None
    learned: str = ""  # why the delay is not the schedule's, where it was learned
    guidance: Guidance | None = None
    block_kind: BlockKind | None = None
    event: Literal["task:escalated", "task:retry_exhausted", "task:permanently_blocked"] | None = None


def decide(
    diagnosis: Diagnosis, record: Record, policy: Policy, now: int, *, cause: Cause, advice: Advice | None = None
) -> NextStep:
    """What follows from this failure. `cause` says which of the eleven reasons decides, `advice` what helped before."""
    advice = advice or Advice(diagnosis.suggested_fix)
    match cause:
        case Cause.NOT_RETRYABLE:
            why = f"{diagnosis.summary.rstrip('.')}; trying again cannot help"
            return _stop("escalate_to_human", why, "human", "task:escalated")
        case Cause.USED_UP:
            return _stop("mark_as_blocked", _used_up(diagnosis, record, policy), "exhausted", "task:retry_exhausted")
        case Cause.PROVIDER_LIMIT | Cause.CRASH_LOOP | Cause.INCIDENT | Cause.UNCHARGED:
            return _wait_uncharged(diagnosis, record, policy, now, advice)
        case Cause.PHASE:
            return _again_in_phase(diagnosis, record, now, advice)
        case _:
            return _climb(diagnosis, record, policy, now, advice)


def ask_a_person(why: str) -> NextStep:
    """What no rung of the ladder decides: a person has to decide."""
    return _stop("escalate_to_human", why, "human", "task:escalated")


def category_acted_on(diagnosis: Diagnosis) -> str:
    """The category that decides: `unknown` when the diagnosis is less than half sure."""
    return diagnosis.category if diagnosis.confidence >= ACTED_ON_FROM else "unknown"


def retries_used_up(diagnosis: Diagnosis, record: Record, policy: Policy) -> bool:
    """Whether the newest failure's category, or the total, has no charged retry left."""
    if record.under_grant:
        return False
    limit = min(policy.rungs[category_acted_on(diagnosis)].max_retries, policy.max_retries_total)
    return record.rung > limit


def uncharged_run_is_over(record: Record, now: int) -> bool:
    """Whether the free retries have lasted long enough."""
    lasted = record.uncharged_for(now)
    return lasted >= UNCHARGED_LIMIT_MS or (lasted >= UNCHARGED_PATIENCE_MS and record.uncharged >= UNCHARGED_TRIES)


def requeue_delay(record: Record) -> int:
    """How long exit 75 waits when it names no time: 1m doubling to 1h."""
    return backoff.backoff(60_000, record.uncharged - 1, key=record.task_id, cap_ms=HOUR_MS)


def not_before(named: int | None, scheduled: int, now: int, record: Record) -> int:
    """The later of the schedule and the time the failure named, which is only ever moved later."""
    if named is None or named <= now:
        return scheduled
    return max(scheduled, now + backoff.spread_later(named - now, record.attempt, key=record.task_id))


def _again_in_phase(diagnosis: Diagnosis, record: Record, now: int, advice: Advice) -> NextStep:
    """By the table of the preset `phase`: so often, after exact waits; then the phase has failed.

    The same failure after the same advice passes over no retry here, as it does on the ladder.
    """
    row = phases.row_of(diagnosis)
    if record.charged - record.granted > row.retries and not record.under_grant:
        why = f"{row.name}: {diagnosis.summary}"
        return _stop("mark_as_blocked", why, "exhausted", "task:retry_exhausted")
    why = f"{row.name}, retry {record.charged} of {row.retries}"
    waits = (row.delay_ms(record.charged), "")
    return _after(waits, "retry_with_guidance", why, diagnosis, record, now, advice)


def _climb(diagnosis: Diagnosis, record: Record, policy: Policy, now: int, advice: Advice) -> NextStep:
    """The rung of the ladder: two retries, a different approach, a person, the end."""
    rung = record.rung
    if record.under_grant or rung <= 2:
        left = f"{record.asks_at - record.charged} left of what a person granted" if record.under_grant else ""
        why = f"failure {record.charged} of this kind of work" + (f", {left}" if left else f", rung {rung}")
        return retry_step("retry_with_guidance", why, diagnosis, record, policy, now, advice=advice)
    if rung == 3:
        failure = "the same failure after the same advice" if record.raised else "third failure"
        why = f"{failure}: the same way again would not help"
        other = Advice(guidance.DIFFERENT_APPROACH)
        return retry_step("triage", why, diagnosis, record, policy, now, advice=other)
    if rung == 4:
        why = f"failed {record.charged} times: {diagnosis.summary}"
        return _stop("escalate_to_human", why, "human", "task:escalated")
    why = f"still failing after a person was asked: {diagnosis.summary}"
    return _stop("mark_as_blocked", why, "exhausted", "task:permanently_blocked")


def retry_step(
    action: Action,
    why: str,
    diagnosis: Diagnosis,
    record: Record,
    policy: Policy,
    now: int,
    *,
    advice: Advice,
) -> NextStep:
    """Once more after the ladder's delay for this many failures, with this advice."""
    delays = _NOT_WAITED_FOR.get(diagnosis.subcategory or "") or policy.rungs[category_acted_on(diagnosis)].delays_ms
    return _after(_wait(delays, record.charged, diagnosis, record, policy), action, why, diagnosis, record, now, advice)


def _wait_uncharged(diagnosis: Diagnosis, record: Record, policy: Policy, now: int, advice: Advice) -> NextStep:
    if uncharged_run_is_over(record, now):
        lasted = format_duration(record.uncharged_for(now))
        why = f"{record.uncharged} free tries over {lasted} did not help: {diagnosis.summary}"
        return _stop("mark_as_blocked", why, "exhausted", "task:retry_exhausted")
    delays = policy.rungs[category_acted_on(diagnosis)].delays_ms
    if diagnosis.retry_after_ms is None:
        delays = _UNCHARGED_LISTS.get(diagnosis.subcategory or "", delays)
    why = f"{diagnosis.kind} charges no attempt, free try {record.uncharged}"
    delay, learned = _wait(delays, record.uncharged, diagnosis, record, policy)
    waits = (max(delay, _least_ms(record.uncharged)), learned)
    return _after(waits, "retry_with_guidance", why, diagnosis, record, now, advice)


def _least_ms(tries: int) -> int:
    """The shortest wait after so many free tries in a row: whatever is configured, they slow down by themselves."""
    return 0 if tries <= FREE_AND_QUICK else min(60_000, 1_000 << min(tries - FREE_AND_QUICK - 1, 10))


def _wait(
    delays: Sequence[int], failures: int, diagnosis: Diagnosis, record: Record, policy: Policy
) -> tuple[int, str]:
    """How long to wait, after jitter, and where that was learned; by the schedule when nothing was."""
    learned = policy.learned.get(diagnosis.kind)
    if learned is None or category_acted_on(diagnosis) != diagnosis.category:
        return backoff.from_list(delays, failures, key=record.task_id), ""
    choice = learning.choose(learned, backoff.entry(delays, failures))
    spread = backoff.spread(choice.delay_ms, failures, key=record.task_id)
    if not choice.differs:
        return spread, ""
    low, high = learning.limits_of(choice.scheduled_ms)
    return max(low, min(high, spread)), choice.why


def _after(
    waits: tuple[int, str],
    action: Action,
    why: str,
    diagnosis: Diagnosis,
    record: Record,
    now: int,
    advice: Advice,
) -> NextStep:
    """Tried again after this wait, with what helps; never before a time the failure named."""
    delay, learned = waits
    due = not_before(diagnosis.retry_after_ms, now + delay, now, record)
    told = guidance.guide(diagnosis, next_attempt=record.attempt + 1, advice=advice.text, record=advice.record)
    if due > now + delay:  # the failure named a later time, so nothing that was learned decided
        learned = ""
    return NextStep(action=action, why=why, delay_ms=due - now, due_at=due, learned=learned, guidance=told)


def schedule_of(kind: str, policy: Policy) -> tuple[int, ...]:
    """The waits that a class of failure has by the rules, nothing learned."""
    category, _, subcategory = kind.partition("/")
    listed = _UNCHARGED_LISTS.get(subcategory) or _NOT_WAITED_FOR.get(subcategory)
    return listed or policy.rungs.get(category, policy.rungs["unknown"]).delays_ms


def _used_up(diagnosis: Diagnosis, record: Record, policy: Policy) -> str:
    category = category_acted_on(diagnosis)
    limit = policy.rungs[category].max_retries
    if limit <= policy.max_retries_total:
        return f"all {limit} retries for {category} are used up: {diagnosis.summary}"
    return f"all {policy.max_retries_total} retries are used up: {diagnosis.summary}"


def _stop(
    action: Action,
    why: str,
    kind: BlockKind,
    event: Literal["task:escalated", "task:retry_exhausted", "task:permanently_blocked"],
) -> NextStep:
    return NextStep(action=action, why=why, block_kind=kind, event=event)
