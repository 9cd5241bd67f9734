"""Lists that are read page by page: their two options, and what is said of the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from medbay.cli.output import note

if TYPE_CHECKING:
    from medbay.areas.intake import RecordPage

F = TypeVar("F", bound=Callable[..., Any])
LIMIT: Final = 1_000


def paged(function: F) -> F:
    """Give a list `--limit` and `--after`."""
    function = click.option("--after", default="", metavar="ID", help="Only those behind this one.")(function)
    many = click.IntRange(1, 10_000)
    return click.option("--limit", type=many, default=LIMIT, show_default=True, metavar="N", help="At most.")(function)


def note_rest(page: RecordPage[Any], *, after: str) -> None:
    """Say on stderr what a page leaves out, and how to read on."""
    if page.next is not None:
        behind = f" behind {after}" if after else ""
        note(f"{len(page.rows)} of {page.total} shown{behind}; --after {page.next} shows the next")
