"""What an engine has room for: its slots, and what may be handed ahead of them."""

from __future__ import annotations

from collections.abc import Mapping

from medbay.engine.checker import Checker
from medbay.engine.live import Live
from medbay.engine.settings import Settings
from medbay.env import Clock
from medbay.runners.protocol import Feeding, Runner
from medbay.service.attempts import Capacity


class Slots:
    """Counts what is begun and what waits, each time it is asked."""

    def __init__(
        self,
        live: Mapping[tuple[str, int], Live],
        checker: Checker,
        runners: Mapping[str, Runner],
        settings: Settings,
        clock: Clock,
    ) -> None:
        self._live = live
        self._checker = checker
        self._feeding = [each for each in runners.values() if isinstance(each, Feeding)]
        self._settings = settings
        self._clock = clock

    def free(self) -> int:
        """How many more may be begun."""
        begun = sum(not each.running.waiting for each in self._live.values())
        return max(0, self._settings.slots - begun - self._checker.waiting)

    def capacity(self, *, recovery_first: bool) -> Capacity:
        """What can be claimed, after what waits was begun in the slots that became free."""
        for runner in self._feeding:
            runner.begin_waiting(self.free(), self._clock.monotonic_s())
        held = [each.claim.task for each in self._live.values()]
        free = self.free()
        # What waits for its checks needs a slot: nothing is handed ahead that would take it first.
        feeding = () if self._checker.waiting else self._feeding
        return Capacity(
            slots=self._settings.slots,
            free=free,
            waiting=sum(each.running.waiting for each in self._live.values()),
            ahead={directory: room for runner in feeding for directory, room in runner.room_ahead(free).items()},
            home=str(self._settings.root.parent),
            live_recovery=sum(task.recovery for task in held),
            live_suspects=sum(task.crashes > 0 for task in held),
            recovery_share=self._settings.recovery_share,
            recovery_first=recovery_first,
        )
