"""The memory and CPU limits of an attempt, measured over its whole process tree.

The rule is a sample of the tree: resident memory and CPU time from /proc, looked at more often the nearer the
limit is. The limits of the kernel (prlimit right after the start, so no preexec_fn) hold for one process each
and only catch what happens between two samples: RLIMIT_CPU at the limit itself, RLIMIT_DATA well above it,
because it counts memory that was asked for and never used. RLIMIT_AS would not even let Node or Go start.
"""

from __future__ import annotations

import math
import os
import resource
from collections.abc import Iterable
from contextlib import suppress
from enum import Enum
from typing import Final

from medbay.places.processes import Process

_FIRST_S: Final = 0.05
_NEAR_S: Final = 0.02
_FAR_S: Final = 1.0
_GROWTH_BYTES_PER_S: Final = 4e9  # about as fast as one process can touch new memory
_DATA_MARGIN_BYTES: Final = 1 << 30
_FILE_BYTES_MAX: Final = 64_000_000
_LOAD_PER_CORE: Final = 2.0  # more than so many processes for each core want to run
_MEMORY_SHARE: Final = 0.05  # less than this share is left
_CPU_MARGIN_S: Final = 5  # from SIGXCPU to the kernel's own SIGKILL


class Exceeded(Enum):
    """Which limit was passed."""

    MEMORY = "memory"
    CPU = "cpu"


class UsageLimit:
    """The limits of one attempt and when to look next."""

    def __init__(self, monotonic_s: float, *, memory_bytes: int | None, cpu_s: float | None) -> None:
        self.next_s = monotonic_s + _FIRST_S
        self._memory_bytes = memory_bytes
        self._cpu_s = cpu_s

    def check(self, members: Iterable[Process], monotonic_s: float) -> Exceeded | None:
        """Compare what the tree uses with its limits, and set the next look."""
        tree = list(members)
        wait_s = _FAR_S
        if self._memory_bytes is not None:
            used = _memory_bytes(tree, self._memory_bytes)
            if used > self._memory_bytes:
                return Exceeded.MEMORY
            wait_s = min(wait_s, (self._memory_bytes - used) / _GROWTH_BYTES_PER_S)
        if self._cpu_s is not None:
            used_s = sum(process.cpu_s for process in tree)
            if used_s > self._cpu_s:
                return Exceeded.CPU
            wait_s = min(wait_s, (self._cpu_s - used_s) / (os.cpu_count() or 1))
        self.next_s = monotonic_s + max(wait_s, _NEAR_S)
        return None


def short_of(load: float | None = None, cores: int | None = None, memory: str | None = None) -> str:
    """What this machine has too little of now: `CPU`, `memory`, both, or nothing. What is not given is measured."""
    load = os.getloadavg()[0] if load is None else load
    cores = len(os.sched_getaffinity(0)) if cores is None else cores
    lacks = ["CPU"] if load > _LOAD_PER_CORE * cores else []
    sizes = dict(line.split(":", 1) for line in (_meminfo() if memory is None else memory).splitlines() if ":" in line)
    total, free = (int((sizes.get(name) or "0").split()[0]) for name in ("MemTotal", "MemAvailable"))
    if total and free < total * _MEMORY_SHARE:
        lacks.append("memory")
    return " and ".join(lacks)


def _meminfo() -> str:
    try:
        with open("/proc/meminfo", encoding="ascii") as handle:
            return handle.read()
    except OSError:
        return ""


def limit_process(pid: int, *, memory_bytes: int | None, cpu_s: float | None) -> None:
    """Set the kernel's limits on a process just started; what it starts inherits them."""
    if memory_bytes is not None:
        data_bytes = 2 * memory_bytes + _DATA_MARGIN_BYTES
        _limit(pid, resource.RLIMIT_DATA, data_bytes, data_bytes)
    if cpu_s is not None:
        soft_s = max(1, math.ceil(cpu_s))
        _limit(pid, resource.RLIMIT_CPU, soft_s, soft_s + _CPU_MARGIN_S)


def limit_files(pid: int) -> None:
    """No file it writes grows without end: for a process that only has to answer."""
    _limit(pid, resource.RLIMIT_FSIZE, _FILE_BYTES_MAX, _FILE_BYTES_MAX)


def limit_softly(pid: int, *, memory_bytes: int | None) -> None:
    """The kernel's memory limit on a process that outlives the attempt: it can be changed and taken off again."""
    with suppress(OSError, ValueError, OverflowError):
        _, allowed = resource.prlimit(pid, resource.RLIMIT_DATA)
        wanted = resource.RLIM_INFINITY if memory_bytes is None else 2 * memory_bytes + _DATA_MARGIN_BYTES
        if allowed != resource.RLIM_INFINITY:
            wanted = allowed if memory_bytes is None else min(wanted, allowed)
        resource.prlimit(pid, resource.RLIMIT_DATA, (wanted, allowed))


def _limit(pid: int, which: int, soft: int, hard: int) -> None:
    # Already over, another user's, or not known here: the samples still hold.
    with suppress(OSError, ValueError, OverflowError):
        _, allowed = resource.prlimit(pid, which)
        if allowed != resource.RLIM_INFINITY:
            soft, hard = min(soft, allowed), min(hard, allowed)
        resource.prlimit(pid, which, (soft, hard))


def _memory_bytes(tree: list[Process], limit_bytes: int) -> int:
    resident = sum(process.rss_bytes for process in tree)
    if resident <= limit_bytes:
        return resident
    # Pages shared after a fork were counted once for each process: now the exact, expensive figure.
    return sum(_proportional_bytes(process) for process in tree)


def _proportional_bytes(process: Process) -> int:
    try:
        with open(f"/proc/{process.pid}/smaps_rollup", "rb") as handle:
            for line in handle:
                if line.startswith(b"Pss:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return process.rss_bytes
