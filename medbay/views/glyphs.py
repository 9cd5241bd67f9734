"""The glyphs that stand for what happens, and the tokens that give them a colour, the same on every surface."""

from __future__ import annotations

from typing import Final, Literal

Token = Literal["run", "wait", "held", "you", "fail", "done", "idle"]

RUNNING: Final = "▶"
VERIFYING: Final = "◐"
WAITING: Final = "◷"
AFTER: Final = "↳"
HELD: Final = "‖"
YOU: Final = "!"
FAILED: Final = "✗"
DONE: Final = "✓"
READY: Final = "○"
CANCELLED: Final = "–"
LOST: Final = "◌"
JUDGED: Final = "▣"


def of_outcome(outcome: str | None) -> tuple[str, Token]:
    """Return the glyph of an attempt: running, succeeded, lost or failed."""
    match outcome:
        case None:
            return RUNNING, "run"
        case "succeeded" | "rescued":
            return DONE, "done"
        case "lost" | "requeued":
            return LOST, "idle"
        case "cancelled":
            return CANCELLED, "idle"
        case _:
            return FAILED, "fail"
