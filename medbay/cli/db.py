"""`medbay db`: the store itself. Migrate, check, back up, archive, copy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import click

from medbay.cli.output import fields, note, print_json, say, screen
from medbay.cli.session import Session, json_option, pass_session, refuse_inside_attempts
from medbay.config.kinds import without_password
from medbay.views import store as view
from medbay.views.text import clean, wrap

_NAMED: Final = 20


@click.group(name="db")
def command() -> None:
    """Look after the store itself.

    \b
    Examples:
      medbay db check
      medbay db backup /backups/medbay.db
      medbay db archive --older-than 30d --dry-run
    """
    refuse_inside_attempts("medbay db")


@command.command()
@json_option
@pass_session
def migrate(session: Session) -> None:
    """Bring the store to the schema of this version; opening it does the same."""
    bay = session.bay()
    done, schema = list(bay.store.migrated), bay.schema()
    if session.json:
        print_json({"applied": done, "schema": schema})
        return
    for name in done:
        say(f"applied {name}")
    say(f"schema {schema}" + ("" if done else ", nothing to do"))


@command.command()
@json_option
@pass_session
def check(session: Session) -> int:
    """Check files, standstills and contradictions; count what there is. Exit 1 if anything is wrong."""
    report = session.bay().check()
    if session.json:
        print_json(view.as_json(report))
        return 0 if report.sound else 1
    shown = screen()
    _say_checked(f"the files of the {report.kind} store", report.damage)
    _say_checked("no task stands still in silence", [f"{task}: {why}" for task, why in report.standstills])
    _say_checked("history gives the status of every task", [f"{task}: {why}" for task, why in report.contradictions])
    text = ", ".join(f"{number} {status}" for status, number in report.tasks.items()) or "no tasks"
    say(shown.plain(f"  {text}"))
    counted = ", ".join(f"{table} {number}" for table, number in report.rows.items())
    for line in wrap(counted, shown.width - 2) if shown.terminal else (counted,):
        say(f"  {line}")
    if not report.sound:
        note("medbay explain ID says more about a task; a damaged file is replaced by a backup")
    return 0 if report.sound else 1


@command.command()
@click.argument("file", type=click.Path(dir_okay=False))
@json_option
@pass_session
def backup(session: Session, file: str) -> None:
    """Write a consistent copy to FILE while everything goes on; an existing file is never overwritten."""
    path = session.bay().backup(file)
    size = path.stat().st_size
    if session.json:
        print_json({"file": str(path), "bytes": size})
        return
    say(clean(str(path)))
    note(clean(f"{view.size(size)}, readable by you only; --store sqlite:///{path} uses it"))


@command.command()
@click.option("--older-than", default="30d", show_default=True, metavar="D", help="What ended longer ago than this.")
@click.option("--dry-run", is_flag=True, help="Only say what would be moved.")
@json_option
@pass_session
def archive(session: Session, older_than: str, dry_run: bool) -> None:
    """Move history, events, outputs and retries of what ended long ago into a file under .medbay/archive/."""
    from medbay.core.durations import parse_duration

    moved, path = session.bay().archive(parse_duration(older_than), dry_run=dry_run)
    total = sum(moved.values())
    file = str(path) if total and not dry_run else None
    if session.json:
        print_json({"dry_run": dry_run, "rows": moved, "file": file})
        return
    for table, number in moved.items():
        fields(table, number)
    if not total:
        note(f"nothing ended more than {older_than} ago that is not archived already")
    elif dry_run:
        note(f"would move {total} rows")
    else:
        note(clean(f"moved {total} rows to {path}"))


@command.command()
@click.option("--to", "url", required=True, metavar="URL", help="The other store: it has to be empty.")
@json_option
@pass_session
def copy(session: Session, url: str) -> None:
    """Copy everything into another, empty store, in one transaction, and count it on both sides."""
    counted = session.bay().copy_to(url)
    if session.json:
        print_json({"to": without_password(url), "rows": counted})
        return
    total = sum(counted.values())
    if screen().terminal:
        say(f"copied {view.copied(counted)}; the number of rows is the same on both sides ({total})")
    else:
        for table, number in counted.items():
            fields(table, number)
    note(clean(f"to use it: --store {without_password(url)}, or MEDBAY_STORE in the environment"))


def _say_checked(what: str, wrong: Sequence[str]) -> None:
    shown = screen()
    if not wrong:
        say(shown.token(shown.plain(f"✓ {what}"), "done"))
    for line in wrong[:_NAMED]:
        say(shown.token(shown.plain(f"✗ {line}"), "fail"))
    if len(wrong) > _NAMED:
        say(f"  and {len(wrong) - _NAMED} more")
