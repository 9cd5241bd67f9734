"""The worktrees that stand on this machine, and their removal: what lies in one is committed on its branch first."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Final

from medbay.core.workspace import StandingTree
from medbay.errors import MedbayError
from medbay.integrations.git import LONG_S, Git, held, is_held
from medbay.integrations.tree_contents import BRANCHES, HEADS, REFS, keep, lock_path, memory_path, recalled

_MESSAGE: Final = "Work that lay in the worktree when it was removed"


def standing(root: Path) -> list[StandingTree]:
    """Every worktree below a directory, by repository and name."""
    found = (path.parent for path in sorted(root.glob("*/*/.git")) if path.is_file())
    return [_seen(path) for path in found]


def clear(tree: StandingTree) -> bool:
    """Remove one, with everything in it committed on its branch; False while an attempt works in it."""
    path = Path(tree.path)
    try:
        with held(lock_path(path), timeout_s=0):
            if tree.repository:
                git = Git(path)
                keep(git, tree.name, recalled(path).left_out, _MESSAGE)
                main = Git(tree.repository)
                with main.locked():
                    main.call("worktree", "remove", "--force", "--force", str(path), timeout_s=LONG_S)
            if path.exists():
                shutil.rmtree(path)
            if tree.repository:
                main.call("worktree", "prune")
            memory_path(path).unlink(missing_ok=True)
            lock_path(path).unlink(missing_ok=True)
    except BlockingIOError:
        return False
    except MedbayError:
        if is_held(lock_path(path)):
            return False
        raise
    with suppress(OSError):  # others are in it
        path.parent.rmdir()
    return True


def clear_old(folder: Path, *, before_ms: int) -> list[str]:
    """Remove what was not used since a moment, in the directory of one repository; the names."""
    paths = (path.parent for path in sorted(folder.glob("*/.git")) if path.is_file())
    old = [_seen(path) for path in paths if _used_at(path) < before_ms and not is_held(lock_path(path))]
    return [each.name for each in old if clear(each)]


def _seen(path: Path) -> StandingTree:
    git, name = Git(path), path.name
    said = git.ask("status", "--porcelain", "--ignore-submodules=none")
    common = git.ask("rev-parse", "--path-format=absolute", "--git-common-dir")
    alive = said is not None and common is not None and Path(common).is_dir()
    lies = {each[3:] for each in (said or "").splitlines()} - set(recalled(path).left_out)
    head = git.commit_of(HEADS + BRANCHES + name) if alive else None
    merged = git.commit_of(f"{REFS}/{name}/merged") if alive else None
    return StandingTree(
        name=name,
        path=str(path),
        task=recalled(path).task,
        story=recalled(path).story,
        repository=str(Path(common).parent if Path(common).name == ".git" else common) if alive and common else "",
        branch=f"{BRANCHES}{name}" if head else "",
        used_at=_used_at(path),
        busy=is_held(lock_path(path)),
        merged=bool(merged and head and git.call("merge-base", "--is-ancestor", head, merged)[0] == 0),
        uncommitted=len(lies),
    )


def _used_at(path: Path) -> int:
    """When an attempt last began in it."""
    lock = lock_path(path)
    return round(os.stat(lock if lock.exists() else path).st_mtime * 1000)
