"""Figures from the event log: rolled up by hour in transactions of their own, never in the loop; read for any window.

What is counted depends on the events alone, and on what never changes about their tasks and attempts, so that a
recount from the first event gives the same.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from msgspec.structs import replace

from medbay.core.agent import profile_of
from medbay.core.model import Event
from medbay.core.snapshot import Figures, FingerprintFigures, OpenCase
from medbay.store import effects, history, patterns, statistics
from medbay.store.database import Store, Tx
from medbay.store.statistics import HOUR_MS, Named

AT_ONCE: Final = 2_000  # events of one transaction, so that nobody waits for it
FINGERPRINTS: Final = 12
RETRIES_MAX: Final = 9  # more are counted together
PER_DOUBLING: Final = 4  # steps of the scale of times to heal
_LOCK: Final = "statistics"
_ENDS: Final = frozenset({"task:failed", "task:completed", "task:iteration_done", "task:lost", "task:requeued"})


def catch_up(store: Store, *, batches: int = 10_000) -> int:
    """Roll up what happened until now; how many events there were.

    What happens meanwhile is left to the next call: a busy fleet writes as fast as anybody counts. It also ends where
    nothing more can be counted, because a transaction that began earlier is still under way.
    """
    done = 0
    with store.read() as tx:
        wanted = history.last_event_seq(tx)
    for _ in range(batches):
        with store.read() as tx:
            at = statistics.cursor(tx)
            if at >= wanted or effects.readable_until(tx, at, 1) <= at:
                return done
        with store.write() as tx:
            counted = roll_up(tx)
        if not counted:
            return done
        done += counted
    return done


def roll_up(tx: Tx, limit: int = AT_ONCE) -> int:
    """Count some more events; how many there were."""
    tx.serialise(_LOCK)
    at = statistics.cursor(tx)
    until = effects.readable_until(tx, at, limit)
    events = [each for each in history.events_since(tx, at, limit=limit) if each.seq <= until] if until > at else []
    if not events:
        return 0
    task_ids = {each.task_id for each in events if each.task_id}
    ends = [(each.task_id, each.attempt) for each in events if each.name in _ENDS and each.task_id and each.attempt]
    tally = _Tally(
        workers=statistics.workers_of(tx, task_ids),
        attempts=statistics.attempts(tx, ends),
        tasks=statistics.opened(tx, "task", task_ids),
        others={
            kind: statistics.opened(tx, kind, _named(events, field))
            for kind, field in (("question", "question"), ("breaker", "key"))
        },
    )
    for event in events:
        tally.take(event)
    statistics.add(tx, {named: (number, total) for named, (number, total) in tally.counted.items()})
    statistics.keep(tx, "task", tally.changed)
    for kind, changed in tally.others_changed.items():
        statistics.keep(tx, kind, changed)
    statistics.move_cursor(tx, until)
    return len(events)


def recount(store: Store) -> None:
    """Count everything again from the first event that is still there."""
    with store.write() as tx:
        statistics.forget(tx)
    catch_up(store)


def load(tx: Tx, *, since: int, until: int) -> Figures:
    """Return the figures of a window, by whole hours."""
    begin, end = since // HOUR_MS * HOUR_MS, (until // HOUR_MS + 1) * HOUR_MS
    window: dict[str, int] = {"since": begin, "until": end}
    healed = {int(name): (number, total) for name, _, _, number, total in statistics.sums(tx, "heal", **window)}
    before = {"since": 2 * begin - end, "until": begin}
    return Figures(
        since=begin,
        until=end,
        done=_by_name(tx, "done", window),
        done_before=_by_name(tx, "done", before),
        attempts=_by_name(tx, "attempt", window),
        created=sum(_by_name(tx, "created", window).values()),
        heal=tuple((2.0 ** ((step + 1) / PER_DOUBLING), number) for step, (number, _) in sorted(healed.items())),
        retries=tuple(sorted((int(name), number) for name, number in _by_name(tx, "retries", window).items())),
        retry_success=tuple(statistics.sums(tx, "retry", **window)),
        failures=tuple((hour, name, number) for hour, name, _, number, _ in statistics.by_hour(tx, "failed", **window)),
        cost=tuple(statistics.by_hour(tx, "cost", **window)),
        failed_cost=sum(cost for *_, how, _, cost in statistics.sums(tx, "cost", **window) if how == "failed"),
        waited=tuple((a, b, number, total) for a, b, _, number, total in statistics.sums(tx, "waited", **window)),
        called=tuple((hour, name, number) for hour, name, _, number, _ in statistics.by_hour(tx, "called", **window)),
        fingerprints=tuple(_fingerprints(tx, begin, end)),
        healed=_by_name(tx, "healed", window),
        tags=tuple((tag, how, number) for tag, how, _, number, _ in statistics.sums(tx, "tag", **window)),
        agents=tuple((agent, how, number) for agent, how, _, number, _ in statistics.sums(tx, "agent", **window)),
    )


def failures(tx: Tx, *, since: int) -> list[tuple[int, str, int]]:
    """Return the failures since a moment by hour and category."""
    found = statistics.by_hour(tx, "failed", since=since // HOUR_MS * HOUR_MS, until=tx.now + HOUR_MS)
    return [(hour, name, number) for hour, name, _, number, _ in found]


def _by_name(tx: Tx, kind: str, window: Mapping[str, int]) -> dict[str, int]:
    found: dict[str, int] = defaultdict(int)
    for name, _, _, number, _ in statistics.sums(tx, kind, **window):
        found[name] += number
    return dict(found)


def _fingerprints(tx: Tx, since: int, until: int) -> Iterable[FingerprintFigures]:
    counted = _by_name(tx, "fingerprint", {"since": since, "until": until})
    most = sorted(counted, key=lambda name: (-counted[name], name))[:FINGERPRINTS]
    if not most:
        return
    before = statistics.last_before(tx, "fingerprint", most, since)
    hours: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for name, hour, number in statistics.hours_of(tx, "fingerprint", most, since=since, until=until):
        hours[name].append((hour, number))
    for name in most:
        quiet = hours[name][0][0] - before[name] if name in before else None
        yield FingerprintFigures(
            fingerprint=name, hours=tuple(hours[name]), quiet_ms=quiet, known=patterns.get(tx, name)
        )


def _named(events: Iterable[Event], field: str) -> set[str]:
    return {str(each.data[field]) for each in events if each.data.get(field)}


class _Tally:
    """Counts one event after the other."""

    def __init__(
        self,
        *,
        workers: Mapping[str, tuple[str, str]],
        attempts: Mapping[tuple[str, int], tuple[int, int, str]],
        tasks: dict[str, OpenCase],
        others: dict[str, dict[str, OpenCase]],
    ) -> None:
        self.counted: dict[Named, tuple[int, int]] = {}
        self.changed: dict[str, OpenCase | None] = {}
        self.others_changed: dict[str, dict[str, OpenCase | None]] = {kind: {} for kind in others}
        self._workers = workers
        self._attempts = attempts
        self._tasks: dict[str, OpenCase | None] = dict(tasks)
        self._others: dict[str, dict[str, OpenCase | None]] = {kind: dict(found) for kind, found in others.items()}
        self._iterated: dict[str, int] = {}

    def take(self, event: Event) -> None:
        """Count one event."""
        if event.name in _ENDS:
            self._count_cost(event)
        if self._role(event) == "triage":
            return
        count = _COUNTERS.get(event.name)
        if count is not None:
            count(self, event)

    def _create(self, event: Event) -> None:
        self._count(event, "created")

    def _lose(self, event: Event) -> None:
        self._count(event, "attempt", "lost")
        self._count_agent(event, "lost")

    def _cancel(self, event: Event) -> None:
        self._count(event, "done", "cancelled")
        self._count_tags(event, "cancelled")
        self._set(event, None)

    def _wait(self, event: Event) -> None:
        wait_ms = round(float(event.data.get("delay_s", 0)) * 1000)
        self._count(event, "waited", "backoff", str(event.data.get("category", "")), total=wait_ms)

    def _hold(self, event: Event) -> None:
        if not event.data.get("extended"):
            self._begin("breaker", str(event.data.get("key", "")), event)

    def _release(self, event: Event) -> None:
        self._end("breaker", str(event.data.get("key", "")), event, "held")

    def _touch(self, event: Event) -> None:
        if str(event.data.get("by", "")).startswith("person:"):
            self._set(event, replace(self._case(event), person=True))

    def _fail(self, event: Event) -> None:
        found: Mapping[str, Any] = event.data.get("diagnosis") or {}
        category = str(found.get("category") or "unknown")
        kind = f"{category}/{found['subcategory']}" if found.get("subcategory") else category
        case = self._case(event)
        self._count(event, "attempt", "failed")
        self._count_agent(event, "failed")
        self._count_tags(event, "failed")
        self._count(event, "failed", kind)
        if found.get("fingerprint"):
            self._count(event, "fingerprint", str(found["fingerprint"]))
        if case.failures:
            self._count_retry(event, case, cured=False)
        since = case.since if case.failures else event.at
        self._set(event, replace(case, failures=case.failures + 1, since=since, category=kind))

    def _succeed(self, event: Event) -> None:
        task_id = event.task_id or ""
        if self._iterated.get(task_id) == event.at:  # the last iteration completes the task as well
            return
        if event.name == "task:iteration_done":
            self._iterated[task_id] = event.at
        case = self._case(event)
        by_person = case.person or str(event.data.get("by", "")).startswith("person:")
        if event.attempt:
            self._count(event, "attempt", "succeeded")
            self._count_agent(event, "succeeded")
        if case.failures:
            self._count_retry(event, case, cured=True)
            heal_ms = max(0, event.at - case.since)
            step = math.floor(PER_DOUBLING * math.log2(max(1.0, heal_ms / 1000)))
            self._count(event, "heal", str(step), total=heal_ms)
        self._count(event, "retries", str(min(case.failures, RETRIES_MAX)))
        how = "person" if by_person else "healed" if case.failures else "plain"
        self._count(event, "done", how)
        self._count_tags(event, how)
        if how == "healed":
            self._count(event, "healed", case.category)
        self._set(event, None)

    def _count_tags(self, event: Event, how: str) -> None:
        """By the tags that the task had when it happened."""
        for tag in event.data.get("tags") or ():
            self._count(event, "tag", str(tag), how)

    def _count_agent(self, event: Event, how: str) -> None:
        if agent := self._agent(event):
            self._count(event, "agent", agent, how)

    def _count_retry(self, event: Event, case: OpenCase, *, cured: bool) -> None:
        number = str(min(case.failures, RETRIES_MAX))
        self._count(event, "retry", case.category, self._agent(event), number, total=int(cured))

    def _count_cost(self, event: Event) -> None:
        tokens, cost, _ = self._attempts.get((event.task_id or "", event.attempt or 0), (0, 0, ""))
        if tokens or cost:
            how = "failed" if event.name in ("task:failed", "task:lost") else ""
            named = ("cost", event.at // HOUR_MS * HOUR_MS, self._role(event) or "work", self._agent(event), how)
            number, total = self.counted.get(named, (0, 0))
            self.counted[named] = number + tokens, total + cost

    def _ask(self, event: Event) -> None:
        if event.data.get("again"):
            return
        self._count(event, "called", self._case(event).category or "asked")
        self._begin("question", str(event.data.get("question", "")), event)

    def _answer(self, event: Event) -> None:
        self._end("question", str(event.data.get("question", "")), event, "person")
        if event.name == "question:answered" and event.task_id:
            self._set(event, replace(self._case(event), person=True))

    def _begin(self, kind: str, name: str, event: Event) -> None:
        if name and self._others[kind].get(name) is None:
            case = OpenCase(since=event.at, category=str(event.data.get("kind", "")))
            self._others[kind][name] = self.others_changed[kind][name] = case

    def _end(self, kind: str, name: str, event: Event, cause: str) -> None:
        case = self._others[kind].get(name)
        if case is not None:
            self._count(event, "waited", cause, case.category, total=max(0, event.at - case.since))
            self._others[kind][name] = self.others_changed[kind][name] = None

    def _count(self, event: Event, kind: str, a: str = "", b: str = "", c: str = "", *, total: int = 0) -> None:
        named = (kind, event.at // HOUR_MS * HOUR_MS, a, b, c)
        number, so_far = self.counted.get(named, (0, 0))
        self.counted[named] = number + 1, so_far + total

    def _case(self, event: Event) -> OpenCase:
        return self._tasks.get(event.task_id or "") or OpenCase()

    def _set(self, event: Event, case: OpenCase | None) -> None:
        if event.task_id:
            self._tasks[event.task_id] = self.changed[event.task_id] = case

    def _role(self, event: Event) -> str:
        return self._workers.get(event.task_id or "", ("", ""))[1]

    def _agent(self, event: Event) -> str:
        """The agent of the attempt; another one may go on with the task."""
        *_, agent = self._attempts.get((event.task_id or "", event.attempt or 0), (0, 0, ""))
        return agent or profile_of(self._workers.get(event.task_id or "", ("", ""))[0])


_COUNTERS: Final[Mapping[str, Callable[[_Tally, Event], None]]] = {
    "task:created": _Tally._create,
    "task:failed": _Tally._fail,
    "task:completed": _Tally._succeed,
    "task:iteration_done": _Tally._succeed,
    "task:lost": _Tally._lose,
    "task:cancelled": _Tally._cancel,
    "task:retry_scheduled": _Tally._wait,
    "question:asked": _Tally._ask,
    "question:answered": _Tally._answer,
    "question:withdrawn": _Tally._answer,
    "breaker:opened": _Tally._hold,
    "hold:placed": _Tally._hold,
    "breaker:closed": _Tally._release,
    "hold:released": _Tally._release,
    **dict.fromkeys(("task:unblocked", "task:resumed", "task:edited", "task:reclassified"), _Tally._touch),
}
