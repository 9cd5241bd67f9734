"""`medbay doctor`: what is fine, what is wrong, and how to fix it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from medbay.views.text import width
from tests.cli.calling import Cli, RealTime
from tests.worlds import World, quick_policy


def marks(cli: Cli) -> dict[str, list[str]]:
    """The lines for programs by the name of the check."""
    return {cells[1]: cells for cells in cli("doctor").cells}


def test_a_good_project_is_fine(cli: Cli) -> None:
    """Every line is named, and the exit code is 0."""
    called = cli.good("doctor")

    names = [cells[1] for cells in called.cells]
    for name in ("store", "database", "clock", "disk", "logs", "engines", "no standstill", "processes", "environment"):
        assert name in names
    assert "0 open tasks each have an owner, a wake time or a question" in called.out


def test_json_counts_and_lists(cli: Cli) -> None:
    """Stable fields."""
    found = cli.good("doctor", "--json").json

    assert found["failed"] == 0
    assert found["checks"][0].keys() == {"mark", "name", "said", "fix"}


@pytest.mark.parametrize("columns", [60, 100])
def test_a_terminal_sees_marks_and_fixes(cli: Cli, columns: int) -> None:
    """With a summary at the end."""
    cli.add("waits")

    told = cli.screen("doctor", columns=columns, env={"NO_COLOR": "1"})

    assert told.code == 0
    assert "! engines: none alive, and 1 task waits\n    fix: medbay up\n" in told.out
    assert told.lines[-1].startswith("0 failed, ")
    assert all(width(line) <= columns for line in told.lines)


def test_what_is_paused_waits_for_nobody_but_its_person(cli: Cli) -> None:
    """An engine would not start it."""
    task = cli.add("later")
    cli.good("pause", task)

    assert ["fine", "engines", "none alive, nothing waits", ""] in cli("doctor").cells


def test_no_store_is_a_failure_with_its_fix(bare: Cli) -> None:
    """The machine is looked at all the same."""
    called = bare("doctor")

    assert called.code == 1
    assert called.cells[1] == [
        "failed",
        "store",
        "no store here or above",
        "fix: medbay init makes one, --store names one",
    ]
    assert any(cells[1] == "processes" for cells in called.cells)


def test_a_broken_configuration_is_a_failure(cli: Cli) -> None:
    """Named with its line."""
    (cli.folder / "medbay.toml").write_text("[engine]\nworkres = 1\n")

    called = cli("doctor")

    assert called.code == 1
    assert "medbay.toml:2" in called.out


def test_every_mistake_of_a_configuration_is_listed(cli: Cli) -> None:
    """Of the file and of the environment, each with its place, not only the first."""
    (cli.folder / "medbay.toml").write_text('[engine]\nworkres = 1\n[triage]\nagent = "oracle"\n')

    called = cli("doctor", env={"MEDBAY_ENGINE_WORKERS": "many"})

    assert called.code == 1
    found = [cells for cells in called.cells if cells[1] == "configuration"]
    assert [cells[2].partition(" ")[0] for cells in found] == ["medbay.toml:2:", "medbay.toml:4:", "environment"]
    assert found[0][3] == 'fix: did you mean "workers"?'
    assert ["failed", "store", "not opened: the configuration has mistakes", "fix: correct them first"] in called.cells


def test_a_relative_program_of_an_agent_starts_at_the_directory_of_the_file(cli: Cli) -> None:
    """For the check, the doctor and the run alike, wherever the task runs."""
    program = cli.folder / "agent.sh"
    program.write_text("#!/bin/sh\necho found\n")
    (cli.folder / "medbay.toml").write_text('[agents.helper]\ncommand = ["./agent.sh", "{prompt_file}"]\n')
    elsewhere = cli.folder / "elsewhere"
    elsewhere.mkdir()
    assert "is not executable" in cli("doctor").out
    program.chmod(0o700)

    assert cli.good("policy", "check", "medbay.toml").code == 0
    assert "helper" in {cells[1]: cells for cells in cli.good("doctor").cells}["agents"][2]
    cli.good("add", "work", "--agent", "helper", "--cwd", str(elsewhere))
    assert cli("up", "--until-idle").code == 0


def test_a_standstill_is_a_failure(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the commands that look into it."""
    monkeypatch.setattr("medbay.bay.Bay.standstills", lambda self: [("k7f2", "nothing will wake it")] * 30)

    called = cli("doctor", "--json")

    assert called.code == 1
    failures = [check for check in called.json["checks"] if check["mark"] == "failed"]
    assert len(failures) == 21
    assert failures[0]["fix"] == "medbay explain k7f2, then medbay retry k7f2"


def test_a_task_that_lost_its_wake_time_is_found(cli: Cli) -> None:
    """Through the store itself."""
    task_id = cli.add("a")
    with cli.bay().store.write() as tx:
        tx.execute("UPDATE task SET ready = 0, ready_at = NULL WHERE id = ?", (task_id,))

    called = cli("doctor")

    assert called.code == 1
    assert f"{task_id}: pending, not ready" in called.out


def test_engines_with_other_policies_and_late_ones_are_named(cli: Cli) -> None:
    """Both are warnings with what to do."""
    world = World(cli.bay().store, RealTime(), policy=quick_policy())
    cli.engine(world)
    assert "different policies" in marks(cli)["engines"][2]

    from medbay.store import workers

    with cli.bay().store.write() as tx:
        (worker,) = workers.alive(tx)
        workers.insert(tx, replace(worker, id="w-late", lease_until=tx.now - 60_000))
    told = cli("doctor").out
    assert "w-late" in told
    assert "missed its lease 1m ago" in told


def test_odd_variables_are_named(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """A misspelt one, and the key of an attempt."""
    monkeypatch.setenv("MEDBAY_STOER", "x")
    assert marks(cli)["environment"][3] == "fix: unset MEDBAY_STOER"

    monkeypatch.setenv("MEDBAY_ATTEMPT_KEY", "s:k7f2:1")
    assert "inside an attempt" in marks(cli)["environment"][2]


def test_a_clock_that_was_set_back_is_a_warning(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Things would wait longer; a clock in another century is a failure."""
    cli.add("a")
    now = cli.bay().events()[-1].at

    monkeypatch.setattr("medbay.env.SystemClock.now_ms", lambda self: now - 3_600_000)
    assert marks(cli)["clock"][:3] == ["warning", "clock", "1h behind the newest event: things wait longer"]
    monkeypatch.setattr("medbay.env.SystemClock.now_ms", lambda self: 1_000)
    assert marks(cli)["clock"][0] == "failed"


def test_a_full_disk_is_a_failure(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """A nearly full one a warning."""
    import shutil

    usage = type(shutil.disk_usage("/"))
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage(10**12, 10**12, 10**6))
    assert marks(cli)["disk"][0] == "failed"
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage(10**12, 10**12, 3 * 10**10))
    assert marks(cli)["disk"][0] == "warning"


def test_logs_that_others_may_read_are_a_warning(cli: Cli) -> None:
    """They may hold secrets."""
    (cli.folder / ".medbay").chmod(0o755)

    assert marks(cli)["logs"][3].startswith("fix: chmod 700 ")


def test_without_git_there_is_a_warning(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Most things work all the same."""
    monkeypatch.setenv("PATH", str(cli.folder))

    assert marks(cli)["git"][0] == "warning"
