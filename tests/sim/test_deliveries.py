"""Deliveries in worlds with faults keep their promises, and the checkers notice when a rule is taken out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from medbay.core import delivery as rules
from medbay.core.delivery import Channel, Delivery
from medbay.service import deliveries
from medbay.sim.many import described, run_seed
from medbay.sim.plan import draw
from medbay.sim.world import World
from medbay.store import effects
from medbay.store.database import Tx
from medbay.store.postgres import PostgresStore
from tests.postgres_server import Server

SEEDS = [seed for seed in range(440_001, 440_200) if draw(seed).channels]
Breaks = Callable[[pytest.MonkeyPatch], None]


@pytest.mark.parametrize("seed", [*SEEDS[:3], *(pytest.param(each, marks=pytest.mark.long) for each in SEEDS[3:20])])
def test_deliveries_keep_their_promises_in_worlds_with_faults(seed: int) -> None:
    """At least once, in order, one at a time, only what is wanted, whatever crashes, fails or hangs."""
    world = World(draw(seed))

    report = world.run()

    assert report.broken is None, "\n" + described(report)
    assert world.hooks.runs
    assert not world.hooks.missing()


@pytest.mark.long
@pytest.mark.postgres
def test_the_same_holds_on_postgresql(postgres: Server, database: str) -> None:
    """The same world, another database."""
    url = postgres.url(database)

    report = run_seed(
        SEEDS[0], open_store=lambda clock: PostgresStore(url, clock, new_store_id="simulated", notify=False)
    )

    assert report.broken is None, "\n" + described(report)


def _no_order(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(effects, "_IS_NEXT", effects._IS_NEXT.partition(" AND NOT EXISTS")[0])


def _no_lease(patch: pytest.MonkeyPatch) -> None:
    begin = effects.begin

    def unleased(tx: Tx, delivery: Delivery, *, owner: str, lease_until: int) -> bool:
        return begin(tx, delivery, owner=owner, lease_until=0)

    patch.setattr(effects, "begin", unleased)


def _no_filter(patch: pytest.MonkeyPatch) -> None:
    read_on, made = deliveries.read_on, rules.made

    def all_of(channel: Channel) -> Channel:
        return replace(channel, on=(*channel.on, "task:started"))

    patch.setattr(deliveries, "read_on", lambda tx, channel, after: read_on(tx, all_of(channel), after))
    patch.setattr(rules, "made", lambda channel, events, **how: made(all_of(channel), events, **how))


def _no_second_try(patch: pytest.MonkeyPatch) -> None:
    on_ended = rules.on_ended
    patch.setattr(rules, "on_ended", lambda delivery, error, now: on_ended(delivery, "", now))


@pytest.mark.parametrize(
    ("breaks", "promise"),
    [
        (_no_order, "deliveries: in order"),
        (_no_lease, "deliveries: one at a time"),
        (_no_filter, "deliveries: only what is wanted"),
        (_no_second_try, "deliveries: "),
    ],
)
def test_a_rule_that_is_taken_out_is_noticed(breaks: Breaks, promise: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within a few worlds; a checker that sees nothing checks nothing."""
    breaks(monkeypatch)

    broken = (run_seed(seed).broken for seed in SEEDS[:8])

    assert any((each or "").startswith(promise) for each in broken)
