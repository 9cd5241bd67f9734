"""`medbay doctor`: checks the store and this machine, and says how to fix what is wrong."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, Final

import click

from medbay.cli import glyphs
from medbay.cli.glyphs import Token
from medbay.cli.output import Screen, fields, print_json, say, screen
from medbay.cli.session import Session, json_option, pass_session
from medbay.cli.text import clean, cut
from medbay.errors import MedbayError

if TYPE_CHECKING:
    from medbay.cli.checks import DoctorLine, Mark

_SHOWN: Final[dict[str, tuple[str, Token]]] = {
    "fine": (glyphs.DONE, "done"),
    "warning": (glyphs.YOU, "wait"),
    "failed": (glyphs.FAILED, "fail"),
}


@click.command()
@json_option
@pass_session
def command(session: Session) -> int:
    """Check the store, its engines and this machine; exit 1 if something is wrong.

    \b
    Example:
      medbay doctor
    """
    made = _looked_at(session)
    counts = Counter(each.mark for each in made)
    if session.json:
        rows = [{"mark": each.mark, "name": each.name, "said": each.said, "fix": each.fix or None} for each in made]
        print_json({"checks": rows, "failed": counts["failed"], "warnings": counts["warning"], "fine": counts["fine"]})
        return 1 if counts["failed"] else 0
    shown = screen()
    for each in made:
        if shown.terminal:
            for line in _lines(each, shown):
                say(line)
        else:
            fields(each.mark, each.name, each.said, each.fix and f"fix: {each.fix}")
    if shown.terminal:
        say(_summary(counts))
    return 1 if counts["failed"] else 0


def _looked_at(session: Session) -> list[DoctorLine]:
    from medbay.cli import checks
    from medbay.env import SystemClock

    made: list[DoctorLine] = []
    try:
        bay = session.bay()
    except MedbayError as error:
        made.append(checks.DoctorLine("failed", "store", error.message, error.hint))
    else:
        made += checks.of_store(bay, SystemClock().now_ms())
    return [*made, *checks.of_machine(os.environ)]


def _lines(each: DoctorLine, shown: Screen) -> list[str]:
    glyph, token = _SHOWN[each.mark]
    head = shown.token(shown.plain(glyph), token)
    lines = [f"{head} {each.name}: {cut(clean(each.said), shown.width - len(each.name) - 4)}"]
    if each.fix:
        lines.append(f"    fix: {cut(clean(each.fix), shown.width - 9)}")
    return [shown.plain(line) for line in lines]


def _summary(counts: Counter[Mark]) -> str:
    warnings = "1 warning" if counts["warning"] == 1 else f"{counts['warning']} warnings"
    return f"{counts['failed']} failed, {warnings}, {counts['fine']} fine"
