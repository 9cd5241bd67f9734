"""Acting on all that match: said first, done in one go, everybody accounted for."""

from __future__ import annotations

import pytest

from medbay.errors import UsageError
from medbay.store.tasks import TaskFilter
from tests.cli.calling import Cli
from tests.worlds import failed

ACTIONS = ["pause", "resume", "cancel", "retry", "unblock"]


def fleet(cli: Cli) -> dict[str, str]:
    """A failed, a running, a ready and a paused task, all with the tag x."""
    world = cli.world()
    engine = cli.engine(world)
    failing = world.add("failing", failed("connect ECONNREFUSED 10.0.0.1:443"), tag="x")
    runs = world.add("runs", None, tag="x")
    engine.tick()
    engine.tick()
    ready = cli.add("ready", "--tag", "x")
    held = cli.add("held", "--tag", "x")
    cli.good("pause", held)
    cli.add("other")
    return {"failing": failing.id, "runs": runs.id, "ready": ready, "held": held}


def test_a_dry_run_says_who_and_changes_nothing(cli: Cli) -> None:
    """The line adds up, with every reason."""
    ids = fleet(cli)
    before = cli.bay().last_seq()

    told = cli.good("retry", "--tag", "x", "--dry-run")

    assert told.err == "would retry 2 of 4 (1 is paused, 1 is running: skipped)\n"
    assert sorted(told.cells) == sorted(
        [
            [ids["failing"], "would retry"],
            [ids["ready"], "would retry"],
            [ids["runs"], "skipped", "running"],
            [ids["held"], "skipped", "paused"],
        ]
    )
    assert cli.bay().last_seq() == before


def test_it_is_done_to_exactly_those(cli: Cli) -> None:
    """And said in the same words."""
    ids = fleet(cli)

    assert cli.good("retry", "--tag", "x").err == "retried 2 of 4 (1 is paused, 1 is running: skipped)\n"
    assert cli.bay().get(ids["failing"]).forced
    assert cli.good("pause", "--status", "failed,pending", "--tag", "x").err.startswith("paused 2 of 3 (1 is paused al")
    assert cli.good("resume", "--text", "held").err == "resumed 1\n"
    assert cli.good("cancel", "--tag", "x").err == "cancelled 4\n"
    assert cli.good("cancel", "--tag", "x").err == "cancelled 0 of 1 (1 is asked to stop already: skipped)\n"
    assert cli.bay().get(ids["runs"]).cancel_requested
    assert cli.good("unblock", "--status", "cancelled").err == "unblocked 0 of 3 (3 are cancelled: skipped)\n"
    assert [task.title for task in cli.bay().select(TaskFilter(statuses=("pending",)))] == ["other"]


def test_what_a_cancelled_one_blocked_can_be_cancelled_too(cli: Cli) -> None:
    """The first of a chain changes the next; both are read as they are then."""
    first = cli.add("first", "--tag", "x")
    second = cli.add("second", "--tag", "x", "--after", first)
    cli.add("third", "--tag", "x", "--after", second)

    assert cli.good("cancel", "--tag", "x").err == "cancelled 3\n"


def test_unblocking_many(cli: Cli) -> None:
    """By category or by status."""
    for name in ("a", "b"):
        cli.good("block", cli.add(name), "--reason", "x", "--kind", "human")
    cli.add("c")

    assert cli.good("unblock", "--status", "blocked", "--attempts", "3").err == "unblocked 2\n"
    assert cli.good("unblock", "--queue", "default").err == "unblocked 0 of 3 (3 are pending: skipped)\n"
    assert cli.good("inbox", "--json").json == []


@pytest.mark.parametrize("action", ACTIONS)
def test_an_empty_choice_is_refused(cli: Cli, action: str) -> None:
    """Nothing is done to everything by mistake; ids and a filter together mean nothing."""
    task_id = cli.add("a")

    for words in ([], ["--text", ""], ["--dry-run"], [task_id, "--tag", "x"]):
        assert cli(action, *words).code == 2
    with pytest.raises(UsageError, match="which tasks are meant"):
        cli.bay().act_on("cancel", TaskFilter(only_open=True))
    assert cli.bay().get(task_id).version == 0


def test_nothing_that_matches_is_no_failure(cli: Cli) -> None:
    """A script may ask every night."""
    assert cli.good("retry", "--tag", "none").err == "nothing matches\n"


def test_a_dry_run_of_named_tasks(cli: Cli) -> None:
    """The same words for ids."""
    task_id = cli.add("a")

    assert cli.good("cancel", task_id, "--dry-run").lines == [f"{task_id}\twould cancel"]
    assert cli("cancel", "0000", "--dry-run").code == 3


def test_cancelling_many_has_to_be_meant(cli: Cli) -> None:
    """More than twenty: --yes, or the number typed on a terminal."""
    cli.good("add", "--file", "-", stdin='{"title": "a", "run": "true", "tag": "x"}\n' * 21)
    open_ones = TaskFilter(only_open=True)

    refused = cli("cancel", "--tag", "x")
    assert (refused.code, refused.err.split(";")[0]) == (2, "medbay: this would cancel 21 tasks for good")
    assert cli.screen("cancel", "--tag", "x", typed="20\n").code == 2
    assert cli.bay().count(open_ones) == 21

    told = cli.screen("cancel", "--tag", "x", typed="21\n")
    assert told.code == 0
    assert told.lines[-1].endswith("cancelled 21")
    cli.good("add", "--file", "-", stdin='{"title": "a", "run": "true", "tag": "x"}\n' * 21)
    assert cli.good("cancel", "--tag", "x", "--yes").err == "cancelled 21\n"


def test_the_result_is_data_too(cli: Cli) -> None:
    """Ids, and why the others were passed over."""
    ids = fleet(cli)

    found = cli.good("retry", "--tag", "x", "--dry-run", "--json").json

    assert (found["action"], found["dry_run"], found["matched"]) == ("retry", True, 4)
    assert sorted(found["done"]) == sorted([ids["failing"], ids["ready"]])
    assert {"id": ids["runs"], "why": "running"} in found["skipped"]


def test_a_dry_run_lists_them_on_a_terminal(cli: Cli) -> None:
    """As far as a screen holds them, then how many more."""
    for number in range(22):
        cli.add(f"task {number} {'long ' * 30}", "--tag", "x")

    lines = cli.screen("cancel", "--tag", "x", "--dry-run", columns=80).lines

    assert len(lines) == 22 and all(len(line) < 80 and "task " in line for line in lines[:20])
    assert lines[20:] == ["and 2 more", "would cancel 22"]


@pytest.mark.parametrize("action", [*ACTIONS, "list"])
def test_an_unknown_category_is_refused(cli: Cli, action: str) -> None:
    """As by `patterns list`; nothing matching would look like good news."""
    called = cli(action, "--category", "bogus")

    assert (called.code, called.out) == (2, "")
    assert '"bogus" is not a category' in called.err
    assert cli(action, "--category", "transient/network").code == 0
