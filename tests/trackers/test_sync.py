"""Issues of GitHub, Linear and Jira as work, through the real commands: imported, run, recorded, closed, healed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from medbay.bay import open_bay
from medbay.store import issues as issue_rows
from tests.cli.calling import Cli
from tests.trackers.conftest import WORK
from tests.trackers.imitations import TOKEN, Board, imitation, in_an_hour

PROJECTS = {"github": "acme/shop", "linear": "ENG", "jira": "APP"}
EXTRAS = {"github": "", "linear": "", "jira": 'user = "bot@example.org"'}


class Place:
    """A project whose issues are in a tracker on loopback."""

    def __init__(self, cli: Cli, board: Board, url: str, kind: str) -> None:
        self.cli, self.board, self.url, self.kind = cli, board, url, kind
        self.configure()

    def configure(self, *lines: str) -> None:
        """Write medbay.toml."""
        text = f'[trackers.work]\nkind = "{self.kind}"\nproject = "{PROJECTS[self.kind]}"\nurl = "{self.url}"\n'
        text += "\n".join(('run = "./work.sh"', EXTRAS[self.kind], *lines)) + "\n"
        (self.cli.folder / "medbay.toml").write_text(text, encoding="utf-8")

    def sync(self, *options: str, code: int = 0) -> dict[str, Any]:
        """One sync; what it says of the one source."""
        called = self.cli("sync", "--json", *options)
        assert called.code == code, called
        (found,) = called.json["sources"]
        return dict(found)

    def steps(self, *options: str, code: int = 0) -> list[tuple[str, str]]:
        """What a sync does, and for which issues."""
        return [(each["does"], each["issue_id"]) for each in self.sync(*options, code=code)["steps"]]

    def up(self) -> int:
        """Run what there is, until nothing waits to be retried."""
        return self.cli("up", "--until-idle", "--queue", "default,work").code

    def work(self) -> None:
        """Take up what there is and run it, one attempt each."""
        with open_bay(cwd=self.cli.folder) as bay:
            bay.trackers.dispatch(bay.trackers.open("work"))

    def tasks(self) -> list[dict[str, Any]]:
        """Every task."""
        found: list[dict[str, Any]] = self.cli.good("list", "--all", "--json").json
        return found

    def works(self) -> None:
        """Let the work succeed from now on."""
        (self.cli.folder / "ok").touch()

    def worked(self) -> list[str]:
        """What was worked on."""
        path = self.cli.folder / "worked"
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    def written(self) -> list[tuple[str, str, Any]]:
        """The requests that change something."""
        asked = self.board.asked(r"^(POST|PATCH|PUT|DELETE) ")
        return [each for each in asked if "query" not in (each[2] or {}) or each[2]["query"].lstrip().startswith("mut")]


@pytest.fixture
def place(request: pytest.FixtureRequest, bare: Cli, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """A project, by default with issues of GitHub."""
    kind = getattr(request, "param", "github")
    for name in ("GITHUB_TOKEN", "LINEAR_API_KEY", "JIRA_API_TOKEN"):
        monkeypatch.setenv(name, TOKEN)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    bare.good("init")
    (bare.folder / "work.sh").write_text(WORK, encoding="utf-8")
    (bare.folder / "work.sh").chmod(0o755)
    with imitation(kind) as (board, url):
        yield Place(bare, board, url, kind)


every_kind = pytest.mark.parametrize("place", ["github", "linear", "jira"], indirect=True)


@every_kind
def test_an_issue_fails_waits_for_a_person_and_succeeds(place: Place) -> None:
    """Its record is one comment, the person a label; taking the label away releases it; success closes it."""
    issue = place.board.add("login is flaky", "implement_close")

    assert place.steps("--dry-run") == [("import", issue)]
    place.work()
    assert "ADWS_FAILED|attempt=1|" in place.board.said(issue)[0]
    (task,) = place.tasks()
    place.cli.good("edit", task["id"], "--title", "login")  # anything that changes the task and not its record
    assert place.steps() == []

    assert place.cli("triage", "--once", "--source", "work", "--json").json["tier1_pending"] == 1
    place.cli.good("retry", task["id"])
    assert place.steps() == [("write", issue)]
    place.works()
    place.up()
    assert place.steps() == [("close", issue)]

    assert not place.board.is_open(issue)
    assert place.board.said(issue)[0].endswith("attempt 2")
    assert (len(place.board.said(issue)), place.worked()) == (1, [f"{issue} 1", f"{issue} 2"])
    assert place.steps() == []


def test_a_person_takes_the_label_away(place: Place) -> None:
    """What nobody can name is a person's at once; without the label the issue is free and its question closed."""
    (place.cli.folder / "work.sh").write_text("#!/bin/sh\n[ -e ok ] && exit 0\nexit 7\n", encoding="utf-8")
    issue = place.board.add("login", "implement_close")

    place.work()
    assert place.board.labels(issue) == ["implement_close", "needs_human"]
    assert len(place.cli.good("inbox", "--json").json) == 1
    place.board.labels(issue).remove("needs_human")
    assert place.steps() == [("release", issue)]
    place.works()
    place.up()

    assert place.cli.good("inbox", "--json").json == []
    assert ("close", issue) in place.steps()


def test_the_daemon_takes_up_what_it_is_told_to(place: Place) -> None:
    """`dispatch = true`; what succeeded is closed when it ends, and what is not tagged is left alone."""
    place.configure("dispatch = true")
    issue, other = place.board.add("login", "implement_close"), place.board.add("talk")
    place.works()

    assert place.cli("up", "--until-idle").code == 0

    assert (place.board.is_open(issue), place.board.is_open(other)) == (False, True)


def test_a_dry_run_says_what_a_sync_does_and_changes_nothing(place: Place) -> None:
    """Import, write, close and cancel alike."""
    issues = [place.board.add(f"issue {number}", "implement_close") for number in range(3)]
    place.sync()
    place.board.entry(issues[2]).closed = "completed"
    place.works()
    place.up()
    issues.append(place.board.add("new", "implement_close"))
    asked, tasks = len(place.written()), place.tasks()

    planned = place.steps("--dry-run")

    assert (len(place.written()), place.tasks()) == (asked, tasks)
    assert sorted(planned) == [("close", issues[0]), ("close", issues[1]), ("close", issues[2]), ("import", issues[3])]
    assert place.steps() == planned
    assert place.steps("--dry-run") == []


def test_a_reopened_issue_is_new_work_and_a_closed_one_none(place: Place) -> None:
    """A task of its own each time; closing an issue cancels the task that was to work on it."""
    first, second = place.board.add("login", "implement_close"), place.board.add("logout", "implement_close")
    place.works()
    place.sync()
    place.board.entry(second).closed = "not_planned"
    assert place.steps() == [("cancel", second)]
    place.up()
    place.sync()

    place.board.entry(first).closed = place.board.entry(second).closed = ""
    assert place.steps() == [("import", first), ("import", second)]
    place.up()
    assert place.steps() == [("close", first), ("close", second)]

    assert sorted(place.worked()) == [f"{first} 1", f"{first} 1", f"{second} 1"]
    assert sorted(each["status"] for each in place.tasks()) == ["cancelled", "completed", "completed", "completed"]


def test_a_deleted_issue_cancels_its_task(place: Place) -> None:
    """There is nothing to write into any more."""
    issue = place.board.add("login", "implement_close")
    place.sync()
    place.board.entry(issue).closed = "gone"
    place.board.fail(f"GET .*issues/{issue}$", 410, body={"message": "This issue was deleted"})

    assert place.steps() == [("cancel", issue)]
    assert [each["status"] for each in place.tasks()] == ["cancelled"]


def test_a_rate_limit_holds_the_tracker_and_not_the_work(place: Place) -> None:
    """Nothing more is asked until it is over; what was imported runs, and is told afterwards."""
    issue = place.board.add("login", "implement_close")
    place.sync()
    limit = {"X_RateLimit_Remaining": "0", "X_RateLimit_Reset": in_an_hour()}
    place.board.fail(".", 403, times=1_000, body={"message": "API rate limit exceeded"}, **limit)

    found = place.sync(code=1)
    assert "left alone until" in found["errors"][0]
    asked = len(place.board.requests)
    place.works()
    place.up()
    assert (place.worked(), place.sync(code=1)["steps"]) == ([f"{issue} 1"], [])
    assert len(place.board.requests) == asked
    (held,) = [each for each in place.cli.good("breaker", "list", "--json").json if "tracker/work" in each["key"]]
    assert "resource_exhaustion" in held["why"] or "rate" in held["why"]

    place.board.faults.clear()
    place.cli.good("breaker", "close", "provider:tracker/work")
    assert place.steps() == [("close", issue)]
    assert place.board.is_open(issue) is False


@pytest.mark.parametrize("status", [502, 401])
def test_a_tracker_that_is_away_blames_no_issue(place: Place, status: int) -> None:
    """However often it fails, or refuses our token, no issue is handed to a person for it."""
    place.board.add("login", "implement_close")
    place.works()
    place.sync()
    place.up()
    for _ in range(4):
        place.board.faults.clear()
        place.board.fail("(POST|PATCH)", status)
        assert place.sync(code=1)["errors"]
        place.cli("breaker", "close", "provider:tracker/work")
    with open_bay(cwd=place.cli.folder) as bay, bay.store.read() as tx:
        link = issue_rows.get(tx, "work", "1")
    assert link is not None
    assert link.faults == 0

    place.board.faults.clear()
    assert place.steps() == [("close", "1")]
    assert place.board.labels("1") == ["implement_close"]
    assert place.cli.good("inbox", "--json").json == []


def test_a_refused_write_is_named_and_kept(place: Place) -> None:
    """The next sync writes it; the others are written in this one."""
    issues = [place.board.add(f"issue {number}", "implement_close") for number in range(2)]
    place.works()
    place.sync()
    place.up()
    place.board.fail(f"PATCH .*issues/{issues[0]}$", 422, body={"message": "Validation Failed"})

    found = place.sync(code=1)

    assert [(each["does"], each["issue_id"]) for each in found["steps"]] == [("close", issues[1])]
    assert found["errors"] == [f"{issues[0]}: PATCH repos/acme/shop/issues/1: HTTP 422: Validation Failed"]
    place.board.faults.clear()
    assert place.steps() == [("close", issues[0])]


def test_a_list_that_leaves_something_out_says_so(place: Place) -> None:
    """What is left out is imported by no accident, and what has a task is still looked after."""
    place.configure("limit = 2")
    for number in range(9):
        place.board.add(f"issue {number}", "implement_close")

    found = place.sync()

    assert (found["import"], "oldest open issues were read" in found["left_out"]) == (4, True)
    assert place.sync()["errors"] == []


def test_the_command_refuses_what_it_should(place: Place) -> None:
    """Inside an attempt, an unknown source, and where none is configured."""
    assert place.cli("sync", env={"MEDBAY_ATTEMPT_KEY": "s:t:1"}).code == 4
    assert place.cli("sync", "--source", "other").code == 2
    assert place.cli("triage", "--source", "other").code == 2
    (place.cli.folder / "medbay.toml").write_text("", encoding="utf-8")
    assert place.cli("sync").code == 2


def test_without_a_way_to_work_nothing_is_imported(place: Place) -> None:
    """The rest of the sync is done."""
    place.board.add("login", "implement_close")
    config = place.cli.folder / "medbay.toml"
    config.write_text(config.read_text(encoding="utf-8").replace('run = "./work.sh"', ""), encoding="utf-8")

    assert place.steps() == []


def test_doctor_says_what_is_configured_and_reachable(place: Place) -> None:
    """With a token that is not accepted it says so."""
    place.board.add("login", "implement_close")
    fine = place.cli("doctor", "--json").json
    place.board.fail(".", 401, body={"message": "Bad credentials"})
    wrong = place.cli("doctor", "--json").json

    (line,) = [each for each in fine["checks"] if each["name"] == "tracker work"]
    assert (line["mark"], line["said"]) == ("fine", "1 open issues, worked on by ./work.sh, taken up by hand")
    (line,) = [each for each in wrong["checks"] if each["name"] == "tracker work"]
    assert (line["mark"], "Bad credentials" in line["said"]) == ("failed", True)


def test_the_output_for_people_names_every_step(place: Place) -> None:
    """One line for each, a summary beside it."""
    place.board.add("login\x1b[31m", "implement_close")

    called = place.cli("sync", "--dry-run")

    assert called.out.split("\t")[:3] == ["work", "import", "1"]
    assert "\x1b" not in called.out
    assert "work: 1 open issues; 1 to import" in called.err


def test_two_daemons_take_an_issue_up_once(place: Place) -> None:
    """Claims are in our store: of two that list at the same time one task comes, and one has the turn."""
    for number in range(6):
        place.board.add(f"issue {number}", "implement_close")
    begin = threading.Barrier(2)

    def daemon(folder: Path) -> None:
        with open_bay(cwd=folder) as bay:
            begin.wait(30)
            bay.trackers.dispatch(bay.trackers.open("work"), run=False)

    both = [threading.Thread(target=daemon, args=(place.cli.folder,)) for _ in range(2)]
    for each in both:
        each.start()
    for each in both:
        each.join(60)

    assert len(place.tasks()) == 6
    with open_bay(cwd=place.cli.folder) as bay:
        bay.trackers.cycle("work", "first")
        asked = len(place.board.requests)
        assert bay.trackers.cycle("work", "second") == []
    assert len(place.board.requests) == asked


@pytest.mark.long
def test_two_real_daemons_work_on_each_issue_once(place: Place) -> None:
    """Two processes of `medbay up` on one store and one tracker; every issue is closed, with one comment."""
    place.configure("dispatch = true", 'poll = "1s"')
    issues = [place.board.add(f"issue {number}", "implement_close") for number in range(12)]
    place.works()

    words = ("up", "--until-idle", "--no-web", "--workers", "2")
    with ThreadPoolExecutor(2) as both:
        ends = [both.submit(place.cli.process, *words) for _ in range(2)]
    assert [each.result().code for each in ends] == [0, 0]

    assert [place.board.is_open(each) for each in issues] == [False] * 12
    assert sorted(place.worked()) == sorted(f"{each} 1" for each in issues)
    assert [len(place.board.said(each)) for each in issues] == [1] * 12
