"""Where the roles of stories work, and what becomes of what they did: worktrees, merges, reverts, committed folders.

Everything is found in the store and in the repository, and is done again after a crash.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from medbay import app
from medbay.core.decision import Decision
from medbay.core.workflow import landing
from medbay.core.workflow import story as rules
from medbay.core.workflow.phase import StoryCase
from medbay.core.workflow.records import PhaseRun, Story, StoryGit
from medbay.core.workflow.workflow import Phase
from medbay.errors import MedbayError, NotAllowed
from medbay.integrations import story_branch, story_root
from medbay.integrations.story_tree import StoryTree, TreeSettings
from medbay.service import stories
from medbay.store.apply import apply
from medbay.store.database import Tx

if TYPE_CHECKING:
    from medbay.bay import Bay


LOOK_MS: Final = 30_000  # how often a pull request is looked at whose checks are waited for


class StoryWork:
    """The work of stories in git; without a repository their roles work in the project itself."""

    def __init__(self, bay: Bay) -> None:
        self._bay = bay
        self._look_at: dict[str, int] = {}  # when pull requests that are waited for are looked at again, by story

    def directory(self, story: Story) -> Path:
        """Where the roles of a story work."""
        own = story.git.directory
        return Path(own if own and os.path.isdir(own) else story.project)

    # Phases

    def prepare(self, case: StoryCase, run: PhaseRun, wanted: Phase) -> StoryGit | None:
        """Make the worktree of a story ready for a run; None where it works in the project."""
        story, config = case.story, self._bay.place.config.story
        settled = story.elaborated or not case.workflow.elaborated
        if not story.git.branch and not (config.worktree and settled):
            return None
        tree = self._tree(story)
        if not tree.is_possible:
            return None
        return tree.prepare(run, resolves=_is_work(wanted))

    def complete(self, case: StoryCase, ended: Sequence[PhaseRun]) -> bool:
        """Keep what runs left in the worktree; whether a role has seen to the conflict of the branch."""
        story = case.story
        if not story.git.branch:
            return False
        tree = self._tree(story)
        for run in ended:
            wanted = case.workflow.phase(run.phase)
            only_looked = wanted is not None and wanted.workers and not any(each.phase for each in run.parts)
            tree.restore(run)
            if only_looked:
                tree.set_aside(run)
            else:
                tree.keep(run)
        works = {each.name for each in case.workflow.phases if _is_work(each)}
        return any(each.status == "PASS" and each.phase in works for each in ended)

    # What becomes of it

    def settle(self, story_id: str) -> None:
        """Merge, ask for a pull request or revert, where that is due."""
        self._land(story_id)
        self._revert(story_id)

    def finish(self, story: Story) -> None:
        """Merge the branch of a completed story, where it has one; raises NotAllowed where that is not possible."""
        found = None
        if story_branch.exists(story):
            found = story_branch.land(story, "merge", self._tree(story).unresolved())
            if found.how != "merged":
                raise NotAllowed(found.words, hint="see to it, then finish it again")
        actor = self._bay.actor
        self._decide(story.id, lambda case, tx: landing.finished(case, found, tx.now, actor=actor))

    def waits(self, story: Story) -> bool:
        """Whether the pull request of a story is waited for, and was looked at just now."""
        lands = story.git.landing and story.status != rules.BLOCKED
        return bool(lands) and self._bay.now() < self._look_at.get(story.id, 0)

    def _land(self, story_id: str) -> None:
        case = self._case(story_id)
        story, number = case.story, case.story.git.landing
        if not number or story.status == rules.BLOCKED or case.run is not None:
            return
        run = next(each for each in case.runs if each.number == number)
        unresolved, git = self._tree(story).unresolved() if story.git.conflicts else [], self._bay.place.config.git
        found = story_branch.land(story, run.rules.on_pass, unresolved, rounds=git.max_pr_rounds)
        since = max(run.ended_at or 0, story.since)
        waiting = found.how == "pr" and found.waiting and self._bay.now() < since + git.pr_wait_ms
        self._look_at.pop(story_id, None)
        if waiting:
            self._look_at[story_id] = self._bay.now() + min(LOOK_MS, git.pr_wait_ms // 60)
        decided = landing.waits if waiting else landing.landed

        def rule(now: StoryCase, tx: Tx) -> Decision | None:
            return decided(now, found, tx.now) if now.story.git.landing == number else None

        self._decide(story_id, rule)

    def _revert(self, story_id: str) -> None:
        story = self._case(story_id).story
        if story.git.reverting == "due":
            branch, stat, problem = "", "", ""
            try:
                branch, stat = story_branch.prepare_revert(story)
            except MedbayError as error:
                problem = str(error)
            agreed = self._bay.place.config.story.on_fail == "revert"

            def prepared(now: StoryCase, tx: Tx) -> Decision | None:
                if now.story.git.reverting != "due":
                    return None
                return landing.revert_prepared(now, branch, stat, tx.now, problem=problem, agreed=agreed)

            self._decide(story_id, prepared)
            story = self._case(story_id).story
        if story.git.reverting == "agreed":
            found = story_branch.revert(story)
            self._decide(story_id, lambda now, tx: landing.reverted(now, found, tx.now))

    # The folders

    def mark_root(self, story: Story) -> None:
        """Git ignores the folders of stories, or Medbay commits them."""
        story_root.mark(Path(story.root), commit=self._bay.place.config.story.commit)

    def commit_folder(self, story: Story) -> None:
        """Commit the folders of stories where that is configured; raises GitFailed where git cannot now."""
        if self._bay.place.config.story.commit:
            story_root.commit(Path(story.root), f"Story {story.id}: {story.status}")

    def _tree(self, story: Story) -> StoryTree:
        config = self._bay.place.config
        settings = TreeSettings(
            root=app.worktrees_root(config, os.environ), setup=config.story.setup, copies=config.story.copy
        )
        return StoryTree(story, settings)

    def _case(self, story_id: str) -> StoryCase:
        with self._bay.store.read() as tx:
            return stories.loaded(tx, story_id)

    def _decide(self, story_id: str, rule: Callable[[StoryCase, Tx], Decision | None]) -> None:
        def decide(tx: Tx) -> None:
            made = rule(stories.loaded(tx, story_id), tx)
            if made is not None:
                apply(tx, made)

        self._bay.write(decide)


def _is_work(phase: Phase) -> bool:
    """Whether a phase changes the tree: reviewers and gates look at it only."""
    return not phase.workers and not phase.merges
