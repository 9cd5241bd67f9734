"""Branches and worktrees of agents: what is said of them, and their JSON."""

from __future__ import annotations

from typing import Any

from medbay.core.durations import format_duration
from medbay.core.workspace import Landed, StandingTree
from medbay.views import moments


def landed_as_json(each: Landed) -> dict[str, Any]:
    """Return what became of a branch as data."""
    said = {"commit": each.commit or None, "into": each.into or None, "url": each.url or None}
    return {"how": each.how, "words": each.words, **said}


def tree_as_json(each: StandingTree) -> dict[str, Any]:
    """Return one worktree as data."""
    return {
        "name": each.name,
        "task": each.task or None,
        "story": each.story or None,
        "path": each.path,
        "repository": each.repository or None,
        "branch": each.branch or None,
        "used_at": used(each),
        "busy": each.busy,
        "merged": each.merged,
        "uncommitted": each.uncommitted,
    }


def state(each: StandingTree) -> str:
    """Return what is worth knowing of a worktree, in a few words."""
    if each.busy:
        return "at work"
    if not each.repository:
        return "its repository is gone"
    lies = f", {each.uncommitted} not committed" if each.uncommitted else ""
    return ("merged" if each.merged else "kept") + lies


def used(each: StandingTree) -> str | None:
    """Return when an attempt last began in it."""
    return moments.iso(each.used_at)


def age(each: StandingTree, now: int) -> str:
    """Return how long ago that was."""
    return f"{format_duration(max(0, now - each.used_at))} ago"
