"""One contract for whoever has pull requests: GitHub by its API with a token, and by `gh`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from medbay.core.tracker.source import TrackerSource
from medbay.integrations.trackers.code_host import open_code_host, project_of
from medbay.integrations.trackers.protocol import CodeHost, TrackerError
from tests.trackers.imitated_pulls import Pulls, run, said
from tests.trackers.imitations import Board, imitation
from tests.trackers.test_contract import tokens

__all__ = ["tokens"]
EITHER = pytest.mark.parametrize("via", ["api", pytest.param("gh", marks=pytest.mark.long)])
ORIGIN = {"origin": "git@github.com:acme/shop.git"}
AT = "2026-01-01T00:00:0{}Z".format


def source(url: str, **settings: Any) -> TrackerSource:
    """The tracker of the imitation."""
    return TrackerSource(**{"name": "shop", "kind": "github", "project": "acme/shop", "url": url, **settings})


@pytest.fixture
def github(tokens: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Pulls, Board, str]]:
    """GitHub with pull requests, and a `gh` that is logged in there."""
    pulls = Pulls()
    with imitation("github", answers=pulls.answers) as (board, url):
        monkeypatch.setenv("GH_DOUBLE_URL", url)
        yield pulls, board, url


def host_of(url: str, via: str, folder: Path, remotes: dict[str, str] = ORIGIN) -> CodeHost:
    """Who has the pull requests of a work tree with these remotes."""
    return open_code_host([source(url, via=via)], folder, remotes, "origin")


@EITHER
def test_a_pull_request_is_made_once_and_found_by_its_branch(
    via: str, github: tuple[Pulls, Board, str], tmp_path: Path
) -> None:
    """The open one before newer ones that ended; one that is closed is made again."""
    pulls, _, url = github
    host = host_of(url, via, tmp_path)
    assert host.pull_request("medbay/t-1") is None

    made = host.open_pull_request("medbay/t-1", base="main", title="Count", body="one | two")
    again = host.open_pull_request("medbay/t-1", base="main", title="Other", body="")

    found = host.pull_request("medbay/t-1")
    assert found is not None and made == again == found.url == "https://github.com/acme/shop/pull/7"
    assert (found.state, found.head) == ("open", "c0ffee-medbay/t-1")
    assert [(each.head, each.base, each.title, each.body) for each in pulls.made] == [
        ("acme:medbay/t-1", "main", "Count", "one | two")
    ]
    for state in ("merged", "closed"):
        pulls.made[-1].state = state
        ended = host.pull_request("medbay/t-1")
        assert ended is not None and (ended.state, ended.said) == (state, ())
    assert host.open_pull_request("medbay/t-1", base="main", title="New", body="").endswith("/8")
    assert host.pull_request("medbay/t-2") is None


@EITHER
def test_checks_reviews_and_comments_are_read_whole(via: str, github: tuple[Pulls, Board, str], tmp_path: Path) -> None:
    """All pages of them; an approval says nothing, nor does somebody who has no rights, but for an app."""
    pulls, _, url = github
    pulls.runs = lambda commit: [run(f"build {n}") for n in range(5)] + [run("lint", "failure"), run("slow", None)]
    pulls.statuses = lambda commit: [{"context": "deploy", "state": "error", "target_url": "https://ci.test/d"}]
    host = host_of(url, via, tmp_path)
    host.open_pull_request("medbay/t-1", base="main", title="Count", body="")
    (pull,) = pulls.made
    pull.reviews = [
        said("fine", at=AT(1), state="APPROVED"),
        said("", at=AT(2), state="CHANGES_REQUESTED"),
        said("name it better", at=AT(3), state="COMMENTED"),
        said("not sent", at=AT(4), state="PENDING"),
    ]
    pull.comments = [said(f"and {n}", at=AT(n)) for n in range(5)]
    pull.comments += [said("buy", at=AT(6), by="eve", insider=False), said("", at=AT(6))]
    pull.lines = [said("off", at=AT(7), by="bot[bot]", insider=False, path="a.txt", line=None, original_line=2)]

    found = host.pull_request("medbay/t-1")

    assert found is not None
    assert [each.state for each in found.checks] == [*["fine"] * 5, "failed", "waits", "failed"]
    assert [each.words for each in found.checks if each.state == "failed"] == [
        "lint: failure https://ci.test/lint",
        "deploy: error https://ci.test/d",
    ]
    assert found.said == (
        (AT(2), "ada: asks for changes"),
        (AT(3), "ada: name it better"),
        *((AT(n), f"ada: and {n}") for n in range(5)),
        (AT(7), "bot[bot] on a.txt:2: off"),
    )


def test_a_token_that_may_not_read_check_runs_reads_the_runs_of_workflows(
    github: tuple[Pulls, Board, str], tmp_path: Path
) -> None:
    """As the fine-grained tokens of people are: any other fault is one."""
    _, board, url = github
    host = host_of(url, "api", tmp_path)
    host.open_pull_request("medbay/t-1", base="main", title="Count", body="")
    board.fail("GET .*check-runs", 403, body={"message": "Resource not accessible by personal access token"}, times=1)
    board.fail("GET .*actions/runs", 200, body={"total_count": 1, "workflow_runs": [run("CI", "failure")]}, times=1)

    found = host.pull_request("medbay/t-1")

    assert found is not None and [each.words for each in found.checks] == ["CI: failure https://ci.test/CI"]
    board.fail("GET .*check-runs", 503, body={"message": "away"}, times=1)
    with pytest.raises(TrackerError) as caught:
        host.pull_request("medbay/t-1")
    assert caught.value.holds


def test_what_cannot_be_asked_for_is_an_error(github: tuple[Pulls, Board, str], tmp_path: Path) -> None:
    """Refused without one that is there already, or answered with what is no pull request."""
    _, board, url = github
    host = host_of(url, "api", tmp_path)
    board.fail("POST .*pulls$", 422, body={"message": "No commits between main and medbay/t-1"}, times=1)
    with pytest.raises(TrackerError, match="No commits between"):
        host.open_pull_request("medbay/t-1", base="main", title="Count", body="")
    board.fail("POST .*pulls$", 201, body={"number": 7, "html_url": "javascript:x"}, times=1)
    with pytest.raises(TrackerError, match="no number or no address"):
        host.open_pull_request("medbay/t-1", base="main", title="Count", body="")


def test_the_tracker_that_names_a_remote_has_the_pull_requests(
    github: tuple[Pulls, Board, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By `gh` where that is installed, else with its token; of a fork with the owner whose branches they are."""
    pulls, board, url = github
    fork = {"upstream": "https://github.com/Acme/shop", "origin": "https://github.com/me/shop.git"}
    host_of(url, "auto", tmp_path, fork).open_pull_request("medbay/t-1", base="main", title="Count", body="")
    assert pulls.made[-1].head == "me:medbay/t-1" and board.tokens[-1].startswith("token ")

    known = open_code_host([], tmp_path, {"origin": "/srv/shop.git"}, "origin")  # as gh says
    assert known.pull_request("medbay/t-1") is None
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    host_of(url, "auto", tmp_path, fork).pull_request("medbay/t-1")
    assert board.tokens[-1].startswith("Bearer ")
    for sources, remotes in (([], fork), ([source(url, project="acme/other")], ORIGIN), ([source(url)], {})):
        with pytest.raises(TrackerError, match="gh is not installed") as caught:
            open_code_host(sources, tmp_path, remotes, "origin")
        assert caught.value.kind == "missing"


def test_gh_that_knows_no_repository_says_so(tokens: None, tmp_path: Path) -> None:
    """In its own words."""
    (tmp_path / "programs" / "gh").write_text("#!/bin/sh\necho 'no git remotes found' >&2; exit 1\n", "utf-8")

    with pytest.raises(TrackerError, match="no git remotes found"):
        open_code_host([], tmp_path, {}, "origin")


@pytest.mark.parametrize(
    ("url", "project"),
    [
        ("https://github.com/acme/shop.git", "acme/shop"),
        ("https://ada@github.com/acme/shop/", "acme/shop"),
        ("ssh://git@ssh.github.com:443/acme/shop.git", "acme/shop"),
        ("git@github.com:acme/shop.git", "acme/shop"),
        ("work:acme/my.shop", "acme/my.shop"),
        ("https://gitlab.com/group/acme/shop.git", ""),
        ("file:///srv/acme/shop.git", ""),
        ("../acme/shop.git", ""),
        ("/srv/acme/shop.git", ""),
        ("", ""),
    ],
)
def test_the_project_of_a_remote_is_the_end_of_its_address(url: str, project: str) -> None:
    """Whatever the host is called; a path of this machine is none."""
    assert project_of(url) == project
