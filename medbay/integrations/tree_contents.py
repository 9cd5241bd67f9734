"""What lies in a worktree of ours, and what is remembered of it in the files beside it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from medbay.integrations.git import LONG_S, Git, excluding

REFS: Final = "refs/medbay"
HEADS: Final = "refs/heads/"
BRANCHES: Final = "medbay/"


class TreeMemory(Struct, kw_only=True):
    """What is remembered of a worktree from attempt to attempt, in a file beside it."""

    task: str = ""
    story: str = ""  # whose phases work in it
    left_out: tuple[str, ...] = ()  # what lay in it before the agent came: copied files, what setup made
    setup: str = ""  # the digest of what it was set up for
    failing: tuple[int, ...] | None = None  # the checks that failed on the start commit; None: not asked yet


def keep(tree: Git, name: str, left_out: Sequence[str], message: str) -> str:
    """Commit what lies in a worktree on the branch of its task, whatever was done with HEAD; the commit."""
    branch, own = f"{HEADS}{BRANCHES}{name}", tree.own
    if (own / "rebase-merge").exists() or (own / "rebase-apply").exists():
        tree.call("rebase", "--quit")
    tree.run("add", "-A", *excluding(left_out), timeout_s=LONG_S)
    merging = (own / "MERGE_HEAD").exists()
    if merging or tree.call("diff", "--cached", "--quiet", "HEAD")[0] != 0:
        tree.run("commit", "--quiet", "--no-verify", "--allow-empty", "-m", message, timeout_s=LONG_S)
    head = tree.run("rev-parse", "HEAD")
    if tree.branch != branch:
        tree.run("update-ref", branch, head)
        tree.run("symbolic-ref", "HEAD", branch)
    return head


def overlook(git: Git, patterns: Sequence[str]) -> None:
    """Have git ignore files, by the list that is the repository's own and no part of what it holds."""
    path = git.common / "info" / "exclude"
    known = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    missing = [each for each in patterns if each not in known.splitlines()]
    if missing:
        path.parent.mkdir(exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write("\n" * (bool(known) and not known.endswith("\n")) + "".join(f"{each}\n" for each in missing))


def recalled(path: Path) -> TreeMemory:
    """What is remembered of a worktree, in the file beside it."""
    with suppress(OSError, msgspec.MsgspecError):
        return msgspec.json.decode(memory_path(path).read_bytes(), type=TreeMemory)
    return TreeMemory()


def memory_path(path: Path) -> Path:
    """The file beside a worktree with what is remembered of it."""
    return path.with_name(f"{path.name}.json")


def lock_path(path: Path) -> Path:
    """The file that is locked while an attempt works in a worktree; its time says when one last did."""
    return path.with_name(f"{path.name}.lock")


def marked(text: str) -> str:
    """The places of a file that have conflict marks, with the lines between them."""
    kept, inside = [], False
    for number, line in enumerate(text.splitlines(), start=1):
        inside = inside or line.startswith("<<<<<<<")
        if inside:
            kept.append(f"{number}: {line}")
        inside = inside and not line.startswith(">>>>>>>")
    return "\n".join(kept)


def tree_of(git: Git, left_out: Sequence[str]) -> str:
    """The id of everything in a work tree but this, without touching its index."""
    index = git.own / "medbay-index"
    with suppress(FileNotFoundError):
        shutil.copyfile(git.own / "index", index)
    try:
        env = {"GIT_INDEX_FILE": str(index)}
        git.run("add", "-A", *excluding(left_out), timeout_s=LONG_S, env=env)
        return git.run("write-tree", env=env)
    finally:
        index.unlink(missing_ok=True)


def write_record(path: Path, record: Struct) -> None:
    """The whole file or none of it."""
    part = path.with_name(f"{path.name}.part")
    part.unlink(missing_ok=True)
    with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
        file.write(json.dumps(msgspec.to_builtins(record)).encode())
    os.replace(part, path)
