"""Stories in a git repository: worktree and branch, merges, conflicts, pull requests, reverts, committed folders."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import medbay
from medbay.bay import Bay
from medbay.integrations import story_branch
from medbay.integrations.git import Git
from medbay.integrations.story_tree import StoryTree
from tests.cli.calling import Cli
from tests.trackers import gh_double
from tests.trackers.imitated_pulls import URL, Pulls, run, said
from tests.trackers.imitations import TOKEN, imitation

ROLE = """#!/bin/sh
here=$(dirname "$0")
echo "$MEDBAY_PHASE $(pwd)" >> "$here/walked.txt"
test -e "$here/$MEDBAY_PHASE.work" && . "$here/$MEDBAY_PHASE.work"
cp "$here/${ANSWER:-pass}.json" "$MEDBAY_RESULT"
"""
WRITES = "echo mine > app.txt"
RESOLVES = "if grep -q '<<<<' app.txt; then echo both > app.txt; else test -e app.txt || echo mine > app.txt; fi"


class Repository:
    """A repository with a store, whose roles are scripts beside it."""

    def __init__(self, cli: Cli, beside: Path) -> None:
        self.cli = cli
        self.roles = beside / "roles"
        self.roles.mkdir()
        self.git("init", "--quiet", "--initial-branch", "main")
        Path("README.md").write_text("# It\n")
        for role in ("pm", "qa", "dev", "gate"):
            (self.roles / f"{role}.sh").write_text(ROLE)
            (self.roles / f"{role}.sh").chmod(0o755)
        shown = {"evidence": [{"criterion": 1, "shows": "it prints", "path": "app.txt"}]}
        self.says("pass", {"verdict": "PASS", "summary": "fine", **shown})
        self.says("fail", {"verdict": "FAIL", "summary": "it does not print"})
        self.works("implement", WRITES)
        self.configure()
        self.git("add", "-A")
        self.git("commit", "--quiet", "-m", "The beginning")

    def says(self, name: str, answer: dict[str, Any]) -> None:
        """An answer that roles may give."""
        (self.roles / f"{name}.json").write_text(json.dumps(answer))

    def works(self, phase: str, script: str) -> None:
        """What is done in a phase."""
        (self.roles / f"{phase}.work").write_text(script + "\n")

    def configure(self, *lines: str, lint: str = "true") -> None:
        """Write the settings."""
        made = ["[story]", *lines, "[roles.review-lint]", f'command = ["sh", "-c", "{lint}"]']
        for role in ("pm", "qa", "dev", "gate"):
            made += [f"[roles.{role}]", f'command = ["{self.roles}/{role}.sh"]']
        Path("medbay.toml").write_text("\n".join([*made, ""]))

    def commit_settings(self, *lines: str, **more: str) -> None:
        """Write the settings, and commit them."""
        self.configure(*lines, **more)
        self.git("commit", "--quiet", "-am", "Settings")

    def git(self, *words: str) -> str:
        """What git says in the main tree."""
        done = subprocess.run(["git", *words], check=True, capture_output=True, text=True, timeout=30)
        return done.stdout.strip()

    def new(self, story_id: str = "W-1") -> None:
        """A story that takes the short way."""
        words = ("--title", "Print it", "--criterion", "it prints", "--workflow", "hotfix")
        self.cli.good("story", "new", story_id, *words)

    def shown(self, story_id: str = "W-1") -> dict[str, Any]:
        """The story as JSON."""
        found: dict[str, Any] = self.cli.good("story", "show", story_id, "--json").json
        return found

    def walked(self) -> list[list[str]]:
        """The phases that roles worked on, and where."""
        return [each.split() for each in (self.roles / "walked.txt").read_text().splitlines()]


@pytest.fixture
def repository(cli: Cli, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """A project in git, with worktrees of its own."""
    beside = tmp_path_factory.mktemp("beside")
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "A Person")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "person@example.org")
    monkeypatch.setenv("XDG_STATE_HOME", str(beside / "state"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("MEDBAY_TRUST", "1")
    return Repository(cli, beside)


def test_a_story_works_in_a_worktree_of_its_own_and_is_merged_when_its_gate_passes(repository: Repository) -> None:
    """The main tree is never touched before; what reviewers leave is no part of the work; a person's changes stay."""
    repository.commit_settings('on_pass = "merge"', lint="echo junk > junk.txt; test -e app.txt")
    clean = f"cd {os.getcwd()} && test ! -e app.txt && git diff --quiet HEAD -- . ':!README.md' ':!staged.txt'"
    repository.works("gate", f"({clean}) || ANSWER=fail")
    repository.new()
    Path("README.md").write_text("# It\n\nA person writes.\n")
    Path("staged.txt").write_text("staged")
    repository.git("add", "staged.txt")

    repository.cli.good("story", "run", "W-1")

    found = repository.shown()
    git = found["git"]
    assert (found["status"], found["merged"]) == ("completed", True)
    assert [where for _, where in repository.walked()] == [git["worktree"]] * 2
    assert (git["branch"], git["base"]) == ("medbay/story-W-1", "main")
    assert repository.git("rev-parse", "main") == git["merge_commit"]
    assert repository.git("diff", "--name-only", "HEAD^1", "HEAD") == "app.txt"
    assert repository.git("status", "--porcelain").splitlines() == ["M README.md", "A  staged.txt"]
    assert "junk.txt" in repository.git("ls-tree", "--name-only", "refs/medbay/story-W-1/2")
    assert not Path(git["worktree"], "junk.txt").exists()
    (tree,) = repository.cli.good("worktrees", "--json").json
    assert (tree["story"], tree["task"], tree["merged"]) == ("W-1", None, True)
    assert "+mine" in repository.cli.good("diff", "W-1").out
    text = repository.cli.good("story", "show", "W-1").out
    assert f"merged into main as {git['merge_commit'][:12]}" in text and git["worktree"] in text
    again = repository.cli("story", "finish", "W-1")
    assert (again.code, "Already merged." in again.err) == (4, True)


def test_a_kept_branch_is_merged_by_finish_and_a_forced_gate_still_finds_its_evidence(repository: Repository) -> None:
    """Also after its worktree was removed."""
    repository.new()
    repository.cli.good("story", "run", "W-1")
    assert not Path("app.txt").exists() and not repository.shown()["merged"]

    repository.cli.good("story", "finish", "W-1")
    repository.cli.good("worktrees", "--clean", "story-W-1")
    repository.works("gate", "true")
    repository.cli.good("story", "gate", "W-1", "--force")

    found = repository.shown()
    assert found["merged"] and Path("app.txt").read_text() == "mine\n"
    assert found["git"]["merge_commit"] == repository.git("rev-parse", "HEAD")


def test_work_is_kept_over_failures_and_nothing_of_a_cancelled_story_is_merged(repository: Repository) -> None:
    """A fix finds what was begun; the branch stays, the main branch is as it was."""
    before = repository.git("rev-parse", "main")
    repository.configure('on_pass = "merge"', lint="test -e app.txt && test -e fixed.txt")
    repository.git("commit", "--quiet", "-am", "Settings")
    before = repository.git("rev-parse", "main")
    repository.works("fix", "test -e app.txt && echo x > fixed.txt")
    repository.new()

    repository.cli.good("story", "run", "W-1", "--until", "uat")
    repository.cli.good("story", "cancel", "W-1")

    assert [phase for phase, _ in repository.walked()] == ["implement", "fix"]
    names = repository.git("ls-tree", "--name-only", "medbay/story-W-1").split()
    assert {"app.txt", "fixed.txt"} <= set(names)
    assert repository.git("rev-parse", "main") == before
    assert repository.git("status", "--porcelain") == ""


def test_a_conflict_is_resolved_by_the_developer_once(repository: Repository) -> None:
    """It finds both sides in its files, and what it makes of them is reviewed before it is merged."""
    repository.commit_settings('on_pass = "merge"')
    repository.works("implement", RESOLVES)
    repository.new()
    repository.cli.good("story", "run", "W-1", "--until", "uat")
    Path("app.txt").write_text("theirs\n")
    repository.git("add", "app.txt")
    repository.git("commit", "--quiet", "-m", "Another's")

    repository.cli.good("story", "run", "W-1")

    assert [each["phase"] for each in repository.shown()["phases"]] == [
        *("implement", "review", "gate"),
        *("implement", "review", "gate"),
    ]
    assert Path("app.txt").read_text() == "both\n"
    assert repository.shown()["git"]["conflict"] is None
    assert repository.git("status", "--porcelain") == ""


@pytest.mark.long
def test_a_conflict_that_stays_is_a_persons(repository: Repository) -> None:
    """With the conflict shown; the branch may be kept, and what has marks is never merged."""
    repository.commit_settings('on_pass = "merge"')
    repository.works("implement", "test -e app.txt || echo mine > app.txt")
    repository.new()
    repository.cli.good("story", "run", "W-1", "--until", "uat")
    Path("app.txt").write_text("theirs\n")
    repository.git("add", "app.txt")
    repository.git("commit", "--quiet", "-m", "Another's")

    assert repository.cli("story", "run", "W-1").code == 75

    found = repository.shown()
    (asked,) = found["questions"]
    assert found["status"] == "blocked" and "app.txt" in asked["why"]
    assert Path("app.txt").read_text() == "theirs\n"
    assert asked["options"][1] == "complete it, and keep the branch"
    repository.cli.good("answer", asked["id"], "2")
    assert (repository.shown()["status"], repository.shown()["merged"]) == ("completed", False)
    refused = repository.cli("story", "finish", "W-1")
    assert refused.code == 4 and "conflict marks in app.txt" in refused.err


class Hosted:
    """A code host beside a repository: its remote, its pull requests, and `gh` once it is installed."""

    def __init__(self, repository: Repository, beside: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.tools, bare = beside / "bin", beside / "remote.git"
        self.tools.mkdir()
        for name in ("git", "sh", "dirname", "cp", "test", "cat", "pwd"):
            (self.tools / name).symlink_to(shutil.which(name) or name)
        monkeypatch.setenv("PATH", str(self.tools))
        self._monkeypatch = monkeypatch
        repository.git("init", "--quiet", "--bare", str(bare))
        repository.git("remote", "add", "origin", "https://github.com/acme/shop.git")
        repository.git("config", f"url.{bare}.insteadOf", "https://github.com/acme/shop.git")
        self.pulls = Pulls(
            commit_of=lambda branch: repository.git("--git-dir", str(bare), "rev-parse", f"refs/heads/{branch}")
        )

    def install_gh(self, url: str) -> None:
        """From now on there is one, which asks the host at this address."""
        (self.tools / "gh").write_text(
            f'#!/bin/sh\nexec {shlex.join([sys.executable, "-S", gh_double.__file__])} "$@"\n'
        )
        (self.tools / "gh").chmod(0o755)
        for name, value in {"GH_DOUBLE_URL": url, "GH_TOKEN": TOKEN, "no_proxy": "127.0.0.1"}.items():
            self._monkeypatch.setenv(name, value)


@pytest.fixture
def hosted(repository: Repository, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Hosted:
    """The repository has a remote at a code host, and nobody has installed `gh` yet."""
    return Hosted(repository, tmp_path_factory.mktemp("gh"), monkeypatch)


def test_a_pull_request_is_asked_for_and_without_gh_a_person_is(repository: Repository, hosted: Hosted) -> None:
    """The same landing is tried again when the person has seen to it; then its checks are waited for."""
    repository.commit_settings('on_pass = "pr"', "[git]", 'pr_wait = "30s"')
    repository.works("implement", 'echo mine >> app.txt; cat "$MEDBAY_INPUT" >> "$here/told.txt"')
    seen: list[str] = []

    def runs(commit: str) -> list[dict[str, Any]]:
        """A check of each commit goes on when it is first asked about; that of the first one fails."""
        seen.append(commit)
        return [run("ci", None if seen.count(commit) == 1 else "failure" if commit == seen[0] else "success")]

    hosted.pulls.runs = runs
    repository.new()

    assert repository.cli("story", "run", "W-1").code == 75
    (asked,) = repository.shown()["questions"]
    assert "gh is not installed" in asked["why"]
    with imitation("github", answers=hosted.pulls.answers) as (_, url):
        hosted.install_gh(url)
        repository.cli.good("answer", asked["id"], "1")
        repository.cli.good("story", "run", "W-1")

    found, (pull,) = repository.shown(), hosted.pulls.made
    assert [each["phase"] for each in found["phases"]] == ["implement", "review", "gate"] * 2
    assert f"{pull.number} came back\\nci: failure" in (repository.roles / "told.txt").read_text()
    assert (found["status"], found["merged"], len(set(seen))) == ("completed", False, 2)
    assert found["git"]["pull_request"] == f"{URL}/{pull.number}"
    assert f"{URL}/{pull.number}" in repository.cli.good("story", "show", "W-1").out
    assert (pull.head, pull.base, pull.title) == ("acme:medbay/story-W-1", "main", "Story W-1: Print it")
    assert not Path("app.txt").exists()


def test_a_story_whose_pull_request_came_back_too_often_goes_on_when_a_person_has_seen_to_it(
    repository: Repository, hosted: Hosted
) -> None:
    """What the person was told does not come back once more."""
    repository.commit_settings('on_pass = "pr"', "[git]", 'pr_wait = "30s"', "max_pr_rounds = 0")

    def runs(commit: str) -> list[dict[str, Any]]:
        """Nothing is wrong with it, but a reviewer wants something else."""
        hosted.pulls.made[0].comments = [said("rename it", at="2999-01-01T00:00:00Z")]
        return [run("ci", "success")]

    hosted.pulls.runs = runs
    repository.new()
    with imitation("github", answers=hosted.pulls.answers) as (_, url):
        hosted.install_gh(url)

        assert repository.cli("story", "run", "W-1").code == 75
        (asked,) = repository.shown()["questions"]
        repository.cli.good("answer", asked["id"], "1")
        repository.cli.good("story", "run", "W-1")

    assert "came back more than 0 times" in asked["why"]
    assert repository.shown()["status"] == "completed"


def test_a_gate_that_fails_after_the_merge_prepares_the_revert_and_asks(repository: Repository) -> None:
    """The answer merges it; the work is out of the main branch, and stays on its own."""
    repository.commit_settings('on_pass = "merge"')
    repository.new()
    repository.cli.good("story", "run", "W-1")
    repository.works("gate", "ANSWER=fail")

    assert repository.cli("story", "gate", "W-1", "--force").code == 75
    found = repository.shown()
    (asked,) = found["questions"]
    assert (found["merged"], found["git"]["revert_branch"]) == (True, "medbay/revert-story-W-1")
    assert Path("app.txt").exists()
    repository.cli.good("answer", asked["id"], "1")

    found = repository.shown()
    assert (found["merged"], found["git"]["revert_commit"]) == (False, repository.git("rev-parse", "main"))
    assert not Path("app.txt").exists() and repository.git("status", "--porcelain") == ""
    assert "reverted in main by" in repository.cli.good("story", "show", "W-1").out
    refused = repository.cli("story", "finish", "W-1")
    assert refused.code == 4 and "its merge was reverted" in refused.err


@pytest.mark.long
def test_a_revert_that_conflicts_is_shown_and_may_be_left(repository: Repository) -> None:
    """With on_fail = revert nobody is asked unless it cannot be done."""
    repository.commit_settings('on_pass = "merge"', 'on_fail = "revert"')
    repository.new()
    repository.cli.good("story", "run", "W-1")
    Path("app.txt").write_text("changed since\n")
    repository.git("commit", "--quiet", "-am", "Later")
    repository.works("gate", "ANSWER=fail")

    assert repository.cli("story", "gate", "W-1", "--force").code == 75

    (asked,) = repository.shown()["questions"]
    assert "conflicts with later changes" in asked["why"]
    repository.cli.good("answer", asked["id"], "2")
    assert repository.shown()["merged"] and Path("app.txt").read_text() == "changed since\n"


@pytest.mark.long
def test_a_failed_gate_reverts_by_setting(repository: Repository) -> None:
    """At once, and without a question."""
    repository.commit_settings('on_pass = "merge"', 'on_fail = "revert"')
    repository.new()
    repository.cli.good("story", "run", "W-1")
    repository.works("gate", "ANSWER=fail")

    assert repository.cli("story", "gate", "W-1", "--force").code == 1

    assert not Path("app.txt").exists() and not repository.shown()["merged"]
    assert repository.shown()["questions"] == []


def test_folders_are_ignored_or_committed_and_nothing_else_with_them(repository: Repository) -> None:
    """What a person staged stays staged; hooks do not run; the folders are no part of the story's branch."""
    repository.new()
    assert repository.git("status", "--porcelain") == ""
    repository.commit_settings("commit = true", 'on_pass = "merge"')
    hook = Path(".git/hooks/pre-commit")
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    Path("staged.txt").write_text("staged")
    repository.git("add", "staged.txt")

    repository.cli.good("story", "run", "W-1")

    assert repository.git("status", "--porcelain") == "A  staged.txt"
    assert repository.git("ls-files", "stories/UAT/W-1/story.md")
    assert "Story W-1: completed" in repository.git("log", "--format=%s")
    ours = repository.git("log", "--no-merges", "--format=", "--name-only", "--grep", "^Story W-1").split()
    assert ours and all(each.startswith("stories/") for each in ours)
    assert not [each for each in ours if each.endswith((".phase-lock", ".written.json"))]
    branch = repository.git("log", "--format=", "--name-only", "medbay/story-W-1", "--grep", "Medbay-Story").split()
    assert branch == ["app.txt"]


def test_without_a_worktree_it_works_in_the_project(repository: Repository) -> None:
    """By setting; and a worktree that cannot be made stops the phase and says why."""
    repository.commit_settings("worktree = false")
    repository.new()
    repository.cli.good("story", "run", "W-1")
    assert (repository.shown()["git"], Path("app.txt").read_text()) == (None, "mine\n")
    repository.configure('setup = "exit 7"')
    repository.new("W-2")

    ended = repository.cli("story", "implement", "W-2")

    assert ended.code == 1
    assert "setup failed with exit 7" in repository.shown("W-2")["phases"][0]["summary"]


class Died(BaseException):
    """The process ended here."""


class Mortal:
    """Ends everything at the so many-th effect: a call of git or a transaction. What follows does not happen."""

    def __init__(self, patch: pytest.MonkeyPatch, position: int, *, after: bool) -> None:
        self.seen = 0
        self._position = position
        self._after = after
        patch.setattr(Git, "call", self._guarded(Git.call))
        patch.setattr(Bay, "write", self._guarded(Bay.write))

    def _guarded(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def effect(*words: Any, **options: Any) -> Any:
            at, self.seen = self.seen, self.seen + 1
            if at > self._position or (at == self._position and not self._after):
                raise Died
            found = real(*words, **options)
            if at == self._position:
                raise Died
            return found

        return effect


def die(*_: Any, **__: Any) -> None:
    """Instead of what comes next."""
    raise Died


def live_on() -> None:
    """What the next process does, once nobody holds the story any more."""
    with medbay.open() as bay:
        bay.write(lambda tx: tx.execute("UPDATE story SET files_by = '', files_until = NULL"))
        for _ in range(3):
            assert bay.stories.conductor.cycle(only=("W-1",)) == []


def died_before(repository: Repository, where: Any, names: tuple[str, ...], *words: str) -> None:
    """A command that was killed right before one of these."""
    with pytest.MonkeyPatch.context() as patch, pytest.raises(Died):
        for each in names:
            patch.setattr(where, each, die)
        repository.cli(*words)


def before_the_gate_is_settled(repository: Repository, what: str) -> None:
    """A story whose gate has ended, right before its branch is merged or its merge reverted."""
    repository.commit_settings('on_pass = "merge"', 'on_fail = "revert"')
    repository.new()
    repository.cli.good("story", "run", "W-1", *(("--until", "uat") if what == "merge" else ()))
    if what == "revert":
        repository.works("gate", "ANSWER=fail")
    died_before(repository, story_branch, ("land", "prepare_revert"), "story", "gate", "W-1", "--force")


class Snapshot:
    """The project and the worktrees as they were, again and again in the same place."""

    def __init__(self, kept: Path) -> None:
        state = Path(os.environ["XDG_STATE_HOME"])
        state.mkdir(exist_ok=True)
        self._places = ((Path.cwd(), kept / "project"), (state, kept / "state"))
        for place, copy in self._places:
            shutil.copytree(place, copy, symlinks=True)

    def restore(self) -> None:
        """Put everything back."""
        for place, copy in self._places:
            for each in place.iterdir():
                shutil.rmtree(each) if each.is_dir() else each.unlink()
            shutil.copytree(copy, place, symlinks=True, dirs_exist_ok=True)

    def crashes(self, stride: int, check: Callable[[tuple[int, bool]], None]) -> int:
        """Crash before and after each effect of what comes next, let the next process go on, and check; how many."""
        position, count = 0, 0
        while True:
            for after in (False, True):
                self.restore()
                with pytest.MonkeyPatch.context() as patch:
                    mortal = Mortal(patch, position, after=after)
                    with suppress(Died), medbay.open() as bay:
                        bay.stories.conductor.cycle(only=("W-1",))
                live_on()
                check((position, after))
            if mortal.seen <= position:
                return count
            position, count = position + stride, count + 1


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("what", "stride"),
    [
        ("merge", 12),
        pytest.param("merge", 1, marks=pytest.mark.long),
        pytest.param("revert", 1, marks=pytest.mark.long),
    ],
)
def test_a_crash_at_any_effect_merges_and_reverts_once(
    repository: Repository, tmp_path_factory: pytest.TempPathFactory, what: str, stride: int
) -> None:
    """Before and after each: the story ends where it would have, and the main branch has it once and is clean."""
    before_the_gate_is_settled(repository, what)
    merges = "1" if what == "merge" else "2"

    def check(at: tuple[int, bool]) -> None:
        found = repository.shown()
        assert (found["status"], found["merged"]) == ("completed", what == "merge"), at
        assert Path("app.txt").exists() == (what == "merge"), at
        assert repository.git("rev-list", "--count", "--merges", "main") == merges, at
        assert repository.git("status", "--porcelain") == "", at
        assert found["questions"] == [], at
        tip = found["git"]["merge_commit" if what == "merge" else "revert_commit"]
        assert repository.git("rev-parse", "main") == tip, at

    assert Snapshot(tmp_path_factory.mktemp("kept")).crashes(stride, check) > 1


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_crash_at_any_effect_makes_the_worktree(
    repository: Repository, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The next process makes it whole, and the phase is set up once."""
    repository.new()
    died_before(repository, StoryTree, ("prepare",), "story", "implement", "W-1")

    def check(at: tuple[int, bool]) -> None:
        found = repository.shown()
        assert [each["status"] for each in found["phases"]] == ["RUNNING"], at
        tree = Path(found["git"]["worktree"])
        assert (tree / "README.md").is_file(), at
        said = subprocess.run(["git", "status", "--porcelain"], cwd=tree, check=True, capture_output=True)
        assert said.stdout == b"", at
        assert repository.git("status", "--porcelain") == "", at

    assert Snapshot(tmp_path_factory.mktemp("kept")).crashes(1, check) > 5


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("commit", ["false", "true"])
def test_a_crash_at_any_effect_keeps_what_a_phase_did(
    repository: Repository, tmp_path_factory: pytest.TempPathFactory, commit: str
) -> None:
    """On the branch, with its evidence hashed; and the folder is committed where that is wanted."""
    repository.commit_settings(f"commit = {commit}")
    repository.new()
    died_before(repository, StoryTree, ("keep",), "story", "implement", "W-1")

    def check(at: tuple[int, bool]) -> None:
        found = repository.shown()
        assert (found["status"], found["phase"]) == ("ready-for-code-review", None), at
        assert repository.git("show", "medbay/story-W-1:app.txt") == "mine", at
        assert repository.git("rev-list", "--count", "medbay/story-W-1", "--grep", "Medbay-Story") == "1", at
        assert [len(each["hash"]) for each in found["evidence"]] == [64], at
        assert repository.git("status", "--porcelain") == "", at
        assert bool(repository.git("ls-files", "stories")) == (commit == "true"), at

    assert Snapshot(tmp_path_factory.mktemp("kept")).crashes(1, check) > 3
