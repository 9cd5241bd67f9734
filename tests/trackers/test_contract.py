"""One contract for every tracker: GitHub by its API and by `gh`, Linear, Jira in the cloud and at home, Beads."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from medbay.core.tracker import comment, record
from medbay.core.tracker.issue import Issue
from medbay.core.tracker.source import TrackerSource
from medbay.errors import UsageError
from medbay.integrations.trackers import beads, open_source
from medbay.integrations.trackers.protocol import Tracker, TrackerError
from medbay.integrations.trackers.transport import WAIT_MAX_S, wait_of
from tests.trackers import gh_double
from tests.trackers.imitations import OURSELVES, TOKEN, imitation, in_an_hour

REMOTE = ("github-api", "github-gh", "linear", "jira", "jira_server")
LINE = record.write(
    record.FailureRecord(
        attempt=2, last_failure=0, error_class="code_error/type", summary=r"a|b \ `c` ``` {x} é 🙂 *d*"
    )
)
HOSTILE = "\"; touch hacked; $(touch hacked) `touch hacked` --title=x\n--body-file=/etc/passwd \\ 'é'"
HOSTILE_IDS = (
    "",
    "  ",
    "--help",
    "-1",
    "../1",
    "1/../2",
    "1 2",
    "1;2",
    "1\n",
    "$(id)",
    "a" * 200,
    "1?state=x",
    "1%2F2",
)


class BeadsBoard:
    """A workspace of Beads, with what a person does in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def bd(self, *words: str) -> Any:
        """Call bd; what it answered."""
        ran = subprocess.run(["bd", *words, "--json"], cwd=self.folder, capture_output=True, text=True, timeout=60)
        assert ran.returncode == 0, ran
        return json.loads(ran.stdout)

    def add(self, title: str, *labels: str, body: str = "") -> str:
        """A person writes an issue; its id."""
        tags = ["-l", ",".join(labels)] if labels else []
        return str(self.bd("create", f"--title={title}", f"--description={body}", *tags)["id"])

    def is_open(self, issue_id: str) -> bool:
        """Whether an issue is open."""
        return str(self.bd("show", issue_id)[0]["status"]) == "open"


@dataclass
class Subject:
    """A tracker and what people see of it."""

    name: str
    tracker: Tracker
    board: Any  # of an imitation, or of Beads
    url: str = ""


def connect(kind: str, url: str, **settings: Any) -> Tracker:
    """The tracker of an imitation."""
    kind, _, via = kind.partition("-")
    known = {"github": "acme/shop", "linear": "ENG", "jira": "APP", "jira_server": "APP"}
    source = TrackerSource(
        name="work",
        kind=kind.removesuffix("_server"),
        project=known[kind],
        url=url,
        via=via or "auto",
        user="bot@example.org" if kind == "jira" else "",
        timeout_ms=60_000,
    )
    changed = {name: getattr(source, name) for name in source.__slots__} | settings
    return open_source(TrackerSource(**changed))


@pytest.fixture
def tokens(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What the environment of a person has: tokens, and a `gh` that is logged in."""
    for name in ("GITHUB_TOKEN", "GH_TOKEN", "LINEAR_API_KEY", "JIRA_API_TOKEN"):
        monkeypatch.setenv(name, TOKEN)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    programs = tmp_path / "programs"
    programs.mkdir()
    words = shlex.join([sys.executable, "-S", gh_double.__file__])
    (programs / "gh").write_text(f'#!/bin/sh\nexec {words} "$@"\n', encoding="utf-8")
    (programs / "gh").chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=":")


@contextmanager
def imitated(name: str) -> Iterator[Subject]:
    """A tracker on loopback."""
    with imitation(name.partition("-")[0]) as (board, url), pytest.MonkeyPatch.context() as patch:
        patch.setenv("GH_DOUBLE_URL", url)
        yield Subject(name, connect(name, url), board, url)


@pytest.fixture
def remote(request: pytest.FixtureRequest, tokens: None) -> Iterator[Subject]:
    """One of the trackers that are asked over a network."""
    with imitated(request.param) as found:
        yield found


@pytest.fixture
def subject(request: pytest.FixtureRequest, tokens: None, bd: None, tmp_path: Path) -> Iterator[Subject]:
    """Any tracker."""
    if request.param != "beads":
        with imitated(request.param) as found:
            yield found
        return
    folder = tmp_path / "project"
    folder.mkdir()
    board = BeadsBoard(folder)
    words = ("init", "--prefix", "demo", "--non-interactive", "--skip-agents", "--skip-hooks", "--stealth")
    subprocess.run(["bd", *words], cwd=folder, capture_output=True, timeout=60, check=True)
    yield Subject("beads", beads.open_tracker("", folder), board)


every_tracker = pytest.mark.parametrize("subject", (*REMOTE, "beads"), indirect=True)
every_remote = pytest.mark.parametrize("remote", REMOTE, indirect=True)
every_api = pytest.mark.parametrize("remote", [each for each in REMOTE if each != "github-gh"], indirect=True)


@every_tracker
def test_open_issues_are_listed_page_by_page(subject: Subject) -> None:
    """Every one of them once, with its words and labels; what is closed or put aside is not among them."""
    made = [subject.board.add(f"issue {number}", "implement_close", body="because") for number in range(11)]
    subject.tracker.close(made[2], "Completed by medbay")
    subject.tracker.pause(made[3])

    found = subject.tracker.open_issues()

    assert sorted(each.id for each in found.issues) == sorted(set(made) - {made[2], made[3]})
    first = next(each for each in found.issues if each.id == made[0])
    assert (first.title, first.description, first.labels, first.notes) == (
        "issue 0",
        "because",
        ("implement_close",),
        "",
    )
    assert (found.left_out, found.unreadable, first.status) == ("", (), "open")


@every_tracker
def test_an_issue_is_read_as_it_is_now(subject: Subject) -> None:
    """Closed, put aside or open; one that is not there is an error with a name."""
    made = [subject.board.add("login") for _ in range(3)]
    subject.tracker.close(made[0], "Completed by medbay")
    subject.tracker.pause(made[1])

    assert [subject.tracker.read(each).status for each in made] == ["closed", "deferred", "open"]
    missing = made[0].rstrip("0123456789") + "999" if subject.name != "beads" else "demo-zzz999"
    with pytest.raises(TrackerError) as caught:
        subject.tracker.read(missing)
    assert caught.value.kind == "not_found"


@every_tracker
def test_notes_are_read_as_they_were_written(subject: Subject) -> None:
    """Whatever a record says; written again they are changed in place, and emptied."""
    made = subject.board.add("login", "implement_close")

    for notes in (LINE, LINE.replace("attempt=2", "attempt=3"), ""):
        subject.tracker.set_notes(made, notes)

        assert subject.tracker.read(made).notes == notes
        assert [each.notes for each in subject.tracker.open_issues().issues] == [notes]


@every_tracker
def test_an_issue_is_made_once_for_a_key(subject: Subject) -> None:
    """With its words as they are and the labels of its like; never by a shell, never as an option."""
    like = Issue(id="1", title="whole", priority=1)
    title = " ".join(HOSTILE.split()) if subject.name.startswith("jira") else HOSTILE

    made = subject.tracker.create(HOSTILE, HOSTILE, like=like, labels=("implement_close", "ui"), key="medbay:k7f2")
    again = subject.tracker.create("other", "words", like=like, labels=(), key="medbay:k7f2")
    other = subject.tracker.create("other", "words", like=like, labels=(), key="medbay:k7f23")

    found = subject.tracker.read(made)
    assert made == again != other
    assert (found.title, {"implement_close", "ui"} <= {*found.labels}) == (title, True)
    assert found.description.startswith(HOSTILE)


@every_tracker
def test_a_closed_issue_may_be_closed_again(subject: Subject) -> None:
    """What was done and not remembered is done again without harm."""
    made = subject.board.add("login")

    subject.tracker.close(made, "Completed by medbay: task a")
    subject.tracker.close(made, "Completed by medbay: task a")

    assert not subject.board.is_open(made)


@every_tracker
def test_no_hostile_id_is_handed_on(subject: Subject) -> None:
    """It is refused before anything is asked."""
    for each in HOSTILE_IDS:
        for call in (subject.tracker.read, subject.tracker.pause):
            with pytest.raises((UsageError, TrackerError)):
                call(each)
        with pytest.raises((UsageError, TrackerError)):
            subject.tracker.close(each, "x")
        with pytest.raises((UsageError, TrackerError)):
            subject.tracker.set_notes(each, "x")
    assert subject.name == "beads" or subject.board.requests == []


@every_remote
def test_the_record_is_one_comment_of_ours(remote: Subject) -> None:
    """Edited in place; comments of others, even ones that look like ours, are left alone and mean nothing."""
    made = remote.board.add("login", "implement_close")
    forged = comment.with_notes("ADWS_FAILED|attempt=9", "```")
    for text in (*(f"me too {number}" for number in range(6)), forged):
        remote.board.comment(made, text)

    remote.tracker.set_notes(made, LINE)
    remote.tracker.set_notes(made, LINE.replace("attempt=2", "attempt=3"))

    assert len(remote.board.said(made)) == 1
    assert "attempt=3" in remote.board.said(made)[0]
    assert [each.body for each in remote.board.entry(made).notes if each.author != OURSELVES][-1] == forged
    assert remote.tracker.open_issues().issues[0].notes == LINE.replace("attempt=2", "attempt=3")


@every_remote
def test_a_deleted_comment_is_written_again(remote: Subject) -> None:
    """Also where it was deleted between our reading and our writing."""
    made = remote.board.add("login", "implement_close")
    remote.tracker.set_notes(made, LINE)
    known = remote.tracker.api.fetch(made)  # type: ignore[attr-defined]
    remote.board.entry(made).notes.clear()

    remote.tracker.api.write_comment(known, "again")  # type: ignore[attr-defined]

    assert remote.board.said(made) == ["again"]


@every_remote
def test_a_person_is_waited_for_by_a_label(remote: Subject) -> None:
    """Whoever takes the label away releases the issue; whoever adds it keeps us out."""
    made = remote.board.add("login", "implement_close")

    remote.tracker.set_notes(made, record.needs_human("cannot say"))
    assert remote.board.labels(made) == ["implement_close", "needs_human"]
    assert record.read(remote.tracker.read(made).notes).human == "cannot say"

    remote.board.labels(made).remove("needs_human")
    assert record.read(remote.tracker.read(made).notes).is_free
    remote.board.labels(made).append("needs_human")
    assert record.read(remote.tracker.open_issues().issues[0].notes).human is not None
    remote.tracker.set_notes(made, "")
    assert remote.board.labels(made) == ["implement_close"]


@every_remote
def test_a_close_has_its_reason_in_our_comment(remote: Subject) -> None:
    """And leaves no label of ours behind; a split is closed as given up for its parts."""
    made = [remote.board.add("login", "implement_close", "needs_human") for _ in range(2)]
    remote.tracker.set_notes(made[0], LINE)

    remote.tracker.close(made[0], "Completed by medbay: task a, attempt 2")
    remote.tracker.close(made[1], "Split into sub-issues: 3, 4")

    assert [len(remote.board.said(each)) for each in made] == [1, 1]
    assert remote.board.said(made[0])[0].endswith("Completed by medbay: task a, attempt 2")
    assert [remote.board.labels(each) for each in made] == [["implement_close"]] * 2
    ends = [remote.board.entry(each).closed for each in made]
    assert ends[0] in ("completed", "done")
    assert ends[1] in ("not_planned", "canceled", "done")


@every_remote
def test_a_label_narrows_the_list_and_a_limit_says_what_it_leaves_out(
    remote: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is cut silently."""
    for number in range(9):
        remote.board.add(f"issue {number}", *(["night"] if number % 3 == 0 else []))

    narrow = connect(remote.name, remote.url, label="night").open_issues()
    short = connect(remote.name, remote.url, limit=5).open_issues()

    assert (len(narrow.issues), narrow.left_out) == (3, "")
    assert 5 <= len(short.issues) < 9
    assert "open issues were read" in short.left_out


def limit_of(kind: str) -> tuple[str, int, dict[str, str]]:
    """Which request meets a limit of an hour, with which status and headers: as each vendor names it."""
    soon = in_an_hour()
    known: dict[str, tuple[str, int, dict[str, str]]] = {
        "github": ("issues", 403, {"X_RateLimit_Remaining": "0", "X_RateLimit_Reset": soon}),
        "jira": ("search", 429, {"Retry_After": "3600"}),
        "linear": ("Open", 400, {"X_RateLimit_Requests_Remaining": "0", "X_RateLimit_Requests_Reset": f"{soon}000"}),
    }
    return known[kind]


LIMITED = {"errors": [{"message": "Rate limit exceeded", "extensions": {"code": "RATELIMITED"}}]}


@every_remote
def test_a_rate_limit_says_how_long(remote: Subject) -> None:
    """As each vendor names it."""
    kind = remote.name.partition("-")[0].removesuffix("_server")
    match, status, headers = limit_of(kind)
    remote.board.fail(match, status, body=LIMITED if kind == "linear" else {"message": "rate limit"}, **headers)

    with pytest.raises(TrackerError) as caught:
        remote.tracker.open_issues()

    assert caught.value.kind == "limited"
    assert caught.value.wait_s is not None
    assert 3000 < caught.value.wait_s <= 3600


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"retry-after": "90"}, 90.0),
        ({"retry-after": "Thu, 01 Jan 2026 00:01:00 GMT", "date": "Thu, 01 Jan 2026 00:00:00 GMT"}, 60.0),
        ({"x-ratelimit-reset": "1767225660", "date": "Thu, 01 Jan 2026 00:00:00 GMT"}, 60.0),
        ({"x-ratelimit-reset": "2026-01-01T00:01Z", "date": "Thu, 01 Jan 2026 00:00:00 GMT"}, 60.0),
        ({"x-ratelimit-reset": "1767225660", "x-ratelimit-remaining": "17"}, None),
        (
            {
                "x-ratelimit-requests-remaining": "5",
                "x-ratelimit-requests-reset": "1767229200000",
                "x-ratelimit-complexity-remaining": "0",
                "x-ratelimit-complexity-reset": "1767225660000",
                "date": "Thu, 01 Jan 2026 00:00:00 GMT",
            },
            60.0,
        ),
        ({"retry-after": "99999999999"}, WAIT_MAX_S),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_a_wait_is_read_by_the_clock_of_the_tracker(headers: dict[str, str], wait: float | None) -> None:
    """As seconds, dates, epochs of seconds or milliseconds; of several budgets the one that is used up."""
    assert wait_of(headers) == wait


@pytest.mark.parametrize("remote", ["github-api", "github-gh"], indirect=True)
def test_a_secondary_limit_is_a_limit(remote: Subject) -> None:
    """With the time it names, and without one."""
    said = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
    remote.board.fail("POST", 403, times=1, body={"message": said}, Retry_After="60")
    remote.board.fail("POST", 403, times=1, body={"message": said})
    made = remote.board.add("login")

    waits = []
    for _ in range(2):
        with pytest.raises(TrackerError) as caught:
            remote.tracker.set_notes(made, LINE)
        assert caught.value.kind == "limited"
        waits.append(caught.value.wait_s)
    assert waits == [60.0, None]


FAULTS = [
    (401, {"message": "Bad credentials", "errorMessages": ["no"]}, "unauthorized"),
    (403, {"message": "Resource not accessible by personal access token"}, "refused"),
    (422, {"message": "Validation Failed", "errors": [{"code": "invalid", "field": "labels"}]}, "refused"),
    (301, {"message": "Moved Permanently"}, "refused"),
    (500, b"<html>oops</html>", "unreachable"),
    (503, {"message": "Service Unavailable"}, "unreachable"),
    (200, b"<html>a captive portal</html>", "unreadable"),
    (200, {"message": "no list"}, "unreadable"),
    (0, None, "unreachable"),
]


@every_remote
def test_what_goes_wrong_has_a_name(remote: Subject) -> None:
    """Refused, not allowed, away, or no answer that can be read; and says what was asked, never with the token."""
    for status, body, kind in FAULTS:
        remote.board.faults.clear()
        remote.board.fail(".", status, body=body, Location="http://127.0.0.1:9/elsewhere")

        with pytest.raises(TrackerError) as caught:
            remote.tracker.open_issues()

        assert caught.value.kind == kind, (status, body, caught.value)
        assert TOKEN not in f"{caught.value} {caught.value.output}"
        assert caught.value.holds == (kind == "unreachable")


@every_api
def test_a_call_has_a_time_limit_for_the_whole(remote: Subject) -> None:
    """A tracker that does not answer is left."""
    remote.board.fail(".", -1)

    with pytest.raises(TrackerError, match="no answer after 0.2s") as caught:
        connect(remote.name, remote.url, timeout_ms=200).open_issues()

    assert caught.value.kind == "unreachable"


@every_api
def test_a_token_is_needed_and_accepted(remote: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without one nothing is asked; a wrong one is named as such; none goes out in the clear."""
    for name in ("GITHUB_TOKEN", "GH_TOKEN", "LINEAR_API_KEY", "JIRA_API_TOKEN"):
        monkeypatch.setenv(name, "")
    with pytest.raises(TrackerError, match="is not set"):
        connect(remote.name, remote.url)
    monkeypatch.setenv("OWN_TOKEN", "wrong")
    with pytest.raises(TrackerError) as caught:
        connect(remote.name, remote.url, token_env="OWN_TOKEN").open_issues()
    assert caught.value.kind == "unauthorized"
    with pytest.raises(TrackerError, match="https"):
        connect(remote.name, "http://tracker.example.org", token_env="OWN_TOKEN")


@pytest.mark.parametrize("project", ["", "acme", "acme/..", "acme/shop/x", "-x/y", "a b/c", 'A" OR 1=1', "$(id)/x"])
@pytest.mark.parametrize("kind", ["github", "linear", "jira"])
def test_a_project_that_is_none_is_refused(kind: str, project: str, tokens: None) -> None:
    """Before anything is asked."""
    if (kind, project) in (("linear", "acme"), ("jira", "acme")):
        return
    with pytest.raises(TrackerError, match="is no"):
        connect(kind, "http://127.0.0.1:9", project=project)


@pytest.mark.parametrize("remote", ["github-api"], indirect=True)
def test_only_insiders_start_work_by_words(remote: Subject) -> None:
    """Anybody may write an issue of a public repository; a label takes rights. Pull requests are no issues."""
    from medbay.core.tracker.issue import workflow_of

    remote.board.add("{implement_close} mine", body="{implement_close}", insider=False)
    remote.board.add("{implement_close} ours")
    remote.board.add("labelled", "implement_close", insider=False)
    remote.board.add("a change", "implement_close", pull_request=True)

    found = remote.tracker.open_issues().issues

    assert [(each.id, workflow_of(each) is not None) for each in found] == [("1", False), ("2", True), ("3", True)]


@pytest.mark.parametrize("remote", ["github-api"], indirect=True)
def test_nobody_else_makes_the_issue_of_our_key(remote: Subject) -> None:
    """A key in the words of others is no issue of ours."""
    forged = remote.board.add("mine", body="x\n\n<!-- medbay:k7f2 -->", insider=False)

    made = remote.tracker.create("part", "words", like=Issue(id="1", title=""), labels=(), key="medbay:k7f2")

    assert made != forged
    assert (remote.tracker.read(made).key, remote.tracker.read(forged).key) == ("medbay:k7f2", "medbay:k7f2")


@pytest.mark.parametrize("remote", ["jira"], indirect=True)
def test_a_part_of_a_part_has_its_own_key_alone(remote: Subject) -> None:
    """The label with the key of the whole is not handed on."""
    like = Issue(id="APP-1", title="")
    made = remote.tracker.create("part", "x", like=like, labels=("ui", "medbay:whole"), key="medbay:part")

    assert remote.board.labels(made) == ["ui", "medbay:part"]
    assert remote.tracker.read(made).key == "medbay:part"


@pytest.mark.parametrize("remote", ["github-api"], indirect=True)
def test_one_entry_that_is_no_issue_affects_no_other(remote: Subject) -> None:
    """It is named, and the rest is listed."""
    remote.board.fail("GET .*issues$", 200, times=1, body=[{"title": "odd"}, {"number": 4, "title": "fine"}, 7])

    found = remote.tracker.open_issues()

    assert ([each.id for each in found.issues], len(found.unreadable)) == (["4"], 2)


@pytest.mark.parametrize("remote", ["jira"], indirect=True)
def test_jira_takes_the_configured_status(remote: Subject) -> None:
    """One that cannot be reached from where the issue is names those that can."""
    made = remote.board.add("login")
    with pytest.raises(TrackerError, match="In Progress, Done"):
        connect("jira", remote.url, done="Released").close(made, "x")

    connect("jira", remote.url, done="done").close(made, "x")

    assert remote.board.entry(made).closed == "done"


def test_gh_that_is_not_logged_in_says_so(tokens: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what to do about it."""
    monkeypatch.delenv("GITHUB_TOKEN")
    monkeypatch.delenv("GH_TOKEN")

    with pytest.raises(TrackerError) as caught:
        connect("github-gh", "http://127.0.0.1:9").open_issues()

    assert (caught.value.kind, "gh auth login" in caught.value.hint) == ("unauthorized", True)
