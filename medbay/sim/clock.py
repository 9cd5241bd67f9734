"""Virtual time: wall and monotonic, moved by the scheduler alone."""

from __future__ import annotations

from typing import Final

BEGINNING_MS: Final = 1_767_225_600_000  # 2026-01-01T00:00Z


class VirtualClock:
    """A clock that stands still unless it is moved. The wall clock may jump, the monotonic one never does."""

    def __init__(self) -> None:
        self.elapsed_ms = 0
        self.jumped_ms = 0
        self.jumps = 0  # how often

    def now_ms(self) -> int:
        """UTC milliseconds since the epoch."""
        return BEGINNING_MS + self.elapsed_ms + self.jumped_ms

    def monotonic_s(self) -> float:
        """Seconds since the simulation began."""
        return self.elapsed_ms / 1000

    def boottime_s(self) -> float:
        """The same: a simulated suspend stops an engine, not its machine's clock."""
        return self.elapsed_ms / 1000

    def advance(self, by_ms: int) -> None:
        """Let time pass."""
        assert by_ms >= 0
        self.elapsed_ms += by_ms

    def jump(self, by_ms: int) -> None:
        """Set the wall clock, as an administrator or a resumed machine would."""
        self.jumped_ms += by_ms
        self.jumps += 1
