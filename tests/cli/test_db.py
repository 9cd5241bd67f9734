"""`medbay db`: migrate, check, backup, archive, copy."""

from __future__ import annotations

import json
import sqlite3
import stat
from pathlib import Path

import pytest

from medbay.store import meta
from tests.cli.calling import Cli
from tests.postgres_server import Server
from tests.worlds import failed

DAY_MS = 86_400_000


def lived_in(cli: Cli) -> dict[str, str]:
    """A store in which something healed, something waits, something was cancelled and something asks."""
    world = cli.world()
    engine = cli.engine(world)
    healed = world.add("healed", failed("connect ECONNREFUSED 10.0.0.1:443"), tag="x")
    engine.tick()
    engine.tick()
    cli.good("retry", healed.id)
    engine.tick()
    engine.tick()
    waits = world.add("waits", failed("connect ECONNREFUSED 10.0.0.1:443"))
    engine.tick()
    engine.tick()
    gone = cli.add("gone")
    cli.good("cancel", gone)
    asks = cli.add("asks", "--after", waits.id)
    cli.good("block", asks, "--reason", "x", "--kind", "human")
    engine.stop()
    assert cli.bay().get(healed.id).status == "completed"
    return {"healed": healed.id, "waits": waits.id, "gone": gone, "asks": asks}


def later(monkeypatch: pytest.MonkeyPatch, cli: Cli, days: int) -> None:
    """Let so many days pass."""
    now = max(event.at for event in cli.bay().events())
    monkeypatch.setattr("medbay.env.SystemClock.now_ms", lambda self: now + days * DAY_MS)


@pytest.mark.parametrize("words", [["migrate"], ["check"], ["backup", "x"], ["archive"], ["copy", "--to", "x"]])
def test_it_is_a_persons_command(cli: Cli, words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """What Medbay runs may not touch the store."""
    monkeypatch.setenv("MEDBAY_ATTEMPT_KEY", "store:k7f2:1")

    assert cli("db", *words).code == 4


def test_migrate_says_what_there_is(cli: Cli) -> None:
    """Opening a store migrates it, so mostly nothing is left to do."""
    assert cli.good("db", "migrate").out.endswith(", nothing to do\n")
    path = cli.folder / "new.db"
    path.touch()

    told = cli.good("db", "migrate", "--store", f"sqlite:///{path}")

    assert told.lines[0].startswith("applied 0001_")
    assert cli.good("db", "migrate", "--json").json["applied"] == []


def test_check_counts_and_finds_nothing(cli: Cli) -> None:
    """Three checks, the tasks, the rows."""
    lived_in(cli)

    told = cli.good("db", "check")

    assert [line[0] for line in told.lines] == ["✓", "✓", "✓", " ", " "]
    assert "1 blocked, 1 cancelled, 1 completed, 1 failed" in told.out
    found = cli.good("db", "check", "--json").json
    assert (found["sound"], found["damage"], found["rows"]["task"]) == (True, [], 4)


def test_check_finds_what_is_wrong(cli: Cli) -> None:
    """Exit 1, and each task by name."""
    ids = lived_in(cli)
    raw = sqlite3.connect(cli.folder / ".medbay" / "medbay.db")
    raw.execute("UPDATE task SET due_at = NULL WHERE id = ?", (ids["waits"],))
    raw.execute("UPDATE task SET status = 'completed' WHERE id = ?", (ids["gone"],))
    raw.execute("INSERT INTO task_tag VALUES ('x', 'nobody')")
    raw.commit()

    called = cli("db", "check")

    assert called.code == 1
    assert f"✗ {ids['waits']}: failed without a time" in called.out
    assert f"✗ {ids['gone']}: history says cancelled, the row says completed" in called.out
    assert "points to a task that is not there" in called.out
    assert cli("db", "check", "--json").code == 1


def test_a_backup_is_whole_private_and_never_overwrites(cli: Cli) -> None:
    """A store of its own, also while somebody writes."""
    ids = lived_in(cli)
    path = cli.folder / "copy.db"

    with cli.bay().store.write() as tx:
        tx.execute("UPDATE task SET title = 'not committed' WHERE id = ?", (ids["gone"],))
        assert cli.good("db", "backup", str(path)).out == f"{path}\n"

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in cli.folder.glob("copy.db*")] == ["copy.db"]
    listed = cli.good("list", "--all", "--json", "--store", f"sqlite:///{path}").json
    assert {row["id"] for row in listed} == set(ids.values())
    assert "not committed" not in str(listed)
    path.write_text("mine")
    again = cli("db", "backup", str(path))
    assert (again.code, path.read_text()) == (4, "mine")
    assert cli("db", "backup", str(cli.folder / "no" / "such" / "x.db")).code == 1


def test_archiving_moves_what_ended_long_ago(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every row is in the file before it leaves the store; what remains still adds up."""
    ids = lived_in(cli)
    before = {task_id: cli.good("show", task_id, "--json").json for task_id in ids.values()}
    assert "nothing ended" in cli.good("db", "archive").err
    later(monkeypatch, cli, 31)

    planned = cli.good("db", "archive", "--dry-run", "--json").json["rows"]
    assert not (cli.folder / ".medbay" / "archive").exists()
    moved = cli.good("db", "archive", "--json").json

    assert moved["rows"] == planned
    assert all(moved["rows"][table] > 0 for table in ("history", "event", "retry", "attempt_output"))
    path = Path(moved["file"])
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(lines) == sum(planned.values())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    mine = [line["row"] for line in lines if line["table"] == "history" and line["row"]["task_id"] == ids["healed"]]
    assert [row["target"] for row in mine] == [row["to"] for row in before[ids["healed"]]["history"]][:-1]
    assert [row["to"] for row in cli.good("show", ids["healed"], "--json").json["history"]] == ["completed"]
    assert cli.good("show", ids["waits"], "--json").json["history"] == before[ids["waits"]]["history"]
    assert cli.good("db", "check", "--json").json["sound"]
    assert "nothing ended" in cli.good("db", "archive").err
    assert cli.good("log", ids["healed"], "--attempt", "1").err


def test_a_limit_can_be_named(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """And a wrong one is refused."""
    lived_in(cli)
    later(monkeypatch, cli, 2)

    assert cli("db", "archive", "--older-than", "soon").code == 2
    assert "moved " in cli.good("db", "archive", "--older-than", "1d").err


def other_store(request: pytest.FixtureRequest, cli: Cli, kind: str) -> str:
    """The address of an empty store of this kind."""
    if kind == "postgres":
        server: Server = request.getfixturevalue("postgres")
        return server.url(request.getfixturevalue("database"))
    (cli.folder / "other").mkdir()
    return f"sqlite:///{cli.folder}/other/.medbay/medbay.db"


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_a_copy_has_everything(cli: Cli, request: pytest.FixtureRequest, kind: str) -> None:
    """Counted on both sides; the other store works on from there."""
    ids = lived_in(cli)
    url = other_store(request, cli, kind)

    told = cli.good("db", "copy", "--to", url)

    counted = {table: int(number) for table, number in told.cells}
    here = cli.good("db", "check", "--json").json["rows"]
    assert counted == {table: number for table, number in here.items() if table != "meta"}
    for task_id in ids.values():
        there = cli.good("show", task_id, "--json", "--store", url).json
        assert there == cli.good("show", task_id, "--json").json
    assert cli.good("db", "check", "--json", "--store", url).json["sound"]
    last = cli.bay().last_seq()
    cli.good("resume", ids["waits"], "--store", url)
    cli.good("pause", ids["waits"], "--store", url)
    assert int(cli.good("events", "--store", url, "--json").lines[-1].split('"seq": ')[1].split(",")[0]) == last + 1
    assert cli("db", "copy", "--to", url).code == 4


@pytest.mark.postgres
def test_a_store_on_a_server_is_looked_after_too(cli: Cli, postgres: Server, database: str) -> None:
    """Copied back it is the same; its backup is the server's business, and a password is never shown."""
    lived_in(cli)
    url = postgres.url(database)
    assert "secret" not in cli.good("db", "copy", "--to", f"{url}&password=secret").err
    back = f"sqlite:///{cli.folder}/back.db"

    cli.good("db", "copy", "--to", back, "--store", url)

    here, there = (cli.good("export", "--all", "--store", each).out for each in (url, back))
    assert here == there
    assert cli.good("db", "migrate", "--store", url).out.endswith(", nothing to do\n")
    refused = cli("db", "backup", "x", "--store", url)
    assert refused.code == 4 and "pg_dump" in refused.err
    assert cli.good("db", "archive", "--older-than", "0s", "--json", "--store", url).json["rows"]["event"] > 0
    assert cli.good("db", "check", "--json", "--store", url).json["sound"]


def test_a_store_in_use_is_not_copied(cli: Cli) -> None:
    """What runs would be recorded in only one of them; nor is a store copied into itself."""
    world = cli.world()
    engine = cli.engine(world)

    called = cli("db", "copy", "--to", f"sqlite:///{cli.folder}/b.db")
    assert called.code == 4
    assert "is running on this store" in called.err
    engine.stop()
    assert "the same store" in cli("db", "copy", "--to", f"sqlite:///{cli.folder}/.medbay/medbay.db").err


def test_every_table_is_copied_and_counted(cli: Cli) -> None:
    """A table nobody listed would be lost in silence."""
    raw = sqlite3.connect(cli.folder / ".medbay" / "medbay.db")
    found = raw.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").fetchall()

    assert {row[0] for row in found} == set(meta.TABLES)


def test_a_check_fits_the_terminal(cli: Cli) -> None:
    """The counts of every table take several lines."""
    assert all(len(line) <= 80 for line in cli.screen("db", "check", "--no-color", columns=80).lines)
