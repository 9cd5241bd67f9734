"""What processes cost, read from /proc: CPU time and memory of a tree, and how busy the machine was."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
WARM_WORKER = b"medbay.runners.python.worker"


@dataclass(frozen=True)
class Memory:
    """Of several processes together; PSS counts what is shared once."""

    rss_mb: float
    pss_mb: float
    procs: int


def tree(pid: int) -> list[int]:
    """A process and all that descend from it."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and (fields := _stat(int(folder.name))):
            children.setdefault(int(fields[1]), []).append(int(folder.name))
    found, unseen = [], [pid]
    while unseen:
        found.append(unseen.pop())
        unseen += children.get(found[-1], [])
    return found


def warm_workers(pids: Iterable[int]) -> set[int]:
    """Which of these wait for calls of Python functions."""
    return {pid for pid in pids if WARM_WORKER in _read(pid, "cmdline")}


def cpu_s(pids: Iterable[int]) -> float:
    """CPU time of these and of their children that have ended."""
    return sum(sum(map(int, fields[11:15])) for pid in pids if (fields := _stat(pid))) / TICKS


def own_cpu_s(pids: Iterable[int]) -> float:
    """CPU time of these alone."""
    return sum(sum(map(int, fields[11:13])) for pid in pids if (fields := _stat(pid))) / TICKS


def memory(pids: Iterable[int]) -> Memory:
    """What these hold together."""
    rss = pss = procs = 0
    for pid in pids:
        sizes = dict(line.split(b":", 1) for line in _read(pid, "smaps_rollup").splitlines()[1:])
        if sizes:
            rss += int(sizes[b"Rss"].split()[0])
            pss += int(sizes[b"Pss"].split()[0])
            procs += 1
    return Memory(rss_mb=round(rss / 1024, 1), pss_mb=round(pss / 1024, 1), procs=procs)


def machine_ticks() -> tuple[int, int]:
    """Busy and all time of all processors since the machine started."""
    fields = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return sum(fields) - fields[3] - fields[4], sum(fields)


def _stat(pid: int) -> list[str]:
    text = _read(pid, "stat").decode("utf-8", "replace")
    return text[text.rindex(")") + 2 :].split() if text else []


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:  # it has just ended
        return b""
