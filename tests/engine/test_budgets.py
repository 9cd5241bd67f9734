"""Budgets in the real engine: reserved with the claim, held back until the next day, settled with the end."""

from __future__ import annotations

import pytest

from medbay.core import rules
from medbay.core.budget import Amount, Budget, RoleBudget
from medbay.core.model import Event, Task
from medbay.core.outcome import Failed, Output, Succeeded
from medbay.core.triage.case import Means
from medbay.engine.round import Engine
from medbay.service import explain, idle, liveness, tasks
from medbay.store import attempts, breakers, budgets, history
from medbay.store.database import Store
from tests.worlds import ManualClock, World, failed

HOUR = 3_600_000
USED = {"usage": {"tokens": 60, "cost": 0.5}}


def used(tokens: int) -> Succeeded:
    """Work that ended well and says what it used."""
    return Succeeded(output=Output(result={"usage": {"tokens": tokens}}))


def add_limited(world: World, title: str, *script: object, tokens: int = 60, cost: int | None = None) -> Task:
    """A task with a limit of its own."""
    world.clock.advance(1)  # one after the other
    task = world.add(title, *script)  # type: ignore[arg-type]
    with world.store.write() as tx:
        tx.execute("UPDATE task SET max_tokens = ?, max_cost = ? WHERE id = ?", (tokens, cost, task.id))
    return world.task(task.id)


def told(world: World, name: str) -> list[Event]:
    """The events of a name."""
    with world.store.read() as tx:
        return [each for each in history.events_since(tx, 0, limit=10_000) if each.name == name]


def day_of(world: World, name: str) -> tuple[Amount, Amount]:
    """What is reserved and used of a day."""
    with world.store.read() as tx:
        found = budgets.day(tx, name)
    return found.reserved, found.used


@pytest.fixture
def world(store: Store, clock: ManualClock) -> World:
    """At noon."""
    clock.advance(24 * HOUR - clock.wall_ms % (24 * HOUR) + 12 * HOUR)
    return World(store, clock)


def today(world: World) -> str:
    """The day it is."""
    return Budget().day_of(world.clock.wall_ms)


def test_what_does_not_fit_waits_for_the_next_day_and_uses_up_no_attempt(world: World) -> None:
    """One of two starts; the other is parked, named by explain, and starts after midnight."""
    engine = world.engine(budget=Budget(daily_tokens=100))
    first, second = add_limited(world, "a", None), add_limited(world, "b", used(10))
    world.run(engine)
    assert day_of(world, today(world)) == (Amount(60, 0), Amount())
    name = f"budget:{today(world)}"

    waiting = world.task(second.id)
    assert (world.task(first.id).live, waiting.hold, waiting.attempts, waiting.status) == (1, name, 0, "pending")
    with world.store.read() as tx:
        (reason,) = explain.explain(tx, waiting, world.policy).reasons
        assert not idle.has_claimable(tx, ("default",)) and not idle.is_idle(tx, ("default",))
        assert liveness.standstills(tx) == []
    assert (reason.number, reason.until) == (9, Budget().ends_at(world.clock.wall_ms))
    assert [event.data["key"] for event in told(world, "budget:exceeded")] == [name]

    world.runner.running[0].outcome = used(90)
    world.run(engine, ticks=3)
    assert world.task(first.id).status == "completed" and world.task(second.id).hold == name
    assert day_of(world, today(world)) == (Amount(), Amount(90, 0))
    assert len(told(world, "budget:warning")) == 1
    wake_s = engine.next_wake_s()
    assert wake_s is not None and wake_s > world.clock.seconds + 0.5  # it does not spin until midnight

    world.run(engine, step_ms=12 * HOUR)
    world.run(engine, ticks=4)
    assert world.task(second.id).status == "completed"
    assert day_of(world, today(world)) == (Amount(), Amount(10, 0))


def test_what_an_attempt_did_not_need_is_for_who_waits(world: World) -> None:
    """Long before midnight; who still does not fit goes on waiting."""
    engine = world.engine(budget=Budget(daily_tokens=100))
    add_limited(world, "a", None)
    second, third = add_limited(world, "b", used(50)), add_limited(world, "c", used(5), tokens=90)
    world.run(engine)
    name = f"budget:{today(world)}"
    assert {world.task(each.id).hold for each in (second, third)} == {name}

    world.runner.running[0].outcome = used(20)
    world.run(engine, ticks=4)

    assert (world.task(second.id).status, world.task(third.id).hold) == ("completed", name)
    assert day_of(world, today(world)) == (Amount(), Amount(70, 0))
    wake_s = engine.next_wake_s()
    assert wake_s is not None and wake_s > world.clock.seconds + 0.5


@pytest.mark.parametrize("raised", [Budget(daily_tokens=1_000), Budget()])
def test_a_budget_that_was_raised_lets_go_whoever_waits(world: World, raised: Budget) -> None:
    """By the first engine that knows of it; the breaker is over when nobody waits under it."""
    engine = world.engine(budget=Budget(daily_tokens=10))
    add_limited(world, "a", used(10))
    waiting = [add_limited(world, f"b{number}", used(1)) for number in range(25)]
    world.run(engine, ticks=9)
    name = f"budget:{today(world)}"
    assert {world.task(each.id).hold for each in waiting} == {name}
    engine.stop()

    engine = world.engine(budget=raised)
    world.run(engine, ticks=12)

    assert {world.task(each.id).status for each in waiting} == {"completed"}
    with world.store.read() as tx:
        held = breakers.get(tx, name)
    assert held is not None and (held.state, held.probe_at) == ("closed", None)


@pytest.mark.parametrize("agent", ["rules", "command"])
def test_an_agent_that_costs_nothing_looks_at_failures_when_the_day_is_used_up(world: World, agent: str) -> None:
    """One that costs something waits for the next day, and the failing task with it."""
    means = Means(agent=agent, max_tokens=50)
    engine = world.engine(budget=Budget(daily_tokens=10), means=means)
    add_limited(world, "dear", used(10))
    task = world.add("a", *[failed()] * 3)
    world.run(engine, ticks=12)

    found, own = world.task(task.id), world.task(f".triage-{task.id}-1")
    if agent == "rules":
        assert own.status == "completed" and found.waits_for is None
    else:
        assert (own.hold, own.attempts, found.waits_for) == (f"budget:{today(world)}", 0, "triage")


def test_plain_work_goes_on_beside_it_and_a_person_may_insist(world: World) -> None:
    """What costs nothing is not asked; `retry` passes for one attempt, and is counted."""
    engine = world.engine(slots=1, budget=Budget(daily_tokens=50))
    dear = add_limited(world, "dear", used(40), used(5))
    more = add_limited(world, "more", used(30))
    world.clock.advance(1)
    plain = world.add("plain")
    world.run(engine, ticks=6)
    assert (world.task(dear.id).status, world.task(plain.id).status) == ("completed", "completed")
    assert world.task(more.id).hold == f"budget:{today(world)}"

    world.act(tasks.retry, more.id)
    world.run(engine, ticks=3)
    assert world.task(more.id).status == "completed"
    assert day_of(world, today(world))[1] == Amount(70, 0)


def test_usage_is_recorded_and_a_failure_over_its_limit_is_over_budget(world: World) -> None:
    """With or without a limit; no day's budget is needed for that."""
    engine = world.engine()
    over = Failed(output=Output(tail="stopped", total_bytes=7, result=USED), exit_code=1)
    limited = add_limited(world, "limited", over, tokens=50, cost=10_000_000)
    free = world.add("free", Succeeded(output=Output(result=USED)))
    world.run(engine, ticks=2)

    with world.store.read() as tx:
        (ended,) = attempts.of_task(tx, limited.id, 5)
        (other,) = attempts.of_task(tx, free.id, 5)
    assert (ended.outcome, ended.tokens, ended.cost) == ("over_budget", 60, 500_000)
    assert (other.outcome, other.tokens, other.cost) == ("succeeded", 60, 500_000)
    (event,) = told(world, "budget:exceeded")
    assert (event.task_id, event.data["why"]) == (limited.id, "used 60 tokens of 50")
    assert day_of(world, today(world)) == (Amount(), Amount(120, 1_000_000))


def test_what_an_evaluated_attempt_used_is_counted_once(world: World) -> None:
    """Its work ended before its evaluation did; reserved or not."""
    engine = world.engine(means=Means(evaluate="look"))
    spent = Failed(output=Output(tail="half", total_bytes=4, result=USED), exit_code=1)
    free = world.add("free", spent)
    limited = add_limited(world, "limited", spent, tokens=100)
    world.runner.scripts["look"] = [Succeeded(output=Output(result={"answer": '{"score": 1}'}))] * 2
    world.run(engine, ticks=6)

    assert (world.task(free.id).status, world.task(limited.id).status) == ("completed", "completed")
    assert day_of(world, today(world)) == (Amount(), Amount(120, 1_000_000))
    with world.store.read() as tx:
        assert [each.tokens for each in attempts.of_task(tx, free.id, 5)] == [60]


def test_a_rule_that_breaks_keeps_nothing_reserved(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the attempt used is used, the rest is free."""

    def breaks(ended: object, now: int, work: object) -> None:
        raise ZeroDivisionError("ours")

    engine = world.engine(budget=Budget(daily_tokens=100))
    task = add_limited(world, "a", used(10))
    monkeypatch.setattr(rules, "on_attempt_ended", breaks)
    world.run(engine, ticks=2)

    assert world.task(task.id).block_kind == "human"
    assert day_of(world, today(world)) == (Amount(), Amount(10, 0))


def test_a_lost_attempt_is_settled_with_the_input_of_a_call(world: World) -> None:
    """Its reservation belongs to it, whoever finds it."""
    engine = world.engine(budget=Budget(daily_tokens=100_000))
    task = add_limited(world, "a", None, used(5), tokens=50_000)
    world.run(engine)
    assert day_of(world, today(world))[0] == Amount(50_000, 0)
    world.sightings[engine.worker.pid] = "dead"
    second: Engine = world.engine(budget=Budget(daily_tokens=100_000))
    second.start()
    assert day_of(world, today(world)) == (Amount(), Amount(4_000, 0))

    world.run(second, ticks=4)
    assert world.task(task.id).status == "completed"
    assert day_of(world, today(world)) == (Amount(), Amount(4_005, 0))


def test_without_limits_nothing_is_read_or_written_for_budgets(world: World) -> None:
    """The path of plain tasks stays as it was."""
    engine = world.engine()
    world.add("plain", failed(), Succeeded())
    world.run(engine, ticks=4)
    with world.store.read() as tx:
        assert tx.rows("SELECT * FROM budget_day") == [] and tx.rows("SELECT * FROM reservation") == []
        assert breakers.not_closed(tx) == {}


def test_two_engines_never_promise_more_than_the_day_has(world: World) -> None:
    """What one has reserved the other sees."""
    engines = [world.engine(budget=Budget(daily_tokens=100)) for _ in range(2)]
    for number in range(6):
        add_limited(world, f"t{number}", None, tokens=40)
    for engine in engines * 2:
        engine.lease.beat(world.store)
        engine.tick()
    assert sum(len(engine.live) for engine in engines) == 2
    assert day_of(world, today(world))[0] == Amount(80, 0)


def reviewers(**limits: int) -> Budget:
    """A budget in which only reviewers have limits."""
    return Budget(roles={"reviewer": RoleBudget(name="reviewer", **limits)})


def share_of(world: World, role: str) -> tuple[Amount, Amount]:
    """What is reserved and used of the share of a role today."""
    with world.store.read() as tx:
        found = budgets.share(tx, today(world), role)
    return found.reserved, found.used


def test_a_role_waits_for_the_next_day_while_the_others_go_on(world: World) -> None:
    """Reserved before, settled after; what is given back lets the next one start, and a raised limit is heard."""
    engine = world.engine(budget=reviewers(daily_tokens=100))
    works = add_limited(world, "work", used(10))
    first, second = add_limited(world, "a", None), add_limited(world, "b", used(90))
    with world.store.write() as tx:
        tx.execute("UPDATE task SET role = 'review-lint' WHERE id IN (?, ?)", (first.id, second.id))
    world.run(engine, ticks=2)

    name = f"budget:{today(world)}:reviewer"
    assert share_of(world, "reviewer") == (Amount(60, 0), Amount())
    assert (world.task(works.id).status, world.task(second.id).hold) == ("completed", name)
    waiting = world.task(second.id)
    with world.store.read() as tx:
        (reason,) = explain.explain(tx, waiting, world.policy).reasons
    assert "40 tokens of 100 tokens left today for the role reviewer, this needs 60 tokens" in reason.what
    assert [event.data["role"] for event in told(world, "budget:exceeded")] == ["reviewer"]

    world.runner.running[-1].outcome = used(20)
    world.run(engine, ticks=3)
    assert (world.task(first.id).status, world.task(second.id).status) == ("completed", "completed")
    assert share_of(world, "reviewer") == (Amount(), Amount(110, 0))
    assert share_of(world, "worker") == (Amount(), Amount(10, 0))
    assert [event.data["role"] for event in told(world, "budget:warning")] == ["reviewer"]
    assert day_of(world, today(world)) == (Amount(), Amount(120, 0))

    third = add_limited(world, "c", used(1))
    with world.store.write() as tx:
        tx.execute("UPDATE task SET role = 'review-lint' WHERE id = ?", (third.id,))
    world.run(engine)
    assert world.task(third.id).hold == name
    engine.stop()
    world.run(world.engine(budget=reviewers(daily_tokens=1_000)), ticks=3)
    assert world.task(third.id).status == "completed"
