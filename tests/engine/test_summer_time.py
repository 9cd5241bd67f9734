"""Cron over both changes of the clock, in three zones and on both databases, with no engine up across occurrences."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from medbay.core.durations import iso
from medbay.core.outcome import Succeeded
from medbay.service import idle
from medbay.store import attempts, history
from medbay.store import tasks as task_rows
from medbay.store.database import Store
from tests.worlds import ManualClock, World

HOUR = 3_600_000

# The zone, a local noon before the change, and when the clock is moved; nights without and with an hour twice.
CHANGES = {
    "Berlin forward": ("Europe/Berlin", "2027-03-27T12:00", "2027-03-28T01:00"),
    "Berlin back": ("Europe/Berlin", "2027-10-30T12:00", "2027-10-31T01:00"),
    "New York forward": ("America/New_York", "2027-03-13T12:00", "2027-03-14T07:00"),
    "New York back": ("America/New_York", "2027-11-06T12:00", "2027-11-07T06:00"),
    "Lord Howe forward": ("Australia/Lord_Howe", "2027-10-02T12:00", "2027-10-02T15:30"),
    "Lord Howe back": ("Australia/Lord_Howe", "2027-04-03T12:00", "2027-04-03T15:00"),
}


def at(text: str, zone: str) -> int:
    """A local time in milliseconds."""
    return round(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp() * 1000)


def nights(zone: str, start: int, until: int, hour: int, minute: int) -> list[int]:
    """What a person expects of "every night at": once per date, in a missing hour when that is over."""
    found, day = [], start - 2 * 24 * HOUR
    while day < until + 2 * 24 * HOUR:
        date = datetime.fromtimestamp(day / 1000, ZoneInfo(zone))
        wall = date.replace(hour=hour, minute=minute, second=0, microsecond=0, fold=0)
        back = wall.astimezone(UTC).astimezone(ZoneInfo(zone))
        if back.replace(tzinfo=None) != wall.replace(tzinfo=None):  # it does not exist: the first moment after
            step = datetime.fromtimestamp(wall.timestamp(), UTC)
            wall = _end_of_gap(step, zone)
        moment = round(wall.timestamp() * 1000)
        if start < moment <= until and moment not in found:
            found.append(moment)
        day += 24 * HOUR
    return found


def _end_of_gap(near: datetime, zone: str) -> datetime:
    """The moment at which the clock was moved forward."""
    low, high = round(near.timestamp()) - 4 * 3600, round(near.timestamp()) + 4 * 3600
    offsets = [datetime.fromtimestamp(second, ZoneInfo(zone)).utcoffset() for second in (low, high)]
    while high - low > 1:
        middle = (low + high) // 2
        if datetime.fromtimestamp(middle, ZoneInfo(zone)).utcoffset() == offsets[0]:
            low = middle
        else:
            high = middle
    return datetime.fromtimestamp(high, ZoneInfo(zone))


class Fleet(World):
    """A world that can be set to a date, with engines that come and go."""

    def up(self, until: int) -> None:
        """An engine from now until then: it wakes when something is due, and stops in order."""
        engine = self.engine()
        engine.start()
        while self.clock.wall_ms < until:
            with self.store.read() as tx:
                due = task_rows.next_due_at(tx)
                busy = bool(engine.live) or idle.has_claimable(tx, ("default",))
            self.clock.advance(1_000 if busy else max(1_000, min(until, due or until) - self.clock.wall_ms))
            engine.lease.beat(self.store)
            engine.tick()
        engine.stop()

    def planned(self, task_id: str) -> list[int]:
        """The occurrences that ran."""
        with self.store.read() as tx:
            return [each.planned_at or 0 for each in attempts.of_task(tx, task_id, 1_000)]

    def skipped(self, task_id: str) -> list[tuple[str, str, str, int]]:
        """Those that were told as skipped."""
        with self.store.read() as tx:
            found = history.events_since(tx, 0, limit=10_000, task_id=task_id)
        said = [each.data for each in found if each.name == "task:occurrences_skipped"]
        return [(each["reason"], each["first"], each["last"], each["number"]) for each in said]


def begun(store: Store, clock: ManualClock, zone: str, noon: str) -> tuple[Fleet, int]:
    """A world at that noon."""
    start = at(noon, zone)
    clock.advance(start - clock.wall_ms)
    return Fleet(store, clock), start


@pytest.mark.parametrize("change", CHANGES)
def test_every_night_has_one_run_while_engines_are_up(store: Store, clock: ManualClock, change: str) -> None:
    """Three nights around the change, at a time that is missing or there twice in one of them."""
    zone, noon, _ = CHANGES[change]
    world, start = begun(store, clock, zone, noon)
    task = world.add("night", *[Succeeded()] * 9, cron="10 2 * * *", zone=zone)
    until = start + 72 * HOUR

    world.up(until)

    expected = nights(zone, start, until, 2, 10)
    assert len(expected) == 3
    assert [iso(each) for each in world.planned(task.id)] == [iso(each) for each in expected]
    assert world.skipped(task.id) == []


@pytest.mark.long_on_postgres
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("catch_up", ["one", "all", "none"])
def test_what_is_missed_across_the_change_is_caught_up_once(
    store: Store, clock: ManualClock, change: str, catch_up: str
) -> None:
    """Nobody is up from an hour before to three hours after: each of the missed is run or told, never twice."""
    zone, noon, moved_at = CHANGES[change]
    world, _ = begun(store, clock, zone, noon)
    task = world.add("half-hourly", *[Succeeded()] * 200, cron="*/30 * * * *", zone=zone, catch_up=catch_up)
    moved = round(datetime.fromisoformat(moved_at).replace(tzinfo=UTC).timestamp() * 1000)
    world.up(moved - HOUR - 60_000)

    clock.advance(moved + 3 * HOUR + 60_000 - clock.wall_ms)  # down, and up again in the middle of an interval
    back_up = clock.wall_ms
    world.up(back_up + 2 * HOUR)

    ran, skipped = world.planned(task.id), world.skipped(task.id)
    assert len(set(ran)) == len(ran) and ran == sorted(ran)
    # Real time goes on evenly: with half-hourly fires the change of the clock adds none and loses none.
    missed = 9
    told = sum(number for _, _, _, number in skipped)
    assert {reason for reason, *_ in skipped} <= {"down"}
    assert told == {"one": missed - 1, "all": 0, "none": missed}[catch_up]
    expected = {"one": 1, "all": missed, "none": 0}[catch_up]
    assert sum(moved - HOUR - 60_000 < each <= back_up for each in ran) == expected
    if catch_up == "all":
        assert all(later - earlier == HOUR // 2 for earlier, later in pairwise(ran))
    with store.read() as tx:
        standing = task_rows.get(tx, task.id)
    assert standing is not None and (standing.status, standing.iterations_done) == ("pending", len(ran))
