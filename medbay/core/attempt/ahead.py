"""Which tasks may be claimed before there is a slot for them: short commands, and Python calls for a process at work.

Such a task is claimed and waits ahead; one that is not begun in time is handed back as if it had not been claimed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from medbay.core.model import Task

COMMANDS: Final = "commands"  # the place in which commands wait; Python calls wait in their directories
AHEAD_MAX: Final = 8  # what may wait behind one that is being done
BRIEF_AHEAD_MAX: Final = 32  # the same where one takes less than BRIEF_S, and of commands, which start a process each
KEPT_MAX: Final = 32  # and as many again stay with the engine: those are done while it stores the ends of the others
BRIEF_S: Final = 0.001
WAITING_S: Final = 1.0  # what was not begun by then is handed back, for others to have
_READ_AT_START: Final = ("PYTHON", "LD_")  # variables that only a new process heeds


def needs_own_process(command: Sequence[str], env: Mapping[str, str]) -> bool:
    """Whether a Python call asks for a process of its own, in words or by a variable that is read at the start."""
    return "isolated" in command[2:] or any(name.startswith(_READ_AT_START) for name in env)


def fed_ahead(candidates: Sequence[Task], room: Mapping[str, int], *, home: str) -> list[Task]:
    """Those that find room in the place where they would wait, in their order, up to the first that does not."""
    left = dict(room)
    fed = []
    for task in candidates:
        place = COMMANDS if task.runner == "shell" else task.cwd or home
        if not _may_wait(task) or left.get(place, 0) <= 0:
            break
        left[place] -= 1
        fed.append(task)
    return fed


def _may_wait(task: Task) -> bool:
    limited = task.memory_bytes is not None or task.cpu_ms is not None
    watched = task.crashes > 0 or task.canary or task.forced or bool(task.checks)
    if limited or watched:
        return False
    return task.runner == "shell" or (task.runner == "python" and not needs_own_process(task.command, dict(task.env)))
