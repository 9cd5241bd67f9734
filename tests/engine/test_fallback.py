"""What is parked behind an account that turns out to be held for longer than it may wait."""

from __future__ import annotations

import pytest

from medbay.core.agent import Profile
from medbay.core.model import Task
from medbay.service import additions, breakers, requests
from medbay.store.database import Store
from tests.worlds import ManualClock, ScriptedRunner, World

MINUTE = 60_000
PROFILES = {
    "claude": Profile(name="claude", preset="claude", provider="anthropic"),
    "codex": Profile(name="codex", preset="codex", provider="openai"),
}


def add(world: World, agent: str) -> Task:
    """A task that these agents may work on, in this order."""
    with world.store.write() as tx:
        new = requests.new_task({"title": "x", "agent": agent}, now=tx.now, agents=PROFILES)
        return additions.add(tx, new, ids=world.ids, actor="person:test")


def hold(world: World, minutes: int | None) -> None:
    """A person holds the account of Claude, for so long from now or until they say."""
    with world.store.write() as tx:
        until = tx.now + minutes * MINUTE if minutes is not None else None
        breakers.open_one(tx, "provider:anthropic", actor="person:test", why="a limit", until=until)


@pytest.mark.parametrize("longer", [5 * 60, None])
def test_a_hold_that_is_lengthened_lets_the_next_agent_take_what_it_parked(
    store: Store, clock: ManualClock, longer: int | None
) -> None:
    """What may wait stays parked; what has no other agent does so however long that takes."""
    world, runner = World(store, clock), ScriptedRunner()
    engine = world.engine(runners={"agent": runner})
    hold(world, 10)
    both, alone = add(world, "claude,codex"), add(world, "claude")
    world.run(engine, ticks=3)
    assert {world.task(each.id).hold for each in (both, alone)} == {"provider:anthropic"}

    hold(world, longer)
    world.run(engine, ticks=4)

    moved, waits = world.task(both.id), world.task(alone.id)
    assert (moved.runner, moved.hold, moved.resources) == ("agent:codex", None, ("provider:openai",))
    assert (moved.status, moved.charged, moved.attempts) == ("completed", 0, 1)
    assert (waits.runner, waits.hold, waits.attempts) == ("agent:claude", "provider:anthropic", 0)
