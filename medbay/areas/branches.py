"""The work of agents in git: what they changed, and its merge, revert and search for a regression, as a person asks."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medbay import app
from medbay.core.agent import is_agents
from medbay.core.model import Event, Task
from medbay.core.workspace import Landed, StandingTree, requested, seen
from medbay.errors import NotAllowed, NotFound, UsageError
from medbay.integrations import clearing, story_branch
from medbay.integrations.git import Git, repository_above
from medbay.integrations.landing import Branch
from medbay.integrations.tree_contents import BRANCHES
from medbay.store.apply import write_events

if TYPE_CHECKING:
    from medbay.bay import Bay

_ATTEMPTS: int = 50  # that are looked through for the branch


class Branches:
    """`bay.branches`."""

    def __init__(self, bay: Bay) -> None:
        self._bay = bay

    def diff(self, task_id: str, *, stat: bool = False, attempt: int | None = None) -> str:
        """What a task or a story changed against where it began, or what one attempt of it left."""
        return self._named(task_id).diff(stat=stat, attempt=attempt)

    def name_of(self, task_id: str) -> str:
        """The branch of a task or a story."""
        return self._named(task_id).branch

    def merge(self, task_id: str, *, unfinished: bool = False) -> Landed:
        """Merge the branch of a completed task into the one it began on; `unfinished`: of any that does not run."""
        task = self._bay.get(task_id)
        if task.live is not None:
            raise NotAllowed(f"{task.id} is running", hint="let it end first")
        branch = self.of(task)
        if task.status != "completed" and not unfinished:
            raise NotAllowed(f"{task.id} is {task.status}, not completed", hint="--unfinished merges what it has")
        landed = branch.merge(task.title)
        if landed.how == "merged":
            self._emit("task:edited", task, changed=["merged"], merged=landed.words)
        return landed

    def revert(self, task_id: str) -> tuple[str, str, Task]:
        """Prepare the revert of a merged task on a branch and ask a person; branch, what it changes, the question."""
        task = self._bay.get(task_id)
        branch = self.of(task)
        name, stat = branch.revert()
        into = branch.base.removeprefix("refs/heads/")
        asked = self._bay.add(
            f'Revert "{task.title}" ({task.id}): merge {name} into {into}, or delete it'[:500],
            person=True,
            description=f"git merge {name}\n\n{stat}",
            key=f"revert-{task.id}-{branch.merged}",
        )
        self._emit("task:rolled_back", task, branch=name, asked=asked.id)
        return name, stat, asked

    def bisect(
        self, task_id: str, *, good: str = "", bad: str = "HEAD", check: int = 1, note: Callable[[str], None]
    ) -> tuple[str, str]:
        """The first commit on which a check of a task fails, and what git says of it; recorded on the task."""
        task = self._bay.get(task_id)
        if not 1 <= check <= len(task.checks):
            raise UsageError(f"{task.id} has no check {check}", hint=f"medbay edit {task.id} --check CMD gives it one")
        branch = self.of(task)
        since = good or branch.merged or ""
        if not since:
            raise UsageError(
                f"nobody knows when {task.id} was fine", hint="--good COMMIT names a commit on which it was"
            )
        command = task.checks[check - 1].command
        timeout_s = task.check_timeout_ms / 1000
        commit, words = branch.bisect(command, good=since, bad=bad, timeout_s=timeout_s, shell=task.shell, note=note)
        self._emit("task:edited", task, changed=["fails_since"], fails_since=words, commit=commit, check=check)
        return commit, words

    def worktrees(self, names: Collection[str] = ()) -> list[StandingTree]:
        """The worktrees of agents on this machine, all or those that are named."""
        found = clearing.standing(app.worktrees_root(self._bay.place.config, os.environ))
        if missing := set(names) - {each.name for each in found}:
            raise NotFound(f"there is no worktree {', '.join(sorted(missing))}", hint="medbay worktrees lists them")
        return [each for each in found if not names or each.name in names]

    def clear(self, names: Collection[str] = (), *, before_ms: int, dry_run: bool = False) -> list[StandingTree]:
        """Remove worktrees by name, or those not used since a moment whose task does not run; their branches stay."""
        found = [each for each in self.worktrees() if not each.busy and not self._may_run(each)]
        wanted = [each for each in found if (each.name in names if names else each.used_at < before_ms)]
        if missing := set(names) - {each.name for each in wanted}:
            raise NotFound(f"no worktree to remove: {', '.join(sorted(missing))}", hint="medbay worktrees lists them")
        return wanted if dry_run else [each for each in wanted if clearing.clear(each)]

    def _may_run(self, tree: StandingTree) -> bool:
        """Whether a task or a story of this store works in it; one of another store is known by its lock alone."""
        try:
            if tree.story:
                return self._bay.stories.get(tree.story).run > 0
            return bool(tree.task) and self._bay.get(tree.task).live is not None
        except NotFound:
            return False

    def _named(self, given: str) -> Branch:
        """The branch of the task or the story a person means."""
        try:
            return self.of(self._bay.get(given))
        except NotFound:
            if not self._bay.stories.exists(given):
                raise
        story = self._bay.stories.get(given)
        if not story_branch.exists(story):
            raise NotFound(f"{story.id} has no branch", hint="it has one from its implementation on")
        return story_branch.branch_of(story)

    def of(self, task: Task, name: str = "") -> Branch:
        """The branch of a task, where its newest attempt worked; `name`: that of one of its rounds."""
        for attempt in reversed(self._bay.attempts(task.id, _ATTEMPTS)):
            left = self._bay.output(task.id, attempt.number)
            work = seen(left.result) if left is not None else None
            if work is not None and work.branch:
                if not Path(work.repository).is_dir():
                    raise NotFound(f"{work.repository} is not on this machine", hint=f"{attempt.host} has it")
                return Branch(Git(work.repository), name or work.branch.removeprefix(BRANCHES))
        asked = requested(task)
        if asked is None or (not is_agents(task) and not task.checks) or repository_above(task.cwd or ".") is None:
            raise NotFound(f"{task.id} has no branch", hint="agents in a git repository have one")
        if not task.attempts:
            raise NotFound(
                f"{task.id} has no branch yet: it was not started", hint=f"medbay explain {task.id} says why"
            )
        return Branch(Git(task.cwd or "."), name or asked.name)

    def _emit(self, name: str, task: Task, **data: Any) -> None:
        with self._bay.store.write() as tx:
            write_events(tx, (Event(name=name, task_id=task.id, data={"by": self._bay.actor, **data}),))
