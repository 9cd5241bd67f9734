"""A runner that is made when its first attempt starts, so that nobody pays for one that is never used."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from medbay.places.protocol import Closing, Feeding, Launch, Runner, Running


class LazyRunner:
    """Stands in for a runner until it is needed."""

    def __init__(self, make: Callable[[], Runner]) -> None:
        self._make = make
        self._made: Runner | None = None
        self._feeding: Feeding | None = None  # the same, if it takes any ahead

    def start(self, launch: Launch, monotonic_s: float) -> Running:
        """Start it; raises SpawnFailed when there is nothing to run."""
        if self._made is None:
            self._made = self._make()
            self._feeding = self._made if isinstance(self._made, Feeding) else None  # asked once: it takes a while
        return self._made.start(launch, monotonic_s)

    def begin_waiting(self, free: int, monotonic_s: float) -> None:
        """Of the runner, if there is one and it takes any ahead."""
        if self._feeding is not None:
            self._feeding.begin_waiting(free, monotonic_s)

    def room_ahead(self, free: int) -> Mapping[str, int]:
        """Of the runner, if there is one and it takes any ahead."""
        return self._feeding.room_ahead(free) if self._feeding is not None else {}

    def close(self) -> None:
        """Close the runner, if there is one and it keeps anything."""
        made = self._made
        if made is not None and isinstance(made, Closing):
            made.close()
