"""An attempt that stopped making progress: what it did last, for the person and for the next attempt."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from medbay.core.diagnosis.record import Diagnosis
from medbay.core.durations import format_duration
from medbay.core.outcome import Stalled
from medbay.core.untrusted import line

LAST_STARTED: Final = "last started: "
_NOTE: Final = "[medbay] "  # what a line of ours in a log begins with
_SHOWN: Final = 160


def described(found: Diagnosis, outcome: Stalled, log: str) -> Diagnosis:
    """The diagnosis of a standstill with what it last printed and started; both are in its log."""
    silent = format_duration(round(outcome.silent_s * 1000))
    printed = next((each for each in reversed(log.splitlines()) if each.strip() and _NOTE not in each), "")
    started = next((each for each in reversed(log.splitlines()) if _NOTE in each and LAST_STARTED in each), "")
    said = [f"no sign of progress for {silent}"]
    said += [f'last output: "{line(printed, _SHOWN)}"'] if printed else ["no output"]
    said += [f"last started: {line(started.partition(LAST_STARTED)[2], _SHOWN)}"] if started else []
    return replace(found, summary="; ".join(said))
