"""A pull request that is waited for: asked for once, however often it is looked at."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from medbay.core.model import TEXT_MAX
from medbay.core.tracker.source import TrackerSource
from medbay.integrations.git import Git
from medbay.integrations.landing import CANNOT, Branch, main
from medbay.integrations.pull_request import WORDS_MAX, CameBack, PullRequest
from tests.trackers.imitated_pulls import URL, Pulls, run, said
from tests.trackers.imitations import imitation
from tests.trackers.test_contract import tokens

__all__ = ["tokens"]
REMOTE = "https://github.com/acme/shop.git"
BRANCH = "refs/heads/medbay/t-1"


class Shop:
    """A repository with a task's branch, its remote, and who has the pull requests."""

    def __init__(self, path: Path, pulls: Pulls, url: str) -> None:
        self.here, self.bare, self.pulls = path / "here", path / "remote.git", pulls
        self.git("init", "--quiet", "--bare", str(self.bare), cwd=path)
        self.git("init", "--quiet", "--initial-branch", "main", str(self.here), cwd=path)
        self.git("remote", "add", "origin", REMOTE)
        self.git("config", f"url.{self.bare}.insteadOf", REMOTE)
        self.commit("the beginning")
        self.git("update-ref", "refs/medbay/t-1/start", "HEAD")
        self.git("symbolic-ref", "refs/medbay/t-1/base", "refs/heads/main")
        self.git("checkout", "--quiet", "-b", "medbay/t-1")
        self.commit("the work")
        pulls.commit_of = lambda branch: self.git("rev-parse", f"refs/heads/{branch}", cwd=self.bare)
        pulls.runs = lambda commit: [run("ci", None)]
        self.source = TrackerSource(name="shop", kind="github", project="acme/shop", url=url, via="api")
        self.request = self.again(rounds=0)

    def again(self, rounds: int) -> PullRequest:
        """As another process sees it."""
        branch = Branch(Git(str(self.here)), "t-1")
        return PullRequest(branch, rounds=rounds, trackers=(self.source,))

    def git(self, *words: str, cwd: Path | None = None) -> str:
        """What git says."""
        as_us = ("-c", "user.name=ada", "-c", "user.email=ada@here")
        done = subprocess.run(
            ["git", *as_us, *words], cwd=cwd or self.here, check=True, capture_output=True, timeout=30
        )
        return done.stdout.decode().strip()

    def commit(self, words: str) -> None:
        """One more commit."""
        self.git("commit", "--quiet", "--allow-empty", "-m", words)


@pytest.fixture
def shop(tokens: None, tmp_path: Path) -> Iterator[Shop]:
    """A task whose work is to be asked for."""
    pulls = Pulls()
    with imitation("github", answers=pulls.answers) as (_, url):
        yield Shop(tmp_path, pulls, url)


def test_what_others_pushed_to_a_request_stays_while_it_is_waited_for(shop: Shop) -> None:
    """It is pushed once: the next look at it takes nothing of theirs away. What is new of ours is pushed."""
    assert shop.request.land("Count", asker="t-1:1", wait_s=0).waiting
    shop.git("checkout", "--quiet", "--detach", "medbay/t-1")
    shop.commit("a person's")
    shop.git("push", "--quiet", "origin", f"HEAD:{BRANCH}")
    theirs = shop.git("rev-parse", "HEAD")

    again = shop.request.land("Count", asker="t-1:1", wait_s=0)

    assert (again.how, again.url) == ("pr", f"{URL}/7")
    assert shop.git("rev-parse", BRANCH, cwd=shop.bare) == theirs
    shop.git("checkout", "--quiet", "medbay/t-1")
    shop.commit("more")
    shop.request.land("Count", asker="t-1:1", wait_s=0)
    assert shop.git("rev-parse", BRANCH, cwd=shop.bare) == shop.git("rev-parse", "HEAD")


@pytest.mark.parametrize("state", ["merged", "closed"])
def test_a_request_that_a_person_ended_while_it_is_waited_for_is_not_made_again(shop: Shop, state: str) -> None:
    """Nor is its branch, which went with it."""
    shop.request.land("Count", asker="t-1:1", wait_s=0)
    shop.pulls.made[0].state = state
    shop.git("update-ref", "-d", BRANCH, cwd=shop.bare)
    shop.pulls.commit_of = "c0ffee-{}".format

    landed = shop.request.land("Count", asker="t-1:1", wait_s=0)

    assert (landed.how, landed.url, landed.waiting) == ("pr", f"{URL}/7", False)
    assert len(shop.pulls.made) == 1
    assert shop.git("for-each-ref", cwd=shop.bare) == ""


def test_what_is_said_of_a_request_is_said_again_until_it_was_stored(shop: Shop) -> None:
    """A crash before it is stored loses no word and counts no round; the next attempt hears what is new."""
    shop.request.land("Count", asker="t-1:1", wait_s=0)
    shop.pulls.runs = lambda commit: [run("ci", "success")]
    shop.pulls.made[0].comments = [said("rename it", at="2999-01-01T00:00:00Z")]

    told = [shop.again(rounds=2).land("Count", asker="t-1:1", wait_s=0) for _ in range(3)]
    shop.pulls.made[0].comments.append(said("and test it", at="2999-01-02T00:00:00Z"))
    after = shop.again(rounds=2).land("Count", asker="t-1:2", wait_s=0)
    third = shop.again(rounds=2).look()
    shop.pulls.made[0].comments.append(said("and document it", at="2999-01-03T00:00:00Z"))
    last = shop.again(rounds=2).land("Count", asker="t-1:3", wait_s=0)

    assert {each.how for each in told} == {"refused"} and len({each.words for each in told}) == 1
    assert "rename it" in told[0].words
    assert (after.how, "rename it" in after.words, "and test it" in after.words) == ("refused", False, True)
    assert third == ""
    assert (last.how, "and test it" in last.words, "and document it" in last.words) == ("given_up", False, True)


def test_what_breaks_while_work_is_landed_is_no_conflict(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    """Python would end with the code of one; nobody could resolve it."""
    code = main(str(shop.here), "t-1", "pr", "Count", "t-1:1", "a while", "2", "[]")

    assert (code, "ValueError" in capsys.readouterr().err) == (CANNOT, True)


def test_however_much_is_said_of_a_request_what_is_told_of_it_fits_into_a_task(shop: Shop) -> None:
    """A person's task for what comes back too often takes no more than the description of a task."""
    shop.pulls.runs = lambda commit: [run("ci", "failure")]
    shop.request.land("Count", asker="t-1:1", wait_s=0)
    shop.pulls.made[0].comments = [said("x" * 5_000, at="2999-01-01T00:00:00Z") for _ in range(60)]

    found = shop.request.look()

    assert isinstance(found, CameBack) and found.given_up
    assert len(found.words) <= WORDS_MAX < TEXT_MAX
    assert found.words.startswith(f"pull request {URL}/7 came back more than 0 times\nci: failure")
