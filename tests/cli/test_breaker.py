"""`medbay breaker` and `medbay incidents`: seen, opened and closed by a person, and shown with the tasks they hold."""

from __future__ import annotations

import pytest

from medbay.cli.session import ATTEMPT_KEY
from tests.cli.calling import Cli
from tests.worlds import failed

DEAD = "psycopg.OperationalError: connection to server at 10.0.0.5, port 5432 failed: Connection refused"


def test_a_person_holds_an_account_and_lets_it_go(cli: Cli) -> None:
    """The task on it waits, says why and what would change that, and goes on when it is closed."""
    cli.good("breaker", "open", "anthropic/work", "--reason", "kept for the release")
    task = cli.add("call", "--provider", "anthropic/work")
    engine = cli.engine(cli.world())
    engine.tick()

    (line,) = cli.good("breaker", "list").cells
    assert line[:4] == ["provider:anthropic/work", "provider", "open", "1"]
    assert line[7] == "kept for the release"
    (row,) = cli.good("list").cells
    assert "held by provider:anthropic/work" in row[2]
    assert "kept for the release; until it is closed" in row[5]
    told = cli.good("explain", task, "--json").json
    (reason,) = (each for each in told["reasons"] if each["number"] == 10)
    assert "kept for the release" in reason["what"]
    assert told["breaker"] == "provider:anthropic/work"
    assert "medbay breaker close provider:anthropic/work" in told["changes"]
    assert cli.good("show", task, "--json").json["held_by"] == "provider:anthropic/work"

    shown = cli.good("breaker", "close", "anth", "--json").json
    assert (shown["state"], shown["held"]) == ("closed", 1)
    engine.tick()
    engine.tick()
    assert cli.good("show", task, "--json").json["held_by"] is None
    assert cli.good("breaker", "list").out == ""
    assert [line[2] for line in cli.good("breaker", "list", "--all").cells] == ["closed"]


def test_a_hold_may_have_an_end(cli: Cli) -> None:
    """Then one task goes ahead."""
    found = cli.good("breaker", "open", "provider:github", "--until", "+2h", "--json").json
    assert (found["until"] is not None, found["only_a_person_ends"]) == (True, False)
    assert found["next_probe_at"] == found["until"]
    assert "one task goes ahead" in found["ends"]


@pytest.mark.parametrize("words", [("open", "x"), ("close", "x")])
def test_an_attempt_may_not(cli: Cli, words: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """These are a person's commands."""
    monkeypatch.setenv(ATTEMPT_KEY, "s:t:1")
    assert cli("breaker", *words).code == 4


def test_what_cannot_be_held_is_refused(cli: Cli) -> None:
    """With what could be."""
    assert "provider:anthropic" in cli("breaker", "open", "incident:x").err
    assert cli("breaker", "open", "provider:").code == 2
    assert cli("breaker", "close", "nobody").code == 3
    cli.good("breaker", "open", "one")
    cli.good("breaker", "open", "only")
    assert "could be" in cli("breaker", "close", "on").err
    assert cli.good("breaker", "close", "one").cells == [["provider:one", "closed"]]


def test_an_incident_is_shown_asked_and_answered(cli: Cli) -> None:
    """One question for all, which blocks no task; the answer sends one ahead."""
    world = cli.world()
    engine = cli.engine(world)
    added = [world.add(f"load {n}", failed(DEAD)) for n in range(6)]
    for _ in range(4):
        engine.tick()

    (line,) = cli.good("incidents").cells
    assert line[1:3] == ["incident", "open"]
    shown = cli.good("incidents", "show", line[0].rpartition(":")[2][:4], "--json").json
    assert shown["excerpt"]
    assert len(shown["first_tasks"]) == 5
    (asked,) = cli.good("inbox", "--json").json
    assert asked["tasks"] == []
    assert asked["id"] == shown["question"] == shown["asked"]["id"]
    (listed,) = cli.good("incidents", "--json").json
    assert listed["asked"]["need"] == asked["need"]
    assert cli.good("incidents", "show", listed["id"], "--json").json["key"] == listed["key"]
    assert all(cli.good("show", each.id, "--json").json["status"] == "failed" for each in added)
    cli.good("answer", asked["id"], "1")
    assert cli.good("inbox", "--json").json == []
    engine.tick()
    (half,) = cli.good("breaker", "list", "--json").json
    assert half["state"] == "half_open"
    assert half["canary"]["task"] in {each.id for each in added}


def test_both_are_drawn_for_a_terminal(cli: Cli) -> None:
    """At any width."""
    world = cli.world()
    engine = cli.engine(world)
    for n in range(5):
        world.add(f"load {n}", failed(DEAD))
    for _ in range(4):
        engine.tick()
    for width in (60, 120, 200):
        told = cli.screen("breaker", "list", columns=width)
        assert "incident:" in told.out
        assert "open" in told.out
        shown = cli.screen("incidents", "show", "transient", columns=width)
        assert "nothing is held" in shown.out or "held" in shown.out


def test_a_hold_that_is_over_already_is_refused(cli: Cli) -> None:
    """It would hold nothing."""
    for until in ("2020-01-01T00:00", "+0s"):
        called = cli("breaker", "open", "github", "--until", until)

        assert (called.code, called.err.split(";")[0]) == (2, f"medbay: --until {until} is over already")
    assert cli.good("breaker", "list").out == ""


def test_a_crash_loop_is_named_wherever_its_tasks_are(cli: Cli) -> None:
    """Nothing is parked under it: it keeps a runner from starting on a host, and the rows say so."""
    engine = cli.engine(cli.world())
    engine.tick()
    cli.good("breaker", "open", "crash_loop:shell@here", "--reason", "the disk is full", "--until", "+1h")
    task = cli.add("waits")

    (row,) = cli.good("list").cells
    assert row[5].startswith("held by crash_loop:shell@here: the disk is full; ")
    told = cli.good("explain", task)
    assert "medbay breaker close crash_loop:shell@here" in told.out
    assert "at the earliest: attempt 1" in told.out
    assert cli.good("explain", task, "--json").json["breaker"] == "crash_loop:shell@here"


def test_up_says_what_is_held_when_it_ends(cli: Cli) -> None:
    """A person's hold is not waited for, but it is named, with the command that ends it."""
    cli.add("call", "--provider", "anthropic")
    cli.good("breaker", "open", "anthropic", "--reason", "kept")

    ran = cli.screen("up", "--until-idle", "--no-color", columns=80)

    assert "‖ 1 held by provider:anthropic, until it is closed" in ran.out
    assert "medbay breaker close provider:anthropic" in ran.out
    assert "○ 1 pending" not in ran.out


def test_the_next_attempt_of_an_incident_is_not_promised_too_early(cli: Cli) -> None:
    """Its own time comes before the one at which the incident is looked into."""
    world = cli.world()
    engine = cli.engine(world)
    added = [world.add(f"load {n}", failed(DEAD)) for n in range(6)]
    for _ in range(4):
        engine.tick()
    (incident,) = cli.good("incidents", "--json").json

    told = dict(cells[:2] for cells in cli.good("explain", added[0].id).cells)

    assert told["next"].startswith(f"{incident['next_probe_at']} at the earliest: attempt 2")
