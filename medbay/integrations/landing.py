"""What becomes of a branch that passed: kept, merged, or a pull request; later reverted, bisected, cleaned away.

A merge is made without a work tree and reaches the branch in one step; a main tree that has the branch checked out
follows by a fast-forward, which refuses to touch what a person has changed there.
"""

from __future__ import annotations

import glob
import json
import os
import shutil
import subprocess
import sys
import traceback
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec

from medbay.core.attempt.checks import PR_GIVEN_UP, PR_REFUSED
from medbay.core.tracker.source import TrackerSource
from medbay.core.workspace import Landed, WorkSeen
from medbay.errors import MedbayError, NotAllowed, NotFound
from medbay.integrations.git import LONG_S, PACKAGE, Git, GitFailed
from medbay.integrations.pull_request import PullRequest
from medbay.integrations.tree_contents import BRANCHES, HEADS, REFS, marked
from medbay.integrations.worktree import passes

CONFLICT: Final = 1  # exit code: the merge is impossible as it is
CANNOT: Final = 126  # exit code, as a shell has it: it could not be tried, which says nothing of the work
SHOWN_MAX: Final = 20_000
_PROGRAM: Final = (
    "import sys; sys.path.append(sys.argv.pop(1));"
    " from medbay.integrations.landing import main; sys.exit(main(*sys.argv[1:]))"
)


def start_command(
    work: WorkSeen, name: str, title: str, trackers: Collection[TrackerSource] = (), *, asker: str
) -> tuple[str, ...]:
    """How the landing of a piece of work is started as a process, for an attempt; a tracker may have its request."""
    words: tuple[str, ...] = (PACKAGE, work.repository, name, work.on_pass, title)
    if work.on_pass == "pr":
        known = msgspec.json.encode([each for each in trackers if each.kind == "github"]).decode()
        words += (asker, str(work.pr_wait_s), str(work.pr_rounds), known)
    return (sys.executable, "-P", "-c", _PROGRAM, *words)


def main(repository: str, name: str, on_pass: str, title: str, *request: str) -> int:
    """Land it and say how: 0 done, 1 conflict, 126 it could not be tried, 10 and 11 its pull request came back."""
    branch = Branch(Git(repository), name)
    try:
        if on_pass == "pr":
            asker, wait_s, rounds, known = request
            trackers = msgspec.json.decode(known, type=tuple[TrackerSource, ...])
            made = PullRequest(branch, rounds=int(rounds), trackers=trackers)
            landed = made.land(title, asker=asker, wait_s=float(wait_s))
        else:
            landed = branch.merge(title)
    except MedbayError as error:
        print(error)
        return CANNOT
    except Exception as error:  # Python's own exit code would say that there is a conflict
        print(f"{type(error).__name__}: {error}", flush=True)  # first: a person is told the first line
        traceback.print_exc()
        return CANNOT
    print(landed.words)
    return {"conflict": CONFLICT, "refused": PR_REFUSED, "given_up": PR_GIVEN_UP}.get(landed.how, 0)


class Branch:
    """The branch of one task or story in its repository."""

    def __init__(self, git: Git, name: str, *, story: str = "") -> None:
        self.git = git.at(git.top)
        self.name = name
        self.owner = ("Story", story) if story else ("Task", name)
        self.branch = f"{BRANCHES}{name}"

    @property
    def head(self) -> str:
        """The commit that holds the work; raises NotFound when there is none here."""
        found = self.git.commit_of(HEADS + self.branch) or self._newest()
        if found is None:
            raise NotFound(f"there is no branch {self.branch} in {self.git.top}", hint="another host may have it")
        return found

    @property
    def base(self) -> str:
        """The branch it began on; empty when it began on a commit."""
        return self.git.ask("symbolic-ref", "--quiet", f"{REFS}/{self.name}/base") or ""

    @property
    def merged(self) -> str | None:
        """The commit that merged it."""
        return self.git.commit_of(f"{REFS}/{self.name}/merged")

    def diff(self, *, stat: bool = False, attempt: int | None = None) -> str:
        """What it changes against where it began; of one attempt what that one left."""
        head = self.head if attempt is None else self.git.commit_of(f"{REFS}/{self.name}/{attempt}")
        if head is None:
            raise NotFound(f"nothing is kept of attempt {attempt}", hint="medbay show lists the attempts")
        start = self.git.commit_of(f"{REFS}/{self.name}/start")
        over = self.merged
        base = None if over else self.git.commit_of(self.base) if self.base else None
        since = (self.git.ask("merge-base", base, head) if base else None) or start
        if since is None:
            raise NotFound(f"nobody knows where {self.branch} began", hint=f"git log {self.branch}")
        return self.git.run("diff", *(["--stat=100"] if stat else []), since, head, timeout_s=LONG_S)

    def merge(self, title: str) -> Landed:
        """Merge it into the branch it began on, if git can and nobody's changes are in the way."""
        with self.git.locked():
            self._recover()
            if not self.base:
                return Landed(how="kept", words=f"kept on {self.branch}: it began on a commit, not on a branch")
            tip, head = self.git.commit_of(self.base), self.head
            if tip is None:
                return Landed(how="kept", words=f"kept on {self.branch}: {_short(self.base)} is gone")
            if self.git.call("merge-base", "--is-ancestor", head, tip)[0] == 0:
                known = self.merged or self._merge_of(head, tip)
                self.git.run("update-ref", f"{REFS}/{self.name}/merged", known)
                return Landed(how="merged", commit=known, into=_short(self.base), words=self._said(known))
            code, out, said = self.git.call("merge-tree", "--write-tree", "--messages", tip, head, timeout_s=LONG_S)
            if code == 1:
                return Landed(how="conflict", into=_short(self.base), words=self._conflict(out))
            if code != 0:
                raise GitFailed(f"git merge-tree: {said.strip()}", code=code)
            message = f"Merge {' '.join(title.split())}\n\nMedbay-{self.owner[0]}: {self.owner[1]}"
            made = self.git.run("commit-tree", out.split("\n")[0], "-p", tip, "-p", head, "-m", message)
            if why := self._advance(tip, made):
                return Landed(how="kept", words=f"kept on {self.branch}: {why}")
            self.git.run("update-ref", f"{REFS}/{self.name}/merged", made)
            return Landed(how="merged", commit=made, into=_short(self.base), words=self._said(made))

    def revert(self) -> tuple[str, str]:
        """A branch with the revert of its merge, on top of where its base is now; its name and its diff."""
        made = self.merged
        if made is None:
            raise NotAllowed(f"{self.name} was not merged", hint=f"git branch -D {self.branch} drops it")
        tip, name = self.git.commit_of(self.base), f"{BRANCHES}revert-{self.name}"
        if tip is None or self.git.call("merge-base", "--is-ancestor", made, tip)[0] != 0:
            raise NotAllowed(
                f"the merge of {self.name} is not in {_short(self.base)} any more", hint="git log shows it"
            )
        with self.git.locked(), self.checked_out("revert", tip) as tree:
            code, out, said = tree.call("revert", "--no-edit", "--mainline", "1", made, timeout_s=LONG_S)
            if code != 0:
                conflict = tree.ask("diff") or said or out
                raise NotAllowed(
                    f"the revert conflicts with later changes:\n{conflict[:SHOWN_MAX]}", hint="revert by hand"
                )
            commit = tree.run("rev-parse", "HEAD")
            self.git.run("update-ref", HEADS + name, commit)
        return name, self.git.run("diff", "--stat=100", tip, commit)

    def bisect(
        self,
        command: tuple[str, ...] | str,
        *,
        good: str,
        bad: str,
        timeout_s: float,
        shell: str = "",
        note: Callable[[str], None],
    ) -> tuple[str, str]:
        """The first commit on which a check fails, and what git says of it; tried in a worktree of its own."""
        known_good, known_bad = self._known(good), self._known(bad)
        with self.checked_out("bisect", known_bad) as tree:
            for commit, wanted in ((known_bad, False), (known_good, True)):
                tree.run("checkout", "--quiet", "--force", "--detach", commit, timeout_s=LONG_S)
                if passes(command, tree.directory, timeout_s, shell=shell) is not wanted:
                    how = "does not pass on the good" if wanted else "does not fail on the bad"
                    raise NotAllowed(f"the check {how} commit {commit[:12]}", hint="--good and --bad name others")
            said = tree.run("bisect", "start", "--no-checkout", known_bad, known_good)
            while "is the first bad commit" not in said:
                at = tree.run("rev-parse", "BISECT_HEAD")
                tree.run("checkout", "--quiet", "--force", "--detach", at, timeout_s=LONG_S)
                fine = passes(command, tree.directory, timeout_s, shell=shell)
                word = "skip" if fine is None else "good" if fine else "bad"
                note(f"{at[:12]} {word}")
                said = tree.run("bisect", word, at)
            found = said.split()[0]
            return found, self.git.run("show", "--no-patch", "--format=%h %s (%an, %as)", found)

    @contextmanager
    def checked_out(self, what: str, commit: str) -> Iterator[Git]:
        """A worktree for a moment, beside the one of the task."""
        folder, name = self.git.common / "medbay", f"{what}-{self.name}-"
        path = folder / f"{name}{os.getpid()}"
        for left in folder.glob(f"{glob.escape(name)}*"):
            if left == path or not _is_alive(left.name.removeprefix(name)):  # of a process that was killed
                shutil.rmtree(left, ignore_errors=True)
        self.git.run("worktree", "prune")
        self.git.run("worktree", "add", "--detach", "--force", str(path), commit, timeout_s=LONG_S)
        try:
            yield self.git.at(path)
        finally:
            self.git.call("worktree", "remove", "--force", "--force", str(path))

    def _known(self, name: str) -> str:
        found = self.git.commit_of(name)
        if found is None:
            raise NotFound(f'there is no commit "{name}"', hint="git log lists them")
        return found

    def _newest(self) -> str | None:
        said = self.git.ask(
            "for-each-ref", "--sort=-committerdate", "--format=%(refname)", f"{REFS}/{self.name}/[0-9]*"
        )
        return self.git.commit_of(said.splitlines()[0]) if said else None

    def _merge_of(self, head: str, tip: str) -> str:
        """The commit that brought it in, where who merged it was killed before that was written down."""
        said = self.git.ask("rev-list", "--first-parent", "--ancestry-path", "--merges", f"{head}..{tip}") or ""
        return said.splitlines()[-1] if said else tip

    def _said(self, commit: str) -> str:
        return f"merged into {_short(self.base)} as {commit[:12]}"

    def _conflict(self, out: str) -> str:
        """The files, what git says of them, and the places themselves."""
        tree, _, rest = out.partition("\n")
        listed, _, messages = rest.partition("\n\n")
        names = sorted({each.partition("\t")[2] for each in listed.splitlines() if "\t" in each})
        places = []
        for name in names:
            text = self.git.ask("show", f"{tree}:{name}") or ""
            places.append(f"--- {name}\n{marked(text)}")
        head = f"{self.branch} conflicts with {_short(self.base)} in {', '.join(names)}"
        return "\n".join((head, messages.strip(), *places))[:SHOWN_MAX]

    def _advance(self, tip: str, made: str) -> str:
        """Move the base to the merge, with the tree that has it checked out; why not, where that is in the way."""
        where = next((path for path, branch in worktrees(self.git) if branch == self.base), None)
        if where is None:
            self.git.run("update-ref", "-m", f"medbay: merge {self.name}", self.base, made, tip)
            return ""
        tree, intent = self.git.at(where), self.git.common / "medbay" / "merging.json"
        if tree.commit_of("HEAD") != tip:
            return f"{_short(self.base)} moved meanwhile"
        intent.write_text(json.dumps({"tree": str(where), "old": tip, "new": made}), encoding="utf-8")
        code, out, said = tree.call("merge", "--ff-only", "--no-stat", "--quiet", made, timeout_s=LONG_S)
        if code == 0:
            intent.unlink(missing_ok=True)
            return ""
        if tree.commit_of("HEAD") == tip:
            intent.unlink(missing_ok=True)
        return f"the main tree has changes of its own in the way: {(said or out).strip()[:SHOWN_MAX]}"

    def _recover(self) -> None:
        """Undo a fast-forward that was killed half way: files that are neither old nor ours are left to the person."""
        intent = self.git.common / "medbay" / "merging.json"
        try:
            said = json.loads(intent.read_text(encoding="utf-8"))
            tree, old, new = self.git.at(said["tree"]), str(said["old"]), str(said["new"])
        except (OSError, ValueError, KeyError, TypeError):
            intent.unlink(missing_ok=True)
            return
        if tree.commit_of("HEAD") == old:
            with suppress(FileNotFoundError):
                (tree.own / "index.lock").unlink()
            names = [each for each in tree.run("diff", "--name-only", "-z", old, new).split("\0") if each]
            ours = [each for each in names if _is_ours(tree, each, new)]
            tree.run("reset", "--quiet", old, "--", *names)
            there = [each for each in ours if tree.ask("cat-file", "-e", f"{old}:{each}") is not None]
            for each in set(ours) - set(there):
                (tree.directory / each).unlink(missing_ok=True)
            if there:
                tree.run("checkout", "--quiet", old, "--", *there)
        intent.unlink(missing_ok=True)


def worktrees(git: Git) -> list[tuple[Path, str]]:
    """The work trees of a repository with the branch each has checked out."""
    found, path = [], Path()
    for line in git.run("worktree", "list", "--porcelain").splitlines():
        word, _, rest = line.partition(" ")
        if word == "worktree":
            path = Path(rest)
        elif word == "branch":
            found.append((path, rest))
    return found


def _is_ours(tree: Git, name: str, new: str) -> bool:
    """Whether a file of the main tree is gone, or the beginning of what the merge was about to write."""
    try:
        there = (tree.directory / name).read_bytes()
    except OSError:
        return True
    meant = subprocess.run(["git", "cat-file", "blob", f"{new}:{name}"], cwd=tree.directory, capture_output=True)
    return meant.returncode == 0 and meant.stdout.startswith(there)


def _is_alive(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except (ProcessLookupError, ValueError, OverflowError):
        return False
    except PermissionError:
        pass
    return True


def _short(ref: str) -> str:
    return ref.removeprefix(HEADS)
