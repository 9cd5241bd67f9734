"""A tracker that is called only while nothing holds it, and whose failures are diagnosed and place holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

from medbay.core.diagnosis import diagnose
from medbay.core.durations import iso
from medbay.core.holds.breaker import Breaker
from medbay.core.tracker.issue import Issue, Listing
from medbay.core.untrusted import line
from medbay.integrations.trackers.protocol import Tracker, TrackerError
from medbay.service import trackers

if TYPE_CHECKING:
    from medbay.bay import Bay

T = TypeVar("T")
_WHY_MAX = 300


class HeldTracker:
    """A tracker behind its hold: after a fault of the whole tracker nothing more is asked of it."""

    def __init__(self, bay: Bay, tracker: Tracker) -> None:
        self._bay = bay
        self._tracker = tracker
        self._answered = False
        with bay.store.read() as tx:
            held = trackers.held(tx, tracker.name)
        self._held: TrackerError | None = self._refusal(held) if held is not None else None

    @property
    def name(self) -> str:
        """The name of the source."""
        return self._tracker.name

    def open_issues(self) -> Listing:
        """The open issues."""
        return self._call(self._tracker.open_issues)

    def read(self, issue_id: str) -> Issue:
        """One issue as it is now."""
        return self._call(lambda: self._tracker.read(issue_id))

    def create(self, title: str, description: str, *, like: Issue, labels: Sequence[str], key: str) -> str:
        """Make an issue, once for a key."""
        return self._call(lambda: self._tracker.create(title, description, like=like, labels=labels, key=key))

    def set_notes(self, issue_id: str, notes: str) -> None:
        """Replace the notes of an issue."""
        self._call(lambda: self._tracker.set_notes(issue_id, notes))

    def close(self, issue_id: str, reason: str) -> None:
        """Close an issue."""
        self._call(lambda: self._tracker.close(issue_id, reason))

    def pause(self, issue_id: str) -> None:
        """Put an issue aside."""
        self._call(lambda: self._tracker.pause(issue_id))

    def _call(self, call: Callable[[], T]) -> T:
        if self._held is not None:
            raise self._held
        try:
            made = call()
        except TrackerError as error:
            if not error.holds:
                raise
            self._held = self._hold(error)
            raise self._held from error
        if not self._answered:
            self._answered = True
            self._bay.write(lambda tx: trackers.release(tx, self.name))
        return made

    def _hold(self, error: TrackerError) -> TrackerError:
        """Diagnose what went wrong like any other failure, and leave the tracker alone for as long as that says."""
        now = self._bay.now()
        found = diagnose(error.output or error.message, now=datetime.fromtimestamp(now / 1000, tz=UTC))
        named = now + round(error.wait_s * 1000) if error.wait_s else found.retry_after_ms
        why = line(f"{found.kind}: {error.message}", _WHY_MAX)
        held = self._bay.write(lambda tx: trackers.place_hold(tx, self.name, named=named, why=why))
        return self._refusal(held)

    def _refusal(self, held: Breaker) -> TrackerError:
        until = f" until {iso(held.until)}" if held.until is not None else ""
        hint = f"medbay breaker close {held.key} asks it again now"
        return TrackerError("limited", f"{self.name} is left alone{until}: {held.why}", hint=hint)
