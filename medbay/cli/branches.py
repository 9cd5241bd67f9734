"""`medbay diff`, `merge`, `revert`, `bisect`, `worktrees`: the work of agents in git."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from medbay.cli.completion import task_ids
from medbay.cli.output import DIM, fields, note, print_json, say, screen
from medbay.cli.session import Session, json_option, pass_session, refuse_inside_attempts
from medbay.cli.table import Cell, Column, render
from medbay.views import branch as view
from medbay.views.text import clean, clean_lines

if TYPE_CHECKING:
    from medbay.core.workspace import StandingTree

_CUT: Final = Column(cut=True, least=20)
_COLUMNS: Final = (Column(), Column(), Column(), _CUT)


@click.command()
@click.argument("task_id", metavar="ID", shell_complete=task_ids)
@click.option("--stat", is_flag=True, help="Only which files, and how much.")
@click.option("--attempt", type=click.IntRange(1), metavar="N", help="What this attempt had left, failed or not.")
@json_option
@pass_session
def diff(session: Session, task_id: str, stat: bool, attempt: int | None) -> None:
    """Show what a task or a story changed against where it began.

    \b
    Examples:
      medbay diff k7f2
      medbay diff k7f2 --attempt 1 --stat
    """
    branches = session.bay().branches
    found = branches.diff(task_id, stat=stat, attempt=attempt)
    if session.json:
        print_json({"branch": branches.name_of(task_id), "attempt": attempt, "diff": found})
        return
    for line in clean_lines(found):
        say(line)


@click.command()
@click.argument("task_id", metavar="ID", shell_complete=task_ids)
@click.option("--unfinished", is_flag=True, help="Also of a task that is not completed.")
@json_option
@pass_session
def merge(session: Session, task_id: str, unfinished: bool) -> int:
    """Merge the branch of a task into the one it began on.

    Exit 1 and the conflict where git cannot; 4 where changes of yours in the main tree are in the way.

    \b
    Example:
      medbay merge k7f2
    """
    refuse_inside_attempts("medbay merge")
    landed = session.bay().branches.merge(task_id, unfinished=unfinished)
    if session.json:
        print_json(view.landed_as_json(landed))
    else:
        for line in clean_lines(landed.words):
            say(line)
    return {"conflict": 1, "kept": 4}.get(landed.how, 0)


@click.command()
@click.argument("task_id", metavar="ID", shell_complete=task_ids)
@json_option
@pass_session
def revert(session: Session, task_id: str) -> None:
    """Prepare the revert of a merged task on a branch, and ask in the inbox whether it is to be merged.

    \b
    Example:
      medbay revert k7f2
    """
    refuse_inside_attempts("medbay revert")
    branch, stat, asked = session.bay().branches.revert(task_id)
    if session.json:
        print_json({"branch": branch, "diff_stat": stat, "task": asked.id})
        return
    say(branch)
    for line in clean_lines(stat):
        say(line)
    note(f"git merge {branch} does it; medbay answer {asked.id} done says that it was decided")


@click.command()
@click.argument("task_id", metavar="ID", shell_complete=task_ids)
@click.option("--good", default="", metavar="COMMIT", help="One on which it passes. Default: where it was merged.")
@click.option("--bad", default="HEAD", show_default=True, metavar="COMMIT", help="One on which it fails.")
@click.option("--check", type=click.IntRange(1), default=1, show_default=True, metavar="N", help="Which check of it.")
@json_option
@pass_session
def bisect(session: Session, task_id: str, good: str, bad: str, check: int) -> None:
    """Find the first commit on which a check of a task fails, in a worktree of its own, and record it on the task.

    \b
    Example:
      medbay bisect k7f2 --good v1.2
    """
    refuse_inside_attempts("medbay bisect")
    commit, words = session.bay().branches.bisect(task_id, good=good, bad=bad, check=check, note=note)
    if session.json:
        print_json({"commit": commit, "summary": words})
    else:
        say(clean(words))


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--clean", "remove", is_flag=True, help="Remove those named, or those not used for --older-than.")
@click.option("--older-than", metavar="D", help="Default: [git] keep, 7d.")
@click.option("--dry-run", is_flag=True, help="Only say what would be removed.")
@json_option
@pass_session
def worktrees(session: Session, names: tuple[str, ...], remove: bool, older_than: str | None, dry_run: bool) -> None:
    """List the worktrees of agents and stories on this machine, or remove old ones; branches and refs stay.

    What lies in one is committed on its branch first, and the next attempt of its task makes it again.

    \b
    Examples:
      medbay worktrees
      medbay worktrees --clean --older-than 2d
    """
    from medbay.core.durations import parse_duration
    from medbay.env import SystemClock

    bay, now = session.bay(), SystemClock().now_ms()
    if remove:
        refuse_inside_attempts("medbay worktrees --clean")
        keep_ms = parse_duration(older_than) if older_than else bay.place.config.git.keep_ms
        found = bay.branches.clear(names, before_ms=now - keep_ms, dry_run=dry_run)
    else:
        found = bay.branches.worktrees(names)
    if session.json:
        print_json([view.tree_as_json(each) for each in found])
        return
    shown = screen()
    for each in () if shown.terminal else found:
        fields(each.name, view.state(each), view.used(each), each.repository, each.path)
    for line in render([_row(each, now) for each in found], _COLUMNS, shown) if shown.terminal else ():
        say(line)
    if not found:
        note("no worktree to remove" if remove else "no worktrees of agents on this machine")


def _row(each: StandingTree, now: int) -> list[Cell]:
    return [Cell(each.name), Cell(view.state(each)), Cell(view.age(each, now), DIM), Cell(clean(each.path))]
