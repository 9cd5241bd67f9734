"""What becomes of the branch of a story: merged, made a pull request, reverted. Each may be repeated after a crash."""

from __future__ import annotations

from collections.abc import Sequence

from medbay.core.tracker.source import TrackerSource
from medbay.core.workflow.records import Story
from medbay.core.workspace import Landed
from medbay.errors import MedbayError
from medbay.integrations.git import Git, repository_above
from medbay.integrations.landing import Branch
from medbay.integrations.pull_request import PullRequest
from medbay.integrations.story_tree import name_of
from medbay.integrations.trackers.protocol import TrackerError
from medbay.integrations.tree_contents import BRANCHES, HEADS, REFS


def branch_of(story: Story) -> Branch:
    """The branch of a story in the repository of its project; raises NotFound where that is gone."""
    return Branch(Git(story.project), name_of(story.id), story=story.id)


def exists(story: Story) -> bool:
    """Whether a story has a branch."""
    if repository_above(story.project) is None:
        return False
    return Git(story.project).commit_of(f"{HEADS}{BRANCHES}{name_of(story.id)}") is not None


def land(
    story: Story, on_pass: str, unresolved: list[str], *, rounds: int = 0, trackers: Sequence[TrackerSource] = ()
) -> Landed:
    """Merge the branch of a story, or make it a pull request; what stands in the way is said, not raised.

    A pull request may come back to the developer so many `rounds`; one of the `trackers` has it, else `gh`.
    """
    title = f"story {story.id}: {story.title}"
    try:
        branch = branch_of(story)
        if unresolved:
            names = ", ".join(unresolved)
            return Landed(how="conflict", words=f"{branch.branch} has conflict marks in {names}")
        if story.git.revert_commit:
            back = f"git revert {story.git.revert_commit[:12]} brings it back"
            return Landed(how="kept", words=f"kept on {branch.branch}: its merge was reverted, and {back}")
        if on_pass == "pr":
            made = PullRequest(branch, rounds=rounds, trackers=trackers)
            # The run whose pass it is, and since when it waits: an answer that was stored has moved the story.
            gate = f"{story.id}:{story.git.landing}:{story.since}"
            return made.land(f"Story {story.id}: {story.title}", asker=gate, wait_s=0.0)
        return branch.merge(title)
    except TrackerError as error:  # who is away for a while, with a request made before, is asked again
        if error.holds and story.git.pull_request:
            return Landed(how="pr", url=story.git.pull_request, words=str(error), waiting=True)
        return Landed(how="kept", words=str(error))
    except MedbayError as error:
        return Landed(how="kept", words=str(error))


def prepare_revert(story: Story) -> tuple[str, str]:
    """A branch with the revert of a story's merge, and its diff; raises MedbayError where git cannot make it."""
    branch = branch_of(story)
    name, found = f"{BRANCHES}revert-{branch.name}", _revert_of(branch)
    if found is not None and _is_in(branch.git, found, branch.base):
        return name, branch.git.run("show", "--stat=100", "--format=", found)
    name, stat = branch.revert()
    branch.git.run("symbolic-ref", f"{REFS}/revert-{branch.name}/base", branch.base)
    return name, stat


def revert(story: Story) -> Landed:
    """Merge the revert that was prepared; what stands in the way is said, not raised."""
    try:
        name, _ = prepare_revert(story)
        prepared = Branch(Git(story.project), name.removeprefix(BRANCHES), story=story.id)
        return prepared.merge(f"the revert of story {story.id}: {story.title}")
    except MedbayError as error:
        return Landed(how="kept", words=str(error))


def _revert_of(branch: Branch) -> str | None:
    """The commit that was prepared to undo its newest merge."""
    found = branch.git.commit_of(f"{HEADS}{BRANCHES}revert-{branch.name}")
    merged = branch.merged
    return found if found is not None and merged is not None and _is_in(branch.git, merged, found) else None


def _is_in(git: Git, commit: str, other: str) -> bool:
    return git.call("merge-base", "--is-ancestor", commit, other)[0] == 0
