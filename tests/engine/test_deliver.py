"""Deliveries by engines side by side on both databases: at least once, in order, one at a time, only what is wanted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from medbay.core.delivery import KEPT_MS, Channel, Delivery
from medbay.core.model import Event
from medbay.engine.deliver import AT_ONCE, Deliverer
from medbay.errors import SpawnFailed, StoreUnavailable
from medbay.service import deliveries
from medbay.store import effects, history
from medbay.store.apply import write_events
from medbay.store.database import Store
from tests.worlds import ManualClock

DESK = Channel(name="desk", kind="command", target=("./hook.sh",))
OpenStore = Callable[[], Store]


@dataclass
class ScriptedSending:
    """A delivery that ends when the test says so, or at its time limit."""

    delivery: Delivery
    answer: str | None
    limit_s: float
    killed: bool = False

    def poll(self, monotonic_s: float) -> str | None:
        """What the script says, or that it took too long."""
        return "took too long" if self.answer is None and monotonic_s >= self.limit_s else self.answer

    def kill(self) -> None:
        """It is gone."""
        self.killed = True


@dataclass
class ScriptedSender:
    """Answers each delivery about a task with the next word of its script; without one it arrives."""

    scripts: dict[str, list[str | None]] = field(default_factory=dict)
    begun: list[ScriptedSending] = field(default_factory=list)

    def start(self, channel: Channel, delivery: Delivery, monotonic_s: float) -> ScriptedSending:
        """`refused` cannot begin, None hangs."""
        script = self.scripts.get(delivery.event.task_id or "", [])
        answer = script.pop(0) if script else ""
        sending = ScriptedSending(delivery, answer, monotonic_s + channel.timeout_ms / 1000)
        self.begun.append(sending)
        if answer == "refused":
            raise SpawnFailed("command not found: ./hook.sh (ENOENT)")
        return sending

    @property
    def seen(self) -> list[tuple[str, int]]:
        """The task and the number of what happened to it, in the order of deliveries."""
        return [(each.delivery.event.task_id or "", each.delivery.event.data["number"]) for each in self.begun]


@dataclass
class Outbox:
    """A store, a sender, and engines that deliver from it."""

    open_store: OpenStore
    clock: ManualClock
    sender: ScriptedSender = field(default_factory=ScriptedSender)

    def __post_init__(self) -> None:
        self.store = self.open_store()

    def engine(self, owner: str = "one", *channels: Channel) -> Deliverer:
        """An engine with a connection of its own, which has begun to read."""
        made = Deliverer(self.open_store(), self.clock, channels or (DESK,), {"command": self.sender}, owner=owner)
        made.begin()
        return made

    def happens(self, task_id: str, number: int = 1, name: str = "question:asked", **data: Any) -> None:
        """Something that is told of a task."""
        with self.store.write() as tx:
            write_events(tx, (Event(name=name, task_id=task_id, data={"number": number, **data}),))

    def names(self) -> list[str]:
        """The names of all events."""
        with self.store.read() as tx:
            return [each.name for each in history.events_since(tx, 0, limit=1_000)]

    def state(self) -> Mapping[str, Any]:
        """How the channel is doing."""
        with self.store.read() as tx:
            ((found, waiting),) = deliveries.states(tx, ["desk"])
        return {"delivered_at": found.delivered_at, "failing_since": found.failing_since, "waiting": waiting}

    def rounds(self, engine: Deliverer, count: int = 1, every_ms: int = 0) -> None:
        """Some rounds of an engine."""
        for _ in range(count):
            engine.deliver()
            self.clock.advance(every_ms)


@pytest.fixture
def outbox(open_store: OpenStore, clock: ManualClock) -> Outbox:
    """An empty one, on every kind of database."""
    return Outbox(open_store, clock)


def test_what_is_wanted_is_delivered_once(outbox: Outbox) -> None:
    """And nothing else; however many rounds there are."""
    engine = outbox.engine()
    outbox.happens("a")
    outbox.happens("a", name="task:failed")

    outbox.rounds(engine, 5)

    assert outbox.sender.seen == [("a", 1)]
    assert engine.is_done
    assert outbox.state() == {"delivered_at": outbox.clock.now_ms(), "failing_since": None, "waiting": 0}


def test_a_new_channel_begins_now_and_a_known_one_where_it_was(outbox: Outbox) -> None:
    """What happened before it was configured is not told; what happened while no engine ran is."""
    outbox.happens("before")
    first = outbox.engine()
    outbox.happens("a")
    outbox.rounds(first, 2)
    outbox.happens("meanwhile")

    outbox.rounds(outbox.engine("two"), 2)

    assert outbox.sender.seen == [("a", 1), ("meanwhile", 1)]


def test_with_another_filter_a_channel_reads_on_where_it_was(outbox: Outbox) -> None:
    """It neither begins with the whole past nor misses what happened between two engines."""
    outbox.happens("before", name="task:failed")
    outbox.rounds(outbox.engine(), 1)
    outbox.happens("a", name="task:failed")
    outbox.happens("b")

    outbox.rounds(outbox.engine("two", replace(DESK, on=("task:failed", "question:asked"))), 2)

    assert sorted(outbox.sender.seen) == [("a", 1), ("b", 1)]


def test_engines_with_different_filters_tell_what_both_want_once(outbox: Outbox) -> None:
    """While one of them was not started again with the new configuration."""
    old, new = outbox.engine("old"), outbox.engine("new", replace(DESK, on=("task:failed", "question:asked")))
    outbox.happens("a")
    outbox.happens("b", name="task:failed")

    for _ in range(3):
        old.deliver()
        new.deliver()

    assert sorted(outbox.sender.seen) == [("a", 1), ("b", 1)]


def test_two_engines_make_one_delivery(outbox: Outbox) -> None:
    """Whichever is faster; the other finds it in hand, or done."""
    one, two = outbox.engine("one"), outbox.engine("two")
    outbox.sender.scripts["a"] = [None]
    outbox.happens("a")

    for engine in (one, two, one, two):
        engine.deliver()
    assert outbox.sender.seen == [("a", 1)]
    outbox.sender.begun[0].answer = ""
    for engine in (two, one, two, one):
        engine.deliver()

    assert outbox.sender.seen == [("a", 1)]
    assert outbox.state()["waiting"] == 0


def test_what_is_about_one_task_arrives_in_order(outbox: Outbox) -> None:
    """The second waits until the first arrived, however often that fails; tries keep their key."""
    engine = outbox.engine()
    outbox.sender.scripts["a"] = ["no", "no", ""]
    outbox.happens("a", 1)
    outbox.happens("a", 2)
    outbox.happens("a", 3)

    outbox.rounds(engine, 30, every_ms=1_000)

    assert outbox.sender.seen == [("a", 1), ("a", 1), ("a", 1), ("a", 2), ("a", 3)]
    assert len({each.delivery.key for each in outbox.sender.begun}) == 3
    assert [each.delivery.tries for each in outbox.sender.begun] == [1, 2, 3, 1, 1]


def test_a_hook_that_hangs_delays_only_its_own_task(outbox: Outbox) -> None:
    """The others go out meanwhile; it is tried again after its time limit."""
    engine = outbox.engine()
    outbox.sender.scripts["a"] = [None, ""]
    outbox.happens("a", 1)
    outbox.happens("a", 2)
    outbox.happens("b")

    outbox.rounds(engine, 3)
    assert sorted(outbox.sender.seen) == [("a", 1), ("b", 1)]
    outbox.clock.advance(DESK.timeout_ms)
    outbox.rounds(engine, 10, every_ms=1_000)

    assert outbox.sender.seen[2:] == [("a", 1), ("a", 2)]


def test_no_more_than_a_few_are_under_way_at_once(outbox: Outbox) -> None:
    """However many hang."""
    engine = outbox.engine()
    for number in range(AT_ONCE + 5):
        outbox.sender.scripts[f"t{number}"] = [None]
        outbox.happens(f"t{number}")

    outbox.rounds(engine, 3)

    assert len(outbox.sender.begun) == len(engine.under_way) == AT_ONCE


def test_killed_between_run_and_record_it_is_delivered_again_with_the_same_key(outbox: Outbox) -> None:
    """By the next engine, once the lease of the dead one is over."""
    dead = outbox.engine("dead")
    outbox.happens("a")
    dead.deliver()
    assert outbox.sender.begun[0].poll(0.0) == ""  # it arrived, and nobody recorded that

    living = outbox.engine("living")
    outbox.rounds(living, 3)
    assert len(outbox.sender.begun) == 1
    outbox.clock.advance(DESK.lease_ms)
    outbox.rounds(living, 3)

    assert [each.delivery.key for each in outbox.sender.begun] == ["teststore:desk:1"] * 2
    assert outbox.state()["waiting"] == 0


def test_an_engine_that_slept_through_its_lease_records_nothing(outbox: Outbox) -> None:
    """Another has taken the delivery over, and only its result counts."""
    sleeper, other = outbox.engine("sleeper"), outbox.engine("other")
    outbox.sender.scripts["a"] = ["no", None]
    outbox.happens("a")
    sleeper.deliver()
    outbox.clock.advance(DESK.lease_ms)
    other.deliver()

    sleeper.deliver()

    assert "delivery:failed" not in outbox.names()
    outbox.sender.begun[1].answer = ""
    other.deliver()
    assert outbox.state()["waiting"] == 0


def test_an_engine_that_stops_hands_back_what_is_under_way(outbox: Outbox) -> None:
    """The next one need not wait for its lease."""
    engine = outbox.engine("one")
    outbox.sender.scripts["a"] = [None]
    outbox.happens("a")
    engine.deliver()

    engine.stop()
    outbox.rounds(outbox.engine("two"), 2)

    assert outbox.sender.begun[0].killed
    assert [each.delivery.tries for each in outbox.sender.begun] == [1, 2]
    assert outbox.state()["waiting"] == 0


def test_going_down_and_coming_back_are_told_once_each(outbox: Outbox) -> None:
    """Not once per try, nor per delivery; a command that cannot be started is a failure like any other."""
    engine = outbox.engine()
    outbox.sender.scripts |= {"a": ["refused", "no", "no"], "b": ["no", "no"]}
    outbox.happens("a")
    outbox.happens("b")

    outbox.rounds(engine, 60, every_ms=1_000)

    told = [name for name in outbox.names() if name.startswith("delivery:")]
    assert told == ["delivery:failed", "delivery:restored"]
    assert outbox.state()["failing_since"] is None


def test_a_channel_that_fails_says_since_when(outbox: Outbox) -> None:
    """What `medbay doctor` shows."""
    engine, began = outbox.engine(), outbox.clock.now_ms()
    outbox.sender.scripts["a"] = ["no"] * 9
    outbox.happens("a")

    outbox.rounds(engine, 40, every_ms=1_000)

    seen_at = began + 1_000  # in the second round
    assert outbox.state() == {"delivered_at": None, "failing_since": seen_at, "waiting": 1}


def test_a_result_is_kept_until_the_store_is_back(outbox: Outbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """An arrival that could not be recorded is recorded later, and not delivered again."""
    engine = outbox.engine()
    outbox.happens("a")
    engine.deliver()

    def away(*_: Any) -> bool:
        raise StoreUnavailable("the store is away")

    with monkeypatch.context() as patched:
        patched.setattr(deliveries, "record", away)
        with pytest.raises(StoreUnavailable):
            engine.deliver()
    outbox.rounds(engine, 2)

    assert outbox.sender.seen == [("a", 1)]
    assert outbox.state()["waiting"] == 0


def test_deliveries_that_are_over_are_forgotten_after_a_week(outbox: Outbox) -> None:
    """Not before: until then none can be made twice."""
    engine = outbox.engine()
    outbox.happens("a")
    outbox.rounds(engine, 3)

    def kept() -> int:
        with outbox.store.read() as tx:
            row = tx.one("SELECT count(*) FROM effect")
        return int(row[0]) if row else 0

    outbox.clock.advance(KEPT_MS - 1_000)
    engine.deliver()
    assert kept() == 1
    outbox.clock.advance(2 * 3_600_000)
    engine.deliver()
    assert kept() == 0


def test_events_that_nobody_wants_cost_no_commit(outbox: Outbox) -> None:
    """They are read, and the place in the log is stored now and then only."""
    engine = outbox.engine()
    outbox.rounds(engine, 1)
    for number in range(20):
        outbox.happens("a", number, name="task:failed")

    outbox.rounds(engine, 3)

    with outbox.store.read() as tx:
        assert effects.cursor(tx, "desk", DESK.filter) == 0
    assert engine.is_done
