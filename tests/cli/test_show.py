"""`medbay show` and `medbay explain`: everything about one task."""

from __future__ import annotations

import pytest

from medbay.views.text import width
from tests.cli.calling import Cli
from tests.worlds import failed, quick_policy

DOCUMENTED = """id title status block_kind paused attempts consecutive_failures next_attempt_at last_triaged_at
    guidance retries history after tags""".split()


def failing(cli: Cli, *, text: str = "Error: connect ECONNREFUSED 10.0.0.1:443") -> str:
    """A task that failed once and waits."""
    world = cli.world()
    engine = cli.engine(world)
    task = world.add("pull rates", failed(text), tag=["nightly"])
    engine.tick()
    engine.tick()
    engine.stop()
    return task.id


def test_json_has_at_least_the_documented_fields(cli: Cli) -> None:
    """Of the task, and of each attempt."""
    shown = cli.good("show", failing(cli), "--json").json

    assert set(DOCUMENTED) <= shown.keys()
    (attempt,) = shown["attempts"]
    assert set("number started_at ended_at outcome exit_code diagnosis".split()) <= attempt.keys()
    assert attempt["diagnosis"]["category"] == "transient"
    assert shown["consecutive_failures"] == 1


@pytest.mark.parametrize("columns", [60, 100, 200])
def test_a_failed_task_shows_its_attempts_and_what_comes(cli: Cli, columns: int) -> None:
    """The reason, the time, and the guidance for the next attempt."""
    task_id = failing(cli)

    told = cli.screen("show", task_id, columns=columns, env={"NO_COLOR": "1"})

    assert told.code == 0
    assert told.lines[0] == f"{task_id}  pull rates"
    assert told.lines[1].startswith("  ◷ failed · retry in ")
    assert "UTC)" in told.lines[1]
    assert any(line.startswith("  #1 ✗ ") and "exit 1" in line for line in told.lines)
    assert any(line.startswith("  advice for attempt 2: ") for line in told.lines)
    assert f"medbay explain {task_id}" in told.lines[-1]
    assert all(width(line) <= columns for line in told.lines)


def test_for_programs_one_fact_per_line(cli: Cli) -> None:
    """Then one attempt per line."""
    rows = cli.good("show", failing(cli)).cells

    facts = {cells[0]: cells[1] for cells in rows}
    assert facts["status"] == "failed"
    assert facts["tags"] == "nightly"
    assert facts["next_attempt_at"].endswith("Z")
    attempt = next(cells for cells in rows if cells[0] == "attempt")
    assert (attempt[1], attempt[4], attempt[5]) == ("1", "failed", "exit 1")


def test_any_unambiguous_prefix_names_a_task(cli: Cli) -> None:
    """An ambiguous one is wrong usage, an unknown one not found."""
    ids = cli.good("add", "--file", "-", stdin='{"title": "a", "run": "true"}\n' * 40).lines
    letters = [task_id[0] for task_id in ids]
    shared = next(letter for letter in letters if letters.count(letter) > 1)

    assert cli.good("show", ids[0], "--json").json["id"] == ids[0]
    ambiguous = cli("show", shared)
    assert ambiguous.code == 2
    assert ambiguous.err.endswith("; type one more letter\n")
    assert cli("show", "0000").code == 3
    assert cli("show", "").code == 3


def test_a_blocked_task_shows_why_and_what_was_asked(cli: Cli) -> None:
    """And the commands to type."""
    task_id = cli.add("deploy docs")
    cli.good("block", task_id, "--reason", "the token lacks a scope", "--kind", "human")

    told = cli.screen("show", task_id, env={"NO_COLOR": "1"}).out

    assert "why: the token lacks a scope" in told
    assert f"medbay answer {task_id}" in told


def test_explain_says_where_why_next_and_what_would_change_it(cli: Cli) -> None:
    """On a terminal in sentences, for programs with tabs and ISO times."""
    task_id = failing(cli)

    told = cli.screen("explain", task_id, env={"NO_COLOR": "1"})
    labels = [line.split()[0] for line in told.lines if not line.startswith(" ")]
    rows = {cells[0]: cells[1] for cells in cli.good("explain", task_id).cells}

    assert labels == ["Where", "Why", "Next", "Change", "If"]
    assert f"medbay retry {task_id}" in told.out
    assert all(width(line) <= 100 for line in told.lines)
    assert rows["next"].split()[0].endswith("Z")
    assert "attempt 3 at 2" in rows["if it fails the same way"]


def test_explain_is_data_too(cli: Cli) -> None:
    """With all reasons in their order and the coming decisions."""
    found = cli.good("explain", failing(cli), "--json").json

    assert [reason["number"] for reason in found["reasons"]] == [8, 13]
    assert found["retry"]["status"] == "pending"
    assert len(found["if_it_keeps_failing"]) == 5
    assert found["next_attempt_at"] == found["retry"]["due_at"]


@pytest.mark.parametrize(
    ("act", "next_step", "change"),
    [
        ([], "when what holds it back is over", "medbay up"),
        (["pause"], "until it is resumed", "medbay resume"),
        (["cancel"], "it has ended", "medbay add"),
    ],
)
def test_explain_has_an_answer_for_every_place(cli: Cli, act: list[str], next_step: str, change: str) -> None:
    """Ready, paused, ended."""
    task_id = cli.add("a")
    if act:
        cli.good(*act, task_id)

    rows = {cells[0]: cells[1] for cells in cli.good("explain", task_id).cells}

    assert next_step in rows["next"]
    assert change in rows["change"]


def test_explain_of_blocked_and_running_tasks(cli: Cli) -> None:
    """A person's question, something outside, and a live attempt."""
    world = cli.world()
    engine = cli.engine(world)
    running = world.add("runs", None, timeout="1h")
    engine.tick()
    asks, outside = cli.add("asks"), cli.add("outside")
    cli.good("block", asks, "--reason", "why not", "--kind", "human")
    cli.good("block", outside, "--reason", "vendor")

    def told(task_id: str) -> str:
        return cli.good("explain", task_id).out

    assert "attempt 1 ends, at the latest" in told(running.id)
    assert "nothing until a person answers" in told(asks)
    assert f"medbay unblock {outside}" in told(outside)


def test_explain_follows_the_chain(cli: Cli) -> None:
    """To what everything waits for."""
    first = cli.add("first")
    second = cli.add("second", "--after", first)
    third = cli.add("third", "--after", second)

    assert f"it waits for {second}, which waits for {first}" in cli.good("explain", third).out


def test_a_retry_that_waits_for_its_share_of_the_slots_says_so(cli: Cli) -> None:
    """Reason 14, named by `show` as by `list`; what nobody serves names 13."""
    world = cli.world()
    world.policy = quick_policy(1)
    engine = world.engine(slots=2)
    engine.start()
    again = [world.add(f"again {n}", failed("odd"), None).id for n in range(2)]
    while not all(world.task(each).status == "failed" for each in again):
        engine.tick()
    for number in range(3):
        world.add(f"fresh {number}", None)
    while len(engine.live) < 2:
        engine.tick()

    (waiting,) = (each for each in again if world.task(each).live is None)
    while world.task(waiting).status != "pending":
        engine.tick()
    told = "recovery has its share of the slots while fresh work is ready"
    assert cli.good("show", waiting, "--json").json["held_back"]["number"] == 14
    assert f"waits\t{told}" in cli.good("show", waiting).lines
    assert f"waits: {told}" in cli.screen("show", waiting).out
    elsewhere = cli.add("elsewhere", "--queue", "nobody")
    assert 'waits\tno live worker serves the queue "nobody"' in cli.good("show", elsewhere).lines
    (running,) = (each for each in again if each != waiting)
    assert cli.good("show", running, "--json").json["held_back"]["number"] == 3


def test_what_waits_for_a_person_is_given_no_time(cli: Cli) -> None:
    """The next attempt has its number, and only the waits after it have a length."""
    world = cli.world()
    engine = cli.engine(world)
    task = world.add("a", failed("connect ECONNREFUSED 10.0.0.1:443"))
    engine.tick()
    engine.tick()
    cli.good("block", task.id, "--reason", "wait for me", "--kind", "human")

    told = dict(cells[:2] for cells in cli.good("explain", task.id).cells)["if it fails the same way"]

    assert told.startswith("attempt 2 when a person lets it go on · attempt 3 ")
    assert " later" in told and " at " not in told.split(" · after ")[0]


@pytest.mark.parametrize("columns", [60, 100])
def test_a_persons_task_shows_what_is_to_be_done(cli: Cli, columns: int) -> None:
    """Its description is the work; a program reads it as a field."""
    words = "Order the replacement disk from the vendor, and write the number of the order into the ticket."
    task = cli.good("add", "order a disk", "--person", "--description", words).out.strip()

    told = cli.screen("show", task, columns=columns, env={"NO_COLOR": "1"})

    assert words in " ".join(line.strip() for line in told.lines)
    assert all(width(line) <= columns for line in told.lines)
    assert ["description", words] in cli.good("show", task).cells
