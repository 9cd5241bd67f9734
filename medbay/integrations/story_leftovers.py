"""Files that a process which died was about to put in place: found by their name, and removed from a story's folder.

Only the one whose turn it is to write a folder may look: what another process still writes is never touched. Nor is
anything whose name is not that of a file of ours with the number of a process: the folder is a person's too.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import Final

from medbay.core.workflow import frontmatter, shapes, written

_ARTIFACTS: Final = (*shapes.SHAPES, shapes.PROOF, shapes.TOKEN_LOG, shapes.TRACE)
_NAMES: Final = "|".join(map(re.escape, (*_ARTIFACTS, "phase-lock", "written.json")))
_STEMS: Final = "|".join(re.escape(PurePath(each).stem) for each in (*_ARTIFACTS, shapes.STORY))
_PID: Final = r"(?P<pid>[1-9]\d{0,9})"
# What we write in each folder, as it is called until it is in place; only story.md is put aside meanwhile.
_WITHIN: Final = {
    ".": re.compile(rf"\.{re.escape(shapes.STORY)}\.{_PID}\.(?:new|old)"),
    shapes.FOLDER: re.compile(rf"\.(?:{_NAMES})\.{_PID}\.new"),
    written.KEPT: re.compile(rf"\.(?:{_STEMS})-[0-9a-f]{{8}}\.[a-z]+\.{_PID}\.new"),
}


def found_in(folder: Path) -> list[Path]:
    """What processes that are gone left half written in the folder of a story."""
    return sorted(each for name, ours in _WITHIN.items() for each in _files(folder / name) if _is_left(each, ours))


def holds_words(path: Path) -> bool:
    """Whether what was put aside was saved again after its successor was written: a person's last words."""
    try:
        return path.suffix == ".old" and path.stat().st_mtime_ns > _saved(path.with_name(shapes.STORY))
    except OSError:
        return False


def text_of(path: Path) -> str:
    """What a leftover says."""
    return path.read_text(encoding="utf-8", errors="replace")[: frontmatter.FILE_MAX]


def _saved(successor: Path) -> int:
    return successor.stat().st_mtime_ns if successor.exists() else 0


def _files(folder: Path) -> Iterator[Path]:
    try:
        if not folder.is_symlink():
            yield from (Path(each.path) for each in os.scandir(folder) if each.is_file(follow_symlinks=False))
    except OSError:
        return


def _is_left(path: Path, ours: re.Pattern[str]) -> bool:
    named = ours.fullmatch(path.name)
    return named is not None and int(named["pid"]) != os.getpid() and _is_gone(int(named["pid"]))


def _is_gone(pid: int) -> bool:
    """Whether no process of this machine has this number."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False
