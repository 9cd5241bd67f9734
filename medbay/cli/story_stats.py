"""`medbay story stats`: how long phases take, what they cost, how often gates pass, what was learned."""

from __future__ import annotations

import click

from medbay.cli.output import BOLD, fields, print_json, say, screen
from medbay.cli.session import Session, json_option, pass_session
from medbay.cli.table import Cell, Column, render
from medbay.core.durations import parse_duration
from medbay.views import moments
from medbay.views.board import tokens
from medbay.views.text import clean

_COLUMNS = (Column(cut=True, least=10), Column(), Column(), Column(), Column(), Column())
_HEAD = ("phase", "runs", "passed", "half within", "longest", "tokens")


@click.command("stats")
@click.option("--since", default="30d", show_default=True, metavar="TIME", help="How far back: 7d, 30d.")
@json_option
@pass_session
def stats(session: Session, since: str) -> None:
    """Print figures over stories: cycle time per phase, tokens, how often gates pass, review rounds, learnings.

    \b
    Example:
      medbay story stats --since 30d
    """
    said, found = session.bay().board.figures(parse_duration(since))
    if session.json:
        print_json(found)
        return
    shown = screen()
    if not shown.terminal:
        for each in found["phases"]:
            fields(*(each[name] for name in ("phase", "runs", "passed", "median_s", "longest_s", "tokens")))
        return
    for line in said:
        say(line)
    rows = [tuple(Cell(each, BOLD) for each in _HEAD)]
    for each in found["phases"]:
        times = (moments.short(round(each[name] * 1000)) for name in ("median_s", "longest_s"))
        cells = (each["phase"], str(each["runs"]), str(each["passed"]), *times, tokens(each["tokens"]))
        rows.append(tuple(map(Cell, cells)))
    for line in render(rows, _COLUMNS, shown) if found["phases"] else ():
        say(line)
    for each in found["learnings"]:
        say(shown.plain(f"learned, {each['role']} ({each['count']}): {clean(each['text'])}"))
