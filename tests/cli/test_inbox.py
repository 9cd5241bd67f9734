"""`medbay inbox` and `medbay answer`: questions and what a person says to them."""

from __future__ import annotations

import re

import pytest

from medbay.views.text import width
from tests.cli.calling import Cli
from tests.worlds import failed


def asking(cli: Cli, reason: str = "GitHub token lacks the scope workflow") -> str:
    """A task that waits for a person."""
    task_id = cli.add("deploy docs")
    cli.good("block", task_id, "--reason", reason, "--kind", "human")
    return task_id


def test_an_empty_inbox_says_so(cli: Cli) -> None:
    """On stderr; the result is empty."""
    called = cli.good("inbox")

    assert called.out == ""
    assert called.err == "no questions: nothing needs you\n"
    assert cli.good("inbox", "--json").json == []


@pytest.mark.parametrize("columns", [60, 100, 200])
def test_a_question_shows_its_options_and_the_command_to_type(cli: Cli, columns: int) -> None:
    """It can be answered on the spot."""
    task_id = asking(cli)

    told = cli.screen("inbox", columns=columns, env={"NO_COLOR": "1"})

    assert re.match(rf"! {task_id}  \d+s  deploy docs: ", told.lines[0])
    assert "    1 looked into it, retry (default): starts it again" in told.out
    assert f"medbay answer {task_id} 1" in told.lines[-1]
    assert all(width(line) <= columns for line in told.lines)


def test_a_question_is_data(cli: Cli) -> None:
    """With numbered options."""
    task_id = asking(cli)

    (question,) = cli.good("inbox", "--json").json

    assert question["tasks"] == [task_id]
    assert [option["number"] for option in question["options"]] == [1, 2, 3]
    assert question["default"] == 1
    assert cli.good("inbox").cells[0][:2] == [question["id"], task_id]


def test_evidence_cannot_control_the_terminal(cli: Cli) -> None:
    """Neither a reason nor a log."""
    asking(cli, "look \x1b[2J here")
    world = cli.world()
    engine = cli.engine(world)
    world.add("evil", failed("bash: line 1: nosuchtool\x1b[31m: command not found", exit_code=127))
    engine.tick()
    engine.tick()

    assert "\x1b" not in cli.screen("inbox", env={"NO_COLOR": "1"}).out


def test_an_answer_releases_the_task(cli: Cli) -> None:
    """By number, by word, by default."""
    for option, status in (("1", "pending"), ("retry", "pending"), ("default", "pending"), ("cancel", "cancelled")):
        task_id = asking(cli)

        told = cli.good("answer", task_id, option)

        assert told.out.startswith(f"{task_id}: ")
        assert cli.bay().get(task_id).status == status
    assert cli.good("inbox").out == ""


def test_a_note_reaches_the_next_attempt(cli: Cli) -> None:
    """With as many attempts as granted."""
    task_id = asking(cli)

    told = cli.good("answer", task_id, "1", "--note", "the token is new", "--attempts", "4", "--json").json

    assert told["tasks"] == [task_id]
    task = cli.bay().get(task_id)
    assert task.granted == 4
    assert "the token is new" in task.guidance[-1].text


def test_a_note_is_kept_without_its_secrets(cli: Cli) -> None:
    """Neither the store nor the next attempt has what was typed by mistake."""
    task_id = cli.add("a")
    cli.good("block", task_id, "--reason", "why not", "--kind", "human")

    cli.good("answer", task_id, "1", "--note", "the new one is ghp_" + "Zx9Qw7Er5Ty3Ui1Op0As8Df6Gh4Jk2Lz0Xc9")

    told = cli.good("show", task_id, "--json").out + cli.good("events", "--json").out
    assert "Zx9Qw7Er5Ty3" not in told
    assert "the new one is [redacted]" in told


def test_a_question_can_be_named_by_its_own_id(cli: Cli) -> None:
    """As the inbox shows it."""
    asking(cli)
    question = cli.good("inbox").cells[0][0]

    assert cli("answer", question, "pause").code == 0


def test_a_wrong_answer_names_the_options(cli: Cli) -> None:
    """Exit 2; the question stays open."""
    task_id = asking(cli)

    called = cli("answer", task_id, "9")

    assert called.code == 2
    assert "choose one of: 1 looked into it, retry" in called.err
    assert len(cli.good("inbox").lines) == 1


def test_no_question_is_not_allowed(cli: Cli) -> None:
    """Exit 4, and where questions are."""
    task_id = cli.add("a")
    called = cli("answer", task_id, "1")

    assert (called.code, called.err) == (
        4,
        f"medbay: nothing was asked about {task_id}; medbay inbox lists the questions\n",
    )
    nobody = cli("answer", "nobody", "1")
    assert nobody.code == 3
    assert nobody.err == 'medbay: there is no question and no task "nobody"; medbay inbox lists the questions\n'


def test_an_empty_answer_is_no_consent(cli: Cli) -> None:
    """A script whose variable is not set has decided nothing."""
    task = cli.add("pull")
    cli.good("block", task, "--reason", "vendor", "--kind", "human")

    refused = cli("answer", task, " ")

    assert refused.code == 2 and "the answer is empty" in refused.err
    assert len(cli.good("inbox").lines) == 1


def test_what_was_answered_says_how(cli: Cli) -> None:
    """By task or by question; `show` has it too, with what a person left as the result."""
    task_id = cli.good("add", "sign it", "--person").out.strip()
    cli.good("answer", task_id, "done", "--note", "in the drawer")

    for given in (task_id, f"q-{task_id}-1"):
        again = cli("answer", given, "done")
        assert again.code == 4
        assert again.err.startswith(f"medbay: q-{task_id}-1 was answered by person:")
        assert "done: in the drawer" in again.err
    shown = {cells[0]: cells[1] for cells in cli.good("show", task_id).cells}
    assert shown["result"] == '"in the drawer"'
    assert shown["answered"].startswith("done: in the drawer, by person:")
    assert '  result: "in the drawer"' in cli.screen("show", task_id, env={"NO_COLOR": "1"}).lines


def test_a_terminal_asks_again_for_what_is_no_answer(cli: Cli) -> None:
    """Nothing is lost by a slip."""
    task_id = asking(cli)

    told = cli.terminal("answer", task_id, typed="9\n3\n")

    assert told.code == 0
    assert '"9" is not an option of' in told.out
    assert cli.bay().get(task_id).status == "cancelled"


def test_without_an_option_a_terminal_asks(cli: Cli) -> None:
    """The question is shown, and what is typed is taken."""
    task_id = asking(cli)

    told = cli.screen("answer", task_id, typed="3\n")

    assert told.code == 0
    assert "cancel the task" in told.out
    assert cli.bay().get(task_id).status == "cancelled"


def test_without_an_option_and_without_a_terminal_the_default_is_taken(cli: Cli) -> None:
    """A script means the default."""
    task_id = asking(cli)

    assert cli.good("answer", task_id).out == f"{task_id}: looked into it, retry\n"


def test_a_question_that_was_sent_again_says_how_often(cli: Cli) -> None:
    """How long it waits, and that it was not overlooked by us."""
    task_id = asking(cli)
    with cli.bay().store.write() as tx:
        tx.execute("UPDATE question SET sent = 2, asked_at = asked_at - 18000000")

    told = cli.screen("inbox", columns=100, env={"NO_COLOR": "1"})

    assert re.match(rf"! {task_id}  5h", told.lines[0])
    assert re.match(r"    asked 5h.* ago, sent 2 times", told.lines[1])
    assert cli.good("inbox", "--json").json[0]["sent"] == 2


def test_what_you_answered_is_remembered_offered_and_forgotten(cli: Cli) -> None:
    """`medbay preferences` has the list; nothing is answered by itself."""
    task_id = asking(cli)
    assert cli.good("preferences").err == "no remembered answers yet\n"
    cli.good("answer", task_id, "pause")
    cli.good("resume", task_id)
    cli.good("block", task_id, "--reason", "again", "--kind", "human")

    told = cli.screen("inbox", columns=160, env={"NO_COLOR": "1"}).out
    assert "2 leave it for later (default) (you chose this last time)" in told
    (kept,) = cli.good("preferences", "list", "--json").json
    assert (kept["scope"], kept["answer"], kept["used"]) == (f"task:{task_id}", "pause", 0)
    assert cli.good("preferences", "--json").json == [kept]
    assert f"task:{task_id}  pause  by person:" in cli.screen("preferences", columns=100).out
    assert "medbay preferences forget SCOPE" in cli.screen("preferences", columns=100).lines[-1]
    assert cli.good("preferences").cells[0][:2] == [f"task:{task_id}", "pause"]
    assert cli.good("preferences", "forget", "task:").out == f"task:{task_id}: forgotten, was pause\n"
    assert cli("preferences", "forget", "task:").code == 3
    assert cli.good("inbox", "--json").json[0]["chosen_last_time"] is None
