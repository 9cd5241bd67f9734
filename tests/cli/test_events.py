"""`medbay events`: in order, resumable, one per line."""

from __future__ import annotations

import json

from medbay.views.text import width
from tests.cli.calling import Cli


def test_json_is_one_event_per_line_with_its_fields(cli: Cli) -> None:
    """Sequence numbers rise."""
    task_id = cli.add("a")
    cli.good("pause", task_id)

    events = [json.loads(line) for line in cli.good("events", "--json").lines]

    assert [event["name"] for event in events] == ["task:created", "task:paused"]
    assert events[0].keys() == {"seq", "at", "name", "task", "attempt", "data"}
    assert events[0]["seq"] < events[1]["seq"]


def test_since_resumes_where_a_reader_stopped(cli: Cli) -> None:
    """Nothing is missed, nothing comes twice."""
    first, second = cli.add("a"), cli.add("b")
    seq = json.loads(cli.good("events", "--json").lines[0])["seq"]

    rest = cli.good("events", "--since", str(seq), "--json").lines

    assert [json.loads(line)["task"] for line in rest] == [second]
    assert first != second


def test_one_task_can_be_chosen_by_a_prefix(cli: Cli) -> None:
    """An unknown one is not found."""
    cli.add("a")
    task_id = cli.add("b")

    assert all(cells[3] == task_id for cells in cli.good("events", "--task", task_id).cells)
    assert cli("events", "--task", "0000").code == 3


def test_a_terminal_sees_the_newest_and_how_to_see_all(cli: Cli) -> None:
    """Fifty lines that fit."""
    cli.good("add", "--file", "-", stdin='{"title": "a\\u001b[2J", "run": "true"}\n' * 80)

    told = cli.screen("events", columns=60, env={"NO_COLOR": "1"})

    assert len(told.lines) == 51
    assert "--since 0" in told.lines[0]
    assert "\x1b" not in told.out
    assert all(width(line) <= 64 for line in told.lines)
    assert len(cli.good("events").lines) == 80
    assert len(cli.screen("events", "--since", "0").lines) == 80


def test_more_than_one_page_is_read_to_the_end(cli: Cli) -> None:
    """A thousand at a time."""
    cli.good("add", "--file", "-", stdin='{"title": "a", "run": "true"}\n' * 1_001)

    assert len(cli.good("events", "--json").lines) == 1_001
