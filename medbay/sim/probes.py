"""When each account was tried last: what a canary may do before the time that a failure named. And who looked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from medbay.core.model import Event
from medbay.sim.ledger import Broken

SAYS_NOTHING: Final = ("lost", "cancelled", "requeued")


class Probes:
    """The canaries of every breaker, as the events tell of them."""

    def __init__(self) -> None:
        self._tried: dict[str | None, int] = {}  # when it was placed, or a canary was sent that said something
        self._sent: dict[tuple[str, int], tuple[str, int]] = {}  # canary -> its breaker, and when it was tried before
        self._looked_at: set[str] = set()  # the incidents that had their triage

    def kept(self) -> Probes:
        """As they are now, whatever is heard later."""
        kept = Probes()
        kept._tried, kept._sent, kept._looked_at = dict(self._tried), dict(self._sent), set(self._looked_at)
        return kept

    def last(self, key: str | None) -> int:
        """When this account was tried last."""
        return self._tried.get(key, 0)

    def hear(self, events: Iterable[Event]) -> set[str]:
        """Follow the holds; the tasks whose canary has shown that the time they waited for is over."""
        over: set[str] = set()
        for event in events:
            key = event.data.get("key")
            if event.name == "hold:placed" and not event.data["extended"]:
                self._tried[key] = event.at
            elif event.name == "incident:opened":
                self._looked_at.discard(key)
            elif event.name == "triage:started" and (incident := event.data.get("incident")) is not None:
                if incident in self._looked_at:
                    raise Broken("one triage for an incident", f"{incident} is looked at a second time")
                self._looked_at.add(incident)
            elif event.name == "hold:released":
                over |= {task_id for (task_id, _), (sent_for, _) in self._sent.items() if sent_for == key}
        return over

    def sent(self, key: str, task_id: str, number: int, now: int) -> None:
        """A canary goes ahead."""
        self._sent[task_id, number] = key, self.last(key)
        self._tried[key] = now

    def ended(self, task_id: str, number: int, outcome: str | None) -> None:
        """A canary that was lost or taken back is no probe: the next one may follow at once."""
        key, before = self._sent.pop((task_id, number), (None, 0))
        if key is not None and outcome in SAYS_NOTHING:
            self._tried[key] = before
