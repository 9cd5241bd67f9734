"""One at a time, through the command line: added, shown, changed, exported, and run."""

from __future__ import annotations

import json

from medbay.places.usage import short_of
from tests.cli.calling import Cli

ROOMY = "MemTotal: 1000 kB\nMemAvailable: 900 kB\n"
FULL = "MemTotal: 1000 kB\nMemAvailable: 40 kB\n"


def test_a_mutex_is_kept_by_every_command(cli: Cli) -> None:
    """Shown, exported and imported, taken away again; a file of tasks and a file of jobs know it too."""
    task_id = cli.add("backup", "--mutex", "db")
    (cli.folder / "tasks.jsonl").write_text(json.dumps({"title": "migrate", "run": "true", "mutex": "db"}) + "\n")
    (cli.folder / "jobs.toml").write_text('[jobs.vacuum]\nrun = "true"\nmutex = "db"\n')
    cli.good("add", "--file", "tasks.jsonl")
    cli.good("apply", "jobs.toml")

    assert cli.good("show", task_id, "--json").json["mutex"] == "db"
    assert [json.loads(line)["mutex"] for line in cli.good("export").out.splitlines()] == ["db", "db", "db"]
    assert "mutex db" in cli.good("list").out
    (cli.folder / "jobs.toml").write_text('[jobs.vacuum]\nrun = "true"\nmutex = "other"\n')
    assert "mutex" in cli.good("apply", "jobs.toml", "--dry-run").out
    cli.good("edit", task_id, "--mutex", "")
    assert cli.good("show", task_id, "--json").json["mutex"] is None
    assert "longer than" in cli("add", "x", "--run", "true", "--mutex", "m" * 300).err


def test_two_with_one_mutex_never_run_together(cli: Cli) -> None:
    """Real processes: each would fail if it met the other."""
    line = "mkdir lock && sleep 0.2 && rmdir lock"
    for number in range(4):
        cli.good("add", f"job {number}", "--mutex", "lock", "--run", line)

    cli.process("up", "--until-idle", "--workers", "4")

    assert {each["attempts"] for each in cli.good("list", "--json").json} == {1}


def test_a_queue_without_its_slots_is_refused(cli: Cli) -> None:
    """With the line, and what to write."""
    (cli.folder / "medbay.toml").write_text("[queues.slow]\n")

    refused = cli("list").err

    assert "medbay.toml:1" in refused
    assert "queues.slow has no place or slots" in refused


def test_a_machine_is_short_of_what_it_lacks() -> None:
    """CPU from two processes for each core on, memory below a twentieth; what cannot be read lacks nothing."""
    assert short_of(4.1, 2, ROOMY) == "CPU"
    assert short_of(3.9, 2, FULL) == "memory"
    assert short_of(9.0, 2, FULL) == "CPU and memory"
    assert short_of(1.0, 2, "") == ""
    assert short_of() in ("", "CPU", "memory", "CPU and memory")
