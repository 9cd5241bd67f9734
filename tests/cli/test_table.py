"""Columns on a terminal."""

from __future__ import annotations

import pytest

from medbay.cli.output import COLOURS, Screen
from medbay.cli.table import Cell, Column, aligned, render
from medbay.core.outcome import OUTCOME_WORDS
from medbay.views import glyphs
from medbay.views.text import width

KEPT, CUT = Column(), Column(cut=True, least=5)


def screen(columns: int, *, unicode: bool = True, colour: bool = False) -> Screen:
    """A terminal of this width."""
    return Screen(terminal=True, width=columns, colour=colour, unicode=unicode)


@pytest.mark.parametrize("columns", [40, 60, 100, 200])
def test_what_may_not_be_cut_is_not_cut(columns: int) -> None:
    """Ids and statuses are whole at every width, and no line is longer than the terminal."""
    rows = [[Cell("k7f2"), Cell("failed · retry in 41s"), Cell("long title " * 30)]]

    (line,) = render(rows, [KEPT, KEPT, CUT], screen(columns))

    assert line.startswith("k7f2  failed · retry in 41s  long")
    assert width(line) <= columns


def test_colours_do_not_count_as_columns() -> None:
    """Painted cells stay aligned."""
    rows = [[Cell("a", "31"), Cell("x")], [Cell("bbb", "32", bold=1), Cell("y")]]

    first, second = render(rows, [KEPT, KEPT], screen(80, colour=True))

    assert first == "\x1b[31ma\x1b[0m    x"
    assert second == "\x1b[1;32mb\x1b[0m\x1b[32mbb\x1b[0m  y"


@pytest.mark.parametrize("outcome", [None, *OUTCOME_WORDS])
def test_every_outcome_has_a_colour_and_an_ascii_form(outcome: str | None) -> None:
    """No glyph is lost on a terminal that has plain letters only."""
    glyph, token = glyphs.of_outcome(outcome)

    assert token in COLOURS
    assert screen(80, unicode=False).plain(glyph).isascii()


def test_glyphs_become_ascii_where_the_terminal_has_no_others() -> None:
    """A terminal without UTF-8 gets one letter for each glyph."""
    (line,) = render([[Cell("◷"), Cell("failed · due")]], [KEPT, KEPT], screen(80, unicode=False))

    assert line == "~  failed - due"


def test_plain_rows_are_aligned_and_the_last_column_is_free() -> None:
    """Nothing is padded at the end of a line."""
    assert aligned([("a", "b", "c"), ("long", "x", "end")], indent=1) == [" a     b  c", " long  x  end"]
    assert aligned([]) == []
