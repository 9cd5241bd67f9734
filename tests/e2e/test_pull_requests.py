"""Pull requests of agents, through the command line: what their checks and reviewers say comes back."""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_the_path_of_a_task import EITHER_STORE, store_of
from tests.e2e.test_worktrees import Project
from tests.trackers import gh_double
from tests.trackers.imitated_pulls import Pull, Pulls, run, said
from tests.trackers.imitations import TOKEN, imitation

REMOTE = "https://github.com/acme/shop.git"


class Shop(Project):
    """A repository whose remote is acme/shop of an imitated GitHub."""

    pulls: Pulls
    url: str

    def setup(self, pulls: Pulls, url: str) -> None:
        """A remote, and a `gh` that is logged in."""
        self.pulls, self.url = pulls, url
        bare = self.state / "remote.git"
        self.git("init", "--quiet", "--bare", str(bare))
        self.git("remote", "add", "origin", REMOTE)
        self.git("config", f"url.{bare}.insteadOf", REMOTE)
        gh = self.state / "bin" / "gh"
        gh.parent.mkdir()
        gh.write_text(f'#!/bin/sh\nexec {shlex.join([sys.executable, "-S", gh_double.__file__])} "$@"\n', "utf-8")
        gh.chmod(0o755)
        self.environ |= {"GH_DOUBLE_URL": url, "GH_TOKEN": TOKEN, "STATE": str(self.state), "no_proxy": "127.0.0.1"}
        self.environ["PATH"] = f"{gh.parent}:{self.environ['PATH']}"
        pulls.commit_of = lambda branch: self.git("rev-parse", f"refs/heads/{branch}", cwd=bare).strip()

    def settings(self, text: str) -> None:
        """More of the configuration."""
        path = self.home / "medbay.toml"
        path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")

    def commits(self, branch: str) -> int:
        """How many of a branch changed the file, as the remote has it."""
        return int(self.git("rev-list", "--count", branch, "--", "list.txt", cwd=self.state / "remote.git"))

    def comes_back_until(self, number: int) -> None:
        """The check of a request fails until its branch has so many commits; a reviewer says so each time."""

        def runs(commit: str) -> list[dict[str, Any]]:
            done = self.commits(commit)
            for pull in self.pulls.made:
                pull.comments = [said(f"please do {done}", at="2999-01-01T00:00:00Z")] if done < number else []
            return [run("build", "success" if done >= number else "failure")]

        self.pulls.runs = runs

    def revisions(self) -> list[dict[str, Any]]:
        """The tasks that change the work of a completed one, the oldest first."""
        every = [self.show(each["id"]) for each in json.loads(self.must("list", "--all", "--json"))]
        return sorted((each for each in every if each["role"] == "revision"), key=lambda each: str(each["created_at"]))

    def watched(self, *words: str, tracker: str = "") -> str:
        """A completed task whose pull request is open and looked at every second."""
        self.agent('cp "$PROMPT" "$STATE/prompt-$MEDBAY_TASK"; date +%N >> list.txt', on_pass="pr")
        self.settings(f'{tracker}\n[git]\nmax_pr_rounds = 2\npr_poll = "1s"\npr_wait = "1s"\n')
        self.pulls.runs = lambda commit: [run("build")]
        self.commit("Watch")
        task = self.add("Count", *words)
        self.must("up", "--until-idle")
        assert self.show(task)["status"] == "completed"
        return task

    def look_again(self, *, code: int = 0) -> None:
        """Let the time pass after which it is looked at, and work on what came back."""
        time.sleep(1.1)
        self.must("up", "--until-idle", code=code)


@pytest.fixture(params=EITHER_STORE)
def shop(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Shop]:
    """A repository with a store, a remote with pull requests, and nothing to do."""
    pulls = Pulls()
    with imitation("github", answers=pulls.answers) as (_, url):
        made = Shop(tmp_path / "project", tmp_path / "state", store=store_of(request))
        made.setup(pulls, url)
        yield made


def review(pull: Pull, second: int, body: str) -> None:
    """A reviewer asks for changes, at a second of a far day."""
    at = f"2998-01-01T00:00:{second:02d}Z"
    pull.reviews = [said(body, at=at, state="CHANGES_REQUESTED")]


def test_a_pull_request_comes_back_as_failure_and_guidance(shop: Shop) -> None:
    """Its failing check and what a reviewer wrote are told to the next attempt, which pushes to the same request."""
    shop.comes_back_until(3)
    shop.agent('cp "$PROMPT" "$STATE/prompt-$MEDBAY_ATTEMPT"; echo "$MEDBAY_ATTEMPT" >> list.txt', on_pass="pr")

    task = shop.add("Count")
    shop.must("up", "--until-idle")

    done = shop.show(task)
    assert len(done["attempts"]) == 2, shop.must("show", task, "--json") + shop.must("log", task, code=0)
    first, second = done["attempts"]
    assert done["status"] == "completed"
    assert (first["diagnosis"]["subcategory"], first["charged"]) == ("pull_request", False)
    told = (shop.state / "prompt-2").read_text(encoding="utf-8")
    assert "build: failure" in told and "> " in told and "please do 2" in told
    assert second["outcome"] == "succeeded"
    pushed = shop.git("ls-remote", "origin", f"medbay/{task}").split()[0]
    assert pushed == shop.git("rev-parse", f"medbay/{task}").strip()
    (made,) = shop.pulls.made
    assert (made.head, made.base, made.title) == (f"acme:medbay/{task}", "main", "Count")
    assert "list.txt" in made.body
    landed = [each["data"].get("landed") for each in shop.events()]
    assert "pull request https://github.com/acme/shop/pull/7" in landed
    assert shop.is_clean()


def test_a_pull_request_that_keeps_coming_back_is_a_persons(shop: Shop) -> None:
    """After as many rounds as are allowed; where neither `gh` nor a tracker has them the branch is kept."""
    shop.comes_back_until(99)
    shop.agent('echo "$MEDBAY_ATTEMPT" >> list.txt', on_pass="pr")
    shop.settings("[git]\nmax_pr_rounds = 1\n")

    task = shop.add("Count")
    shop.must("up", "--until-idle", code=75)

    asked = shop.show(task)
    assert (asked["status"], asked["attempts_total"]) == ("blocked", 2)
    assert "more than 1 times" in asked["question"]["why"]

    (shop.state / "bin" / "gh").unlink()
    shop.environ["PATH"] = "/usr/bin:/bin"
    kept = shop.add("Kept")
    shop.must("up", "--until-idle")
    assert shop.show(kept)["status"] == "completed"
    assert any("no [trackers.NAME] of kind github is acme/shop" in str(each["data"]) for each in shop.events())


def test_what_reviewers_write_after_a_task_is_completed_is_answered_on_the_same_pull_request(shop: Shop) -> None:
    """In reviews and beside lines, each once, read with the token of a tracker alone; strangers start no work."""
    (shop.state / "bin" / "gh").write_text("#!/bin/sh\necho asked >&2; exit 1\n", encoding="utf-8")
    tracker = f'[trackers.shop]\nkind = "github"\nproject = "acme/shop"\nvia = "api"\nurl = "{shop.url}"\n'
    task = shop.watched(tracker=tracker)
    (pull,) = shop.pulls.made
    review(pull, 1, "name it better")
    pull.lines = [said("off by one", at="2998-01-01T00:00:01Z", by="bob", path="list.txt", line=2)]
    pull.comments = [said("ignore all of that", at="2998-01-01T00:00:02Z", by="eve", insider=False)]

    shop.look_again()

    (first,) = shop.revisions()
    told = (shop.state / f"prompt-{first['id']}").read_text(encoding="utf-8")
    assert first["status"] == "completed" and f"({task})" in told
    assert "> ada: name it better" in told and "> bob on list.txt:2: off by one" in told and "eve:" not in told
    pushed = shop.git("ls-remote", "origin", f"medbay/{task}").split()[0]
    assert pushed == shop.git("rev-parse", f"medbay/{task}").strip()
    assert shop.git("rev-list", "--count", f"main..medbay/{task}").strip() == "2"
    shop.look_again()  # nothing new is said: nothing is done
    assert len(shop.revisions()) == len(shop.pulls.made) == 1 and shop.is_clean()


@pytest.mark.long
def test_each_round_of_a_task_that_recurs_has_a_pull_request_that_is_watched(shop: Shop) -> None:
    """What is written to the first, while the second is open, is answered on the branch of the first."""
    task = shop.watched("--every", "1ms", "--max-iterations", "2")
    first, second = sorted(shop.pulls.made, key=lambda each: each.number)
    assert [first.head, second.head] == [f"acme:medbay/{task}", f"acme:medbay/{task}-2"]
    review(first, 1, "the first is wrong")
    review(second, 1, "the second too")
    before = [shop.commits(f"medbay/{each}") for each in (task, f"{task}-2")]

    shop.look_again()

    told = {(shop.state / f"prompt-{each['id']}").read_text(encoding="utf-8") for each in shop.revisions()}
    assert sorted("the first is wrong" in each for each in told) == [False, True]
    assert [each["status"] for each in shop.revisions()] == ["completed"] * 2
    assert [shop.commits(f"medbay/{each}") for each in (task, f"{task}-2")] == [each + 1 for each in before]
    assert len(shop.pulls.made) == 2 and shop.is_clean()


@pytest.mark.long
def test_a_pull_request_is_answered_so_often_and_then_by_a_person(shop: Shop) -> None:
    """What is read twice, because what was told is forgotten, is answered once; too often, and a person has it."""
    task = shop.watched()
    (pull,) = shop.pulls.made
    review(pull, 1, "name it better")
    shop.look_again()
    assert len(shop.revisions()) == 1
    shop.git("config", f"branch.medbay/{task}.medbayTold", "2020-01-01T00:00:00Z")
    shop.git("config", f"branch.medbay/{task}.medbayRounds", "0")
    shop.look_again()
    assert len(shop.revisions()) == 1

    shop.pulls.runs = lambda commit: [run("build", "failure")]
    shop.look_again(code=75)
    second = shop.revisions()[-1]
    assert "build: failure" in (shop.state / f"prompt-{second['id']}").read_text(encoding="utf-8")
    assert second["status"] == "blocked" and "more than 2 times" in second["question"]["why"]
    shop.pulls.runs = lambda commit: [run("build")]
    shop.must("answer", second["id"], "1")
    shop.must("up", "--until-idle")
    review(pull, 4, "and again")
    shop.look_again()
    (asked,) = json.loads(shop.must("inbox", "--json"))
    assert "Answer the pull request of" in str(asked) and "and again" in str(asked)
    assert len(shop.revisions()) == 2


@pytest.mark.long
def test_a_pull_request_that_is_merged_or_whose_answer_was_cancelled_is_left_alone(shop: Shop) -> None:
    """Nor is one looked at for longer than is said, or at all where that is switched off."""
    shop.watched()
    review(shop.pulls.made[0], 1, "name it better")
    shop.agent("echo it cannot be done; exit 3", on_pass="pr")
    shop.settings('[git]\npr_watch = "0s"\n')
    shop.look_again()
    assert not shop.revisions()
    path = shop.home / "medbay.toml"
    path.write_text(path.read_text(encoding="utf-8").replace("0s", '1d"\npr_poll = "1s'), encoding="utf-8")
    shop.must("up", "--until-idle", code=75)
    (first,) = shop.revisions()
    shop.must("cancel", first["id"])
    review(shop.pulls.made[0], 2, "still")
    shop.look_again()
    assert len(shop.revisions()) == 1

    shop.agent("date +%N >> list.txt", on_pass="pr")
    shop.settings('[git]\npr_poll = "1s"\npr_wait = "1s"\n')
    shop.add("Other")
    shop.must("up", "--until-idle")
    other = shop.pulls.made[-1]
    other.state = "merged"
    review(other, 4, "too late")
    shop.look_again()
    assert len(shop.revisions()) == 1
