"""A store of the version before owners: opened in the middle of everything, it goes on to its end; on both databases.

`before_0009.sql` holds rows that the version before wrote: a loop of which the third has the turn, one triage that runs
beside one of a loop's member, a one-off behind its fix and a recurring task beside one, a review, a split of which one
part is left, an incident with its triage and its fix. The worker that ran them is gone.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from medbay.core.agent import Profile
from medbay.core.model import Owner, Task
from medbay.core.policy.presets import Recurring
from medbay.places.protocol import Runner
from medbay.runners.agent.runner import AgentRunner
from medbay.service import detail, owners, tasks
from medbay.store import breakers, migrations, questions, triages
from medbay.store import tasks as task_rows
from medbay.store.database import Store, Tx
from medbay.store.dialect import POSTGRES, SQLITE
from medbay.store.postgres import PostgresStore
from medbay.store.sqlite import SqliteStore
from medbay.views import task as view
from tests.engine.test_triage import Says
from tests.postgres_server import Server
from tests.worlds import ManualClock, World

ROWS = Path(__file__).parent.parent / "store" / "before_0009.sql"
BEFORE = 8
PROFILES = {"fake": Profile(name="fake", command=("fake", "{prompt_file}"))}
INCIDENT = "incident:transient:1dbe4b0e"


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def old_store(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> Iterator[Store]:
    """The old rows in the old schema, opened by this version."""
    store: Store
    if request.param == "postgres":
        server: Server = request.getfixturevalue("postgres")
        name = server.new_database()
        with server.connect(name) as raw:
            migrations.migrate(raw, POSTGRES, upto=BEFORE)
            raw.execute(ROWS.read_bytes())
        store = PostgresStore(server.url(name), clock, new_store_id="teststore")
    else:
        raw_file = sqlite3.connect(tmp_path / "medbay.db", isolation_level=None)
        migrations.migrate(raw_file, SQLITE, upto=BEFORE)
        raw_file.executescript(ROWS.read_text(encoding="utf-8"))
        raw_file.close()
        store = SqliteStore(tmp_path / "medbay.db", clock, new_store_id="teststore", machine_id="machine")
    yield store
    store.close()
    if request.param == "postgres":
        server.drop(name)


def by_title(store: Store) -> dict[str, Task]:
    """Every task there is."""
    with store.read() as tx:
        return {task.title: task for task in task_rows.select(tx, task_rows.TaskFilter())}


def shown(tx: Tx, task: Task) -> dict[str, Any]:
    """What `show --json` says."""
    return view.detail(detail.load(tx, task, rules=Recurring(), recovery_share=0.5, rescue_threshold=0.8))


def test_every_relation_of_before_is_an_owner_now(old_store: Store) -> None:
    """Loops with their order, whom a task serves and as what; what belongs to an incident belongs to it."""
    known = by_title(old_store)
    first = known["first of the loop"].id

    found = {title: (task.owner, task.role, task.position) for title, task in known.items() if task.owner is not None}

    def of(title: str, role: str, name: str = "task") -> tuple[Owner, str, int]:
        return Owner(name, known[title].id), role, 0

    assert found == {
        "first of the loop": (Owner("loop", first), "", 0),
        "second of the loop": (Owner("loop", first), "", 1),
        "third of the loop": (Owner("loop", first), "", 2),
        "repair the ledger": of("fixed later", "fix"),
        "repair the feed": of("polls", "fix"),
        "Review specification of unclear": of("unclear", "review"),
        "parser": of("too much", "part"),
        "printer": of("too much", "part"),
        "restart the database": (Owner("incident", INCIDENT), "fix", 0),
        f"Triage of {INCIDENT}": (Owner("incident", INCIDENT), "triage", 0),
        **{
            f"Triage of {title}": of(title, "triage")
            for title in ("fixed later", "polls", "unclear", "too much", "thinking", "second of the loop")
        },
    }


def test_what_programs_are_told_of_it_is_as_it_was(old_store: Store) -> None:
    """`subject` and the depth of an incident's fix are those of its example; questions know what they are about."""
    known = by_title(old_store)
    with old_store.read() as tx:
        fix = known["restart the database"]
        looked = triages.get(tx, fix.created_by)
        assert looked is not None and (looked.incident, looked.task_id) == (INCIDENT, owners.subject_of(tx, fix))
        assert shown(tx, fix)["subject"] == looked.task_id
        assert shown(tx, known["parser"])["subject"] == known["too much"].id
        assert shown(tx, known["third of the loop"])["subject"] is None
        depths = {title: owners.depth_of(tx, known[title]) for title in ("polls", "parser", "restart the database")}
        assert depths == {"polls": 0, "parser": 1, "restart the database": 1}
        asked = {each.owner for each in questions.open_questions(tx)}
        held = breakers.get(tx, INCIDENT)
    assert held is not None and held.state != "closed"
    persons = ("repair the ledger", "repair the feed", "Review specification of unclear", "restart the database")
    assert asked == {Owner("incident", INCIDENT), *(Owner("task", known[title].id) for title in persons)}


def test_it_goes_on_to_its_end(old_store: Store, clock: ManualClock, tmp_path: Path) -> None:
    """What ran is found lost and runs again, people do what is theirs, and everything that can end does."""
    clock.advance(3_600_000)
    world = World(old_store, clock, root=tmp_path)
    world.engine()  # the process of the worker that is gone had this number
    world.sightings.clear()
    runners: dict[str, Runner] = {"triage": Says(), "agent": AgentRunner(PROFILES, world.runner)}
    engine = world.engine(slots=8, runners=runners)
    engine.start()

    for _ in range(60):
        world.run(engine, ticks=5, step_ms=10_000)
        with old_store.write() as tx:
            for asked in questions.open_questions(tx):
                tasks.answer(tx, asked.id, "default", actor="person:test", note="- it works")

    known = by_title(old_store)
    left = {title: task.status for title, task in known.items() if task.status != "completed" and not task.endless}
    lost = {f"Triage of {title}": "cancelled" for title in ("thinking", "second of the loop")}
    assert left == {"too much": "cancelled", **lost}
    assert (known["polls"].finished, known["polls"].streak, known["unclear"].spec) == (False, 0, "- it works")
    loop = [known[f"{which} of the loop"] for which in ("first", "second", "third")]
    assert [task.iterations_done for task in loop] == [6, 6, 6]
    after = known["comes after both"].ended_at
    assert after is not None and after >= max(known[part].ended_at or 0 for part in ("parser", "printer"))
    with old_store.read() as tx:
        assert (questions.open_questions(tx), breakers.open_incidents(tx)) == ([], [])
