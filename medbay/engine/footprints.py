"""What attempts leave on this host, as this engine remembers it: their processes, and who left nothing at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from medbay.runners.protocol import Running
from medbay.service.attempts import Claim

_CLEAN_MAX: Final = 10_000  # a retry that comes after this many others is looked for again, which costs only time

Key = tuple[str, int]
Process = tuple[str, int, int, int]  # task, number, pid, start time


class Footprints:
    """Kept in memory only: what is not known here is looked up on the host."""

    def __init__(self) -> None:
        self._unrecorded: set[Key] = set()
        self._clean: dict[Key, None] = {}  # in the order they ended

    def began(self, key: Key) -> None:
        """It was started; its process is recorded once that is worth it."""
        self._unrecorded.add(key)

    def ended(self, key: Key, running: Running) -> None:
        """Remember one that left nothing."""
        self._unrecorded.discard(key)
        if running.left_nothing:
            self._clean[key] = None
            if len(self._clean) > _CLEAN_MAX:
                del self._clean[next(iter(self._clean))]

    def to_record(self, live: Mapping[Key, Running]) -> list[Process]:
        """The processes that are not recorded and should be."""
        found = []
        for key in self._unrecorded & live.keys():
            running = live[key]
            process = running.identity if running.lasting else None
            if process is not None:
                found.append((*key, process.pid, process.pid_start))
        return found

    def recorded(self, processes: list[Process]) -> None:
        """The store has them."""
        self._unrecorded.difference_update((task_id, number) for task_id, number, _, _ in processes)

    def may_be_left(self, claim: Claim) -> bool:
        """Whether something of an earlier attempt may still run here; the one before it saw to all before that."""
        return claim.again and (claim.task.id, claim.attempt.number - 1) not in self._clean

    def forget(self) -> None:
        """This engine goes on as another worker."""
        self._unrecorded.clear()
