"""`medbay report`: the night in two minutes, for the terminal, as a page, or as data."""

from __future__ import annotations

from pathlib import Path

import click

from medbay.cli.output import note, print_json, say, screen
from medbay.cli.session import Session, json_option, pass_session
from medbay.core.durations import parse_duration
from medbay.errors import UsageError
from medbay.views import report as view


@click.command()
@click.option("--since", default="24h", show_default=True, metavar="TIME", help="How far back: 24h, 7d.")
@click.option("--html", "file", type=click.Path(path_type=Path), metavar="FILE", help="Write it as one HTML file.")
@json_option
@pass_session
def command(session: Session, since: str, file: Path | None) -> None:
    """Say what to do first, what healed without anyone, what it cost, what got worse and what comes next.

    \b
    Example:
      medbay report --since 24h --html night.html
    """
    since_ms, bay = parse_duration(since), session.bay()
    found, now = bay.statistics.report(since_ms), bay.now()
    if file is not None:
        try:
            file.write_text(view.page(found, since=now - since_ms, now=now), encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{file} cannot be written: {error.strerror}", hint="name another file") from None
        note(f"{file} is written")
    if session.json:
        print_json(found)
    elif file is None:
        shown = screen()
        for line in view.lines(found, since=now - since_ms, now=now, width=shown.width if shown.terminal else None):
            say(shown.plain(line))
