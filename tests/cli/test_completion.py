"""Completion as a shell asks for it: commands, options, and the ids of tasks."""

from __future__ import annotations

import pytest

from tests.cli.calling import Cli


def offered(cli: Cli, *words: str) -> list[str]:
    """What bash is offered for the last of these words."""
    env = {
        "_MEDBAY_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(["medbay", *words]),
        "COMP_CWORD": str(len(words)),
    }
    told = cli(env=env)
    assert told.err == ""
    return [line.partition(",")[2] for line in told.lines if line]


def test_commands_and_options_are_completed(cli: Cli) -> None:
    """By their beginning; the options of every command too."""
    assert offered(cli, "li") == ["lifecycle", "list"] or offered(cli, "li") == ["list", "lifecycle"]
    assert "--status" in offered(cli, "retry", "--st")
    assert offered(cli, "db", "ba") == ["backup"]


@pytest.mark.parametrize("command", ["show", "log", "explain", "pause", "cancel", "answer", "graph"])
def test_ids_are_completed(cli: Cli, command: str) -> None:
    """By their beginning, or all that are open when nothing is typed."""
    task_id, gone = cli.add("a"), cli.add("b")
    cli.good("cancel", gone)

    assert offered(cli, command, "") == [task_id]
    assert gone in offered(cli, command, gone[:2])
    assert offered(cli, command, "0") == []


def test_an_id_is_offered_once_and_from_the_store_that_is_named(cli: Cli) -> None:
    """What stands on the line already is left out."""
    first, second = cli.add("a"), cli.add("b")
    store = f"sqlite:///{cli.folder}/.medbay/medbay.db"

    assert offered(cli, "pause", first, "") == [second]
    assert sorted(offered(cli, "--store", store, "add", "x", "--after", "")) == sorted([first, second])


def test_without_a_store_nothing_is_offered(bare: Cli) -> None:
    """And nothing is said on the line somebody is typing."""
    assert offered(bare, "show", "") == []


def test_the_script_of_each_shell_asks_for_it(cli: Cli) -> None:
    """They call the command with the variable of completion."""
    for shell in ("bash", "zsh", "fish"):
        assert "_MEDBAY_COMPLETE" in cli("completion", shell).out


def test_words_of_the_store_and_of_the_configuration_are_completed(cli: Cli) -> None:
    """Statuses, tags, agents and categories."""
    cli.add("a", "--tag", "nightly")
    (cli.folder / "medbay.toml").write_text('[agents.helper]\ncommand = ["true", "{prompt_file}"]\n')

    assert offered(cli, "list", "--status", "b") == ["blocked"]
    assert offered(cli, "list", "--status", "failed,b") == ["failed,blocked"]
    assert offered(cli, "list", "--tag", "n") == ["nightly"]
    assert offered(cli, "add", "x", "--agent", "he") == ["helper"]
    assert offered(cli, "add", "x", "--agent", "cl") == ["claude"]
    assert offered(cli, "list", "--category", "tr") == ["transient"]
    assert "transient/network" in offered(cli, "reclassify", "k7f2", "transient/")


def test_the_options_of_a_question_are_completed(cli: Cli) -> None:
    """By their numbers; a task without a question has none."""
    asks, silent = cli.add("asks"), cli.add("silent")
    cli.good("block", asks, "--reason", "why not", "--kind", "human")

    assert offered(cli, "answer", asks, "")[:2] == ["1", "2"]
    assert offered(cli, "answer", silent, "") == []
