"""What checks side by side add up to."""

from __future__ import annotations

import pytest

from medbay.core.workflow.records import RunPart
from medbay.core.workflow.verdict import add_up

SIX = ("lint", "syntax", "style", "security", "typecheck", "build")


def parts(*statuses: str, required: str = "security") -> list[RunPart]:
    """Six reviewers that ended like this."""
    made = zip(SIX, statuses, strict=True)
    return [RunPart(role=role, task_id=role, status=status, required=role == required) for role, status in made]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("statuses", "threshold", "verdict", "says"),
    [
        ("PASS PASS PASS PASS PASS PASS", 1.0, "PASS", "6 of 6"),
        ("PASS PASS PASS PASS PASS TIMEOUT", 1.0, "PASS", "timed out: build"),
        ("FAIL FAIL PASS PASS PASS PASS", 1.0, "FAIL", "failed: lint, syntax"),
        ("FAIL FAIL PASS PASS PASS PASS", 0.6, "PASS", "failed: lint, syntax"),
        ("PASS PASS PASS PASS PASS ERROR", 1.0, "ERROR", "build"),
        ("PASS PASS PASS TIMEOUT PASS PASS", 1.0, "ERROR", "required"),
        ("TIMEOUT TIMEOUT TIMEOUT PASS TIMEOUT PASS", 1.0, "ERROR", "only 2 of 6"),
        ("FAIL STOPPED STOPPED STOPPED STOPPED STOPPED", 1.0, "FAIL", "lint"),
        # Those that were stopped are outside of the share: half of the rest, or more, has to have answered.
        ("FAIL TIMEOUT STOPPED STOPPED STOPPED STOPPED", 1.0, "FAIL", "lint"),
        ("FAIL TIMEOUT TIMEOUT STOPPED STOPPED STOPPED", 1.0, "ERROR", "only 1 of 3"),
        ("TIMEOUT STOPPED STOPPED STOPPED STOPPED STOPPED", 1.0, "ERROR", "only 0 of 1"),
        ("ERROR STOPPED STOPPED STOPPED STOPPED STOPPED", 1.0, "ERROR", "lint"),
        ("PASS PASS FAIL STOPPED STOPPED STOPPED", 0.6, "PASS", "failed: style"),
    ],
)
def test_the_table(statuses: str, threshold: float, verdict: str, says: str) -> None:
    """Errors first, then too few answers, then too few passes."""
    found = add_up(parts(*statuses.split()), threshold)

    assert found.verdict == verdict
    assert says in f"{found.why} {found.warning}"


def test_without_any_answer_nothing_passes() -> None:
    """Six that timed out are an error."""
    assert add_up(parts(*["TIMEOUT"] * 6, required=""), 1.0).verdict == "ERROR"
