"""Ends the process tree of one attempt: SIGTERM to all of it, SIGKILL after the grace, proof that it is gone.

It never waits: the owner calls `is_over` until it says so. While it runs, the owner keeps the main process
unreaped, so that its pid and group number cannot be anybody else's.
"""

from __future__ import annotations

import signal
from typing import Final

from medbay.places.processes import Census, Process, Snapshot, look, send, send_group

UNKILLABLE_S: Final = 30.0  # after SIGKILL a process runs no more code, even if the kernel keeps it longer
_LOOKS_NEEDED: Final = 2  # one look can miss a process that forked and died while it was taken


class TreeEnding:
    """How far the ending of one tree has come."""

    def __init__(self, leader: int, attempt_key: str, census: Census) -> None:
        self.killed = False
        self.gave_up = False
        self._leader = leader
        self._attempt_key = attempt_key
        self._census = census
        self._kill_at_s = float("-inf")
        self._give_up_at_s: float | None = None
        self._main_gone = False
        self._next_look_s = 0.0
        self._serial_seen = 0
        self._empty_looks = 0
        self._known: set[tuple[int, int]] = set()
        self._told: set[tuple[int, int]] = set()

    def begin(self, monotonic_s: float, *, grace_s: float) -> None:
        """SIGTERM to the whole tree now, or SIGKILL where there is no grace."""
        self._kill_at_s = monotonic_s + grace_s
        if grace_s <= 0:
            self._kill(monotonic_s)
            return
        # Look first: what a dying parent leaves behind can no longer be traced to it.
        members = self._members(monotonic_s)
        send_group(self._leader, signal.SIGTERM, signal.SIGCONT)
        self._told.update(_mark(process) for process in members.values() if process.group == self._leader)
        self._tell(members)

    def kill_now(self) -> None:
        """SIGKILL the whole tree at once, without a clock and without waiting."""
        self.killed = True
        for _ in range(_LOOKS_NEEDED):
            members = self._remember(look())
            send_group(self._leader, signal.SIGKILL)
            _strike(members)

    def is_over(self, monotonic_s: float, *, main_ended: bool) -> bool:
        """Go on with it; True when nothing is left, or when what is left cannot be ended."""
        if monotonic_s >= self._kill_at_s and not self.killed:
            self._kill(monotonic_s)
        if self.killed and self._give_up_at_s is None:
            self._give_up_at_s = monotonic_s + UNKILLABLE_S
        if self._give_up_at_s is not None and monotonic_s >= self._give_up_at_s:
            self.gave_up = True
            return True
        if main_ended and not self._main_gone:
            self._main_gone = True
            self._serial_seen = self._census.serial  # only looks taken after this moment count
        return self._main_gone and self._nothing_left(monotonic_s)

    def deadline_s(self) -> float:
        """When `is_over` must be called next, at the latest."""
        last = self._kill_at_s if self._give_up_at_s is None else self._give_up_at_s
        return min(last, self._next_look_s) if self._main_gone else last

    def _nothing_left(self, monotonic_s: float) -> bool:
        members = self._members(monotonic_s)
        if self._census.serial > self._serial_seen:
            self._serial_seen = self._census.serial
            self._empty_looks = 0 if members else self._empty_looks + 1
            if self.killed:
                _strike(members)
            else:
                self._tell(members)
        self._next_look_s = monotonic_s + self._census.age_s
        return self._empty_looks >= _LOOKS_NEEDED

    def _kill(self, monotonic_s: float) -> None:
        self.killed = True
        self._give_up_at_s = monotonic_s + UNKILLABLE_S
        members = self._members(monotonic_s)
        send_group(self._leader, signal.SIGKILL)
        _strike(members)

    def _tell(self, members: dict[int, Process]) -> None:
        """SIGTERM, once each; SIGCONT, because a stopped process cannot act on it."""
        for process in members.values():
            if _mark(process) not in self._told:
                self._told.add(_mark(process))
                send(process, signal.SIGTERM, signal.SIGCONT)

    def _members(self, monotonic_s: float) -> dict[int, Process]:
        return self._remember(self._census.at(monotonic_s))

    def _remember(self, snapshot: Snapshot) -> dict[int, Process]:
        members = snapshot.members(leader=self._leader, attempt_key=self._attempt_key, known=self._known)
        self._known.update(_mark(process) for process in members.values())
        return members


def _mark(process: Process) -> tuple[int, int]:
    return process.pid, process.start


def _strike(members: dict[int, Process]) -> None:
    for process in members.values():
        send(process, signal.SIGKILL)
