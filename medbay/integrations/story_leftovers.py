"""Files that a process which died was about to put in place: found by their name, and removed from a story's folder.

Only the one whose turn it is to write a folder may look: what another process still writes is never touched.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from medbay.core.workflow import frontmatter, shapes

_NAME: Final = re.compile(r"\.(?P<of>.+)\.(?P<pid>[1-9]\d{0,9})\.(?P<end>new|old)")
_WITHIN: Final = (".", shapes.FOLDER, f"{shapes.FOLDER}/kept")


def found_in(folder: Path) -> list[Path]:
    """What processes that are gone left half written in the folder of a story."""
    return sorted(each for name in _WITHIN for each in _files(folder / name) if _is_left(each))


def holds_words(path: Path) -> bool:
    """Whether what was put aside was saved again after its successor was written: a person's last words."""
    named = _NAME.fullmatch(path.name)
    try:
        return named is not None and named["end"] == "old" and path.stat().st_mtime_ns > _saved(path, named["of"])
    except OSError:
        return False


def text_of(path: Path) -> str:
    """What a leftover says."""
    return path.read_text(encoding="utf-8", errors="replace")[: frontmatter.FILE_MAX]


def _saved(path: Path, name: str) -> int:
    successor = path.with_name(name)
    return successor.stat().st_mtime_ns if successor.exists() else 0


def _files(folder: Path) -> Iterator[Path]:
    try:
        if not folder.is_symlink():
            yield from (Path(each.path) for each in os.scandir(folder) if each.is_file(follow_symlinks=False))
    except OSError:
        return


def _is_left(path: Path) -> bool:
    named = _NAME.fullmatch(path.name)
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
