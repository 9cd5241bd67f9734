"""Messages of whole stories, in virtual time on both databases: an outage, a night, a service that asks for time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from medbay.core.delivery import SHORT_MS, Channel, Delivery, Later, MessageFacts, channel
from medbay.core.holds.breaker import Limits
from medbay.core.model import Event
from medbay.core.outcome import Succeeded
from medbay.engine.deliver import Deliverer
from medbay.store.apply import write_events
from medbay.store.database import Store
from medbay.views.message import Message, message
from tests.engine.test_outages import DEAD, MINUTE, Outage
from tests.worlds import ManualClock, failed

PHONE = channel(name="phone", url="https://example.org/hook")


@dataclass(frozen=True)
class Answered:
    """A message that was answered at once."""

    why: str

    def poll(self, monotonic_s: float) -> str | None:
        """How it was answered."""
        return self.why

    def kill(self) -> None:
        """There is nothing to end."""


@dataclass
class Phone:
    """Renders what is sent, and refuses as its script says."""

    script: list[str] = field(default_factory=list)
    begun: list[tuple[str, str, int]] = field(default_factory=list)  # key, title, when
    arrived: list[Message] = field(default_factory=list)

    def start(self, to: Channel, delivery: Delivery, monotonic_s: float) -> Answered:
        """One message."""
        assert isinstance(delivery.facts, MessageFacts)
        text = message(delivery.event, delivery.facts, page=to.page)
        self.begun.append((delivery.key, text.title, delivery.facts.now))
        why = self.script.pop(0) if self.script else ""
        if not why:
            self.arrived.append(text)
        return Answered(why)


def test_one_outage_on_many_tasks_is_two_messages(store: Store, clock: ManualClock) -> None:
    """When it opened and when it is over, through a channel that fails twice; no question by itself."""
    end = clock.wall_ms + 20 * MINUTE
    world = Outage(store, clock, lambda launch, now: failed(DEAD) if now < end else Succeeded())
    engine = world.engine(limits=Limits(), slots=8)
    phone = Phone(script=["HTTP 500", "HTTP 502"])
    deliverer = Deliverer(store, clock, (PHONE,), {"url": phone}, owner="one")
    deliverer.begin()
    for number in range(40):
        world.add(f"pull {number}")

    for _ in range(240):
        world.pass_time(engine, clock.wall_ms + MINUTE // 2)
        deliverer.deliver()

    opened, closed = phone.arrived
    assert opened.title.startswith("‖ Medbay: ") and "nothing for you to do" in opened.title
    assert closed.title.startswith("✓ Medbay: ") and "over after" in closed.title
    assert len(phone.begun) == 4 and phone.begun[0][0] == phone.begun[1][0]  # tried again under the same key
    assert phone.begun[0][2] >= SHORT_MS


def happens(store: Store, name: str, **data: object) -> None:
    """One event of the engine."""
    with store.write() as tx:
        write_events(tx, (Event(name=name, data=data),))


BUDGET = {"day": "x", "used_cost": 16.02, "daily_cost": 20.0, "used_tokens": 0, "daily_tokens": None}


def test_a_night_is_one_digest_also_after_a_restart(open_store: Callable[[], Store], clock: ManualClock) -> None:
    """What came in quiet hours is one message when they end."""
    minute = clock.wall_ms // 60_000 % 1440
    quiet = ((minute - 10) % 1440, (minute + 60) % 1440)
    night, phone, store = replace(PHONE, quiet=quiet), Phone(), open_store()
    for restart in range(3):
        engine = Deliverer(open_store(), clock, (night,), {"url": phone}, owner=f"engine {restart}")
        engine.begin()
        happens(store, "budget:warning", **BUDGET)
        engine.deliver()
        engine.stop()
        clock.advance(5 * MINUTE)
    assert phone.begun == []

    clock.advance(60 * MINUTE)
    engine = Deliverer(open_store(), clock, (night,), {"url": phone}, owner="morning")
    engine.begin()
    engine.deliver()
    engine.deliver()

    ((_, title, _),) = phone.begun
    assert title.startswith("Medbay since ") and "0 done (0 healed), 0 need you" in title


def test_a_service_that_asks_for_time_is_left_alone_as_a_whole(store: Store, clock: ManualClock) -> None:
    """Not one thing after another is sent to it meanwhile."""
    phone = Phone(script=[Later.after("HTTP 429", 10 * MINUTE)])
    engine = Deliverer(store, clock, (PHONE,), {"url": phone}, owner="one")
    engine.begin()
    happens(store, "budget:warning", **BUDGET)
    engine.deliver()
    happens(store, "budget:warning", key="other", **BUDGET)
    engine.deliver()
    begun = len(phone.begun)

    for _ in range(9):
        clock.advance(MINUTE)
        engine.deliver()
    assert len(phone.begun) == begun
    clock.advance(2 * MINUTE)
    for _ in range(4):
        engine.deliver()

    assert len(phone.arrived) == 2
    assert phone.arrived[0].title.startswith("! Medbay: 80 % of today's budget used ($16.02 of $20)")


@pytest.mark.parametrize("name", ["question:asked"])
def test_a_question_that_was_answered_meanwhile_is_not_sent(store: Store, clock: ManualClock, name: str) -> None:
    """Nor one that is gone."""
    phone = Phone()
    engine = Deliverer(store, clock, (PHONE,), {"url": phone}, owner="one")
    engine.begin()
    happens(store, name, question="q-gone-1")

    engine.deliver()
    engine.deliver()

    assert phone.begun == [] and engine.is_done
