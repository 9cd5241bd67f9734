"""What goes wrong from outside: stops, suspensions, lost heartbeats, an absent store, clock jumps, reboots."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from medbay.env import Random
from medbay.sim.daemon import Ground, SimDaemon
from medbay.sim.plan import HOUR, MINUTE, SECOND


class Trouble:
    """Picks a victim and something that happens to it."""

    def __init__(self, ground: Ground, daemons: list[SimDaemon], rng: Random) -> None:
        self._ground = ground
        self._daemons = daemons
        self._rng = rng
        self.kills = 0

    def strike(self) -> str:
        """Let one thing happen; what it was."""
        daemon = self._rng.choice(self._daemons)
        if daemon.engine is None:
            return f"{daemon.name} is down already"
        kind = self._rng.choice(sorted(_KINDS))
        if kind in _AMBUSHES and self._rng.random() < 0.6:
            step = self._rng.choice(("collect", "recover", "release", "claim", "claim", "claim", "launch"))
            daemon.ambush(step, lambda: _KINDS[kind](self, daemon))
            return f"{kind} {daemon.name} after its next {step}"
        return f"{kind} {daemon.name}{_KINDS[kind](self, daemon)}"

    def _stop(self, daemon: SimDaemon) -> str:
        daemon.stop()
        return ""

    def _kill(self, daemon: SimDaemon) -> str:
        self.kills += 1
        daemon.crash()
        return ""

    def _suspend(self, daemon: SimDaemon) -> str:
        for_ms = self._length()
        daemon.suspend(for_ms)
        return f" for {for_ms} ms"

    def _lose_beats(self, daemon: SimDaemon) -> str:
        for_ms = self._length()
        if self._ground.plan.hearts:
            daemon.heart.stands_until_ms = self._ground.clock.elapsed_ms + for_ms
            return f" and its heart for {for_ms} ms"
        daemon.beats_lost_until_ms = self._ground.clock.elapsed_ms + for_ms
        return f" for {for_ms} ms"

    def _lose_store(self, daemon: SimDaemon) -> str:
        for_ms = self._length()
        daemon.faults.away_until_ms = self._ground.clock.elapsed_ms + for_ms
        return f" for {for_ms} ms"

    def _jump(self, daemon: SimDaemon) -> str:
        # Several hosts share the clock of their database; only a single machine's own clock is set by hand.
        if self._ground.plan.hosts > 1:
            return " not: the database's clock does not jump"
        by_ms = self._rng.choice((-HOUR, -MINUTE, -10 * SECOND, 10 * SECOND, MINUTE, HOUR))
        self._ground.clock.jump(by_ms)
        return f" by {by_ms} ms"

    def _reboot(self, daemon: SimDaemon) -> str:
        for each in self._daemons:
            if each.machine is daemon.machine and each.engine is not None:
                each.crash()
        self._ground.machines.reboot(daemon.machine)
        return f" {daemon.machine.name}"

    def _length(self) -> int:
        longest = self._rng.choice((5 * SECOND, self._ground.plan.lease_ms * 2, 10 * MINUTE))
        return self._rng.randint(100, longest)


_KINDS: Final[dict[str, Callable[[Trouble, SimDaemon], str]]] = {
    "stop": Trouble._stop,
    "kill": Trouble._kill,
    "suspend": Trouble._suspend,
    "lose beats": Trouble._lose_beats,
    "lose store": Trouble._lose_store,
    "jump": Trouble._jump,
    "reboot": Trouble._reboot,
}
_AMBUSHES: Final = frozenset({"kill", "suspend", "lose store", "reboot", "jump"})
