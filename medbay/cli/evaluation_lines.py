"""What an evaluator said of the work of a failed attempt: its score, the score that rescues, and why. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from medbay.cli.check_lines import lasted
from medbay.cli.output import Screen, fields
from medbay.cli.table import Cell, Column, render
from medbay.core.attempt import rescue
from medbay.core.attempt.checks import shown as command_line
from medbay.core.attempt.rescue import Evaluation
from medbay.core.model import Attempt, CheckResult
from medbay.views import glyphs
from medbay.views.glyphs import Token
from medbay.views.text import clean

_COLUMNS: Final = (Column(gap=1), Column(gap=1), Column(), Column(), Column(cut=True, least=10))


def of(checks: Sequence[CheckResult]) -> CheckResult | None:
    """The evaluation among what looked at an attempt."""
    return next((each for each in checks if each.position == rescue.POSITION), None)


def lines(attempt: Attempt, checks: Sequence[CheckResult], threshold: float, now: int, screen: Screen) -> list[str]:
    """Below the line of its attempt: `evaluation ✗ 0.40, 0.8 rescues  12ms  half of the rows are missing`."""
    found = of(checks)
    if found is None:
        return []
    glyph, token, words, why = _said(attempt, found, threshold)
    row = [
        Cell("evaluation"),
        Cell(glyph, glyphs.COLOURS[token]),
        Cell(words),
        Cell(lasted(found, now)),
        Cell(clean(why)),
    ]
    return render([row], _COLUMNS, screen, indent=5)


def tell_programs(attempt: Attempt, checks: Sequence[CheckResult], threshold: float, now: int) -> None:
    """Attempt, what it came to, how long it took, why."""
    found = of(checks)
    if found is not None:
        _, _, words, why = _said(attempt, found, threshold)
        fields("evaluation", attempt.number, words, lasted(found, now), why)


def sentence(attempt: Attempt, found: CheckResult, threshold: float) -> str:
    """The same for `explain`."""
    _, _, words, why = _said(attempt, found, threshold)
    return f"the evaluation of attempt {attempt.number}: {words}; {why}".rstrip("; ")


def _said(attempt: Attempt, found: CheckResult, threshold: float) -> tuple[str, Token, str, str]:
    """Glyph, token, what it came to, and why."""
    if found.status in ("WAITING", "RUNNING") and attempt.outcome is None:
        return glyphs.VERIFYING, "run", "under way", command_line(found.command)
    said = rescue.score(Evaluation(results=(found,), threshold=threshold))
    if attempt.outcome == "rescued":
        return glyphs.DONE, "done", f"{said.value or 0:.2f}, rescued", said.why
    if said.value is None:
        return glyphs.FAILED, "fail", "no score, not rescued", said.why
    if said.value < threshold:
        return glyphs.FAILED, "fail", f"{said.value:.2f}, below the {threshold:g} that rescues", said.why
    return glyphs.FAILED, "fail", f"{said.value:.2f}, not rescued", said.why  # the threshold was another one then
