"""Issues of Beads as work: dispatched, closed, recorded, healed; the walk from a first failure to a person and back."""

from __future__ import annotations

import json
import signal
import subprocess

import pytest

from tests.cli.calling import COMMAND
from tests.trackers.conftest import Workspace
from tests.waiting import wait_for


@pytest.mark.long_on_postgres
def test_the_walk_of_an_issue_from_failing_to_a_person_and_success(any_space: Workspace) -> None:
    """Fail, clear, fail, clear, fail, triage, person, answer, success; numbers go on, a person's notes stay."""
    space = any_space
    issue = space.create("login is flaky", "a person's note\nover two lines\n")
    space.says("ACTION: escalate|DETAIL: Cannot determine fix automatically")

    for attempt in (1, 2):
        assert space.dispatch()["failed"] == 1
        assert f"ADWS_FAILED|attempt={attempt}|" in space.notes(issue)
        assert space.dispatch()["skipped"]["active_record"] == 1
        assert space.triage()["tier1_pending"] == 1
        space.age(issue)
        assert space.triage()["tier1_cleared"] == 1
        assert space.notes(issue) == "a person's note\nover two lines\n"
    assert space.dispatch()["failed"] == 1
    assert "attempt=3|" in space.notes(issue)
    assert space.triage()["tier3_escalated"] == 1
    assert space.notes(issue).startswith("a person's note\nover two lines\nneeds_human|reason=")

    (question,) = space.cli.good("inbox", "--json").json
    space.cli.good("answer", question["id"], "1")
    (space.folder / "ok").touch()
    # The answer is mirrored by the next cycle: the issue is free again, and is worked on.
    space.dispatch()
    assert space.dispatch()["closed"] == 1 or space.issue(issue)["status"] == "closed"

    done = space.issue(issue)
    assert (done["status"], done["notes"]) == ("closed", "a person's note\nover two lines\n")
    assert done["close_reason"].startswith("Completed by medbay")
    worked = (space.folder / "worked").read_text(encoding="utf-8").split()
    assert worked == [issue, "1", issue, "2", issue, "3", issue, "4"]


def test_the_command_gets_the_issue(space: Workspace) -> None:
    """Its id in the environment, the whole of it as JSON in a file."""
    issue = space.create("login", "", "implement_close", "ui")
    (space.folder / "ok").touch()

    found = space.dispatch()

    given = json.loads((space.folder / "input.json").read_text(encoding="utf-8"))
    assert (found["issues_found"], found["dispatched"], found["closed"]) == (1, 1, 1)
    assert (given["id"], given["title"], given["labels"]) == (issue, "login", ["implement_close", "ui"])


def test_a_tag_in_the_title_starts_a_workflow_with_checks(space: Workspace) -> None:
    """What is verified closes only when its checks pass."""
    issue = space.create("{implement_verify_close} login", untagged=True)
    (space.folder / "ok").touch()

    assert space.dispatch()["failed"] == 1
    assert space.issue(issue)["status"] == "open"
    (space.folder / "checked").touch()
    space.age(issue)
    space.triage()
    assert space.dispatch()["closed"] == 1


def test_a_person_who_removes_the_mark_releases_the_issue(space: Workspace) -> None:
    """Its question is closed with it."""
    issue = space.create(
        "login", "ADWS_FAILED|attempt=1|last_failure=2026-01-01T00:00:00Z|error_class=unknown|step=run|summary=x"
    )
    space.triage()
    assert len(space.cli.good("inbox", "--json").json) == 1
    space.bd("update", issue, "--notes=fixed the proxy")
    (space.folder / "ok").touch()

    assert space.dispatch()["closed"] == 1
    assert space.cli.good("inbox", "--json").json == []


def test_nothing_is_dispatched_twice(space: Workspace) -> None:
    """An issue whose task exists is that task, and a closed one is done."""
    space.create("login")
    (space.folder / "ok").touch()

    assert space.dispatch()["closed"] == 1
    assert space.dispatch()["issues_found"] == 0
    assert len(space.cli.good("list", "--all", "--json").json) == 1


def test_a_close_that_fails_is_made_by_the_next_cycle(space: Workspace) -> None:
    """The work is done once; the tracker hears of it when it is back."""
    issue = space.create("login")
    (space.folder / "ok").touch()
    space.fault(f"close {issue} exit 1")

    found = space.dispatch()

    assert len(found["errors"]) == 1
    assert space.issue(issue)["status"] == "open"
    space.fault()
    space.dispatch()
    assert space.issue(issue)["status"] == "closed"
    assert (space.folder / "worked").read_text(encoding="utf-8").splitlines() == [f"{issue} 1"]


def test_dispatch_needs_to_know_how_issues_are_worked_on(space: Workspace) -> None:
    """It says which setting is missing."""
    (space.folder / "medbay.toml").write_text("", encoding="utf-8")

    called = space.cli("beads", "dispatch", "--once")

    assert called.code == 2
    assert "neither agent nor run" in called.err


def test_an_attempt_may_not_dispatch(space: Workspace) -> None:
    """A person's command refuses inside an attempt."""
    assert space.cli("beads", "dispatch", "--once", env={"MEDBAY_ATTEMPT_KEY": "s:t:1"}).code == 4


def test_the_daemon_dispatches_only_where_it_is_told_to(space: Workspace) -> None:
    """`[beads] dispatch = true`; what succeeded is closed when it ends."""
    issue = space.create("login")
    (space.folder / "ok").touch()

    assert space.cli("up", "--until-idle").code == 0
    assert space.issue(issue)["status"] == "open"
    config = (space.folder / "medbay.toml").read_text(encoding="utf-8")
    (space.folder / "medbay.toml").write_text(config.replace("[beads]", "[beads]\ndispatch = true"), encoding="utf-8")

    assert space.cli("up", "--until-idle").code == 0
    assert space.issue(issue)["status"] == "closed"


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_two_daemons_on_one_tracker_run_every_issue_once(
    kind: str, space: Workspace, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two real processes that poll all the time: twelve issues, twelve attempts, each closed once."""
    if kind == "postgres":
        url = request.getfixturevalue("postgres").url(request.getfixturevalue("database"))
        monkeypatch.setenv("MEDBAY_STORE", url)
    path = space.folder / "medbay.toml"
    config = path.read_text(encoding="utf-8").replace("[beads]", '[beads]\ndispatch = true\npoll = "1s"')
    path.write_text(config, encoding="utf-8")
    (space.folder / "ok").touch()
    issues = [space.create(f"issue {number}") for number in range(12)]
    daemons = [
        subprocess.Popen([COMMAND, "up"], cwd=space.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(2)
    ]
    try:
        wait_for(lambda: not json.loads(space.bd("list", "--status", "open", "--json", "--limit", "0")), 200)
    finally:
        for each in daemons:
            each.send_signal(signal.SIGTERM)
        for each in daemons:
            each.wait(60)

    worked = (space.folder / "worked").read_text(encoding="utf-8").splitlines()
    assert sorted(worked) == sorted(f"{each} 1" for each in issues)
    closed = [words[1] for words in space.calls("close")]
    assert sorted(closed) == sorted(issues)
