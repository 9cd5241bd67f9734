"""What a person does to tasks: pause, resume, cancel, retry, unblock, block. One line per task."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import click

from medbay.cli import complaint
from medbay.cli.completion import task_ids
from medbay.cli.filters import chosen as filter_of
from medbay.cli.filters import filter_options
from medbay.cli.output import fields, note, print_json, say, screen
from medbay.cli.session import Session, json_option, pass_session, refuse_inside_attempts
from medbay.cli.story import on_stories
from medbay.errors import MedbayError, UsageError
from medbay.views.text import clean, cut

if TYPE_CHECKING:
    from medbay.bay import Bay
    from medbay.core.model import Task
    from medbay.service.bulk import Bulk
    from medbay.service.tasks import Action


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
    if many(session, "cancel", ids, chosen) or on_stories(session, ids, lambda stories, each: stories.cancel(each)):
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
    text = f"is tried again now, {_granted(attempts)}"
    return _each(session, ids, "retry", lambda bay, task_id: bay.retry(task_id, attempts=attempts), lambda task: text)


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
    if on_stories(session, ids, lambda stories, each: stories.unblock(each)):
        return 0
    text = f"is released, {_granted(attempts)}"
    act = lambda bay, task_id: bay.unblock(task_id, attempts=attempts)  # noqa: E731
    return _each(session, ids, "unblock", act, lambda task: text)


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


def print_done(session: Session, done: Sequence[tuple[Task, str]]) -> None:
    """Say what was done to each task."""
    if session.json:
        from medbay.views import task as view

        print_json([view.summary(task) for task, _ in done])
        return
    show = say if screen().terminal else None
    for task, text in done:
        if show:
            show(screen().plain(f"{task.id} {text}"))
        else:
            fields(task.id, text)


def _each(
    session: Session,
    ids: Sequence[str],
    name: str,
    act: Callable[[Bay, str], Task],
    text: Callable[[Task], str],
) -> int:
    """Do it to every task; what cannot be done is said and the rest goes on. The first refusal's exit code."""
    refuse_inside_attempts(f"medbay {name}")
    bay = session.bay()
    code = 0
    done: list[tuple[Task, str]] = []
    for task_id in dict.fromkeys(ids):
        try:
            task = act(bay, task_id)
            done.append((task, text(task)))
        except MedbayError as error:
            if len(ids) == 1:
                raise
            refused = complaint.complain(error, as_json=session.json, debug=session.debug)
            code = code or refused
    print_done(session, done)
    return code


def _paused(task: Task) -> str:
    if task.live is not None:
        return f"is paused as soon as attempt {task.live} has ended"
    return f"is paused; medbay resume {task.id} lets it go on"


def _resumed(bay: Bay, task: Task, *, was_paused: bool) -> str:
    """That it goes on; else what holds it all the same, and which command helps against that."""
    if was_paused and task.status != "blocked":
        return "goes on"
    from medbay.views.explanation import changes
    from medbay.views.status import status_phrase

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
    from medbay.views import moments

    if task.due_at is not None:
        moment = moments.local(task.due_at).strftime("%Y-%m-%d %H:%M")
        return f"is blocked until {moment}; medbay unblock {task.id} releases it"
    return f"is blocked for a person; medbay answer {task.id} releases it"


def _granted(attempts: int) -> str:
    return "with 1 more attempt" if attempts == 1 else f"with {attempts} more attempts"


LISTED: Final = 20
ASKED_FROM: Final = 21  # so many cancelled at once have to be meant
_DONE: Final = {
    "pause": "paused",
    "resume": "resumed",
    "cancel": "cancelled",
    "retry": "retried",
    "unblock": "unblocked",
}


def many(session: Session, action: Action, ids: tuple[str, ...], given: dict[str, Any], attempts: int = 2) -> bool:
    """Whether it was done to what the options choose; False when tasks are named one by one."""
    dry_run, yes = given.pop("dry_run"), given.pop("yes", False)
    refuse_inside_attempts(f"medbay {action}")
    wanted = filter_of(given)
    if ids and wanted.narrows:
        raise UsageError("ids and a filter were both given", hint="leave one of them out")
    if not ids and not wanted.narrows:
        raise UsageError("no task is named", hint=f"medbay {action} ID, or --status, --tag, --queue, --text")
    if ids and not dry_run:
        return False
    bay = session.bay()
    meant = [bay.get(each).id for each in dict.fromkeys(ids)] if ids else wanted
    found = bay.act_on(action, meant, attempts=attempts, dry_run=True)
    if not dry_run:
        found = _meant(bay, found, attempts=attempts, yes=yes)
    _print(session, found)
    return True


def _meant(bay: Bay, found: Bulk, *, attempts: int, yes: bool) -> Bulk:
    """Do it to those that were listed; many are cancelled only when a person confirms it."""
    number = len(found.done)
    if found.action == "cancel" and number >= ASKED_FROM and not yes:
        if not sys.stdin.isatty():
            raise UsageError(f"this would cancel {number} tasks for good", hint="--yes does it, --dry-run lists them")
        typed = click.prompt(
            f"this cancels {number} tasks for good; type {number} to go on", err=True, default="", show_default=False
        )
        if typed.strip() != str(number):
            raise UsageError("nothing was cancelled", hint=f"type {number} to go on, or --dry-run lists them")
    acted = bay.act_on(found.action, found.done, attempts=attempts)
    return replace(acted, skipped=(*found.skipped, *acted.skipped))


def _print(session: Session, found: Bulk) -> None:
    if session.json:
        print_json(
            {
                "action": found.action,
                "dry_run": found.dry_run,
                "matched": len(found.done) + len(found.skipped),
                "done": list(found.done),
                "skipped": [{"id": task_id, "why": why} for task_id, why in found.skipped],
            }
        )
        return
    if screen().terminal:
        for line in _listed(session.bay(), found) if found.dry_run else ():
            say(line)
        say(screen().plain(summary(found)))
        return
    word = f"would {found.action}" if found.dry_run else _DONE[found.action]
    for task_id in found.done:
        fields(task_id, word)
    for task_id, why in found.skipped:
        fields(task_id, "skipped", why)
    note(summary(found))


def _listed(bay: Bay, found: Bulk) -> list[str]:
    """Who it would be done to, as far as a screen holds them."""
    shown, ids = screen(), found.done[:LISTED]
    lines = [cut(f"{each}  {clean(bay.get(each).title)}", shown.width - 1) for each in ids]
    more = len(found.done) - len(ids)
    return [shown.plain(line) for line in lines] + ([f"and {more} more"] if more else [])


def summary(found: Bulk) -> str:
    """One line that adds up: `would retry 12 of 15 (3 are running: skipped)`."""
    matched = len(found.done) + len(found.skipped)
    if not matched:
        return "nothing matches"
    word = f"would {found.action}" if found.dry_run else _DONE[found.action]
    reasons = Counter(why for _, why in found.skipped)
    ordered = sorted(reasons.items(), key=lambda each: (-each[1], each[0]))
    why = ", ".join(f"{number} {'is' if number == 1 else 'are'} {reason}" for reason, number in ordered)
    return f"{word} {len(found.done)} of {matched} ({why}: skipped)" if why else f"{word} {len(found.done)}"
