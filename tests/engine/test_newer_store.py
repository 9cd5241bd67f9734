"""A daemon whose store a later version has migrated begins nothing more, lets what runs end, and says why it stops."""

from __future__ import annotations

import sqlite3
import subprocess
from pathlib import Path

import pytest

from medbay.engine.daemon import Daemon
from medbay.env import SystemClock
from medbay.errors import StoreTooNew
from medbay.store import migrations
from medbay.store.database import Store
from tests.cli.calling import COMMAND
from tests.e2e.test_recurring import until
from tests.e2e.test_the_path_of_a_task import Terminal
from tests.worlds import ManualClock, World


def migrate(store: Store) -> None:
    """What a later version does."""
    with store.write() as tx:
        tx.execute(tx.dialect.set_schema_sql.format(number=migrations.newest(tx.dialect.name) + 1))


def test_nothing_is_claimed_any_more_and_what_runs_comes_to_its_end(store: Store, clock: ManualClock) -> None:
    """On either database."""
    world = World(store, clock)
    running, waiting = world.add("running", None), world.add("waiting", None)
    engine = world.engine(slots=1)
    engine.start()
    engine.tick()
    begun = next(each for each in (running, waiting) if world.task(each.id).status == "in_progress")
    migrate(store)

    world.run(engine)

    assert engine.outdated is not None
    assert not engine.claiming
    other = waiting if begun is running else running
    assert (world.task(begun.id).status, world.task(other.id).status) == ("in_progress", "pending")


def test_a_run_ends_with_why(store: Store, clock: ManualClock) -> None:
    """After everything is handed back."""
    world = World(store, clock)
    world.add("a")
    migrate(store)

    with pytest.raises(StoreTooNew, match="this store has schema"):
        Daemon(world.engine(), SystemClock()).run(until_idle=True)


def test_the_daemon_of_the_version_before_drains_and_says_so(tmp_path: Path) -> None:
    """The real command: what runs ends well, exit 4 makes systemd start it again with what is installed by then."""
    here = Terminal(tmp_path)
    here.must("init")
    task = here.must("add", "a", "--run", "sleep 4; echo done").strip()
    later = here.must("add", "later", "--run", "true", "--after", task).strip()
    up = subprocess.Popen([COMMAND, "up"], cwd=tmp_path, env=here.environ, stdout=-1, stderr=-2, text=True)
    until(here, task, lambda shown: shown["status"] == "in_progress")

    with sqlite3.connect(tmp_path / ".medbay" / "medbay.db") as store:
        store.execute(f"PRAGMA user_version = {migrations.newest('sqlite') + 1}")
    out, _ = up.communicate(timeout=60)
    store.execute(f"PRAGMA user_version = {migrations.newest('sqlite')}")
    store.close()

    assert up.returncode == 4
    assert "a newer Medbay has migrated the store" in out
    assert "install a newer Medbay" in out
    assert here.show(task)["status"] == "completed"
    assert here.show(later)["status"] == "pending"
