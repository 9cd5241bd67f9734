"""`medbay list`: order, filters, widths, and lines for programs."""

from __future__ import annotations

import re

import pytest

from medbay.store.tasks import TaskFilter
from medbay.views.status import status_phrase
from medbay.views.text import width
from tests.cli.calling import Cli
from tests.worlds import failed

ANSI = re.compile("\x1b\\[[0-9;]*m")
LONG = "a title that is much longer than any terminal has room for, with the reason after it " * 3


def fleet(cli: Cli) -> dict[str, str]:
    """One task in each place of the order."""
    world = cli.world()
    engine = cli.engine(world)
    waits = world.add("waits", failed("connect ECONNREFUSED 10.0.0.1:443"))
    runs = world.add("runs", None, timeout="1h")
    done = world.add("done")
    engine.tick()
    engine.tick()
    later = cli.add("later", "--at", "+20h")
    ready = cli.add("ready")
    after = cli.add("after", "--after", ready)
    held = cli.add("held")
    cli.good("pause", held)
    asks = cli.add("asks")
    cli.good("block", asks, "--reason", "GitHub token lacks the scope workflow", "--kind", "human")
    named = {"waits": waits.id, "runs": runs.id, "done": done.id, "later": later}
    return {**named, "ready": ready, "after": after, "held": held, "asks": asks}


def test_what_needs_you_comes_first_and_what_ended_last(cli: Cli) -> None:
    """Needs you, running, waiting soonest first, held, ready, done."""
    ids = fleet(cli)

    told = [cells[0] for cells in cli.good("list").cells]

    order = ["asks", "runs", "waits", "later", "after", "held", "ready", "done"]
    assert told == [ids[name] for name in order]


def test_a_line_for_programs_has_whole_cells_between_tabs(cli: Cli) -> None:
    """Id, status, what holds it, when, title, why; nothing is cut and times are ISO."""
    ids = fleet(cli)
    rows = {cells[0]: cells for cells in cli.good("list").cells}

    assert rows[ids["asks"]][1:3] == ["blocked", "human"]
    assert rows[ids["asks"]][5] == "GitHub token lacks the scope workflow"
    assert rows[ids["waits"]][1:3] == ["failed", "retry"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", rows[ids["waits"]][3])
    assert rows[ids["after"]][2] == f"after {ids['ready']}"
    assert rows[ids["held"]][2] == "paused"
    assert all(len(cells) == 6 for cells in rows.values())
    assert all(len(cells) == 12 for cells in cli.good("list", "-v").cells)


def test_json_has_the_documented_fields(cli: Cli) -> None:
    """An array; nothing found is an empty one."""
    assert cli.good("list", "--json").json == []
    task_id = cli.add("a", "--tag", "x")

    (row,) = cli.good("list", "--json").json

    wanted = "id title status category attempts consecutive_failures next_attempt_at priority".split()
    assert set(wanted) <= row.keys()
    assert row["id"] == task_id


@pytest.mark.parametrize("columns", [60, 80, 100, 200])
def test_every_line_fits_and_id_and_status_are_whole(cli: Cli, columns: int) -> None:
    """At every width the specification names."""
    ids = fleet(cli)
    long = cli.add(LONG)

    told = cli.screen("list", columns=columns, env={"NO_COLOR": "1"})

    assert told.code == 0
    assert all(width(line) <= columns for line in told.lines)
    assert f"! {ids['asks']}  blocked · human" in told.out
    assert f"▶ {ids['runs']}  in_progress #1" in told.out
    assert f"○ {long}  pending · ready" in told.out
    assert ("medbay answer " + ids["asks"] in told.out) == (columns >= 96)
    assert "1 needs you, 1 running, 3 waiting, 1 held, 2 ready, 1 ended" in told.lines[-1]


def test_at_sixty_columns_the_reason_stands_below(cli: Cli) -> None:
    """Two lines per task that has one."""
    task_id = cli.add("a")
    cli.good("block", task_id, "--reason", "the vendor is closed", "--kind", "human")

    first, second, _ = cli.screen("list", columns=60, env={"NO_COLOR": "1"}).lines

    assert first.startswith(f"! {task_id}")
    assert second == "    the vendor is closed"


def test_verbose_adds_counters(cli: Cli) -> None:
    """On one line where there is room, else below."""
    cli.add("a")

    for columns in (60, 120):
        told = cli.screen("list", "-v", columns=columns, env={"NO_COLOR": "1"})
        assert "0 tries, 0 failed in a row, never triaged" in told.out


def test_colours_only_on_a_terminal_and_never_under_no_color(cli: Cli) -> None:
    """Colour only repeats what the words say."""
    cli.add("a")
    with_colour = cli.terminal("list").out

    assert "\x1b[" in with_colour
    assert ANSI.sub("", with_colour) == cli.screen("list", env={"NO_COLOR": "1"}).out
    assert "\x1b[" not in cli.screen("list", "--no-color").out
    assert "\x1b[" not in cli.screen("list", env={"TERM": "dumb"}).out
    assert "\x1b[" not in cli.process("list").out


def test_glyphs_are_ascii_where_the_locale_is_not_utf_8(cli: Cli) -> None:
    """LC_ALL=C gets letters."""
    task_id = cli.add("a")

    told = cli.screen("list", env={"LC_ALL": "C", "NO_COLOR": "1"}).out

    assert told.isascii()
    assert told.startswith(f"o {task_id}  pending - ready")


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["--status", "blocked"], ["asks"]),
        (["--status", "failed,blocked"], ["asks", "waits"]),
        (["--status", "failed", "--status", "completed"], ["waits", "done"]),
        (["--category", "transient"], ["waits"]),
        (["--queue", "other"], []),
        (["EAD"], ["ready"]),
        (["--limit", "2"], ["asks", "runs"]),
    ],
)
def test_filters_keep_what_matches(cli: Cli, words: list[str], names: list[str]) -> None:
    """The same words as in the dashboard."""
    ids = fleet(cli)

    assert [cells[0] for cells in cli.good("list", *words).cells] == [ids[name] for name in names]


def test_tags_are_all_required(cli: Cli) -> None:
    """Two tags mean both."""
    cli.add("one", "--tag", "a")
    both = cli.add("two", "--tag", "a", "--tag", "b")

    assert [cells[0] for cells in cli.good("list", "--tag", "a", "--tag", "b").cells] == [both]


def test_an_unknown_status_is_wrong_usage(cli: Cli) -> None:
    """With the nearest one."""
    called = cli("list", "--status", "faild")

    assert called.code == 2
    assert called.err == 'medbay: there is no status "faild"; did you mean failed?\n'


def test_a_screen_shows_fifty_and_says_so(cli: Cli) -> None:
    """Programs get them all."""
    cli.good("add", "--file", "-", stdin='{"title": "a", "run": "true"}\n' * 60)

    told = cli.screen("list", env={"NO_COLOR": "1"})

    assert len(told.lines) == 52
    assert told.lines[-2] == "50 of 60 shown, what needs you first (medbay list --all): 50 ready"
    assert told.lines[-1] == 'no worker serves "default": medbay up'  # once, below
    assert all('no worker serves "default"' in line for line in cli.good("list").lines)
    assert len(cli.good("list").lines) == 60
    assert len(cli.screen("list", "--all").lines) == 62


def test_what_ended_long_ago_is_shown_on_request(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """24 hours, or everything."""
    task_id = cli.add("a")
    cli.good("cancel", task_id)
    now = cli.bay().get(task_id).since
    monkeypatch.setattr("medbay.env.SystemClock.now_ms", lambda self: now + 25 * 3_600_000)

    assert cli.good("list").out == ""
    assert cli.good("list", "--all").cells[0][0] == task_id
    assert cli.good("list", "--status", "cancelled").cells[0][0] == task_id


def test_the_words_and_the_order_agree(cli: Cli) -> None:
    """The database puts a task where the words for it belong."""
    ids = fleet(cli)
    cli.good("block", ids["later"], "--reason", "vendor")
    place = {"you": 0, "run": 1, "wait": 2, "held": 3, "idle": 4, "done": 6}

    found = cli.bay().select(TaskFilter(order="need"))

    places = [place[status_phrase(task, task.since).token] for task in found]
    assert places == sorted(places)
    assert set(places) == set(place.values())


def test_what_must_not_be_there_is_left_out(cli: Cli) -> None:
    """`--not-tag`, and the text by either way of saying it."""
    plain = cli.add("one")
    cli.add("two", "--tag", "a")

    assert [cells[0] for cells in cli.good("list", "--not-tag", "a").cells] == [plain]
    assert [cells[0] for cells in cli.good("list", "--text", "ONE").cells] == [plain]


def test_an_empty_store_says_what_to_do(cli: Cli) -> None:
    """And a filter without matches says so."""
    assert "medbay add" in cli.screen("list").out
    assert "nothing matches" in cli.screen("list", "--tag", "x").out


def test_a_reason_without_room_moves_below_its_task(cli: Cli) -> None:
    """On 80 columns it is whole, and the title has the line; a short one stays beside it."""
    why = "the vendor has to say which of the two accounts is billed"
    task_id = cli.add("a title of some length, as people write them")
    cli.good("block", task_id, "--reason", why, "--kind", "human")

    row, below, *_ = cli.screen("list", "--no-color", columns=80).lines
    assert row.endswith("a title of some length, as people write them")
    assert below.strip() == why

    cli.good("cancel", task_id)
    short = cli.add("b")
    cli.good("block", short, "--reason", "ask Ada", "--kind", "human")
    assert cli.screen("list", "--no-color", columns=80).lines[0].endswith("b                                 ask Ada")


def test_the_footer_counts_only_questions_of_others(cli: Cli) -> None:
    """What needs you is asked about: that is no second number."""
    for title in ("a", "b"):
        cli.good("block", cli.add(title), "--reason", "which?", "--kind", "human")

    assert cli.screen("list", "--no-color").lines[-1] == "2 need you"


def test_what_a_breaker_would_hold_is_held_without_an_engine(cli: Cli) -> None:
    """The list says what the next engine will do; JSON names the first reason of each."""
    held, free = cli.good("add", "a", "--run", "true", "--provider", "acme").out.strip(), cli.add("b")
    cli.good("breaker", "open", "acme", "--reason", "quota")

    rows = {cells[0]: cells for cells in cli.good("list").cells}
    assert rows[held][2] == "held by provider:acme"
    assert rows[free][2] == "ready"
    listed = {row["id"]: row["held_back"] for row in cli.good("list", "--json").json}
    assert listed[held]["code"] == "provider_hold"
    assert listed[free]["code"] == "queue_unserved"


@pytest.mark.parametrize("columns", [60, 100, 200])
def test_a_breaker_keeps_its_cause(cli: Cli, columns: int) -> None:
    """Whole, below its line where it does not fit beside it."""
    cause = "the quota is kept for the release of the new ledger, and nothing else may use it until Monday"
    cli.good("breaker", "open", "acme", "--reason", cause)

    told = cli.screen("breaker", "list", columns=columns, env={"NO_COLOR": "1"})

    assert cause in " ".join(" ".join(told.lines).split())
    assert all(width(line) <= columns for line in told.lines)
