"""Deliveries in the simulation: hooks that arrive, fail or hang, the thread that delivers, and what it promised.

At least once, in order for what is about the same thing, one at a time, and nothing that a filter does not name.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from medbay.core.delivery import Channel, Delivery, made
from medbay.core.model import Event
from medbay.engine.deliver import Deliverer
from medbay.env import Random
from medbay.errors import StoreError
from medbay.sim.clock import VirtualClock
from medbay.sim.daemon import AWAY_MS, NOTICED_AFTER_MS, Ground, SimDaemon
from medbay.sim.faults import Faults, FaultyStore, SimulatedCrash
from medbay.sim.ledger import Broken
from medbay.sim.plan import MINUTE, SECOND
from medbay.sim.scripts import NEVER_MS
from medbay.store import effects
from medbay.store.database import Store

CHANNELS: Final = (
    Channel(name="desk", kind="command", target=("hook",)),
    Channel(
        name="wall",
        kind="command",
        target=("hook",),
        on=("task:failed", "task:completed", "delivery:failed"),
        timeout_ms=5_000,
    ),
)
BY_NAME: Final = {each.name: each for each in CHANNELS}


@dataclass(slots=True)
class HookRun:
    """One run of a hook. It may outlive the engine that started it."""

    delivery: Delivery
    begun_ms: int
    ends_ms: int  # by itself
    error: str  # what it ends with
    killed_ms: int | None = None

    def over(self, at_ms: int) -> bool:
        """Whether it runs no more."""
        return at_ms >= (self.ends_ms if self.killed_ms is None else self.killed_ms)

    def arrived(self, at_ms: int) -> bool:
        """Whether it ended by itself, and well."""
        return not self.error and self.killed_ms is None and at_ms >= self.ends_ms


@dataclass(frozen=True, slots=True)
class HookSending:
    """What an engine sees of a run."""

    run: HookRun
    clock: VirtualClock
    limit_ms: int

    def poll(self, monotonic_s: float) -> str | None:
        """How it ended; at its time limit it is ended."""
        now = self.clock.elapsed_ms
        if self.run.over(now):
            return self.run.error
        if now >= self.limit_ms:
            self.kill()
            return "took too long"
        return None

    def kill(self) -> None:
        """It is gone."""
        if not self.run.over(self.clock.elapsed_ms):
            self.run.killed_ms = self.clock.elapsed_ms


@dataclass(slots=True)
class Hooks:
    """Runs the hooks of all engines, and holds them to what was promised."""

    store: Store
    clock: VirtualClock
    rng: Random
    healed: bool = False
    heard_ms: int = 0  # when something was last committed that a channel wants
    runs: dict[str, list[HookRun]] = field(default_factory=dict)  # by the key of the delivery
    _since: dict[str, int] = field(default_factory=dict)  # after which event each channel began
    _seen: dict[str, int] = field(default_factory=dict)
    _expected: dict[str, Delivery] = field(default_factory=dict)  # what has to arrive, by key
    _lanes: dict[str, list[str]] = field(default_factory=dict)  # the keys of a lane in their order
    _missing: set[str] = field(default_factory=set)

    def hear(self, events: Iterable[Event]) -> None:
        """Something was committed."""
        if any(channel.wants(event) for event in events for channel in CHANNELS):
            self.heard_ms = self.clock.elapsed_ms

    def start(self, channel: Channel, delivery: Delivery, monotonic_s: float) -> HookSending:
        """Start a hook: most arrive soon, some fail, some hang."""
        self.read()
        self._check(delivery)
        now, kind = self.clock.elapsed_ms, self.rng.random()
        error = "" if self.healed or kind < 0.75 else "exit status 1"
        ends_ms = now + (NEVER_MS if kind > 0.9 and not self.healed else self.rng.randint(20, 3 * SECOND))
        run = HookRun(delivery, now, ends_ms, error)
        self.runs.setdefault(delivery.key, []).append(run)
        return HookSending(run, self.clock, now + channel.timeout_ms)

    @property
    def all_arrived(self) -> bool:
        """Whether everything arrived that a channel wants."""
        self.read()
        now = self.clock.elapsed_ms
        self._missing = {key for key in self._missing if not self._has_arrived(key, now)}
        return not self._missing

    def missing(self) -> str:
        """What did not arrive, in words."""
        return ", ".join(sorted(self._missing)[:5])

    def read(self) -> None:
        """Learn what has to arrive, from the event log itself."""
        with self.store.read() as tx:
            for channel in CHANNELS:
                if channel.name not in self._since:
                    at = effects.cursor(tx, channel.name, channel.filter)
                    if at is None:
                        continue
                    self._since[channel.name] = self._seen[channel.name] = at
                after = self._seen[channel.name]
                events = effects.events_between(tx, after, 2**62, channel.on)
                for each in made(channel, events, store_id=tx.store_id, now=0):
                    self._seen[channel.name] = each.seq
                    self._expected[each.key] = each
                    self._lanes.setdefault(each.lane, []).append(each.key)
                    self._missing.add(each.key)

    def _check(self, delivery: Delivery) -> None:
        now = self.clock.elapsed_ms
        expected = self._expected.get(delivery.key)
        if expected is None or (expected.event, expected.lane) != (delivery.event, delivery.lane):
            raise Broken("deliveries: only what is wanted", f"{delivery.key} is {delivery.event}")
        for run in self.runs.get(delivery.key, ()):
            if not run.over(now) and run.delivery.lease_until > self.clock.now_ms():
                raise Broken("deliveries: one at a time", f"{delivery.key} is still under way")
        lane = self._lanes[delivery.lane]
        at = lane.index(delivery.key)
        for earlier in lane[:at]:
            if earlier in self._missing and not self._has_arrived(earlier, now):
                raise Broken("deliveries: in order", f"{delivery.key} before {earlier}")
            self._missing.discard(earlier)
        if late := next((key for key in lane[at + 1 :] if key in self.runs), None):
            raise Broken("deliveries: in order", f"{delivery.key} after {late}")

    def _has_arrived(self, key: str, now: int) -> bool:
        return any(run.arrived(now) for run in self.runs.get(key, ()))


class Courier:
    """The thread of one engine that delivers. It is suspended and dies with its engine, and its commits kill it too."""

    def __init__(self, daemon: SimDaemon, ground: Ground, hooks: Hooks, rng: Random) -> None:
        self.name = f"{daemon.name} outbox"
        self.faults = Faults(rng, ground.plan.crash_share, ground.plan.refusal_share)
        self._daemon = daemon
        self._ground = ground
        self._hooks = hooks
        self._rng = rng
        self._engine: object = None
        self._deliverer: Deliverer | None = None
        self._next_ms = 0
        self._begin_ms = 0  # not before: a store that is away is not asked again at once
        self._heard_ms = 0

    def next_ms(self) -> int:
        """When it wants to take its next step; never while its engine is down."""
        if self._daemon.engine is None:
            return NEVER_MS
        if self._daemon.engine is not self._engine:
            return max(self._ground.clock.elapsed_ms, self._begin_ms, self._daemon.suspended_until_ms)
        at = self._next_ms
        if self._deliverer is not None and self._hooks.heard_ms > self._heard_ms:
            at = min(at, self._hooks.heard_ms + NOTICED_AFTER_MS)
        return max(at, self._daemon.suspended_until_ms)

    def act(self) -> str:
        """Take one step; what it was."""
        self.faults.away_until_ms = self._daemon.faults.away_until_ms
        now, self._heard_ms = self._ground.clock.elapsed_ms, self._hooks.heard_ms
        try:
            if self._daemon.engine is not self._engine or self._deliverer is None:
                return self._begin()
            if self._daemon.stopping:
                self._deliverer.stop()
                self._deliverer, self._next_ms = None, NEVER_MS
                return "stops"
            self._deliverer.deliver()
        except StoreError:
            self._next_ms = self._begin_ms = now + AWAY_MS
            return "store away"
        except SimulatedCrash:
            self._daemon.crash()
            return "killed"
        self._next_ms = now + self._wait_ms(self._deliverer)
        return f"delivers ({len(self._deliverer.under_way)} under way)"

    def _begin(self) -> str:
        ground, daemon = self._ground, self._daemon
        store = FaultyStore(
            ground.store,
            self.name,
            ground.clock,
            faults=self.faults,
            committed=ground.committed,
            undone=ground.undone,
        )
        assert daemon.engine is not None
        owner = daemon.engine.worker.id
        deliverer = Deliverer(store, ground.clock, CHANNELS, {"command": self._hooks}, owner=owner)
        try:
            deliverer.begin()
        finally:
            self._hooks.read()  # from here on something has to arrive, even if this engine died over it
        self._engine, self._deliverer, self._next_ms = daemon.engine, deliverer, ground.clock.elapsed_ms
        return "begins"

    def _wait_ms(self, deliverer: Deliverer) -> int:
        """Soon while something is under way or waits to be tried again; else it is woken by what happens."""
        if deliverer.under_way:
            return self._rng.randint(50, 2 * SECOND)
        with self._ground.store.read() as tx:
            waiting = any(effects.count_pending(tx, name) for name in BY_NAME)
        return self._rng.randint(SECOND, 20 * SECOND) if waiting else self._rng.randint(5 * MINUTE, 30 * MINUTE)
