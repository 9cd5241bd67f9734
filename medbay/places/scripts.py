"""Reads the script that a command starts, to see whether it can take advice. Only regular files, and little of them."""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from medbay.core.attempt.deaf import is_known, may_be_scripts, mentions
from medbay.core.model import Task

_BYTES_MAX: Final = 256_000
_OPEN: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


def takes_advice(task: Task, home: Path) -> bool:
    """Whether the command of a task, or the script that it starts, mentions what an attempt is handed."""
    known = is_known(task)
    if known is not None:
        return known
    words = may_be_scripts(task.command)
    folder = Path(task.cwd) if task.cwd else home
    found = (_read(str(folder / os.path.expanduser(word))) for word in words if word not in (".", "/"))
    return any(map(mentions, found)) or mentions(_read(shutil.which(words[0]) or "" if words else ""))


def _read(path: str) -> str:
    """The beginning of a file as text; nothing where it is none."""
    with suppress(OSError, ValueError):
        descriptor = os.open(path, _OPEN)
        try:
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                return os.read(descriptor, _BYTES_MAX).decode("utf-8", "replace")
        finally:
            os.close(descriptor)
    return ""
