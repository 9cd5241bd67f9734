"""The slots of one engine: who has one, who waits for one, and how much more can be claimed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from medbay.core.model import Task
from medbay.engine.checker import CheckStarter
from medbay.engine.lease import Lease
from medbay.engine.live import Live
from medbay.engine.settings import Settings
from medbay.env import Clock
from medbay.places.protocol import Place
from medbay.service.attempts import Capacity, Claim

GATHER_S: Final = 0.02  # how long results may wait for each other while what waits ahead keeps the slots at work


class Slots:
    """A slot is a process at work. What is claimed ahead has none until it is begun."""

    def __init__(
        self,
        live: Mapping[tuple[str, int], Live],
        settings: Settings,
        checker: CheckStarter,
        place: Place,
        clock: Clock,
        *,
        lease: Callable[[], Lease],
    ) -> None:
        self._live = live
        self._settings = settings
        self._checker = checker
        self._place = place
        self._clock = clock
        self._lease = lease
        self._unseen = 0  # how many have ended and were asked how, and are not collected

    @property
    def begun(self) -> list[Claim]:
        """What has a slot."""
        return [each.claim for each in self._live.values() if not self._place.waits(each.running)]

    @property
    def free(self) -> int:
        """How many attempts can be begun, in addition to the checks that wait for a slot."""
        return max(0, self._left())

    @property
    def waiting(self) -> int:
        """How many attempts are claimed and not begun."""
        return self._place.count_waiting()

    def begin_waiting(self, more: int = 0) -> None:
        """Begin what waits, in the free slots and this many more, as long as the lease is held."""
        if self._lease().state() == "held":  # without it another may run what waits by now
            self._place.begin_waiting(lambda: max(0, self._left() + more), self._clock.monotonic_s())
            # Suspended since it was asked: what was begun is ended before it has come to anything.
            self._lease().guard(lambda: [each.running for each in self._live.values()])

    def begin_next(self) -> None:
        """Begin what waits in the free slots, unless checks are due: they come first."""
        if not self._checker.due:
            self.begin_waiting()

    def turn_over(self) -> bool:
        """Begin what waits in place of what has ended and is not collected; whether enough waits to go on like that.

        It goes on until as much has ended as waits: what waits is done while the engine stores what ended.
        """
        if self._checker.due or not self.waiting:
            return False
        now_s = self._clock.monotonic_s()
        ended = [each for each in self._live.values() if each.running.poll(now_s) is not None]
        self._unseen = len(ended)
        self.begin_waiting(sum(not each.claim.task.checks for each in ended))
        return self._is_worth_waiting

    def collected(self) -> None:
        """Everything that ended was handled."""
        self._unseen = 0

    def wake_s(self) -> float | None:
        """When to collect what ended while something else was done: nothing else wakes the engine for it."""
        if not self._unseen:
            return None
        return self._clock.monotonic_s() + (GATHER_S if self._is_worth_waiting else 0.0)

    def capacity(self, *, recovery_first: bool) -> Capacity:
        """What can be claimed now."""
        self.begin_waiting()
        live = [each.claim.task for each in self._live.values()]
        held = [task for task in (*live, *self._checker.waiting) if not task.place]  # checks have their attempt's slot
        free = self.free
        # What waits for its checks needs a slot: nothing is handed ahead that would take it first.
        ahead = {} if self._checker.waiting else self._place.room_ahead(free)
        return Capacity(
            slots=self._settings.slots,
            free=free,
            waiting=self.waiting,
            ahead=ahead,
            home=str(self._settings.home),
            live_recovery=sum(task.recovery for task in held),
            live_suspects=sum(task.crashes > 0 for task in held),
            recovery_share=self._settings.recovery_share,
            recovery_first=recovery_first,
            queue_slots=self._settings.queue_slots,
            fallback_after_ms=self._settings.policy.fallback_after_ms,
            short_of=self._place.short_of() if self._settings.load_aware else "",
            elsewhere=self._elsewhere(live, recovery_first) if self._settings.place_slots else {},
        )

    def _elsewhere(self, live: Sequence[Task], recovery_first: bool) -> dict[str, Capacity]:
        """The same for each other place that can be reached: what runs there takes no slot here."""
        away, found = self._place.unreachable(), {}
        for place, slots in self._settings.place_slots.items():
            there = [task for task in (*live, *self._checker.waiting) if task.place == place]  # until they are read
            if place not in away:
                found[place] = Capacity(
                    slots=slots,
                    free=max(0, slots - len(there)),
                    live_recovery=sum(task.recovery for task in there),
                    live_suspects=sum(task.crashes > 0 for task in there),
                    recovery_share=self._settings.recovery_share,
                    recovery_first=recovery_first,
                )
        return found

    @property
    def _is_worth_waiting(self) -> bool:
        """Whether more waits than has ended: it is done while the engine stores what ended."""
        return self.waiting > max(self._settings.slots, self._unseen)

    def _left(self) -> int:
        live, away = len(self._live), 0
        if self._settings.place_slots:
            away = sum(bool(each.claim.task.place) for each in self._live.values())
        here = live - away - self.waiting  # what waits ahead is always here
        return self._settings.slots - here - sum(not task.place for task in self._checker.waiting)
