"""`medbay reclassify` and `medbay patterns`: what failures are, what cured them, and how a person corrects it."""

from __future__ import annotations

import pytest

from medbay.core.diagnosis.record import CATEGORIES
from medbay.core.outcome import Succeeded
from medbay.views.text import width
from tests.cli.calling import Cli
from tests.worlds import failed

ODD = "zorp, and the frobnicator hums"
AUTH = "HTTP/1.1 401 Unauthorized: token expired"


def failing(cli: Cli, title: str = "pull rates", text: str = ODD) -> str:
    """A task that failed once and stands where that put it."""
    world = cli.world()
    engine = cli.engine(world)
    task = world.add(title, failed(text))
    engine.tick()
    engine.tick()
    engine.stop()
    return task.id


def cured_twice(cli: Cli, note: str) -> None:
    """Two tasks that were released with a note and then succeeded."""
    world = cli.world()
    engine = cli.engine(world)
    for title in ("first", "second"):
        task = world.add(title, failed(AUTH), Succeeded())
        engine.tick()
        engine.tick()
        cli.good("answer", task.id, "retry", "--note", note)
        engine.tick()
        engine.tick()
        assert cli.bay().get(task.id).status == "completed"
    engine.stop()


# reclassify


def test_a_correction_carries_over_to_failures_in_the_same_words(cli: Cli) -> None:
    """Another row, another file, another task: the same rule in the same wording follows the person's word."""
    cli.good("reclassify", failing(cli, text="zorp in row 77 of 'orders'"), "transient/network")

    other = failing(cli, "pull users", text="zorp in row 12 of 'users'")
    found = cli.good("show", other, "--json").json["attempts"][0]["diagnosis"]
    different = failing(cli, "pull totals", text="the frobnicator hums")

    assert (found["category"], found["subcategory"], found["rule"]) == ("transient", "network", "taught.like")
    assert cli.good("show", different, "--json").json["attempts"][0]["diagnosis"]["category"] == "unknown"


def test_a_waiting_task_says_what_it_is_now_and_when_it_is_tried(cli: Cli) -> None:
    """One line per task on stdout; what was taught on stderr."""
    task_id = failing(cli)

    told = cli.good("reclassify", task_id, "transient/network")

    (cells,) = told.cells
    assert cells[0] == task_id
    assert cells[1].startswith("is transient/network now (was unknown): failed · retry in ")
    assert "are transient/network from now on" in told.err
    shown = cli.good("show", task_id, "--json").json
    assert shown["category"] == "transient/network"
    assert shown["attempts"][0]["diagnosis"]["rule"] == "taught"
    assert [each["status"] for each in shown["retries"]] == ["pending"]


def test_a_blocked_task_is_released(cli: Cli) -> None:
    """And its question leaves the inbox."""
    task_id = failing(cli, text=AUTH)
    assert len(cli.good("inbox", "--json").json) == 1

    told = cli.good("reclassify", f"{task_id}/1", "transient", "--json").json

    assert (told[0]["id"], told[0]["status"]) == (task_id, "pending")
    assert cli.good("inbox", "--json").json == []


def test_the_next_failure_like_it_follows(cli: Cli) -> None:
    """Seen in what `show` says of another task."""
    cli.good("reclassify", failing(cli), "unknown/auth")

    other = failing(cli, "another")

    shown = cli.good("show", other, "--json").json
    assert (shown["status"], shown["block_kind"], shown["category"]) == ("blocked", "human", "unknown/auth")


def test_a_failure_that_nothing_waits_for_is_only_taught(cli: Cli) -> None:
    """And it says so."""
    task_id = failing(cli)
    cli.good("cancel", task_id)

    told = cli.good("reclassify", task_id, "transient")

    assert told.cells[0][1] == "attempt 1 is transient now (was unknown); nothing that waits was decided by it"


def test_a_subcategory_nobody_knows_is_followed_by_its_category(cli: Cli) -> None:
    """With a word about it, for it may be a slip of the finger."""
    told = cli.good("reclassify", failing(cli), "transient/newtork")

    assert "nothing special is known of transient/newtork" in told.err


@pytest.mark.parametrize("category", ["flaky", "transient/Net work", "", "/network"])
def test_a_bad_category_is_wrong_usage(cli: Cli, category: str) -> None:
    """Exit 2; one that does not exist names the seven."""
    told = cli("reclassify", failing(cli), category)

    assert told.code == 2
    assert category.startswith("transient") or all(name in told.err for name in CATEGORIES)


@pytest.mark.parametrize(("attempt", "code"), [("{id}/7", 3), ("{id}/x", 2), ("0000", 3), ("{fresh}", 4)])
def test_an_attempt_that_did_not_fail_is_refused(cli: Cli, attempt: str, code: int) -> None:
    """Not found, wrong usage, or not allowed; each with what to do."""
    named = attempt.format(id=failing(cli), fresh=cli.add("fresh"))

    told = cli("reclassify", named, "transient")

    assert told.code == code
    assert "; " in told.err


# patterns


def test_every_failure_is_in_the_list(cli: Cli) -> None:
    """Fingerprint, kind, taught or not, count, tasks, first and last seen, best advice, summary."""
    first, _ = failing(cli), failing(cli, "another")
    fingerprint = cli.good("show", first, "--json").json["attempts"][0]["diagnosis"]["fingerprint"]

    (cells,) = cli.good("patterns", "list").cells

    assert cells[:5] == [fingerprint, "unknown", "", "2", "2"]
    assert cells[5].endswith("Z") and cells[6].endswith("Z")
    assert cells[8] == f"Unknown failure: {ODD}"


def test_a_list_can_be_short_and_of_one_kind(cli: Cli) -> None:
    """The kind is the one acted on."""
    cli.good("reclassify", failing(cli), "transient/network")
    failing(cli, "other", AUTH)

    def kinds(*words: str) -> list[str]:
        return [cells[1] for cells in cli.good("patterns", "list", *words).cells]

    assert kinds() == ["unknown/auth", "transient/network"]
    assert kinds("--limit", "1") == ["unknown/auth"]
    assert kinds("--category", "transient") == ["transient/network"]
    assert kinds("--category", "transient/lock") == []
    assert kinds("--sort", "count", "--category", "unknown") == ["unknown/auth"]
    assert cli("patterns", "list", "--category", "flaky").code == 2


def test_an_empty_list_says_so(cli: Cli) -> None:
    """On a terminal; for programs nothing is nothing."""
    assert cli.good("patterns", "list").out == ""
    assert cli.good("patterns", "list", "--json").json == []
    assert "nothing has failed yet" in cli.screen("patterns", "list").out
    assert "no failure is taken for timeout" in cli.screen("patterns", "list", "--category", "timeout").out


@pytest.mark.parametrize("columns", [60, 100, 200])
def test_a_list_fits_the_terminal(cli: Cli, columns: int) -> None:
    """What a person taught has a star."""
    cli.good("reclassify", failing(cli), "transient")

    told = cli.screen("patterns", "list", columns=columns, env={"NO_COLOR": "1"})

    assert told.code == 0
    assert "transient*" in told.lines[0] and "1 x" in told.lines[0]
    assert ("1 task" in told.lines[0]) == (columns > 60)
    assert told.lines[1].startswith("    ") == (columns == 60)  # the summary, with room to say something
    assert all(width(line) <= columns for line in told.lines)


def test_advice_that_cured_is_shown_wherever_the_failure_is(cli: Cli) -> None:
    """In the pattern with its rate, in the next question, in `explain`, and as data."""
    cured_twice(cli, "run vault login")
    third = failing(cli, "third", AUTH)

    (known,) = cli.good("patterns", "list", "--json").json
    shown = cli.good("patterns", "show", known["fingerprint"][:-2])
    data = cli.good("patterns", "show", known["fingerprint"], "--json").json
    explained = cli.good("explain", third).out

    assert known["advice"] == [{"advice": "run vault login", "given": 2, "cured": 2, "rate": 1.0}]
    assert (known["count"], known["tasks"], known["taught"]) == (3, 3, None)
    assert data["task_ids"][0] == third and len(data["task_ids"]) == 3
    assert "advice\t2\t2\trun vault login" in shown.out
    assert "run vault login (worked 2 of 2 times)" in cli.good("inbox").out
    assert "was seen 3 times on 3 tasks" in explained
    assert "what worked: run vault login (worked 2 of 2 times)" in explained
    assert cli.good("explain", third, "--json").json["known"]["fingerprint"] == known["fingerprint"]


def test_guidance_is_shown_with_its_record(cli: Cli) -> None:
    """`advice for attempt 2: ... (worked 2 of 2 times)`, never cut off."""
    cured_twice(cli, "page size 50")
    task_id = failing(cli, "third", AUTH)
    cli.good("reclassify", task_id, "transient/rate_limit")

    told = cli.screen("show", task_id, columns=60, env={"NO_COLOR": "1"})
    rows = [cells for cells in cli.good("show", task_id).cells if cells[0] == "guidance"]
    (given,) = cli.good("show", task_id, "--json").json["guidance"]

    assert "  advice for attempt 2: page size 50 (worked 2 of 2 times)" in told.lines
    assert rows == [["guidance", "2", "page size 50", "worked 2 of 2 times"]]
    assert given["record"] == {"given": 2, "cured": 2}
    assert (given["cured"], given["fingerprint"]) == (None, cli.bay().get(task_id).last_fingerprint)


def test_a_pattern_on_a_terminal_says_who_taught_it_and_quotes_the_output(cli: Cli) -> None:
    """Every line fits."""
    cured_twice(cli, "run vault login")
    cli.good("reclassify", failing(cli, "third", AUTH), "transient")

    told = cli.screen("patterns", "show", "unknown", columns=100, env={"NO_COLOR": "1"})

    assert told.code == 0
    assert "said so on" in told.out and "the rules say unknown/auth" in told.out
    assert "100 %  (worked 2 of 2 times)  run vault login" in told.out
    assert any(line.startswith("  | ") for line in told.lines)
    assert all(width(line) <= 100 for line in told.lines)


def test_a_pattern_without_advice_says_so(cli: Cli) -> None:
    """And names its task."""
    task_id = failing(cli)

    rows = {cells[0]: cells[1] for cells in cli.good("patterns", "show", "unknown:").cells}

    assert rows["advice"] == "none has been tried yet"
    assert rows["tasks"] == task_id
    assert rows["category"] == "unknown"


def test_a_forgotten_pattern_is_as_if_never_seen(cli: Cli) -> None:
    """What was taught is gone as well, so the rules speak again."""
    cli.good("reclassify", failing(cli), "transient")

    told = cli.good("patterns", "forget", "unknown:")

    assert "is forgotten" in told.out
    assert cli.good("patterns", "list", "--json").json == []
    assert cli("patterns", "show", "unknown:").code == 3
    assert cli("patterns", "forget", "unknown:").code == 3
    other = failing(cli, "another")
    assert cli.good("show", other, "--json").json["category"] == "unknown"
    assert cli.good("patterns", "forget", "unknown:", "--json").json["count"] == 1


def test_an_ambiguous_beginning_is_wrong_usage(cli: Cli) -> None:
    """Type one more letter."""
    failing(cli)
    failing(cli, "other", AUTH)

    told = cli("patterns", "show", "unknown:")

    assert told.code == 2
    assert told.err.endswith("; type one more letter\n")


def test_what_medbay_runs_may_look_but_not_forget(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a person taught is not for an attempt to take back."""
    failing(cli)
    monkeypatch.setenv("MEDBAY_ATTEMPT_KEY", "store:k7f2:1")

    assert cli("patterns", "list").code == 0
    assert cli("patterns", "forget", "unknown:").code == 4


def test_the_installed_command_walks_the_whole_way(cli: Cli) -> None:
    """A real failure blocks, is corrected, heals by itself, and the next one like it never blocks."""
    quick = '[policy.ladder.transient]\ndelays = ["10ms"]\n'
    (cli.folder / "medbay.toml").write_text(quick, encoding="utf-8")
    heals = f"[ $MEDBAY_ATTEMPT -gt 1 ] && exit 0; echo '{AUTH}'; exit 1"
    first = cli("add", "first", "--run", heals).out.strip()
    assert cli("up", "--until-idle").code == 75
    assert cli("show", first, "--json").json["status"] == "blocked"

    corrected = cli("reclassify", first, "transient/service")
    healed = cli("up", "--until-idle")
    second = cli("add", "second", "--run", heals).out.strip()
    again = cli("up", "--until-idle")

    assert (corrected.code, healed.code, again.code) == (0, 0, 0), (corrected, healed, again)
    shown = [cli("show", each, "--json").json for each in (first, second)]
    assert [each["status"] for each in shown] == ["completed", "completed"]
    assert [each["attempts_total"] for each in shown] == [2, 2]
    (known,) = cli("patterns", "list", "--json").json
    assert (known["category"], known["diagnosed"], known["count"]) == ("transient", "unknown/auth", 2)
    assert [(each["given"], each["cured"]) for each in known["advice"]] == [(2, 2)]
    names = [event.name for event in cli.bay().events(task_id=first)]
    assert names.count("task:reclassified") == 1


def test_a_correction_that_changes_nothing_is_refused(cli: Cli) -> None:
    """It would count as a lesson; after a correction the corrected kind is what counts."""
    task_id = failing(cli)
    kind = cli.good("show", task_id, "--json").json["attempts"][-1]["diagnosis"]
    same = f"{kind['category']}/{kind['subcategory']}" if kind["subcategory"] else kind["category"]

    called = cli("reclassify", task_id, same)

    assert called.code == 4
    assert called.err.startswith(f"medbay: attempt 1 of {task_id} is {same} already; ")
    cli.good("reclassify", task_id, "transient/network")
    assert cli("reclassify", task_id, "transient/network").code == 4
