"""What was written for one attempt is written again for those like it: the store ends up as if every rule had run."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from medbay.core.outcome import Outcome, Output, Requeued, Succeeded
from medbay.env import Ids
from medbay.service import repeats
from medbay.service.repeats import Ends
from medbay.store.database import Store
from medbay.store.sqlite import SqliteStore
from tests.worlds import ManualClock, World, failed, quick_policy

TASKS = 60
ROUNDS = 12
OWN = ("x.py:3: AssertionError: row 77", "something odd happened", "KeyError: 'row'")
SHARED = ("connect ECONNREFUSED 10.0.0.7:5432", "ModuleNotFoundError: No module named 'requestz'")
STAYS = ("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",)


def ending(chance: Random, texts: list[str]) -> Outcome:
    """A success or a failure, mostly one that others have as well."""
    if chance.random() < 0.4:
        result = chance.choice([None, None, {"value": 7}, {"value": 8}])
        return Succeeded(output=Output(tail="done\n", total_bytes=5, result=result))
    if chance.random() < 0.05:
        return Requeued(asked=True, why="later")
    return failed(chance.choice(texts), exit_code=chance.choice([1, 1, 1, 2]))


def options(chance: Random, known: list[str]) -> dict[str, Any]:
    """What a task has beside its title; of most nothing."""
    kinds: list[dict[str, Any]] = [
        {"tag": ["night"]},
        {"every": "1s"},
        {"after": [chance.choice(known)]} if known else {},
        {"check": ["true"]},
    ]
    return chance.choice(kinds) if chance.random() < 0.2 else {}


def lived_through(seed: int, root: Path) -> dict[str, list[Any]]:
    """Every row of a store after some rounds of many tasks."""
    chance, clock = Random(seed), ManualClock()
    world = World(
        SqliteStore(":memory:", clock, new_store_id="world", machine_id="machine"),
        clock,
        policy=quick_policy(chance.choice([0, 0, 0, 700])),
        root=root,
    )
    world.ids = Ids(Random(seed))
    engine = world.engine(slots=chance.choice([20, TASKS]))
    known: list[str] = []
    texts, longest = [*chance.sample(OWN, 2), *chance.sample(SHARED, seed % 2)], chance.choice([2, 6])
    for number in range(TASKS):
        script = [ending(chance, texts) for _ in range(chance.randint(1, longest))]
        task = world.add(f"task {number}", *script, takes_advice=number % 9 > 0, **options(chance, known))
        known += [] if task.recurs else [task.id]
    for _ in range(ROUNDS):
        world.run(engine, step_ms=chance.choice([1, 300, 900]))
    with world.store.read() as tx:
        return {name: tx.rows(f"SELECT * FROM {name} ORDER BY 1, 2") for (name,) in tx.rows(*STAYS) if name != "schema"}


@pytest.mark.parametrize("seed", [*range(2), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 120))])
def test_a_store_is_the_same_with_the_rules_taken_one_by_one(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Row by row, in every table, whatever ends together with whatever."""
    wrote: list[bool] = []
    real = Ends.wrote

    def counted(self: Ends, *given: Any) -> bool:
        wrote.append(real(self, *given))
        return wrote[-1]

    with monkeypatch.context() as patch:
        patch.setattr(Ends, "wrote", counted)
        repeated = lived_through(seed, tmp_path)
    monkeypatch.setattr(repeats, "KINDS_MAX", 0)
    one_by_one = lived_through(seed, tmp_path)

    assert any(wrote)
    for table, rows in one_by_one.items():
        assert [tuple(row) for row in repeated[table]] == [tuple(row) for row in rows], table


def test_a_failure_that_names_its_task_is_decided_for_each(store: Store, clock: ManualClock) -> None:
    """What one of them says of itself is not said of the others, even where it looks like the name of one."""
    world = World(store, clock, policy=quick_policy(0))
    engine = world.engine(slots=8)
    tasks = [world.add(f"task {number}", None) for number in range(4)]
    world.run(engine)
    for each in world.runner.running:
        each.outcome = failed(f"task {tasks[0].id} is broken")
    world.clock.advance(1)

    engine.tick()

    assert [world.task(each.id).streak for each in tasks] == [1] * 4
    assert {world.task(each.id).last_summary for each in tasks} == {world.task(tasks[0].id).last_summary}
    assert tasks[0].id in world.task(tasks[3].id).guidance[0].text
