"""Whether an attempt gets anywhere: what it prints, the files below its directory, the CPU and children of its tree.

Silence alone is no standstill, and the same output again and again is no progress. It looks now and then, and no
look takes long: of large trees only a part is seen.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from medbay.places.processes import Process

_LOOKS: Final = 10  # within the time that is allowed
_LOOK_S: Final = (0.05, 30.0)  # between two of them, at least and at most
_CPU_SHARE: Final = 0.02  # of one core; what idles and asks now and then takes less
_READ_BYTES: Final = 64_000  # of new output that are looked at
_LINES_KEPT: Final = 500
_FILES_SEEN: Final = 20_000
_OURS: Final = ".medbay"  # logs of others are written there all the time
_SHOWN: Final = 200
_TIMES: Final = re.compile(rb"\d{4}-\d\d-\d\d|\d{1,2}:\d\d:\d\d(?:[.,]\d+)?")


class Progress:
    """The progress of one tree; `next_s` is when to look next."""

    def __init__(self, monotonic_s: float, *, stall_s: float, cwd: Path) -> None:
        self._stall_s = stall_s
        self._every_s = min(max(stall_s / _LOOKS, _LOOK_S[0]), _LOOK_S[1], stall_s)
        self._cwd = cwd
        self.seen_s = monotonic_s  # when it last got anywhere
        self.next_s = monotonic_s + self._every_s
        self.last = ""  # what its youngest process was
        self._looked_s = monotonic_s
        self._read_to = 0
        self._lines: deque[bytes] = deque(maxlen=_LINES_KEPT)
        self._cpu_s = 0.0
        self._known: set[tuple[int, int]] = set()
        self._newest = -1

    def is_stalled(self, members: Iterable[Process], log: str | Path, monotonic_s: float) -> bool:
        """Look at it; whether it got nowhere for as long as is allowed."""
        tree = list(members)
        said = self._output(log)
        works = self._works(tree, monotonic_s - self._looked_s)
        writes = self._files()
        if said == "new" or writes or (works and said != "again"):
            self.seen_s = monotonic_s
        self._looked_s = monotonic_s
        self.next_s = min(monotonic_s + self._every_s, max(self.seen_s + self._stall_s, monotonic_s + _LOOK_S[0]))
        stalled = monotonic_s - self.seen_s >= self._stall_s
        if stalled and tree:
            self.last = _command_of(max(tree, key=lambda process: (process.start, process.pid)).pid)
        return stalled

    def _output(self, log: str | Path) -> str:
        """What it printed since the last look: `new` lines, only what it printed before (`again`), or nothing."""
        data = b""
        with suppress(OSError):
            descriptor = os.open(log, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                size = os.fstat(descriptor).st_size
                begin = max(self._read_to if size >= self._read_to else 0, size - _READ_BYTES)
                data = os.pread(descriptor, size - begin, begin)
                self._read_to = size
            finally:
                os.close(descriptor)
        lines = [line for each in re.split(rb"[\r\n]+", data) if (line := _TIMES.sub(b"", each).strip())]
        fresh = [line for line in dict.fromkeys(lines) if line not in self._lines]
        self._lines.extend(fresh)
        return "new" if fresh else "again" if lines else ""

    def _works(self, tree: Iterable[Process], elapsed_s: float) -> bool:
        """Whether it computed, or started something."""
        cpu_s, seen = sum(process.cpu_s for process in tree), {(each.pid, each.start) for each in tree}
        started = bool(seen - self._known) and bool(self._known)
        computed = cpu_s - self._cpu_s > _CPU_SHARE * elapsed_s
        self._cpu_s, self._known = cpu_s, self._known | seen
        return started or computed

    def _files(self) -> bool:
        """Whether a file below its directory was written since the last look."""
        newest = max(_written(self._cwd), default=0)
        before, self._newest = self._newest, max(newest, self._newest)
        return before >= 0 and newest > before


def _written(top: Path) -> Iterator[int]:
    """When files and directories below this one were changed, the nearest first."""
    folders, seen = deque([str(top)]), 0
    while folders and seen < _FILES_SEEN:
        with suppress(OSError), os.scandir(folders.popleft()) as entries:
            for entry in entries:
                seen += 1
                if entry.name == _OURS or seen > _FILES_SEEN:
                    continue
                with suppress(OSError):
                    yield entry.stat(follow_symlinks=False).st_mtime_ns
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)


def _command_of(pid: int) -> str:
    """The command line of a process, as far as it can be read."""
    with suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
        words = file.read(4_096).replace(b"\0", b" ").decode("utf-8", "replace")
        return " ".join(words.split())[:_SHOWN]
    return ""
