"""One task's life, replayed from its events: who may start when, and what the counters have to be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from medbay.core.model import Event

ENDS: Final = frozenset({"task:completed", "task:failed", "task:lost", "task:requeued"})


@dataclass(slots=True)
class Life:
    """Where a task stands, as far as its events have been read."""

    live: int | None = None
    number: int = 0
    paused: bool = False
    blocked: bool = False
    finished: str = ""
    due_ms: int | None = None
    streak: int = 0
    charged: int = 0
    starts: int = 0
    completed_seq: int | None = None

    def read(self, event: Event, latest_ms: int) -> Iterator[tuple[str, str]]:
        """Take one event in; the promises it breaks, each with what was seen."""
        if self.finished and event.name in ENDS | {"task:started", "task:retry_scheduled"}:
            yield "3 nothing done is done again", f"{event.name} after {self.finished}"
        if event.name == "task:started":
            yield from self._started(event, latest_ms)
        elif event.name in ENDS:
            yield from self._ended(event)
        elif event.name == "task:cancelled":
            self.live, self.finished = None, event.name
        elif event.name in ("task:paused", "task:resumed"):
            self.paused = event.name == "task:paused"
        elif event.name in ("task:blocked", "task:unblocked"):
            self.blocked = event.name == "task:blocked"
        elif event.name == "task:retry_scheduled":
            self.due_ms = _ms(str(event.data["due_at"]))
        elif event.name == "task:edited":
            yield from self._edited(event)

    def _started(self, event: Event, latest_ms: int) -> Iterator[tuple[str, str]]:
        if self.live is not None:
            yield "2 one live attempt", f"attempt {event.attempt} was started while {self.live} was live"
        if event.attempt != self.number + 1:
            yield "2 no attempt number twice", f"attempt {event.attempt} follows {self.number}"
        if self.paused or self.blocked:
            yield "4 nothing held is dispatched", f"started while {'paused' if self.paused else 'blocked'}"
        if self.due_ms is not None and latest_ms < self.due_ms:
            yield "4 nothing held is dispatched", f"started {self.due_ms - latest_ms} ms before it was due"
        self.live, self.number, self.due_ms = event.attempt, event.attempt or 0, None
        self.starts += 1

    def _ended(self, event: Event) -> Iterator[tuple[str, str]]:
        if event.attempt != self.live:
            yield "3 a result is recorded once", f"{event.name} of attempt {event.attempt}, live is {self.live}"
        self.live = None
        if event.name == "task:failed":
            self.streak += 1
            self.charged += bool(event.data.get("charged"))
            found = event.data.get("diagnosis", {})
            if found.get("subcategory") == "engine_error":
                yield "no rule breaks", str(found.get("excerpt"))[-1500:]
        if event.name == "task:completed":
            self.streak = self.charged = 0
            self.finished, self.completed_seq = event.name, event.seq

    def _edited(self, event: Event) -> Iterator[tuple[str, str]]:
        if event.data.get("reset_failures"):
            self.streak = self.charged = 0
        if "forced" in event.data.get("changed", ()):
            self.due_ms = None
        yield from ()


def _ms(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)
