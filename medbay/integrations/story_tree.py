"""The worktree of a story: made before a phase works in it, and what a phase left in it kept on the story's branch.

Every step may be repeated: ended at any line it leaves the main tree and its branch as they were.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from medbay.core.workflow.records import PhaseRun, Story, StoryGit
from medbay.core.workspace import WorkRequest, WorkspaceMeans
from medbay.integrations.git import LONG_S, Git, excluding, folder_of, held, repository_above
from medbay.integrations.tree_contents import BRANCHES, HEADS, REFS, keep, lock_path, recalled, tree_of
from medbay.integrations.worktree import OTHER_S, AttemptTree, WorkPlan

_LEFT: Final = "Work that lay in the worktree before this phase"


class TreeSettings(Struct, frozen=True, kw_only=True):
    """How worktrees of stories are made."""

    root: Path  # of all worktrees
    setup: str = ""
    copies: tuple[str, ...] = ()


def name_of(story_id: str) -> str:
    """The name of a story's worktree, and of its branch behind `medbay/`."""
    return f"story-{story_id}"


class StoryTree:
    """The worktree of one story."""

    def __init__(self, story: Story, settings: TreeSettings) -> None:
        self._story = story
        self._name = name_of(story.id)
        self._main = Git(os.path.realpath(story.project))
        self._settings = settings

    @property
    def is_possible(self) -> bool:
        """Whether the project is in a repository that has a commit to begin from."""
        found = repository_above(self._story.project)
        return found is not None and self._main.commit_of("HEAD") is not None

    def prepare(self, run: PhaseRun, *, resolves: bool = False) -> StoryGit:
        """Make it ready for a run, with what was there before kept; raises MedbayError where it cannot be.

        One that `resolves` finds a conflict with the base in its files, with its marks.
        """
        made = AttemptTree(self._plan(conflict=resolves and bool(self._story.git.conflict) and not self._merging))
        with made.taken():
            if self._stands and not self._merging:
                self._keep(_LEFT)
            seen = made.prepare()
        base = self._main.ask("symbolic-ref", "--quiet", f"{REFS}/{self._name}/base") or ""
        return replace(
            self._story.git,
            branch=seen.branch,
            base=base.removeprefix(HEADS),
            worktree=seen.worktree,
            directory=seen.directory,
        )

    def restore(self, run: PhaseRun) -> None:
        """Make it again from its branch where it was removed: what shows the work is in it."""
        if not self._stands and self.is_possible:
            self.prepare(run)

    def keep(self, run: PhaseRun) -> None:
        """Commit what a run left on the branch of its story."""
        if not self._stands:
            return
        title = " ".join(self._story.title.split())
        how = f"Medbay-Story: {self._story.id}\nMedbay-Phase: {run.phase}\nMedbay-Run: {run.number}"
        with held(lock_path(self._path), timeout_s=OTHER_S):
            head = self._keep(f"{title}\n\n{how}")
            self._main.run("update-ref", f"{REFS}/{self._name}/{run.number}", head)

    def set_aside(self, run: PhaseRun) -> None:
        """Put what reviewers left under a ref of their run, and the tree back to its branch: they change nothing."""
        if not self._stands or self._merging:
            return
        left_out = recalled(self._path).left_out
        with held(lock_path(self._path), timeout_s=OTHER_S):
            head, left = self._tree.run("rev-parse", "HEAD"), tree_of(self._tree, left_out)
            if left == self._tree.run("rev-parse", f"{head}^{{tree}}"):
                return
            ref = f"{REFS}/{self._name}/{run.number}"
            if self._main.commit_of(ref) is None:
                message = f"What {run.phase} left\n\nMedbay-Story: {self._story.id}"
                self._main.run("update-ref", ref, self._tree.run("commit-tree", left, "-p", head, "-m", message))
            self._tree.run("reset", "--quiet", "--hard", head, timeout_s=LONG_S)
            self._tree.run("clean", "--quiet", "-d", "--force", *excluding(left_out), timeout_s=LONG_S)

    def unresolved(self) -> list[str]:
        """The files of its branch that have conflict marks and differ from its base."""
        base = self._main.ask("symbolic-ref", "--quiet", f"{REFS}/{self._name}/base")
        head = self._main.commit_of(HEADS + BRANCHES + self._name)
        if not base or head is None or self._main.commit_of(base) is None:
            return []
        top = self._main.at(self._main.top)
        names = [each for each in top.run("diff", "--name-only", "-z", f"{base}...{head}").split("\0") if each]
        marked = top.ask("grep", "-lzE", "^(<<<<<<< |>>>>>>> )", head, "--", *names) if names else ""
        return sorted(each.partition(":")[2] for each in (marked or "").split("\0") if each)

    @property
    def _path(self) -> Path:
        return folder_of(self._settings.root, self._main.common) / self._name

    @property
    def _tree(self) -> Git:
        return self._main.at(self._path)

    @property
    def _stands(self) -> bool:
        return (self._path / ".git").is_file()

    @property
    def _merging(self) -> bool:
        """Whether the base was brought in, and nothing of it is committed."""
        return self._stands and (self._tree.own / "MERGE_HEAD").exists()

    def _keep(self, message: str) -> str:
        for stale in ("index.lock", "HEAD.lock"):  # of a process that was killed: nobody else works here
            (self._tree.own / stale).unlink(missing_ok=True)
        return keep(self._tree, self._name, recalled(self._path).left_out, message)

    def _plan(self, *, conflict: bool) -> WorkPlan:
        story, settings = self._story, self._settings
        return WorkPlan(
            root=str(settings.root),
            cwd=story.project,
            task="",
            attempt=0,
            command=(),
            request=WorkRequest(name=self._name, title=story.title, conflict=conflict),
            means=WorkspaceMeans(setup=settings.setup, copy=settings.copies, evidence=False),
            facts=str(folder_of(settings.root, self._main.common) / f"{self._name}.work.json"),
            pr_wait_s=0.0,
            pr_rounds=0,
            ours=story.root,
            story=story.id,
        )
