"""`medbay stats`, `report` and `export --trace`: the same numbers, what to do first, commands that work as printed."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

import medbay
from medbay.views import report as view
from tests.cli.calling import call

ASKS = ["sh", "-c", "echo 'fatal: Authentication failed'; exit 1"]
SAME = ("completed", "healed", "waiting", "need_person", "cancelled", "retries", "success", "cost_by_day")
HEALS = ["sh", "-c", "test -e done || { touch done; echo 'connect: Connection refused'; exit 1; }"]


@pytest.fixture
def night(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store in which something was done, something is cancelled, and something needs a person."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".medbay").mkdir()
    (tmp_path / "medbay.toml").write_text('[policy.ladder.transient]\ndelays = ["1s"]\n', encoding="utf-8")
    with medbay.open(cwd=tmp_path) as bay:
        bay.add("fine", run=["true"])
        bay.add("heals", run=HEALS, cwd=str(tmp_path), tag="nightly")
        bay.add("deploy <b>docs</b>", run=ASKS)
        bay.cancel(bay.add("not needed", run=["true"]).id)
        bay.run_until_idle()
    return tmp_path


def test_the_report_and_the_figures_agree(night: Path) -> None:
    """Every number of the one is a number of the other."""
    stats, report = call(("stats", "--since", "24h", "--json")).json, call(("report", "--json")).json

    assert {name: stats[name] for name in SAME} == {name: report[name] for name in SAME}
    assert (stats["completed"], stats["need_person"], stats["cancelled"]) == (2, 1, 1)
    assert (stats["by_person"], stats["healed"]) == (0, 1)
    assert set(stats["retries"]) == {"pending", "executed", "cancelled", "avg_delay_s", "by_category"}
    assert stats["people_called"] == 1
    assert sum(report["healed_by_category"].values()) == stats["healed"]
    assert stats["by_tag"] == {"nightly": {"failed": 1, "healed": 1}}


def test_ready_work_that_no_worker_takes_is_named(night: Path) -> None:
    """The queue is named until somebody has run what is ready in it."""
    assert "no worker serves" not in call(("report",)).out
    call(("add", "left", "--run", "true"))

    found = call(("report",)).out

    assert 'no worker serves "default", where work is ready: medbay up' in found
    assert call(("report", "--json")).json["next"]["unserved"] == ["default"]
    call(("up", "--until-idle"))
    assert call(("report", "--json")).json["next"]["unserved"] == []


def test_the_command_of_the_report_works_as_printed(night: Path) -> None:
    """After it nothing is to be done first."""
    (first,) = call(("report", "--json")).json["do_first"]
    printed = call(("report",)).out
    assert "DO FIRST" in printed and first["command"] in printed

    done = call(tuple(shlex.split(first["command"])[1:]))

    assert done.code == 0
    after = call(("report", "--json")).json
    assert after["do_first"] == [] and after["need_person"] == 0 == call(("stats", "--json")).json["need_person"]


def test_the_page_is_one_file_with_nothing_from_outside(night: Path) -> None:
    """Whatever is in a title stays text."""
    done = call(("report", "--html", "night.html"))

    assert done.code == 0
    page = (night / "night.html").read_text(encoding="utf-8")
    assert "deploy &lt;b&gt;docs&lt;/b&gt;" in page and "<b>docs</b>" not in page
    assert "prefers-color-scheme:dark" in page and "<svg" in page
    assert "http://" not in page and "https://" not in page and "<script" not in page
    assert call(("report", "--html", "no/such/folder/x.html")).code == 2


def test_bars_for_programs_are_lines_of_cells(night: Path) -> None:
    """By category, agent and day; a window or a flag that makes no sense is refused."""
    cells = call(("stats",)).cells
    assert ["total", "completed", "2"] in cells
    assert any(each[:1] == ["category"] for each in cells)
    assert any(each[0] == "day" and len(each[1]) == 10 for each in call(("stats", "--by", "day")).cells)
    assert call(("stats", "--by", "agent")).code == 0
    assert ["tag", "nightly", "1", "", ""] in call(("stats", "--by", "tag")).cells
    assert call(("stats", "--since", "soon")).code == 2
    assert call(("stats", "--days", "3")).code == 2


def test_an_empty_store_has_an_empty_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing needs anyone."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".medbay").mkdir()
    medbay.open(cwd=tmp_path).close()

    assert "0 done without anyone (0 healed), 0 waiting, 0 need you, 0 cancelled" in call(("report",)).out


def test_the_trace_of_a_task_has_every_attempt(night: Path) -> None:
    """As lines with the totals beside them; two questions at once are refused."""
    import yaml

    (task,) = (each for each in call(("list", "--all", "--json")).json if each["title"] == "heals")

    lines = [json.loads(line) for line in call(("export", "--trace", task["id"])).lines]
    totals = yaml.safe_load(call(("export", "--metrics", task["id"])).out)

    spawned = ["agent_spawn", "agent_complete"]
    assert [each["event"] for each in lines] == ["phase_start", *spawned, *spawned, "phase_complete"]
    assert lines[0]["storyId"] == task["id"] and lines[-1]["status"] == "completed"
    assert [each["timestamp"] for each in lines] == sorted(each["timestamp"] for each in lines)
    assert (totals["story_id"], totals["status"]) == (task["id"], "completed")
    assert set(totals["totals"]) == {"tokens", "duration_ms", "agent_spawns", "tool_calls"}
    assert totals["totals"]["agent_spawns"] == totals["phases"][0]["agent_spawns"] == 2
    assert call(("export", "--trace", "zzzz")).code == 3
    assert call(("export", "--trace", task["id"], "--all")).code == 2


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_report_fits_the_terminal(night: Path, width: int) -> None:
    """Every line, and no command is cut; a program gets whole lines."""
    with medbay.open(cwd=night) as bay:
        bay.add("a title that is as long as titles of real tasks are, and then some", run=ASKS)
        bay.run_until_idle()
        found, now = bay.statistics.report(86_400_000), bay.now()

    lines = view.lines(found, since=now - 86_400_000, now=now, width=width)

    assert max(map(len, lines)) <= width
    assert all(any(each["command"] in line for line in lines) for each in found["do_first"])
    assert max(map(len, view.lines(found, since=now, now=now))) > 80


def test_what_a_person_answered_is_not_called_healed(night: Path) -> None:
    """It was done with somebody's help, wherever it is counted."""
    with medbay.open(cwd=night) as bay:
        (asked,) = bay.inbox()
        bay.edit(asked.task_ids[0], run=["true"])
        bay.answer(asked.id, "1")
        bay.run_until_idle()

    found = call(("report", "--json")).json

    assert (found["completed"], found["by_person"], found["healed"]) == (3, 1, 1)
    assert sum(found["healed_by_category"].values()) == 1
