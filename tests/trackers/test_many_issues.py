"""Two hundred failed issues in one cycle, some of them broken: the rest is handled, and the counts add up."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.trackers.tracker_world import DoubledBeads, TrackerWorld
from tests.worlds import ManualClock

FIRST = datetime(2026, 1, 1, tzinfo=UTC)
HOSTILE = ("--help", "; rm -rf /", "a\nb", "$(reboot)", "../../etc", " ", "", "-")


def record(number: int, attempt: int = 1, error: str = "SdkCallError") -> str:
    """A failure, the higher its number the later."""
    at = (FIRST + timedelta(minutes=number)).strftime("%Y-%m-%dT%H:%M:%SZ")
    return f"ADWS_FAILED|attempt={attempt}|last_failure={at}|error_class={error}|step=run|summary=s"


@pytest.fixture
def world(tmp_path: Path, clock: ManualClock) -> TrackerWorld:
    """A project with a store and a tracker."""
    return TrackerWorld(tmp_path / "project", clock)


def planted(monkeypatch: pytest.MonkeyPatch, *entries: object) -> None:
    """Let every list have entries that no command of the tracker would make."""
    real = DoubledBeads._run

    def run(self: DoubledBeads, *words: str) -> str:
        printed = real(self, *words)
        return json.dumps([*entries, *json.loads(printed)]) if words[0] == "list" else printed

    monkeypatch.setattr(DoubledBeads, "_run", run)


def test_two_hundred_failed_issues_of_which_some_are_broken(world: TrackerWorld) -> None:
    """150 are cleared, 20 are unreadable, 20 unknown; bd fails on five and hangs on five: the oldest first."""
    numbers = list(range(200))
    ids = {number: world.create(f"issue {number}", _notes(number)) for number in reversed(numbers)}
    failing = [ids[number] for number in range(5)]
    hanging = [ids[number] for number in range(5, 10)]
    world.fault(*(f"update {each} exit 1" for each in failing), *(f"update {each} hang 99" for each in hanging))

    found = world.bay.trackers.triage(world.tracker)

    data = found.as_data()
    assert data["issues_found"] == 200 == sum(found.counts.values())
    assert found.counts["tier1_cleared"] == 150
    assert (found.counts["unreadable"], found.counts["tier3_escalated"], found.counts["triage_errors"]) == (20, 20, 10)
    assert len(data["errors"]) == 10
    assert sum("no answer after 30s" in each for each in data["errors"]) == 5
    order = [each["issue_id"] for each in data["results"]]
    assert set(order[:20]) == {ids[number] for number in numbers if _is_odd(number)}
    assert order[20:] == [ids[number] for number in numbers if not _is_odd(number)]
    assert len(world.bay.inbox()) == 40
    world.fault()

    again = world.bay.trackers.triage(world.tracker)
    assert (again.counts["tier1_cleared"], again.as_data()["issues_found"], again.errors) == (10, 10, ())


def _is_odd(number: int) -> bool:
    return 10 <= number < 30


def _notes(number: int) -> str:
    if _is_odd(number):
        return "ADWS_FAILED|attempt=x"
    return record(number, error="unknown" if 30 <= number < 50 else "SdkCallError")


def test_an_entry_that_is_no_issue_is_counted_and_the_rest_is_worked_on(
    world: TrackerWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No object, none with an id, and ids that are an option, a command, a path or nothing: none is handed on."""
    good = world.create("good", record(1))
    free = world.create("free")
    hostile = [{"id": each, "title": "x", "notes": record(2), "labels": ["implement_close"]} for each in HOSTILE]
    planted(monkeypatch, None, "text", {"title": "nameless"}, {"id": 7}, *hostile)

    found = world.bay.trackers.triage(world.tracker)
    dispatched = world.bay.trackers.dispatch(world.tracker, run=False)

    number = len(HOSTILE) + 4
    assert (found.counts["unreadable"], found.counts["tier1_cleared"], found.errors) == (number, 1, ())
    assert found.as_data()["issues_found"] == sum(found.counts.values()) == number + 1
    assert dispatched.as_data()["skipped"]["unreadable"] == number
    assert sorted(dispatched.dispatched) == sorted((good, free))
    calls = (world.folder / ".beads" / "calls").read_text(encoding="utf-8").splitlines()
    handed = {word for call in map(json.loads, calls) if call[0] != "create" for word in call[1:]}
    assert not handed & set(HOSTILE)
    assert {dict(task.env)["MEDBAY_ISSUE"] for task in world.tasks()} == {good, free}
