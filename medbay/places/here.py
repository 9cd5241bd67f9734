"""This machine as a place. Attempts end with their engine here: none is ever taken up again (no exit code can be read).

It hands what is to be run to the runner of its kind, and remembers which attempts left nothing behind. What a runner
means is not its business.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from medbay.core.outcome import Output
from medbay.errors import SpawnFailed
from medbay.places.environment import input_path
from medbay.places.protocol import (
    AttemptKey,
    Closing,
    Feeding,
    Launch,
    Leftovers,
    LiveAttempts,
    Reading,
    Runner,
    Running,
)
from medbay.places.spawn import write_private
from medbay.places.usage import short_of

_CLEAN_MAX: Final = 10_000  # a retry that comes after this many others is looked for again, which costs only time

MakeRunner = Callable[[], Runner]


class Here:
    """The runners of one engine, and what their attempts may have left on this machine."""

    def __init__(
        self,
        runners: Mapping[str, Runner],
        leftovers: Leftovers,
        *,
        later: Mapping[str, MakeRunner] | None = None,
        measure: Callable[[], str] = short_of,
        write: Callable[[str, str], None] = write_private,
    ) -> None:
        """`later` are those that are made when their first attempt starts: one that is never used costs nothing."""
        self._measure = measure
        self._write = write
        self._runners: dict[str, Runner] = {}
        self._feeding: list[Feeding] = []
        self._reading: dict[str, Reading] = {}
        self._leftovers = leftovers
        self._later = dict(later or {})
        self._clean: dict[AttemptKey, None] = {}  # in the order they ended
        for kind, runner in runners.items():
            self._add(kind, runner)

    def start(self, launch: Launch, monotonic_s: float) -> Running:
        """Start it, or let it wait ahead; raises SpawnFailed when there is nothing to run."""
        kind = launch.runner.partition(":")[0]
        if launch.input_text:
            self._write(input_path(launch), launch.input_text)
        runner = self._runners.get(kind)
        if runner is None:
            runner = self._add(kind, self._later[kind]())
        return runner.start(launch, monotonic_s)

    def still_running(self, attempts: Mapping[AttemptKey, str]) -> frozenset[AttemptKey]:
        """None: an orphan's exit code cannot be read, so it is ended and its attempt is lost."""
        return frozenset()

    def left_by(self, runner: str, log_path: str) -> Output:
        """What a lost attempt of this machine left, where its runner reads records; else nothing."""
        kind = runner.partition(":")[0]
        return self._reading[kind].left_by(runner, log_path) if kind in self._reading else Output()

    def reattach(self, launch: Launch, monotonic_s: float) -> Running:
        """Never."""
        raise SpawnFailed("an attempt on this machine ends with its engine")

    def ended(self, key: AttemptKey, running: Running) -> None:
        """Remember one that left nothing."""
        for each in self._feeding:
            if each.left_nothing(running):
                self._clean[key] = None
                if len(self._clean) > _CLEAN_MAX:
                    del self._clean[next(iter(self._clean))]

    def may_be_left(self, key: AttemptKey) -> bool:
        """Unless it is remembered to have left nothing; what is not known here is looked up on the host."""
        return key not in self._clean

    def end_leftovers(self, *, store_id: str, live: LiveAttempts, task_id: str | None = None) -> int:
        """End every process of the store, or of one task, whose attempt is not live; how many."""
        return self._leftovers.end(store_id=store_id, live=live, task_id=task_id)

    def waits(self, running: Running) -> bool:
        """Whether it is claimed ahead and not begun."""
        return any(each.waits(running) for each in self._feeding)

    def count_waiting(self) -> int:
        """How many are."""
        return sum(each.count_waiting() for each in self._feeding)

    def begin_waiting(self, slots: Callable[[], int], monotonic_s: float) -> None:
        """Begin what waits, runner by runner; each takes of the slots what the one before left."""
        for each in self._feeding:
            each.begin_waiting(slots(), monotonic_s)

    def room_ahead(self, free: int) -> Mapping[str, int]:
        """How many more attempts than there are free slots may be started ahead, by the queue they wait in."""
        return {queue: room for each in self._feeding for queue, room in each.room_ahead(free).items()}

    def unreachable(self) -> Mapping[str, str]:
        """None: this machine is always here."""
        return {}

    def short_of(self) -> str:
        """What this machine has too little of to start retries now; empty when there is enough of everything."""
        return self._measure()

    def close(self) -> None:
        """Let the runners go."""
        for runner in self._runners.values():
            if isinstance(runner, Closing):
                runner.close()

    def _add(self, kind: str, runner: Runner) -> Runner:
        self._runners[kind] = runner
        if isinstance(runner, Reading):
            self._reading[kind] = runner
        if isinstance(runner, Feeding) and runner not in self._feeding:  # asked once: it takes a while
            self._feeding.append(runner)
        return runner
