"""All places of one engine as one: this machine, and those elsewhere that its settings name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Protocol

from medbay.core.outcome import Output
from medbay.errors import SpawnFailed
from medbay.places.protocol import AttemptKey, Launch, LiveAttempts, Place, Running


class Elsewhere(Protocol):
    """A place whose attempts outlive their engine."""

    def start(self, launch: Launch, monotonic_s: float) -> Running:
        """Start it, or read how a part of it ended; never waits for an answer."""
        ...

    def still_running(self, attempts: Collection[AttemptKey]) -> frozenset[AttemptKey]:
        """Those that run there, or ended there with a result that nobody has read."""
        ...

    def reattach(self, launch: Launch, monotonic_s: float) -> Running:
        """Take one up again."""
        ...

    def unreachable(self) -> str:
        """Why nothing can be started there now; empty where it can."""
        ...

    def close(self) -> None:
        """Let go of it; what runs there goes on."""
        ...


class Places:
    """Hands each attempt to its place; everything about processes is this machine's."""

    def __init__(self, here: Place, elsewhere: Mapping[str, Elsewhere]) -> None:
        self._here = here
        self._elsewhere = elsewhere

    def start(self, launch: Launch, monotonic_s: float) -> Running:
        """Start it where it belongs."""
        return self._of(launch).start(launch, monotonic_s)

    def still_running(self, attempts: Mapping[AttemptKey, str]) -> frozenset[AttemptKey]:
        """Those that go on at their places."""
        found: frozenset[AttemptKey] = frozenset()
        for place, each in self._elsewhere.items():
            own = [key for key, name in attempts.items() if name == place]
            found |= each.still_running(own) if own else frozenset()
        return found

    def left_by(self, runner: str, log_path: str) -> Output:
        """What a lost attempt of this machine left."""
        return self._here.left_by(runner, log_path)

    def reattach(self, launch: Launch, monotonic_s: float) -> Running:
        """Take an attempt up that goes on elsewhere."""
        return self._of(launch).reattach(launch, monotonic_s)

    def ended(self, key: AttemptKey, running: Running) -> None:
        """An attempt that this engine ran is over."""
        self._here.ended(key, running)

    def may_be_left(self, key: AttemptKey) -> bool:
        """Whether a process of this earlier attempt may still run on this machine."""
        return self._here.may_be_left(key)

    def end_leftovers(self, *, store_id: str, live: LiveAttempts, task_id: str | None = None) -> int:
        """End what is left on this machine."""
        return self._here.end_leftovers(store_id=store_id, live=live, task_id=task_id)

    def waits(self, running: Running) -> bool:
        """Whether it is claimed ahead and not begun."""
        return self._here.waits(running)

    def count_waiting(self) -> int:
        """How many are; only this machine takes anything ahead."""
        return self._here.count_waiting()

    def begin_waiting(self, slots: Callable[[], int], monotonic_s: float) -> None:
        """Begin what waits on this machine."""
        self._here.begin_waiting(slots, monotonic_s)

    def room_ahead(self, free: int) -> Mapping[str, int]:
        """How many more attempts may be started ahead on this machine."""
        return self._here.room_ahead(free)

    def unreachable(self) -> Mapping[str, str]:
        """The places that cannot be reached now, each with why."""
        return {name: why for name, each in self._elsewhere.items() if (why := each.unreachable())}

    def short_of(self) -> str:
        """What this machine has too little of."""
        return self._here.short_of()

    def close(self) -> None:
        """The engine stops and no attempt of this machine is live."""
        for each in self._elsewhere.values():
            each.close()
        self._here.close()

    def _of(self, launch: Launch) -> Place | Elsewhere:
        if not launch.place:
            return self._here
        if launch.place not in self._elsewhere:
            raise SpawnFailed(f'the place "{launch.place}" is not configured here: [places.{launch.place}]')
        return self._elsewhere[launch.place]
