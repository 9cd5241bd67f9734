"""A new boot of a machine releases what waits for it, once; on both databases, by the engines of its queue."""

from __future__ import annotations

from medbay.store.database import Store
from tests.worlds import ManualClock, World

HOUR = 3_600_000


def reboot(clock: ManualClock) -> None:
    """The machine starts again, an hour later."""
    clock.advance(HOUR)
    clock.seconds, clock.suspended_s = 5.0, 0.0


def ran(world: World) -> list[str]:
    """The commands that were started."""
    return [str(launch.command) for launch in world.runner.started]


def test_it_runs_once_per_boot(store: Store, clock: ManualClock) -> None:
    """However many engines start; not in the boot it was added in."""
    world = World(store, clock)
    world.add("warm up", cron="@reboot")
    for _ in range(2):
        world.run(world.engine(), ticks=2)
    assert ran(world) == []

    for number in (1, 2):
        reboot(clock)
        for _ in range(2):
            world.run(world.engine(boot=f"boot {number}"), ticks=3)
        assert len(ran(world)) == number


def test_one_that_was_added_before_any_engine_ran_waits_for_a_boot(store: Store, clock: ManualClock) -> None:
    """The first engine after a boot releases what was there before it."""
    world = World(store, clock)
    world.add("before", cron="@reboot")
    reboot(clock)
    clock.advance(HOUR)
    world.add("behind", cron="@reboot")

    world.run(world.engine(), ticks=2)

    assert ran(world) == ["before"]


def test_it_goes_with_the_machines_that_serve_its_queue(store: Store, clock: ManualClock) -> None:
    """Each boot of each of them; an engine of another queue leaves it alone."""
    world = World(store, clock)
    world.add("gpu", cron="@reboot", queue="gpu")
    world.engine(host="a", queues=("gpu",))
    world.engine(host="b")
    reboot(clock)

    world.run(world.engine(host="b", boot="next"), ticks=2)
    assert ran(world) == []
    world.run(world.engine(host="a", boot="next", queues=("gpu",)), ticks=2)
    assert ran(world) == ["gpu"]


def test_a_private_queue_notes_no_boot(store: Store, clock: ManualClock) -> None:
    """`medbay run` has one for each call."""
    world = World(store, clock)
    world.engine(queues=("run-abc",))

    with store.read() as tx:
        assert tx.rows("SELECT key FROM meta WHERE key LIKE 'boot/%'") == []
