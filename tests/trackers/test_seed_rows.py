"""Every numbered row that triage of issues comes from is shown by a test that there is, or names its departure."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from tests.trackers.seed_rows import ROWS, TIDY_UP

ROOT = Path(__file__).parents[2]
LAST_TASK, LAST_ROW = 16, 13


@cache
def functions(file: str) -> dict[str, str]:
    """The tests of a file, with their text."""
    text = (ROOT / file).read_text(encoding="utf-8")
    found = [each for each in ast.parse(text).body if isinstance(each, ast.FunctionDef)]
    lines = text.splitlines()
    return {
        each.name: "\n".join(
            lines[min([each.lineno, *(it.lineno for it in each.decorator_list)]) - 1 : each.end_lineno]
        )
        for each in found
    }


@pytest.mark.parametrize("number", ROWS)
def test_a_row_is_shown_by_a_test_that_there_is(number: str) -> None:
    """With its number in the name or the cases of the test where the rows of one function are a table."""
    shown = ROWS[number]

    assert shown.test in functions(shown.file), number
    if number.startswith(("2.", "3.")) and not shown.departure:
        assert f'"{number}"' in functions(shown.file)[shown.test]


def test_no_row_is_left_out() -> None:
    """Each row that asks for a test is there; the one behind it is shown by the same, the last one by the house."""
    last = {**TIDY_UP, LAST_TASK: LAST_ROW + 2}
    wanted = {f"{task}.{number}" for task, end in last.items() for number in range(1, end - 1, 2)}

    assert {each for each in ROWS if not each.startswith("review")} == wanted
    assert [each for each in ROWS if each.startswith("review")] == [f"review {number}" for number in range(1, 5)]
