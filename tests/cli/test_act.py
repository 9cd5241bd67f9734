"""What people do to tasks, what is refused, and by which exit code."""

from __future__ import annotations

import pytest

from tests.cli.calling import Cli

PERSONS = [
    ["pause", "k7f2"],
    ["resume", "k7f2"],
    ["cancel", "k7f2"],
    ["retry", "k7f2"],
    ["unblock", "k7f2"],
    ["block", "k7f2", "--reason", "x"],
    ["edit", "k7f2", "--title", "x"],
    ["answer", "k7f2", "1"],
    ["reclassify", "k7f2", "transient"],
]


@pytest.mark.parametrize("words", PERSONS, ids=lambda words: words[0])
def test_a_persons_command_is_refused_inside_an_attempt(
    cli: Cli, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What Medbay runs may not decide about itself."""
    monkeypatch.setenv("MEDBAY_ATTEMPT_KEY", "store:k7f2:1")

    called = cli(*words)

    assert called.code == 4
    assert "a person's command" in called.err


@pytest.mark.parametrize("words", [["list"], ["events"], ["inbox"], ["add", "a", "--run", "true"]])
def test_looking_and_adding_are_allowed_inside_an_attempt(
    cli: Cli, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They change nothing a person decided."""
    monkeypatch.setenv("MEDBAY_ATTEMPT_KEY", "store:k7f2:1")

    assert cli(*words).code == 0


@pytest.mark.parametrize("words", PERSONS, ids=lambda words: words[0])
def test_an_unknown_task_is_not_found(cli: Cli, words: list[str]) -> None:
    """Exit 3 everywhere."""
    assert cli(*words).code == 3


@pytest.mark.parametrize("words", PERSONS, ids=lambda words: words[0])
def test_a_cancelled_task_goes_nowhere(cli: Cli, words: list[str]) -> None:
    """Exit 4, and what to do instead."""
    task_id = cli.add("a")
    cli.good("cancel", task_id)

    called = cli(words[0], task_id, *words[2:])

    assert called.code == 4
    assert "; " in called.err


def test_pause_and_resume_say_what_is_now(cli: Cli) -> None:
    """One line per task."""
    first, second = cli.add("a"), cli.add("b")

    told = cli.good("pause", first, second)

    assert told.lines == [
        f"{first}\tis paused; medbay resume {first} lets it go on",
        f"{second}\tis paused; medbay resume {second} lets it go on",
    ]
    assert cli.bay().get(first).paused
    assert cli.good("resume", first).lines == [f"{first}\tgoes on"]
    assert not cli.bay().get(first).paused


def test_one_refusal_does_not_stop_the_others(cli: Cli) -> None:
    """The exit code is the first refusal's."""
    gone, good = cli.add("a"), cli.add("b")
    cli.good("cancel", gone)

    called = cli("pause", gone, "0000", good)

    assert called.code == 4
    assert called.lines == [f"{good}\tis paused; medbay resume {good} lets it go on"]
    assert called.err.count("medbay: ") == 2


def test_a_running_task_is_asked_to_stop(cli: Cli) -> None:
    """Cancelling says so; other commands say what to do instead."""
    world = cli.world()
    engine = cli.engine(world)
    task = world.add("runs", None)
    engine.tick()

    assert cli.good("pause", task.id).lines == [f"{task.id}\tis paused as soon as attempt 1 has ended"]
    cli.good("resume", task.id)
    assert cli("retry", task.id).code == 4
    assert cli("block", task.id, "--reason", "x").code == 4
    told = cli.good("cancel", task.id)
    assert told.lines == [f"{task.id}\twas asked to stop; attempt 1 is running and will be ended"]
    assert "asked to stop" in cli.good("list").out


def test_block_comes_back_by_itself_or_asks(cli: Cli) -> None:
    """The two kinds a person has."""
    outside, asks = cli.add("a"), cli.add("b")

    assert "is blocked until 2" in cli.good("block", outside, "--reason", "vendor").out
    assert f"medbay answer {asks}" in cli.good("block", asks, "--reason", "x", "--kind", "human").out
    assert cli("block", asks, "--reason", "again").code == 4
    assert cli("block", outside).code == 2
    assert cli("block", outside, "--reason", " ").code == 2


def test_unblock_and_retry_grant_attempts(cli: Cli) -> None:
    """Two, or as many as said."""
    task_id = cli.add("a")
    assert cli("unblock", task_id).code == 4
    cli.good("block", task_id, "--reason", "x", "--kind", "human")

    assert cli.good("unblock", task_id, "--attempts", "3").out == f"{task_id}\tis released, with 3 more attempts\n"
    assert cli.bay().get(task_id).granted == 3
    assert cli.good("retry", task_id, "--attempts", "1").out == f"{task_id}\tis tried again now, with 1 more attempt\n"
    assert cli.bay().get(task_id).forced
    assert cli("retry", task_id, "--attempts", "0").code == 2


def test_acting_can_give_data(cli: Cli) -> None:
    """The tasks as they are now."""
    task_id = cli.add("a")

    assert cli.good("cancel", task_id, "--json").json[0]["status"] == "cancelled"


def test_on_a_terminal_it_is_a_sentence(cli: Cli) -> None:
    """No tabs for people."""
    task_id = cli.add("a")

    assert cli.screen("cancel", task_id).out == f"{task_id} is cancelled\n"


def test_edit_changes_values_from_the_next_attempt(cli: Cli) -> None:
    """The same options as adding, and what was changed is said."""
    other, task_id = cli.add("other"), cli.add("a")

    told = cli.good(
        "edit", task_id, "--title", "b", "--timeout", "5m", "--tag", "x", "--after", other, "--", "ls", "-l"
    )

    assert told.out == f"{task_id}\tchanged: title, timeout, tag, run, after; from attempt 1 on\n"
    shown = cli.good("show", task_id, "--json").json
    assert (shown["title"], shown["timeout_s"], shown["tags"], shown["run"]) == ("b", 300, ["x"], ["ls", "-l"])
    assert shown["after"] == [other]


def test_edit_can_forget_failures(cli: Cli) -> None:
    """The only reset besides a success."""
    task_id = cli.add("a")

    assert "changed: failures" in cli.good("edit", task_id, "--reset-failures").out


@pytest.mark.parametrize(
    ("words", "code"),
    [([], 2), (["--timeout", "soon"], 2), (["--after", "0000"], 3), (["--priority", "8"], 2), (["--key", "x"], 2)],
)
def test_a_wrong_edit_changes_nothing(cli: Cli, words: list[str], code: int) -> None:
    """Exit code by what is wrong."""
    task_id = cli.add("a")

    assert cli("edit", task_id, *words).code == code
    assert cli.bay().get(task_id).version == 0


def test_a_task_may_not_wait_for_itself(cli: Cli) -> None:
    """Nor in a circle."""
    first = cli.add("a")
    second = cli.add("b", "--after", first)

    assert cli("edit", first, "--after", second).code in (2, 4)


def test_resuming_what_is_not_paused_says_what_holds_it(cli: Cli) -> None:
    """It does not go on: another command would help, and that one is named."""
    ready, asks = cli.add("a"), cli.add("b")
    cli.good("block", asks, "--reason", "which one?", "--kind", "human")

    assert cli.good("resume", ready).cells == [[ready, "was not paused: it is pending · ready; medbay up"]]
    told = f"was not paused: it is blocked · human; medbay answer {asks}"
    assert cli.good("resume", asks).cells == [[asks, told]]


def test_a_blocked_task_shows_that_it_is_paused(cli: Cli) -> None:
    """The answer alone would not start it."""
    task_id = cli.add("a")
    cli.good("pause", task_id)
    cli.good("block", task_id, "--reason", "which one?", "--kind", "human")

    assert "blocked · human · paused" in cli.screen("list", "--no-color", columns=80).out
    assert f"medbay resume {task_id}" in cli.good("explain", task_id, "--json").json["changes"]
    told = f"is no longer paused, but blocked · human; medbay answer {task_id}"
    assert cli.good("resume", task_id).cells == [[task_id, told]]


def test_nothing_is_offered_to_run_what_was_cancelled(cli: Cli) -> None:
    """`medbay up` helps only where something is left to run."""
    over, again = cli.add("a"), cli.add("b")
    for each in (over, again):
        cli.good("block", each, "--reason", "which one?", "--kind", "human")

    assert "medbay up" not in cli.screen("answer", over, "cancel").out
    assert "medbay up" in cli.screen("answer", again, "retry").out
