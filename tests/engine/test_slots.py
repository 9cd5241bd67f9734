"""What ended while something else was done is collected soon, although no descriptor tells of it any more."""

from __future__ import annotations

from medbay.core.outcome import Succeeded
from medbay.engine.live import Live
from medbay.engine.slots import GATHER_S
from medbay.store.sqlite import SqliteStore
from tests.engine.test_ahead import FeedingRunner
from tests.worlds import ManualClock, ScriptedRunning, World


def test_what_ended_beside_a_commit_wakes_the_engine() -> None:
    """At once, or after a moment while enough waits to keep the slots at work; never only when the next look is due."""
    clock = ManualClock()
    world = World(SqliteStore(":memory:", clock, new_store_id="s", machine_id="m"), clock)
    runner = FeedingRunner()
    engine = world.engine(slots=1, runners={"python": runner})
    for number in range(4):
        world.add(f"t{number}", None)
    world.run(engine)
    ((key, first),) = engine.live.items()
    assert engine.slots.wake_s() is None

    ahead = ScriptedRunning(first.running.launch, None)  # type: ignore[attr-defined]
    runner.waiting.append(ahead)
    engine.live["ahead", 1] = Live(first.claim, ahead)
    first.running.outcome = Succeeded()  # type: ignore[attr-defined]
    engine.slots.turn_over()
    assert engine.slots.wake_s() == clock.monotonic_s()
    assert engine.next_wake_s() == clock.monotonic_s()

    more = ScriptedRunning(first.running.launch, None)  # type: ignore[attr-defined]
    runner.waiting.append(more)
    engine.live["more", 1] = Live(first.claim, more)
    assert engine.slots.wake_s() == clock.monotonic_s() + GATHER_S
    engine.live.pop(("ahead", 1))
    engine.live.pop(("more", 1))
    engine.poll()
    assert (engine.slots.wake_s(), key in engine.live) == (None, False)
