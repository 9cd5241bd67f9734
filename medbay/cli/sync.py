"""`medbay sync`: trackers and the store told of each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from medbay.cli.output import fields, note, print_json, say, screen
from medbay.cli.session import Session, json_option, pass_session, refuse_inside_attempts
from medbay.cli.table import Cell, Column, render
from medbay.errors import UsageError
from medbay.views.text import clean

if TYPE_CHECKING:
    from medbay.areas.tracker_sync import SyncReport

_COLUMNS: Final = (Column(), Column(), Column(), Column(cut=True, least=10))


@click.command()
@click.option("--source", metavar="NAME", help="One tracker only: beads, or a name of [trackers.NAME].")
@click.option("--dry-run", is_flag=True, help="Say what would be imported, closed and written, and change nothing.")
@json_option
@pass_session
def command(session: Session, /, source: str | None, dry_run: bool) -> int:
    """Tell trackers and the store of each other: import, cancel, close, write.

    Open issues with the tag of a workflow become tasks. Tasks whose issue a person closed are cancelled. What became of
    tasks is written into their issues, and what succeeded is closed. Nothing is run here: `medbay up` does.

    \b
    Examples:
      medbay sync --dry-run
      medbay sync --source work
    """
    from medbay.areas.tracker_sync import sync_source

    refuse_inside_attempts("medbay sync")
    bay = session.bay()
    names = (source,) if source is not None else bay.trackers.sources
    if not names:
        raise UsageError("no tracker is configured", hint="[trackers.NAME] or [beads] of medbay.toml makes one")
    for name in names:
        bay.trackers.settings(name)
    reports = [sync_source(bay, name, dry_run=dry_run) for name in names]
    if session.json:
        print_json({"dry_run": dry_run, "sources": [each.as_data() for each in reports]})
    else:
        _print(reports, dry_run=dry_run)
    for each in reports:
        for error in (*filter(None, (each.broken,)), *each.errors):
            note(clean(error))
    return 1 if any(each.broken or each.errors for each in reports) else 0


def _print(reports: list[SyncReport], *, dry_run: bool) -> None:
    shown = screen()
    rows = [(report.source, step.does, step.issue_id, step.detail) for report in reports for step in report.steps]
    if shown.terminal:
        for line in render([[Cell(clean(word)) for word in row] for row in rows], _COLUMNS, shown):
            say(line)
    for row in () if shown.terminal else rows:
        fields(*row)
    for report in reports:
        if report.broken:
            continue
        counts = ", ".join(f"{number} to {does}" for does, number in report.counts().items() if number)
        done = ", ".join(f"{number} {_DONE[does]}" for does, number in report.counts().items() if number)
        told = (counts if dry_run else done) or "nothing to do"
        note(clean(f"{report.source}: {report.issues_found} open issues; {told}"))
        if report.left_out:
            note(clean(report.left_out))


_DONE: Final = {
    "import": "imported",
    "release": "released",
    "cancel": "cancelled",
    "close": "closed",
    "write": "written",
    "pause": "paused",
}
