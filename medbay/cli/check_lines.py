"""The checks of an attempt, one line each: for `show`, and for programs that read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from medbay.cli.output import Screen, fields
from medbay.cli.table import Cell, Column, render
from medbay.core.attempt import rescue
from medbay.core.durations import format_duration
from medbay.core.model import CheckResult, CheckStatus
from medbay.views import glyphs
from medbay.views.glyphs import Token
from medbay.views.text import clean

_LOOKS: Final[Mapping[CheckStatus, tuple[str, Token]]] = {
    "WAITING": (glyphs.READY, "idle"),
    "RUNNING": (glyphs.VERIFYING, "run"),
    "PASS": (glyphs.DONE, "done"),
    "FAIL": (glyphs.FAILED, "fail"),
    "ERROR": (glyphs.FAILED, "fail"),
    "TIMEOUT": (glyphs.WAITING, "fail"),
    "STOPPED": (glyphs.CANCELLED, "idle"),
}


def check_lines(checks: Sequence[CheckResult], now: int, shown: Screen) -> list[str]:
    """Below the line of their attempt."""
    rows = []
    for each in _numbered(checks):
        glyph, token = _LOOKS[each.status]
        rows.append(
            [
                Cell(f"check {each.position}"),
                Cell(glyph, glyphs.COLOURS[token]),
                Cell(each.status + (" required" if each.required else "")),
                Cell(_how(each)),
                Cell(lasted(each, now)),
                Cell(clean(_line(each))),
            ]
        )
    kept = Column()
    return render(rows, [Column(gap=1), Column(gap=1), kept, kept, kept, Column(cut=True, least=10)], shown, indent=5)


def tell_programs(checks: Sequence[CheckResult], now: int) -> None:
    """Attempt, position, status, how it ended, how long it took, command."""
    for each in _numbered(checks):
        fields("check", each.number, each.position, each.status, _how(each), lasted(each, now), _line(each))


def _numbered(checks: Sequence[CheckResult]) -> list[CheckResult]:
    """The checks of the task; what evaluates a failed attempt is told in its own words."""
    return [each for each in checks if each.position != rescue.POSITION]


def _line(each: CheckResult) -> str:
    return each.command if isinstance(each.command, str) else " ".join(each.command)


def _how(each: CheckResult) -> str:
    if each.signal is not None:
        return f"signal {each.signal}"
    return "" if each.exit_code is None else f"exit {each.exit_code}"


def lasted(each: CheckResult, now: int) -> str:
    """How long it took, or has taken so far."""
    if each.started_at is None or (each.ended_at is None and each.status != "RUNNING"):
        return ""
    return format_duration(max(0, (each.ended_at or now) - each.started_at))
