"""The page of failure categories says what the code does."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from medbay.core.diagnosis import CATEGORIES, diagnose
from medbay.core.diagnosis.consequences import CONSEQUENCES
from medbay.core.durations import format_duration
from medbay.core.policy.presets import LADDER

PAGE = (Path(__file__).parents[3] / "docs" / "explanation" / "diagnosis.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `([a-z_/]+)` \| (.+?) \| (.+) \|$", PAGE, re.MULTILINE)
EXAMPLES = [(kind, example[1:-1]) for kind, example, _ in ROWS if re.fullmatch(r"`[^`]+`", example)]


def test_every_kind_stands_in_the_page() -> None:
    """With an example and what follows; a category without kinds of its own stands for itself."""
    assert set(CONSEQUENCES) - set(CATEGORIES) <= {kind for kind, _, _ in ROWS}
    assert len(EXAMPLES) > 30


@pytest.mark.parametrize(("kind", "example"), EXAMPLES)
def test_every_example_is_diagnosed_as_the_page_says(kind: str, example: str) -> None:
    """As the last line of a command that failed."""
    assert diagnose(example, now=datetime(2026, 11, 18, tzinfo=UTC), exit_code=1).kind == kind


@pytest.mark.parametrize("kind", [kind for kind, row in CONSEQUENCES.items() if not row.retryable])
def test_what_cannot_be_retried_is_a_persons(kind: str) -> None:
    """The page says who acts."""
    assert any(then.startswith("a person ") for name, _, then in ROWS if name == kind)


@pytest.mark.parametrize("category", sorted(LADDER))
def test_the_waits_are_those_of_the_shipped_policy(category: str) -> None:
    """In the heading of each category."""
    heading = next(line for line in PAGE.splitlines() if line.lower().startswith(f"## {category.replace('_', ' ')}"))
    waits = [format_duration(wait) for wait in LADDER[category].delays_ms]

    assert re.findall(r"[0-9]+[smh]", heading) == ["60m" if wait == "1h" else wait for wait in waits]
