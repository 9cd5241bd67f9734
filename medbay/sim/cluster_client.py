"""What one engine sees of the simulated cluster: it starts, watches and cancels there, by messages that may be lost.

It follows the real place step by step: what was started before is ended first, a start without an answer is sent again,
and the end of an attempt is read as often as it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal

from msgspec.structs import replace

from medbay.core.outcome import Cancelled, Lost, Outcome, Requeued
from medbay.places.orders import read_report, write_order
from medbay.places.protocol import CONNECTING, AttemptKey, Identity, Launch
from medbay.sim.cluster import ClusterEntry, SimCluster
from medbay.sim.faults import SimulatedCrash
from medbay.sim.plan import SECOND
from medbay.sim.scripts import NEVER_MS

ANSWER_MS: Final = 10 * SECOND  # how long an answer is waited for
AGAIN_MS: Final = SECOND
CANCEL_AGAIN_MS: Final = 4 * SECOND
AWAY: Final = "no answer from cluster"
RARER: Final = 4  # how much rarer an engine dies over a call than the call goes wrong

Phase = Literal["earlier", "start", "watch", "over"]


@dataclass(slots=True)
class Watched:
    """One attempt of an engine there."""

    key: AttemptKey
    launch: Launch
    order: bytes
    phase: Phase
    next_ms: int
    outcome: Outcome | None = None
    cancelled: bool = False
    cancel_ms: int = NEVER_MS  # when the cancel is sent next


class SimRunningElsewhere:
    """One attempt at the cluster, as its engine sees it."""

    def __init__(self, client: SimElsewhere, watched: Watched) -> None:
        self._client = client
        self._watched = watched

    @property
    def identity(self) -> Identity | None:
        """Its process is one of another machine."""
        return None

    def fileno(self) -> int:
        """It has to be polled."""
        return -1

    def poll(self, monotonic_s: float) -> Outcome | None:
        """How it ended, as soon as that is known here."""
        return self._watched.outcome

    def deadline_s(self) -> float | None:
        """Its limits are enforced where it runs; how it ended is to be heard at once."""
        return 0.0 if self._watched.outcome is not None else None

    def cancel(self, monotonic_s: float) -> None:
        """Ask for its end, and wait for it."""
        self._client.cancel(self._watched)

    def hand_back(self, monotonic_s: float, *, why: str) -> None:
        """It goes on without this engine; how its checks ended can be read again by the next."""
        if self._watched.launch.part:
            self.kill()

    def kill(self) -> None:
        """Watch it no longer."""
        self._client.leave(self._watched)
        if self._watched.launch.part:
            self._watched.outcome = self._watched.outcome or Requeued(asked=False, why="to be read again")


class SimElsewhere:
    """The cluster as the place of one engine; it lives as long as that engine's process."""

    def __init__(self, cluster: SimCluster, hear: Callable[[], None]) -> None:
        self.cut_until_ms = 0
        self._cluster = cluster
        self._hear = hear
        self._watched: list[Watched] = []
        self._connected_ms = self._now + cluster.rng.randint(1, 2 * SECOND)
        self._told_connected = False

    @property
    def linked(self) -> bool:
        """Whether the cluster answers this engine."""
        return self._cluster.answers and self._now >= self.cut_until_ms

    @property
    def watched(self) -> list[Watched]:
        """What it watches."""
        return self._watched

    def start(self, launch: Launch, monotonic_s: float) -> SimRunningElsewhere:
        """Start it there; a part of an attempt ended there already, and is only read."""
        self._die_perhaps("engine died at a start")
        order = b"" if launch.part else write_order(launch)
        return self._watch(launch, order, "earlier" if order else "watch")

    def reattach(self, launch: Launch, monotonic_s: float) -> SimRunningElsewhere:
        """Watch one that goes on, or has ended there meanwhile."""
        self._die_perhaps("engine died taking up")
        entry = self._cluster.entries.get((launch.task_id, launch.number))
        self._cluster.met["taken up with its result" if entry is not None and entry.over else "taken up"] += 1
        return self._watch(launch, b"", "watch")

    def still_running(self, attempts: Collection[AttemptKey]) -> frozenset[AttemptKey]:
        """Those the cluster knows, and the ids of the others are taken; all of them where it does not answer."""
        self._die_perhaps("engine died asking")
        if not self.linked or self._cluster.goes_wrong("question lost"):
            return frozenset(attempts)
        return frozenset(key for key in attempts if not self._seals(key))

    def unreachable(self) -> str:
        """Why nothing can be started there now."""
        if self._now < self._connected_ms:
            return CONNECTING
        return "" if self.linked else AWAY

    def close(self) -> None:
        """What runs there goes on."""
        self._watched.clear()

    def next_ms(self) -> int:
        """When it has something to do."""
        if self._told_connected and not self._watched:
            return NEVER_MS
        at = [self._due_ms(each) for each in self._watched]
        at += [each.cancel_ms for each in self._watched if each.phase == "watch"]  # before that there is nothing to end
        back_ms = max(self.cut_until_ms, self._cluster.down_until_ms)
        if not self._told_connected:
            at.append(self._connected_ms)
        return max(min(at, default=NEVER_MS), back_ms)

    def act(self) -> str:
        """Take one step; what it was."""
        now = self._now
        if not self._told_connected and now >= self._connected_ms:
            self._told_connected = True
            self._hear()
            return "connected"
        for each in self._watched:
            if each.cancel_ms <= now and each.phase == "watch":
                return self._send_cancel(each)
            if self._due_ms(each) <= now:
                return f"{self._go_on(each)} {each.key[0]} {each.key[1]}"
        return "waits"

    def back(self) -> None:
        """The cluster answers again: whoever waits for that is told."""
        self._hear()

    def cancel(self, watched: Watched) -> None:
        """Ask for the end of one."""
        if not watched.cancelled:
            watched.cancelled, watched.cancel_ms = True, self._now

    def leave(self, watched: Watched) -> None:
        """Watch one no longer."""
        if watched in self._watched:
            self._watched.remove(watched)

    @property
    def _now(self) -> int:
        return self._cluster.clock.elapsed_ms

    def _watch(self, launch: Launch, order: bytes, phase: Phase) -> SimRunningElsewhere:
        watched = Watched((launch.task_id, launch.number), launch, order, phase, self._now)
        self._watched.append(watched)
        return SimRunningElsewhere(self, watched)

    def _due_ms(self, each: Watched) -> int:
        if each.phase != "watch":
            return each.next_ms
        entry = self._cluster.entries.get(each.key)
        return each.next_ms if entry is None or entry.over else NEVER_MS

    def _go_on(self, each: Watched) -> str:
        cluster = self._cluster
        match each.phase:
            case "earlier":
                return self._end_earlier(each)
            case "start":
                return self._send_start(each)
            case _:
                entry = cluster.entries.get(each.key)
                if cluster.goes_wrong("answer lost"):
                    each.next_ms = self._now + AGAIN_MS
                    return "does not hear of"
                if entry is None and not self._seals(each.key):
                    return "goes on with"
                self._ended(each, self._outcome(each, cluster.entries[each.key]))
                return "hears of"

    def _end_earlier(self, each: Watched) -> str:
        """The attempt before must not go on beside this one."""
        before = self._cluster.entries.get((each.key[0], each.key[1] - 1))
        if before is not None and not before.over:
            self._cluster.met["earlier attempt ended first"] += 1
            self._cluster.cancel(before.key)
            each.next_ms = self._now + AGAIN_MS
            return "ends what was before"
        each.phase = "start"
        return "may start"

    def _send_start(self, each: Watched) -> str:
        """Send the order; without an answer it is sent again."""
        cluster = self._cluster
        each.next_ms = self._now + ANSWER_MS
        if cluster.goes_wrong("start lost"):
            return "the start is lost of"
        if cluster.goes_wrong("start late"):
            cluster.send(partial(self._arrive, each, answered=False), late=True)
            return "the start is late of"
        cluster.send(partial(self._arrive, each, answered=not cluster.goes_wrong("start not answered")))
        return "starts"

    def _arrive(self, each: Watched, *, answered: bool) -> None:
        if each not in self._watched:
            self._cluster.met["start after its engine was gone"] += 1
        self._cluster.start(each.key, each.order)
        if answered:
            each.phase, each.next_ms = "watch", self._now

    def _send_cancel(self, each: Watched) -> str:
        each.cancel_ms = self._now + CANCEL_AGAIN_MS
        if self._cluster.goes_wrong("cancel lost"):
            return "its cancel is lost"
        self._cluster.send(partial(self._cluster.cancel, each.key))
        return "cancels"

    def _seals(self, key: AttemptKey) -> bool:
        return self._cluster.seal(key)

    def _outcome(self, each: Watched, entry: ClusterEntry) -> Outcome:
        if entry.report:
            report = read_report(entry.report)
            outcome = report.of_part(each.launch.part) if each.launch.part else report.outcome
            return replace(outcome, output=replace(outcome.output, log_path=each.launch.log_path))
        assert entry.outcome is not None
        lost = isinstance(entry.outcome, Lost) and not entry.worker
        return Cancelled() if each.cancelled and lost else entry.outcome

    def _ended(self, each: Watched, outcome: Outcome) -> None:
        each.outcome, each.phase = outcome, "over"
        self._watched.remove(each)
        self._hear()

    def _die_perhaps(self, over: str) -> None:
        if self._cluster.goes_wrong(over, rarer=RARER):
            raise SimulatedCrash
