"""A cluster in the simulation: the server that knows every attempt by its key, and its own ways to go wrong.

It behaves as Temporal does where our place relies on it: an id is given once, a result is taken once, a worker that
falls silent loses what it runs, and what was sent by an engine that died since may still arrive.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Literal

from medbay.core.outcome import Cancelled, Lost, Outcome
from medbay.env import Random
from medbay.places.protocol import AttemptKey
from medbay.places.temporal_worker import BEATS
from medbay.sim.clock import VirtualClock
from medbay.sim.plan import SECOND
from medbay.sim.scripts import ELSEWHERE, NEVER_MS

BEAT_SHARE: Final = (
    2 * BEATS
)  # how old the last heartbeat of a healthy worker can be, as a share of the longest silence
LATE_MS: Final = 60 * SECOND  # how long what was sent can be on its way

State = Literal["waiting", "running", "ended"]


@dataclass(slots=True)
class ClusterEntry:
    """What the server knows of one attempt."""

    key: AttemptKey
    order: bytes
    state: State
    since_ms: int  # when it was scheduled, taken or ended
    worker: str = ""
    beat_ms: int | None = None  # when its worker was last heard of; None: that is in touch
    cancel: bool = False
    report: bytes = b""  # what its worker sent
    outcome: Outcome | None = None  # what the server says itself

    @property
    def over(self) -> bool:
        """Whether it is known how it ended."""
        return self.state == "ended"


@dataclass(order=True, slots=True)
class _Message:
    at_ms: int
    order: int
    arrive: Callable[[], object] = field(compare=False)


class SimCluster:
    """The server: entries, timers, and the messages that are on their way to it."""

    def __init__(
        self,
        clock: VirtualClock,
        rng: Random,
        log: Callable[[str], None],
        *,
        heartbeat_ms: int,
        start_within_ms: int,
        fault_share: float,
    ) -> None:
        self.entries: dict[AttemptKey, ClusterEntry] = {}
        self.met: Counter[str] = Counter()  # the faults that happened
        self.down_until_ms = 0
        self.heartbeat_ms = heartbeat_ms
        self.clock = clock
        self.rng = rng
        self.log = log
        self._start_within_ms = start_within_ms
        self._fault_share = fault_share
        self._messages: list[_Message] = []
        self._sent = 0
        self._open: dict[AttemptKey, ClusterEntry] = {}  # those that are not over, the oldest first

    @property
    def answers(self) -> bool:
        """Whether it is up."""
        return self.clock.elapsed_ms >= self.down_until_ms

    def calm(self) -> None:
        """No more faults; what is on its way arrives."""
        self._fault_share = 0.0

    def goes_wrong(self, what: str, *, rarer: int = 1) -> bool:
        """Whether this fault happens now; it is counted."""
        if not self._fault_share or self.rng.random() >= self._fault_share / rarer:
            return False
        self.met[what] += 1
        return True

    def send(self, arrive: Callable[[], object], *, late: bool = False) -> None:
        """Let something arrive in a moment, or much later; not while the server is down."""
        self._sent += 1
        in_ms = self.rng.randint(SECOND, LATE_MS) if late else self.rng.randint(1, 20)
        self._messages.append(_Message(self.clock.elapsed_ms + in_ms, self._sent, arrive))
        self._messages.sort()

    def next_ms(self) -> int:
        """When the next message arrives or a time runs out."""
        if not (self._open or self._messages):
            return NEVER_MS
        at = [self._runs_out_ms(each) for each in self._open.values()]
        at += [each.at_ms for each in self._messages[:1]]
        return max(min(at), self.down_until_ms)

    def act(self) -> str:
        """Take one message, or give up one attempt whose time has run out."""
        now = self.clock.elapsed_ms
        if self._messages and self._messages[0].at_ms <= now:
            self._messages.pop(0).arrive()
            return "hears"
        for each in self._open.values():
            if self._runs_out_ms(each) <= now:
                self._give_up(each)
                return "gives up"
        return "waits"

    def start(self, key: AttemptKey, order: bytes) -> ClusterEntry:
        """Schedule an attempt, or attach to what has its id, running or over."""
        known = self.entries.get(key)
        if known is None:
            known = self.entries[key] = ClusterEntry(key, order, "waiting", self.clock.elapsed_ms)
            self._open[key] = known
        return known

    def seal(self, key: AttemptKey) -> bool:
        """Take the id of an attempt that was never started, so that it never will be; False when it is there."""
        if key in self.entries:
            return False
        outcome = Lost(why=f"{ELSEWHERE} knows nothing of it")
        self.entries[key] = ClusterEntry(key, b"", "ended", self.clock.elapsed_ms, outcome=outcome)
        self.met["start sealed"] += 1
        return True

    def cancel(self, key: AttemptKey) -> None:
        """Ask for the end of an attempt; one that no worker has yet ends at once."""
        entry = self.entries.get(key)
        if entry is None:
            return
        if entry.over:
            self.met["cancel after the end"] += 1
        elif entry.state == "waiting":
            self._end(entry, outcome=Cancelled())
        else:
            entry.cancel = True

    def take(self, worker: str) -> ClusterEntry | None:
        """The oldest attempt that waits, for a worker."""
        for each in self._open.values():
            if each.state == "waiting":
                each.state, each.since_ms, each.worker = "running", self.clock.elapsed_ms, worker
                return each
        return None

    @property
    def has_waiting(self) -> bool:
        """Whether an attempt waits for a worker."""
        return bool(self._open) and any(each.state == "waiting" for each in self._open.values())

    def of_worker(self, worker: str) -> list[ClusterEntry]:
        """What the server believes a worker runs."""
        return [each for each in self._open.values() if each.worker == worker]

    def end(self, key: AttemptKey, worker: str, *, report: bytes = b"", outcome: Outcome | None = None) -> bool:
        """Take what a worker says of an attempt; False when that is not its own any more."""
        entry = self.entries[key]
        if entry.over or entry.worker != worker:
            self.met["result refused"] += 1
            return False
        self._end(entry, report=report, outcome=outcome)
        return True

    def _end(self, entry: ClusterEntry, *, report: bytes = b"", outcome: Outcome | None = None) -> None:
        del self._open[entry.key]
        entry.state, entry.since_ms = "ended", self.clock.elapsed_ms
        entry.report, entry.outcome = report, outcome
        entry.order = b""

    def _runs_out_ms(self, entry: ClusterEntry) -> int:
        if entry.state == "waiting":
            return entry.since_ms + self._start_within_ms
        return NEVER_MS if entry.beat_ms is None else entry.beat_ms + self.heartbeat_ms

    def _give_up(self, entry: ClusterEntry) -> None:
        if entry.state == "waiting":
            self.met["no worker in time"] += 1
            self._end(entry, outcome=Lost(why=f"no worker of {ELSEWHERE} took it in time"))
            return
        self.met["worker silent too long"] += 1
        begun = (entry.beat_ms or 0) > entry.since_ms
        self._end(entry, outcome=Lost(why=f"its worker at {ELSEWHERE} fell silent", hard_crash=begun))
