"""One outage, one limit, one broken runner must not cost a night: breakers, holds and incidents in the real engine."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from medbay.core.holds.breaker import ANSWER_LOOKED_FOR_MS, Breaker, Limits
from medbay.core.model import Event, Question, Task
from medbay.core.outcome import Outcome, Succeeded
from medbay.core.policy.policy import Policy
from medbay.engine.round import Engine
from medbay.places.protocol import Launch
from medbay.service import breakers as breaker_service
from medbay.service import idle, liveness, tasks
from medbay.store import activity, attempts, breakers, history, questions
from medbay.store import tasks as task_rows
from medbay.store.database import Store
from tests.worlds import ManualClock, ScriptedRunning, World, failed

SECOND = 1_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
LIMIT = "anthropic: You've hit your usage limit. Your limit resets 3am."
UNNAMED = "anthropic API error: HTTP 429 Too Many Requests"
SPENT = "anthropic: Your credit balance is too low to access the API. insufficient_quota"
DEAD = "psycopg.OperationalError: connection to server at 10.0.0.5, port 5432 failed: Connection refused"

Fate = Callable[[Launch, int], Outcome | None]


class Weather:
    """A runner whose attempts end as the weather of the moment says."""

    def __init__(self, clock: ManualClock, fate: Fate) -> None:
        self.clock = clock
        self.fate = fate
        self.started: list[tuple[int, str]] = []
        self.running: list[ScriptedRunning] = []

    def start(self, launch: Launch, monotonic_s: float) -> ScriptedRunning:
        """One attempt."""
        self.started.append((self.clock.wall_ms, launch.task_id))
        self.running.append(ScriptedRunning(launch, self.fate(launch, self.clock.wall_ms)))
        return self.running[-1]


class Outage(World):
    """A world whose tasks all meet the same weather."""

    def __init__(self, store: Store, clock: ManualClock, fate: Fate) -> None:
        super().__init__(store, clock, policy=Policy())
        self.weather = Weather(clock, fate)

    def engine(self, **settings: Any) -> Engine:
        """An engine with the weather as its runner."""
        return super().engine(**{"runners": {"shell": self.weather}, **settings})

    def pass_time(self, engine: Engine, until_ms: int, *, step_ms: int = 500) -> None:
        """Tick until then; quiet stretches are leapt over, as a waiting daemon does."""
        while self.clock.wall_ms < until_ms:
            with self.store.read() as tx:
                at = activity.wakes(tx)
            soonest = min((each for each in (at.task, at.breaker, at.question) if each is not None), default=until_ms)
            quiet = min(until_ms, soonest) - self.clock.wall_ms
            busy = bool(engine.live) or self.claimable()
            self.clock.advance(step_ms if busy else max(step_ms, quiet))
            engine.lease.beat(self.store)
            engine.tick()

    def claimable(self) -> bool:
        """Whether something waits for a slot."""
        with self.store.read() as tx:
            return idle.has_claimable(tx, ("default",))

    def breaker(self, key: str) -> Breaker:
        """One breaker."""
        with self.store.read() as tx:
            found = breakers.get(tx, key)
        assert found is not None, key
        return found

    def open_keys(self) -> list[str]:
        """What is not closed."""
        with self.store.read() as tx:
            return sorted(breakers.not_closed(tx))

    def events(self, *names: str) -> list[Event]:
        """What was told under these names."""
        with self.store.read() as tx:
            return [each for each in history.events_since(tx, 0, limit=100_000) if each.name in names]

    def questions(self) -> list[Question]:
        """What is asked."""
        with self.store.read() as tx:
            return questions.open_questions(tx)

    def attempts_of(self, added: list[Task]) -> list[Any]:
        """Every attempt of some tasks."""
        with self.store.read() as tx:
            return [attempt for each in added for attempt in attempts.of_task(tx, each.id, 50)]

    def stands_still(self) -> list[tuple[str, str]]:
        """What nothing would move any more."""
        with self.store.read() as tx:
            return liveness.standstills(tx)


def now_of(world: World, added: list[Task]) -> list[Task]:
    """The tasks as they are now."""
    return [world.task(each.id) for each in added]


def at_eleven(clock: ManualClock) -> int:
    """Set the clock to 23:00 UTC; the next 03:00."""
    day = 24 * HOUR
    clock.advance(day - clock.wall_ms % day + 23 * HOUR)
    return clock.wall_ms + 4 * HOUR


def test_a_limit_that_resets_at_three_costs_no_night(store: Store, clock: ManualClock) -> None:
    """200 tasks at 23:00: an attempt per slot and the canaries, none charged, all done after 03:00, daemon killed."""
    reset = at_eleven(clock)
    world = Outage(store, clock, lambda launch, now: failed(LIMIT) if now < reset else Succeeded())
    added = [world.add(f"call {n}", provider=["anthropic"]) for n in range(200)]
    engine = world.engine(slots=4)

    world.pass_time(engine, clock.wall_ms + HOUR)
    assert len(world.weather.started) == 4
    assert world.open_keys() == ["provider:anthropic"]
    world.sightings.clear()  # kill -9: nobody answers for it any more
    second = world.engine(slots=4)
    second.start()
    world.pass_time(second, reset - 1)
    assert len(world.weather.started) == 4
    assert not world.stands_still()
    world.pass_time(second, reset + 16 * MINUTE)

    assert {task.status for task in now_of(world, added)} == {"completed"}
    assert len(world.weather.started) == 200 + 4
    assert {task.charged for task in now_of(world, added)} == {0}
    assert not any(attempt.charged for attempt in world.attempts_of(added))
    assert sum(attempt.canary for attempt in world.attempts_of(added)) == 1
    assert len(world.events("hold:placed")) == 1
    assert len(world.events("hold:released")) == 1
    assert world.open_keys() == []
    after = sorted(at for at, _ in world.weather.started)[4:]
    assert after[0] >= reset
    assert after[-1] - after[0] >= 40 * SECOND, "they are released one by one"


def test_one_dead_database_is_one_incident(store: Store, clock: ManualClock) -> None:
    """200 tasks fail on it for ten minutes: one incident, one question, nobody blocked, all done."""
    back = clock.wall_ms + 10 * MINUTE
    world = Outage(store, clock, lambda launch, now: failed(DEAD) if now < back else Succeeded())
    added = []
    for n in range(200):
        world.add("load", key=f"k{n}")
    with store.read() as tx:
        added = task_rows.unfinished(tx)
    engine = world.engine(slots=4)

    world.pass_time(engine, back - MINUTE)
    (asked,) = world.questions()
    assert asked.task_ids == ()
    assert [each.data["kind"] for each in world.events("incident:opened")] == ["incident"]
    assert not any(task.status == "blocked" for task in now_of(world, added))
    assert len(world.weather.started) <= 8 + 3, "a few before it opened, then canaries"
    world.pass_time(engine, back + 40 * MINUTE)

    assert {task.status for task in now_of(world, added)} == {"completed"}
    assert world.questions() == []
    assert len(world.events("incident:opened")) == len(world.events("incident:closed")) == 1
    assert [each.data["question"] for each in world.events("question:withdrawn")] == [asked.id]
    done = sorted(at for at, _ in world.weather.started if at >= back)
    assert done[-1] - done[0] >= 40 * SECOND
    assert not world.stands_still()


@pytest.mark.parametrize(
    "text",
    [
        lambda n: "",
        lambda n: f"FAILED tests/test_a.py::test_{n} - AssertionError: {n} != {n + 1}",
        lambda n: "it did not work",
    ],
    ids=["silent", "assertions", "odd"],
)
def test_failures_of_the_work_itself_open_no_incident(text: Any, store: Store, clock: ManualClock) -> None:
    """Five silent failures, five different assertions: nothing is held."""
    world = World(store, clock)
    engine = world.engine(slots=8)
    for n in range(6):
        world.add(f"t{n}", failed(text(n)))

    world.run(engine, ticks=3)

    with store.read() as tx:
        assert breakers.not_closed(tx) == {}


def test_a_limit_without_a_time_is_probed_with_longer_waits(store: Store, clock: ManualClock) -> None:
    """After 1m, 2m, 4m: one canary each, uncharged; parked tasks first."""
    begun = clock.wall_ms
    back = begun + 20 * MINUTE
    world = Outage(store, clock, lambda launch, now: failed(UNNAMED) if now < back else Succeeded())
    added = [world.add(f"call {n}", provider=["anthropic/work"]) for n in range(10)]
    engine = world.engine(slots=1)

    world.pass_time(engine, back + HOUR)

    minutes = [(at - begun) / MINUTE for at, _ in world.weather.started][:5]
    waits = [later - earlier for earlier, later in pairwise(minutes)]
    assert waits == pytest.approx([1, 2, 4, 8], rel=0.15)
    assert {task.status for task in now_of(world, added)} == {"completed"}
    assert {task.charged for task in now_of(world, added)} == {0}


def test_a_named_time_far_away_is_probed_every_six_hours(store: Store, clock: ManualClock) -> None:
    """Whatever time was named; the hold stays until then all the same."""
    begun = clock.wall_ms
    text = f"anthropic: rate limit exceeded\nRetry-After: {20 * 3600}"
    world = Outage(store, clock, lambda launch, now: failed(text) if now < begun + 26 * HOUR else Succeeded())
    added = [world.add(f"call {n}", provider=["anthropic"]) for n in range(3)]
    engine = world.engine(slots=1)

    world.pass_time(engine, begun + 25 * HOUR, step_ms=10 * SECOND)
    hours = [round((at - begun) / HOUR) for at, _ in world.weather.started]
    assert hours == [0, 6, 12, 18, 24]
    world.pass_time(engine, begun + 60 * HOUR, step_ms=10 * SECOND)
    assert {task.status for task in now_of(world, added)} == {"completed"}


def test_accounts_are_held_apart(store: Store, clock: ManualClock) -> None:
    """A limit of one account holds nobody on another."""
    world = World(store, clock)
    engine = world.engine(slots=1)
    world.add("a", failed(UNNAMED), provider=["anthropic/work"], priority=0)
    held = world.add("b", provider=["anthropic/work"])
    free = world.add("c", provider=["anthropic/home"], priority=4)

    world.run(engine, ticks=4)

    assert world.task(held.id).hold == "provider:anthropic/work"
    assert world.task(free.id).status == "completed"


def test_what_a_command_is_known_to_need_holds_it(store: Store, clock: ManualClock) -> None:
    """A diagnosis named the provider: tasks with the same command hold without saying so, for seven days."""
    world = World(store, clock)
    engine = world.engine(slots=1)
    held = world.add("same", key="2")
    world.add("same", failed(UNNAMED), priority=0, key="1")
    other = world.add("other")

    world.run(engine, ticks=4)
    assert world.task(held.id).hold == "provider:anthropic"
    assert world.task(other.id).status == "completed"

    with store.write() as tx:
        breaker_service.close_one(tx, "anthropic", actor="person:ada")
    world.run(engine, ticks=3)
    clock.advance(8 * 24 * HOUR)
    with store.write() as tx:
        breaker_service.open_one(tx, "provider:anthropic", actor="person:ada", why="test", until=None)
    later = world.add("same", key="3")
    world.run(engine, ticks=3)
    assert world.task(later.id).status == "completed"


def test_spent_credits_ask_once_for_all_and_wait_for_the_answer(store: Store, clock: ManualClock) -> None:
    """No probes; everybody on the account waits; the answer releases all."""
    paid = [False]
    world = Outage(store, clock, lambda launch, now: Succeeded() if paid[0] else failed(SPENT))
    added = [world.add(f"call {n}", provider=["anthropic"]) for n in range(20)]
    engine = world.engine(slots=2)

    world.pass_time(engine, clock.wall_ms + 2 * HOUR, step_ms=10 * SECOND)
    assert len(world.weather.started) == 2
    (asked,) = world.questions()
    assert len(asked.task_ids) == 2
    with store.read() as tx:
        assert idle.is_idle(tx, ("default",)), "only a person ends it"
    with store.write() as tx, pytest.raises(Exception, match="waits for an answer"):
        breaker_service.close_one(tx, "anthropic", actor="person:ada")
    paid[0] = True
    with store.write() as tx:
        tasks.answer(tx, asked.id, "retry", actor="person:ada")
    world.pass_time(engine, clock.wall_ms + MINUTE)

    assert {task.status for task in now_of(world, added)} == {"completed"}
    assert world.open_keys() == []


def test_a_look_for_an_answer_that_is_not_there_wakes_nothing(store: Store, clock: ManualClock) -> None:
    """It says when to look again; nothing else has to be asked for because of it."""
    world = Outage(store, clock, lambda launch, now: failed(SPENT))
    world.add("call", provider=["anthropic"])
    engine = world.engine()
    world.run(engine, ticks=3)
    clock.advance(ANSWER_LOOKED_FOR_MS)

    woken = engine.release()

    assert woken == 0
    with store.read() as tx:
        (held,) = breakers.not_closed(tx).values()
        assert held.probe_at == tx.now + ANSWER_LOOKED_FOR_MS


def test_a_hold_is_no_idleness(store: Store, clock: ManualClock) -> None:
    """What is held waits for a canary: there is something left to do, unless a person opened it."""
    world = World(store, clock)
    engine = world.engine(slots=1)
    with store.write() as tx:
        breaker_service.open_one(tx, "anthropic", actor="person:ada", why="no", until=tx.now + HOUR)
    world.add("a", provider=["anthropic"])
    world.run(engine)
    assert not engine.is_idle()

    with store.write() as tx:
        breaker_service.open_one(tx, "anthropic", actor="person:ada", why="no", until=None)
    world.run(engine)
    assert engine.is_idle()


def test_a_lost_canary_is_followed_by_the_next(store: Store, clock: ManualClock) -> None:
    """It says nothing of the provider; neither does one that was cancelled."""
    world = World(store, clock)
    engine = world.engine(slots=1)
    first = world.add("first", failed(UNNAMED), priority=0, provider=["anthropic"])
    added = [world.add(f"call {n}", None, provider=["anthropic"]) for n in range(3)]
    world.run(engine, ticks=3)
    world.act(tasks.cancel, first.id)
    clock.advance(70 * SECOND)
    world.run(engine, ticks=2)
    (canary,) = (task for task in now_of(world, added) if task.live is not None)
    world.sightings.clear()
    second = world.engine(slots=1)
    second.start()
    world.run(second, ticks=3)

    (next_one,) = (task for task in now_of(world, added) if task.live is not None)
    with store.read() as tx:
        (held,) = breakers.not_closed(tx).values()
    assert (held.state, held.canary_task, held.canary_number) == ("half_open", next_one.id, next_one.live)
    assert world.task(canary.id).streak == 0


def test_recurring_tasks_wake_when_the_incident_they_met_is_over(store: Store, clock: ManualClock) -> None:
    """One of them goes ahead though it recurs; the rest follow at once and not after their own backoff."""
    over = clock.wall_ms + 30 * SECOND
    world = Outage(store, clock, lambda _, now: failed(DEAD) if now < over else Succeeded())
    engine = world.engine(slots=8)
    added = [world.add(f"job {n}", every="5m") for n in range(6)]
    world.pass_time(engine, over)
    assert world.open_keys() and {task.status for task in now_of(world, added)} == {"failed"}
    assert len(world.questions()) == 1

    world.pass_time(engine, over + 2 * MINUTE)

    (closed,) = world.events("incident:closed")
    well = [each.started_at for each in world.attempts_of(added) if each.outcome == "succeeded"]
    assert len([at for at in well if at <= closed.at + 5 * SECOND]) >= 6
    assert world.questions() == [] and {task.streak for task in now_of(world, added)} == {0}
    assert world.stands_still() == []


def test_a_canary_that_runs_for_a_minute_lives(store: Store, clock: ManualClock) -> None:
    """The rest does not wait for its end."""
    world = World(store, clock)
    engine = world.engine(slots=2)
    first = world.add("first", failed(UNNAMED), priority=0, provider=["anthropic"])
    world.run(engine, ticks=2)
    world.act(tasks.cancel, first.id)
    slow = [world.add(f"call {n}", None, None, provider=["anthropic"]) for n in range(2)]
    world.run(engine)
    clock.advance(70 * SECOND)
    world.run(engine, ticks=2)
    assert sum(task.live is not None for task in now_of(world, slow)) == 1
    clock.advance(60 * SECOND)
    world.run(engine, ticks=3)

    with store.read() as tx:
        assert breakers.not_closed(tx) == {}
    assert sum(task.live is not None for task in now_of(world, slow)) == 2


def test_a_forced_retry_passes_the_hold(store: Store, clock: ManualClock) -> None:
    """One attempt, as that person's act; the others stay."""
    world = World(store, clock)
    engine = world.engine(slots=1)
    with store.write() as tx:
        breaker_service.open_one(tx, "anthropic", actor="person:ada", why="no", until=None)
    one, other = (world.add(title, provider=["anthropic"]) for title in "ab")
    world.run(engine)
    world.act(tasks.retry, one.id)
    world.run(engine, ticks=2)

    assert world.task(one.id).status == "completed"
    assert world.task(other.id).hold == "provider:anthropic"


def test_runners_that_cannot_start_are_not_started_for_a_while(store: Store, clock: ManualClock) -> None:
    """Five spawn failures within five minutes: this host reads past that runner; another one does not."""
    world = World(store, clock)
    engine = world.engine(slots=1)
    broken = "cannot start it: Resource temporarily unavailable"
    for n in range(5):
        world.add(f"t{n}", broken)
    waiting = world.add("waits", priority=4)
    world.run(engine, ticks=6, step_ms=100)
    loop = _only(store)
    assert (loop.key, loop.state) == ("crash_loop:shell@here", "open")
    world.run(engine, ticks=3, step_ms=100)
    assert world.task(waiting.id).attempts == 0
    assert not engine.is_idle()

    elsewhere = world.engine(slots=1, host="there")
    world.run(elsewhere, ticks=2, step_ms=100)
    assert world.task(waiting.id).status == "completed"

    again = world.add("again")
    clock.advance(70 * SECOND)
    world.run(engine, ticks=4, step_ms=100)
    assert world.task(again.id).attempts >= 0
    with store.read() as tx:
        assert breakers.not_closed(tx) == {}


def test_a_retry_storm_is_told_once_and_ends_by_itself(store: Store, clock: ManualClock) -> None:
    """More than the limit due at once; nothing is held."""
    world = World(store, clock)
    engine = world.engine(slots=20, limits=Limits(storm_retries=5))
    added = [world.add(f"t{n}", failed(f"odd thing {n} happened")) for n in range(12)]
    world.run(engine, ticks=3)
    clock.advance(10 * MINUTE)
    world.run(engine, ticks=1)
    clock.advance(10 * MINUTE)
    world.run(engine, ticks=4, step_ms=15 * SECOND)

    with store.read() as tx:
        told = [each.name for each in history.events_since(tx, 0, limit=10_000) if each.name.startswith("breaker:")]
    assert told == ["breaker:opened", "breaker:closed"]
    assert {task.status for task in now_of(world, added)} == {"completed"}


def _only(store: Store) -> Breaker:
    with store.read() as tx:
        (found,) = breakers.not_closed(tx).values()
    return found
