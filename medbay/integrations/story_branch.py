"""The branch of a story in the repository of its project: `story/ID`, merged when the story is finished."""

from __future__ import annotations

from pathlib import Path

from medbay.errors import NotAllowed
from medbay.integrations.git import Git, GitFailed, repository_above

MERGE_S = 120.0


def branch_of(story_id: str) -> str:
    """The name of a story's branch."""
    return f"story/{story_id}"


def exists(project: Path, story_id: str) -> bool:
    """Whether a story has a branch of its own."""
    return repository_above(project) is not None and Git(project).commit_of(branch_of(story_id)) is not None


def merge(project: Path, story_id: str, title: str) -> None:
    """Merge the branch of a story into what is checked out; raises NotAllowed where it is merged, or cannot be."""
    git, branch = Git(project), branch_of(story_id)
    if git.call("merge-base", "--is-ancestor", branch, "HEAD")[0] == 0:
        raise NotAllowed("Already merged.", hint=f"{branch} is part of what is checked out")
    try:
        git.run("merge", "--no-ff", "-m", f"Merge story {story_id}: {title}", branch, timeout_s=MERGE_S)
    except GitFailed as error:
        git.ask("merge", "--abort")
        raise NotAllowed(f"{branch} cannot be merged: {error}", hint="merge it by hand, then finish it again") from None
