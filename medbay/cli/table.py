"""Aligned columns for a terminal: some are never cut, one takes what room is left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from medbay.cli.output import Screen
from medbay.views.text import cut, pad, width

_GAP = "  "


@dataclass(frozen=True, slots=True)
class Cell:
    """Clean text and the ANSI codes it is shown in; `bold` is how much of its beginning stands out."""

    text: str
    codes: str = ""
    bold: int = 0

    def shown(self, columns: int | None, screen: Screen) -> str:
        """Cut, filled up to so many columns (None: as long as it is), then coloured."""
        text = self.text if columns is None else cut(self.text, columns)
        blanks = "" if columns is None else " " * (columns - width(text))
        painted = screen.paint(screen.plain(text[: self.bold]), f"1;{self.codes}".rstrip(";"))
        return painted + screen.paint(screen.plain(text[self.bold :]), self.codes) + blanks


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """How a column behaves: never cut, or between a smallest and a largest width."""

    cut: bool = False
    least: int = 0
    most: int = 1_000
    gap: int = 2  # blanks after it


def widths(rows: Sequence[Sequence[Cell]], columns: Sequence[Column], room: int) -> list[int]:
    """How wide each column is, so that a line fits; columns that may be cut share what is left."""
    longest = [max((width(row[at].text) for row in rows), default=0) for at in range(len(columns))]
    wanted = [min(size, column.most) for size, column in zip(longest, columns, strict=True)]
    over = sum(wanted) + sum(column.gap for column in columns[:-1]) - room
    for at in sorted(range(len(columns)), key=lambda at: -wanted[at]):
        if over > 0 and columns[at].cut:
            given = min(over, max(0, wanted[at] - columns[at].least))
            wanted[at] -= given
            over -= given
    return wanted


def render(rows: Sequence[Sequence[Cell]], columns: Sequence[Column], screen: Screen, *, indent: int = 0) -> list[str]:
    """The lines of a table."""
    sizes = widths(rows, columns, screen.width - indent)
    lines = []
    for row in rows:
        cells = [
            cell.shown(size, screen) + " " * column.gap for cell, size, column in zip(row, sizes, columns, strict=True)
        ]
        lines.append((" " * indent + "".join(cells)).rstrip())
    return lines


def aligned(rows: Sequence[Sequence[str]], *, indent: int = 0) -> list[str]:
    """Columns of plain text, each as wide as its widest cell; the last one is free."""
    sizes = [max(width(row[at]) for row in rows) for at in range(len(rows[0]) - 1)] if rows else []
    return [
        " " * indent + _GAP.join([*(pad(cell, size) for cell, size in zip(row, sizes, strict=False)), row[-1]]).rstrip()
        for row in rows
    ]
