"""`medbay apply`: bring the store to what a file of jobs says. The file is under git; the store follows it."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any, Final

import click

from medbay.cli.files import text_of
from medbay.cli.output import fields, note, print_json, say, screen
from medbay.cli.session import Session, json_option, pass_session, refuse_inside_attempts
from medbay.config.jobs import JobTable, read_jobs
from medbay.core.jobs import FileJob, JobChange, JobFile
from medbay.core.schedule.crontab import shortened
from medbay.errors import MedbayError, UsageError
from medbay.views import job as job_view

_ORDER: Final = ("added", "changed", "unchanged", "cancelled", "refused")


@click.command(name="apply")
@click.argument("file", metavar="JOBS.toml")
@click.option("--prune", is_flag=True, help="Cancel what an earlier apply of this file added and is gone from it.")
@click.option("--dry-run", is_flag=True, help="Print the difference and change nothing.")
@json_option
@pass_session
def command(session: Session, /, file: str, prune: bool, dry_run: bool) -> int:
    """Add and change the jobs of a file, all or none: one table [jobs.NAME] each, with the names of `medbay add`.

    A second time changes nothing. A changed field is an edit, from the next attempt on; what cannot be
    edited is named. Jobs run in the directory of the file unless they say otherwise.

    \b
    Example:
      medbay apply jobs.toml --prune --dry-run
    """
    refuse_inside_attempts("medbay apply")
    name = "stdin" if file == "-" else file
    own_name, tables = read_jobs(text_of(file), name)
    folder = Path.cwd() if file == "-" else Path(os.path.abspath(file)).parent
    if file == "-" and not own_name:
        raise UsageError(
            "jobs from stdin need a name", hint='write name = "nightly" on top, so that they are known again'
        )
    bay = session.bay(create=True)
    label = own_name or _label(Path(os.path.abspath(file)), bay.place.folder.resolve().parent)
    prefix = f"apply:{shortened(label)}:"
    jobs = tuple(_job(each, prefix, folder) for each in tables)
    try:
        made = bay.apply_jobs(JobFile(jobs=jobs, prefix=prefix, cwd=str(folder)), prune=prune, dry_run=dry_run)
    except MedbayError as error:
        if error.line_number is not None:
            error.message = f"{name}:{error.line_number}: {error.message}"
            error.hint = error.hint or "nothing was changed"
        raise
    _report(session, made, name, dry_run=dry_run)
    return next((each.error.exit_code for each in made if each.error is not None), 0)


def _job(table: JobTable, prefix: str, folder: Path) -> FileJob:
    given: dict[str, Any] = dict(table.given)
    if isinstance(given.get("cwd"), str):
        given["cwd"] = os.path.normpath(folder / os.path.expanduser(given["cwd"]))
    return FileJob(name=table.name, key=prefix + table.name, given=given, line=table.line, lines=table.lines)


def _label(path: Path, home: Path) -> str:
    """How the file is known again: by its path in the project of the store, else by its whole path."""
    resolved = path.resolve()
    return str(resolved.relative_to(home) if resolved.is_relative_to(home) else resolved)


def _report(session: Session, made: list[JobChange], name: str, *, dry_run: bool) -> None:
    if session.json:
        print_json([job_view.as_json(each) for each in made])
        return
    terminal = screen().terminal
    for each in made:
        details = job_view.details(each)
        if not terminal:
            fields(job_view.word(each), each.name, each.task_id, details)
        elif each.action != "keep":
            say("  ".join(part for part in (job_view.mark(each), each.name, each.task_id, details) if part))
    counts = Counter(map(job_view.word, made))
    told = ", ".join(f"{counts[word]} {word}" for word in _ORDER if counts[word]) or "no jobs"
    note(f"{name}: {told}" + (" (dry run: nothing was changed)" if dry_run else ""))
