"""Breakers: one mechanism, closed, open or half-open, for everything that stops work while it only does harm.

A breaker heals by itself: after a wait one canary goes ahead; it lives, and the rest is released spread out, or it
meets the same failure, and the next wait is longer. Only what a person opened, or has to answer, waits for a person.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from medbay.core.policy import backoff

SECOND: Final = 1_000
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE

PROBE_AT_LEAST_EVERY_MS: Final = 6 * HOUR  # whatever time a limit named
CANARY_LIVES_AFTER_MS: Final = 60 * SECOND
CANARY_PATIENCE_MS: Final = MINUTE  # how long a chosen task may wait for a slot before another is chosen
ANSWER_LOOKED_FOR_MS: Final = 15 * SECOND  # where a question was closed without an answer; an answer is heard at once
STORM_LOOKED_AT_MS: Final = 10 * SECOND
RELEASE_GAP_MS: Final = 250
RELEASE_WITHIN_MS: Final = 14 * MINUTE  # with jitter and ticks still inside 15
RELEASED_AT_ONCE: Final = 500
FINGERPRINTS_KEPT: Final = 20
DOUBLING_TO_AN_HOUR: Final = tuple(minutes * MINUTE for minutes in (1, 2, 4, 8, 16, 32, 60))

RETRY_STORM: Final = "retry_storm"
TRACKER: Final = "tracker/"  # how the names of holds on trackers begin; no task waits for them
ENGINE: Final = "engine"

Kind = Literal["phase", "agency", "retry_storm", "provider", "crash_loop", "incident", "budget"]
State = Literal["closed", "open", "half_open"]


class BreakerRule(Struct, frozen=True, kw_only=True):
    """How one kind of breaker behaves."""

    stops: str  # in words
    failures: int = 1  # how many open it
    window_ms: int | None = None  # within this time; None: in a row
    probes_ms: tuple[int, ...] = ()  # the waits before each canary, the last one repeated; none: it has no canary
    successes: int = 1  # canaries that have to live before it closes
    parks: bool = False  # tasks it holds leave the claim index under its key


KINDS: Final[Mapping[Kind, BreakerRule]] = {
    "phase": BreakerRule(stops="retries within the phase, until a person closes it", failures=3),
    "agency": BreakerRule(
        stops="new triages and evaluations",
        failures=5,
        probes_ms=tuple(minutes * MINUTE for minutes in (10, 20, 40, 60)),
        successes=3,
    ),
    "retry_storm": BreakerRule(stops="nothing; retries keep to their share of the slots"),
    "provider": BreakerRule(stops="every task on this account", probes_ms=DOUBLING_TO_AN_HOUR, parks=True),
    "crash_loop": BreakerRule(
        stops="starting this runner on this host", failures=5, window_ms=5 * MINUTE, probes_ms=DOUBLING_TO_AN_HOUR
    ),
    "incident": BreakerRule(
        stops="tasks that failed like this, and fresh ones of the same command",
        failures=5,
        window_ms=10 * MINUTE,
        probes_ms=tuple(minutes * MINUTE for minutes in (1, 2, 5, 10, 15)),
        parks=True,
    ),
    "budget": BreakerRule(stops="what does not fit into the budget of the day, until the next", parks=True),
}


class Limits(Struct, frozen=True, kw_only=True):
    """What a person may set: from how many on something is a storm, a crash loop, an incident."""

    storm_retries: int = 50
    agency_failures: int = KINDS["agency"].failures
    crash_failures: int = KINDS["crash_loop"].failures
    crash_window_ms: int = KINDS["crash_loop"].window_ms or 0
    incident_tasks: int = KINDS["incident"].failures
    incident_window_ms: int = KINDS["incident"].window_ms or 0
    phase_failures: int = KINDS["phase"].failures


class Breaker(Struct, frozen=True, kw_only=True):
    """One breaker, by the key of what it protects. A field here is a column of the store."""

    key: str
    kind: Kind
    state: State = "open"
    why: str = ""
    opened_by: str = ENGINE
    opened_at: int = 0
    until: int | None = None  # the end that was named
    probe_at: int | None = None  # when the engine maintains it next: canary, release, or whether it is over
    failures: int = 0  # canaries in a row that met it again
    successes: int = 0
    canary_task: str | None = None
    canary_number: int | None = None  # None until the chosen task is claimed
    closed_at: int | None = None
    question_id: str | None = None
    version: int = 0
    data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def rule(self) -> BreakerRule:
        """How its kind behaves."""
        return KINDS[self.kind]

    @property
    def name(self) -> str:
        """The key without its kind: `anthropic/work`, a fingerprint, `shell@host`."""
        return self.key.partition(":")[2] or self.key

    @property
    def by_hand(self) -> bool:
        """Whether a person opened it."""
        return self.opened_by.startswith("person:")

    @property
    def spent(self) -> bool:
        """Whether it waits for a person's answer, without probes: credits are used up."""
        return bool(self.data.get("spent"))

    @property
    def paused(self) -> bool:
        """Whether triage stopped the canaries of an incident: nothing is sent ahead before a person answers."""
        return bool(self.data.get("paused"))

    @property
    def only_a_person_ends(self) -> bool:
        """Whether nothing but a person's word ends it."""
        stays = self.kind == "phase" or self.spent or self.paused or (self.by_hand and self.until is None)
        return self.state != "closed" and stays

    @property
    def ends(self) -> str:
        """What releases it, in words."""
        if self.state == "closed":
            return "it is over, and what it held is released one after another"
        if self.spent or self.paused:
            return f"until {self.question_id} is answered"
        if self.only_a_person_ends:
            return f"until it is closed: medbay breaker close {self.key}"
        if self.kind == "budget":
            return "until the next day"
        if self.name.startswith(TRACKER):
            return "then it is asked again"
        if self.state == "half_open":
            return "one task has gone ahead; if it succeeds the rest follow"
        return "then one task goes ahead; if it succeeds the rest follow"

    @property
    def next_at(self) -> int | None:
        """When something happens to it by itself, as far as that is known."""
        return self.probe_at if self.state == "open" and not self.only_a_person_ends else None

    @property
    def fingerprints(self) -> tuple[str, ...]:
        """The failures that met it; a failed task with one of them may be its canary."""
        return tuple(self.data.get("fingerprints", ()))


class BreakerChange(Struct, frozen=True):
    """A breaker as it was read (None: not there, or closed) and as it is to be; saved only if unchanged meanwhile."""

    before: Breaker | None
    after: Breaker


class CommandUse(Struct, frozen=True):
    """A command was seen to need a resource: tasks with the same command are taken to need it too."""

    command: str
    resource: str


def phase_key(story_id: str, phase: str) -> str:
    """The key of the breaker of one phase of one story."""
    return f"phase:{story_id}:{phase}"


def open_phase(story_id: str, phase: str, now: int, *, why: str, question_id: str) -> Breaker:
    """A phase failed so often in the same way that only a person lets it be tried again."""
    return Breaker(key=phase_key(story_id, phase), kind="phase", why=why, opened_at=now, question_id=question_id)


def place_hold(before: Breaker | None, key: str, now: int, *, named: int | None, why: str, met: str) -> Breaker:
    """A limit of a provider was met: hold its account until the named time, or for a probe after a minute.

    An account that is held already is held longer only when a later time was named.
    """
    later = _jittered(named, now, key, 0)
    if before is None or before.state == "closed":
        data = {"probed_at": now, "named": later is not None}
        held = Breaker(key=key, kind="provider", why=why, opened_at=now, until=later, data=data)
        return _met(replace(held, probe_at=_next_probe(held, now)), met)
    before = _met(before, met)
    if later is None or before.only_a_person_ends or before.state == "half_open" or later <= (before.until or 0):
        return before
    longer = replace(before, until=later, why=why, data={**before.data, "named": True})
    return replace(longer, probe_at=min(later, int(longer.data["probed_at"]) + PROBE_AT_LEAST_EVERY_MS))


def hold_for_answer(before: Breaker | None, key: str, now: int, *, why: str, question_id: str) -> Breaker:
    """Credits are used up: the account is held, without probes, until the question is answered."""
    opened_at = before.opened_at if before is not None and before.state != "closed" else now
    return Breaker(
        key=key,
        kind="provider",
        why=why,
        opened_at=opened_at,
        probe_at=now + ANSWER_LOOKED_FOR_MS,
        question_id=question_id,
        data={**(before.data if before else {}), "spent": True, "probed_at": now},
    )


def strike(
    before: Breaker | None, key: str, kind: Kind, now: int, *, why: str, failures: int, window_ms: int
) -> Breaker:
    """One more failure of a kind that opens after several; a closed one remembers when they were."""
    known = before or Breaker(key=key, kind=kind, state="closed")
    if known.state != "closed":
        return known
    # Those before the last closing were answered by it.
    since = max(now - window_ms, known.closed_at or 0)
    times = [at for at in known.data.get("times", ()) if at > since][-failures:] + [now]
    if len(times) < failures:
        return replace(known, data={**known.data, "times": times})
    opened = replace(known, state="open", why=why, opened_by=ENGINE, opened_at=now, closed_at=None, failures=0)
    opened = replace(opened, successes=0, data={"times": [], "probed_at": now})
    return replace(opened, probe_at=_next_probe(opened, now))


def send_canary(breaker: Breaker, task_id: str | None, now: int) -> Breaker:
    """One may go ahead: a chosen task, or (None) the next one that comes."""
    look_at = now + CANARY_PATIENCE_MS if task_id is not None else None
    return replace(breaker, state="half_open", canary_task=task_id, canary_number=None, probe_at=look_at)


def canary_started(breaker: Breaker, task_id: str, number: int, now: int) -> Breaker:
    """The canary runs: when it is still running a minute later, it lives."""
    return replace(breaker, canary_task=task_id, canary_number=number, probe_at=now + CANARY_LIVES_AFTER_MS)


def canary_met_it(breaker: Breaker, now: int, *, named: int | None, why: str) -> Breaker:
    """The canary met the breaker's own failure: open again, with the next wait, never before a time that was named."""
    failures = breaker.failures + 1
    later = _jittered(named, now, breaker.key, failures)
    if later is None and breaker.until is not None and breaker.until > now:
        later = breaker.until  # an early probe does not shorten what was named
    again = replace(_without_canary(breaker), state="open", failures=failures, successes=0, until=later, why=why)
    again = replace(again, data={**again.data, "probed_at": now, "named": later is not None or again.data.get("named")})
    return replace(again, probe_at=None if breaker.paused else _next_probe(again, now))


def canary_lived(breaker: Breaker, now: int) -> Breaker:
    """It succeeded, failed in another way, or ran long enough: closed, unless more have to live."""
    successes = breaker.successes + 1
    if successes < breaker.rule.successes:
        return replace(send_canary(breaker, None, now), successes=successes)
    who = f"{breaker.canary_task}#{breaker.canary_number}" if breaker.canary_task else "the task that went ahead"
    return close(breaker, now, f"{who} got through")


def canary_gone(breaker: Breaker, now: int) -> Breaker:
    """It was lost, cancelled or handed back, and says nothing: the next one, at once."""
    if not breaker.rule.parks:
        return send_canary(breaker, None, now)
    return replace(_without_canary(breaker), state="open", probe_at=None if breaker.paused else now)


def wait_for_answer(breaker: Breaker) -> Breaker:
    """No canary is sent any more before a person answers; one that is on its way still counts."""
    probe_at = breaker.probe_at if breaker.state == "half_open" else None
    return replace(breaker, probe_at=probe_at, data={**breaker.data, "paused": True})


def answered(breaker: Breaker, now: int, *, at_once: bool) -> Breaker:
    """A person answered the question of an incident: a canary goes now, or they go on as they did."""
    data = {name: value for name, value in breaker.data.items() if name != "paused"}
    after = replace(breaker, question_id=None, data=data)
    if breaker.state == "open" and (at_once or breaker.paused):
        return replace(after, probe_at=now if at_once else _next_probe(after, now))
    return after


def probe_soon(breaker: Breaker, now: int) -> Breaker:
    """What it waits for may be mended: a canary goes at once, but never before a time that was named."""
    if breaker.state != "open" or breaker.paused:
        return breaker
    return replace(breaker, probe_at=max(now, breaker.until or 0))


def close(breaker: Breaker, now: int, why: str = "") -> Breaker:
    """Over, with the reason in front of why it was open: what it held is released from now on, one by one."""
    over = replace(_without_canary(breaker), state="closed", closed_at=now, until=None, failures=0, successes=0)
    over = replace(over, why=": ".join(part for part in (why, breaker.why) if part))
    data = {name: value for name, value in over.data.items() if name not in ("spent", "paused", "gap_ms", "released")}
    return replace(over, probe_at=now if breaker.rule.parks else None, question_id=None, data=data)


def release_some(breaker: Breaker, held: int, now: int) -> tuple[int, Breaker]:
    """How many of those it held may go now, and the closed breaker with the time of the next.

    One every 250 ms with jitter, faster where that would take longer than 15 minutes. `held` is asked for once.
    """
    assert breaker.probe_at is not None
    gap = int(breaker.data.get("gap_ms") or max(1, min(RELEASE_GAP_MS, RELEASE_WITHIN_MS // max(1, held))))
    done = int(breaker.data.get("released", 0))
    due = min(RELEASED_AT_ONCE, 1 + (now - breaker.probe_at) // gap)
    at = breaker.probe_at + (due - 1) * gap + backoff.spread(gap, done + due, key=breaker.key)
    # What a full round could not take is not made up for all at once.
    data = {**breaker.data, "gap_ms": gap, "released": done + due}
    return due, replace(breaker, probe_at=max(at, now - RELEASED_AT_ONCE * gap), data=data)


def all_released(breaker: Breaker) -> Breaker:
    """No task waits under it any more."""
    data = {name: value for name, value in breaker.data.items() if name not in ("gap_ms", "released")}
    return replace(breaker, probe_at=None, data=data)


def nobody_to_send(breaker: Breaker, now: int) -> Breaker:
    """A canary is due and no task waits: over, unless a time was named that has not come."""
    if breaker.until is not None and breaker.until > now:
        look_at = min(breaker.until, now + PROBE_AT_LEAST_EVERY_MS)
        return replace(breaker, probe_at=look_at, data={**breaker.data, "probed_at": now})
    return close(breaker, now, "no task waits for it any more")


def open_by_hand(
    before: Breaker | None, key: str, kind: Kind, now: int, *, by: str, why: str, until: int | None
) -> Breaker:
    """A person holds something: until they close it, or until a time, and then by way of a canary."""
    found = before.fingerprints if before is not None else ()
    if until is not None and before is not None and before.state != "closed":
        until = max(until, before.until or 0)  # what the provider named stands
    data = {"probed_at": now, "fingerprints": list(found)}
    return Breaker(key=key, kind=kind, why=why, opened_by=by, opened_at=now, until=until, probe_at=until, data=data)


def open_storm(now: int, retries: int) -> Breaker:
    """More retries fell due at once than is usual; they keep to their share, and that is reported once."""
    why = f"{retries} or more retries are due at once"
    return Breaker(key=RETRY_STORM, kind=RETRY_STORM, why=why, opened_at=now, probe_at=now + STORM_LOOKED_AT_MS)


def open_incident(
    key: str, now: int, *, why: str, fingerprint: str, question_id: str, facts: Mapping[str, Any]
) -> Breaker:
    """The same shared cause on several tasks: they hold, and canaries find out when it is over."""
    data = {**facts, "fingerprints": [fingerprint], "probed_at": now}
    opened = Breaker(key=key, kind="incident", why=why, opened_at=now, question_id=question_id, data=data)
    return replace(opened, probe_at=_next_probe(opened, now))


def _next_probe(breaker: Breaker, now: int) -> int:
    """After the wait of so many met canaries and what was named; at the latest six hours from now."""
    waits = breaker.rule.probes_ms
    wait = now + backoff.from_list(waits, breaker.failures + 1, key=breaker.key)
    if breaker.until is not None:
        wait = max(breaker.until, wait) if breaker.failures else breaker.until
    return min(wait, now + PROBE_AT_LEAST_EVERY_MS)


def _jittered(named: int | None, now: int, key: str, count: int) -> int | None:
    return None if named is None or named <= now else now + backoff.spread_later(named - now, count, key=key)


def _met(breaker: Breaker, fingerprint: str) -> Breaker:
    if fingerprint in breaker.fingerprints:
        return breaker
    kept = [*breaker.fingerprints, fingerprint][-FINGERPRINTS_KEPT:]
    return replace(breaker, data={**breaker.data, "fingerprints": kept})


def _without_canary(breaker: Breaker) -> Breaker:
    return replace(breaker, canary_task=None, canary_number=None)
