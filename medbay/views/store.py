"""What a check of the whole store found, and what the doctor found: words and JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from medbay.core.snapshot import StoreReport
from medbay.views import glyphs
from medbay.views.glyphs import Token

Mark = Literal["fine", "warning", "failed"]

LOOKS: Final[Mapping[Mark, tuple[str, Token]]] = {
    "fine": (glyphs.DONE, "done"),
    "warning": (glyphs.YOU, "wait"),
    "failed": (glyphs.FAILED, "fail"),
}


@dataclass(frozen=True, slots=True)
class DoctorLine:
    """One line of the doctor's report."""

    mark: Mark
    name: str
    said: str
    fix: str = ""


def as_json(report: StoreReport) -> dict[str, Any]:
    """Return what a check of the store found as data."""
    return {
        "sound": report.sound,
        "store": report.kind,
        "damage": list(report.damage),
        "standstills": [{"task": task, "why": why} for task, why in report.standstills],
        "contradictions": [{"task": task, "why": why} for task, why in report.contradictions],
        "tasks": report.tasks,
        "rows": report.rows,
    }


def doctor_as_json(lines: Iterable[DoctorLine], counts: Counter[Mark]) -> dict[str, Any]:
    """Return the doctor's report as data."""
    rows = [{"mark": each.mark, "name": each.name, "said": each.said, "fix": each.fix or None} for each in lines]
    return {"checks": rows, "failed": counts["failed"], "warnings": counts["warning"], "fine": counts["fine"]}


def doctor_summary(counts: Counter[Mark]) -> str:
    """Return the last line of the doctor's report."""
    warnings = "1 warning" if counts["warning"] == 1 else f"{counts['warning']} warnings"
    return f"{counts['failed']} failed, {warnings}, {counts['fine']} fine"


def copied(rows: Mapping[str, int]) -> str:
    """Return what a copy holds in a person's words: `3 tasks, 7 attempts, 1 question`."""
    named = [(rows.get(table, 0), table) for table in ("task", "attempt", "question")]
    return ", ".join(f"{number} {name}{'' if number == 1 else 's'}" for number, name in named)


def size(count: int) -> str:
    """Return a number of bytes as people write it: `4.1 MB`."""
    left = float(count)
    for unit in ("bytes", "kB", "MB", "GB"):
        if left < 1000:
            return f"{left:.0f} {unit}" if unit == "bytes" else f"{left:.1f} {unit}"
        left /= 1000
    return f"{left:.1f} TB"
