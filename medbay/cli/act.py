"""What a person does to tasks: pause, resume, cancel, retry, unblock, block. One line per task."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from medbay.cli import complaint
from medbay.cli.bulk import many
from medbay.cli.completing import task_ids
from medbay.cli.filters import filter_options
from medbay.cli.output import fields, print_json, say, screen
from medbay.cli.session import Session, json_option, pass_session, refuse_inside_attempts
from medbay.errors import MedbayError, UsageError

if TYPE_CHECKING:
    from medbay.bay import Bay
    from medbay.core.model import Task


def _ids(command: Callable[..., Any]) -> Callable[..., Any]:
    """The tasks themselves, or options that choose them."""
    command = click.option("--dry-run", is_flag=True, help="Only say what would be done.")(command)
    return click.argument("ids", nargs=-1, metavar="[ID...]", shell_complete=task_ids)(filter_options(command))


_attempts = click.option(
    "--attempts", type=click.IntRange(1, 1000), default=2, show_default=True, metavar="N", help="Attempts granted."
)


@click.command()
@_ids
@json_option
@pass_session
def pause(session: Session, /, ids: tuple[str, ...], **chosen: Any) -> int:
    """Keep tasks from starting until they are resumed; a running attempt ends by itself.

    \b
    Examples:
      medbay pause k7f2 m2xa
      medbay pause --tag nightly
    """
    if many(session, "pause", ids, chosen):
        return 0
    return _each(session, ids, "pause", lambda bay, task_id: bay.pause(task_id), _paused)


@click.command()
@_ids
@json_option
@pass_session
def resume(session: Session, /, ids: tuple[str, ...], **chosen: Any) -> int:
    """Let paused tasks go on, with every counter they had.

    \b
    Examples:
      medbay resume k7f2
      medbay resume --queue gpu
    """
    if many(session, "resume", ids, chosen):
        return 0
    paused: set[str] = set()

    def act(bay: Bay, given: str) -> Task:
        before = bay.get(given)
        paused.update([before.id] if before.paused else ())
        return bay.resume(given)

    return _each(session, ids, "resume", act, lambda task: _resumed(session.bay(), task, was_paused=task.id in paused))


@click.command()
@_ids
@click.option("--yes", is_flag=True, help="Cancel more than 20 that match without being asked.")
@json_option
@pass_session
def cancel(session: Session, /, ids: tuple[str, ...], **chosen: Any) -> int:
    """End tasks for good; a running attempt is asked to stop first.

    \b
    Examples:
      medbay cancel k7f2
      medbay cancel --tag old --dry-run
    """
    if many(session, "cancel", ids, chosen):
        return 0
    return _each(session, ids, "cancel", lambda bay, task_id: bay.cancel(task_id), _cancelled)


@click.command()
@_ids
@_attempts
@json_option
@pass_session
def retry(session: Session, /, ids: tuple[str, ...], attempts: int, **chosen: Any) -> int:
    """Try tasks once more, now: waiting times and holds are passed over for one attempt.

    \b
    Examples:
      medbay retry k7f2
      medbay retry --status failed --category transient
    """
    if many(session, "retry", ids, chosen, attempts):
        return 0
    told = f"is tried again now, {_granted(attempts)}"
    return _each(session, ids, "retry", lambda bay, task_id: bay.retry(task_id, attempts=attempts), lambda task: told)


@click.command()
@_ids
@_attempts
@json_option
@pass_session
def unblock(session: Session, /, ids: tuple[str, ...], attempts: int, **chosen: Any) -> int:
    """Release blocked tasks; their streak stays, more attempts are granted.

    \b
    Examples:
      medbay unblock k7f2 --attempts 3
      medbay unblock --status blocked --tag nightly
    """
    if many(session, "unblock", ids, chosen, attempts):
        return 0
    told = f"is released, {_granted(attempts)}"
    act = lambda bay, task_id: bay.unblock(task_id, attempts=attempts)  # noqa: E731
    return _each(session, ids, "unblock", act, lambda task: told)


@click.command()
@click.argument("task_id", metavar="ID", shell_complete=task_ids)
@click.option("--reason", required=True, metavar="TEXT", help="Why; it is shown wherever the task is.")
@click.option(
    "--kind",
    type=click.Choice(["external", "human"]),
    default="external",
    show_default=True,
    help="external: comes back after blocked_timeout; human: asks a person.",
)
@json_option
@pass_session
def block(session: Session, task_id: str, reason: str, kind: Any) -> int:
    """Take a task out of the way, until something outside happens or a person answers.

    \b
    Example:
      medbay block k7f2 --reason "waits for the vendor"
    """
    if not reason.strip():
        raise UsageError("the reason is empty", hint="--reason TEXT says why")
    return _each(session, (task_id,), "block", lambda bay, given: bay.block(given, reason, kind=kind), _blocked)


def tell(session: Session, done: Sequence[tuple[Task, str]]) -> None:
    """Say what was done to each task."""
    if session.json:
        from medbay.service import views

        print_json([views.summary(task) for task, _ in done])
        return
    show = say if screen().terminal else None
    for task, told in done:
        if show:
            show(screen().plain(f"{task.id} {told}"))
        else:
            fields(task.id, told)


def _each(
    session: Session,
    ids: Sequence[str],
    name: str,
    act: Callable[[Bay, str], Task],
    told: Callable[[Task], str],
) -> int:
    """Do it to every task; what cannot be done is said and the rest goes on. The first refusal's exit code."""
    refuse_inside_attempts(f"medbay {name}")
    bay = session.bay()
    code = 0
    done: list[tuple[Task, str]] = []
    for task_id in dict.fromkeys(ids):
        try:
            task = act(bay, task_id)
            done.append((task, told(task)))
        except MedbayError as error:
            if len(ids) == 1:
                raise
            refused = complaint.complain(error, as_json=session.json, debug=session.debug)
            code = code or refused
    tell(session, done)
    return code


def _paused(task: Task) -> str:
    if task.live is not None:
        return f"is paused as soon as attempt {task.live} has ended"
    return f"is paused; medbay resume {task.id} lets it go on"


def _resumed(bay: Bay, task: Task, *, was_paused: bool) -> str:
    """That it goes on; else what holds it all the same, and which command helps against that."""
    if was_paused and task.status != "blocked":
        return "goes on"
    from medbay.cli.explain import changes
    from medbay.cli.glyphs import status_phrase

    found = bay.explain(task.id)
    standing = status_phrase(task, found.now, after=found.chain[:1]).words
    helps = (each for each in changes(found) if not each.startswith(("medbay pause", "medbay cancel")))
    does = next(helps, f"medbay explain {task.id}")
    return f"{'is no longer paused, but' if was_paused else 'was not paused: it is'} {standing}; {does}"


def _cancelled(task: Task) -> str:
    if task.status == "cancelled":
        return "is cancelled"
    return f"was asked to stop; attempt {task.live} is running and will be ended"


def _blocked(task: Task) -> str:
    from medbay.cli import times

    if task.due_at is not None:
        moment = times.local(task.due_at).strftime("%Y-%m-%d %H:%M")
        return f"is blocked until {moment}; medbay unblock {task.id} releases it"
    return f"is blocked for a person; medbay answer {task.id} releases it"


def _granted(attempts: int) -> str:
    return "with 1 more attempt" if attempts == 1 else f"with {attempts} more attempts"
