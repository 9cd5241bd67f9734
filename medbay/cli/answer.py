"""`medbay answer`: a person's decision, for every task that waits for it."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

import click

from medbay.cli.completion import answers, task_ids
from medbay.cli.inbox import question_lines
from medbay.cli.output import note, print_json, say, screen
from medbay.cli.session import Session, json_option, pass_session, refuse_inside_attempts
from medbay.errors import MedbayError, UsageError
from medbay.views.text import clean

if TYPE_CHECKING:
    from medbay.bay import Bay
    from medbay.core.model import Question, Task


@click.command()
@click.argument("task_id", metavar="ID", shell_complete=task_ids)
@click.argument("option", required=False, shell_complete=answers)
@click.option("--note", "words", default="", metavar="TEXT", help="A word for the next attempt.")
@click.option(
    "--attempts", type=click.IntRange(1, 1000), default=2, show_default=True, metavar="N", help="Attempts granted."
)
@json_option
@pass_session
def command(session: Session, task_id: str, option: str | None, words: str, attempts: int) -> None:
    """Answer the question of a task: by the option's number, `default`, or retry, pause, cancel.

    Without an option a terminal shows the question and asks; elsewhere the default is taken.

    \b
    Examples:
      medbay answer k7f2 1
      medbay answer k7f2 retry --note "the token is new"
      medbay answer k7f2 "SQLite"        to what an agent asked
    """
    refuse_inside_attempts("medbay answer")
    if option is not None and not option.strip():  # an unset variable of a script is no consent
        raise UsageError("the answer is empty", hint="write an option, or leave it out to take the default")
    bay = session.bay()
    asked = _asked(bay, task_id)
    if asked and option is None and sys.stdin.isatty() and screen().terminal and not session.json:
        option = _ask(asked)
    chosen, tasks = bay.answer(task_id, option or "default", note=words, attempts=attempts)
    if not tasks:
        _settle(bay, asked, task_id)
    about = asked.id if asked else task_id
    if session.json:
        print_json({"question": about, "answer": chosen, "tasks": tasks})
        return
    say(f"{', '.join(tasks) or about}: {chosen}")
    if screen(sys.stderr).terminal and any(_runs_next(bay.get(each)) for each in tasks) and not bay.workers():
        note("nothing runs tasks now: medbay up does")


def _settle(bay: Bay, asked: Question | None, given: str) -> None:
    """The folder and the branch of a story follow an answer about it at once; what cannot is said and tried again."""
    from medbay.core.workflow.records import OWNER

    owner = asked.owner if asked is not None else None
    about = owner.id if owner is not None and owner.kind == OWNER else given
    if bay.stories.exists(about):
        for each in bay.stories.conductor.cycle(only=(about,)):
            note(clean(each))


def _runs_next(task: Task) -> bool:
    """Whether something is left to run for it, now that there is an answer."""
    return not (task.finished or task.paused or task.status == "blocked")


def _asked(bay: Bay, given: str) -> Question | None:
    """The open question that is meant, by its own id or that of a task; what is wrong with it is said elsewhere."""
    known = {each.id: each for each in bay.inbox()}
    if given in known:
        return known[given]
    with contextlib.suppress(MedbayError):
        task = bay.get(given)
        return next((each for each in known.values() if task.id in each.task_ids), None)
    return None


def _ask(asked: Question) -> str:
    """Show the question and take an answer from the keyboard; what is none is asked for again."""
    from medbay.core.people.question import asks_for_words, choose
    from medbay.env import SystemClock

    def checked(typed: str) -> str:
        try:
            choose(asked, typed)
        except UsageError as error:
            raise click.UsageError(f"{error.message}; {error.hint}") from None
        return typed

    for line in question_lines(asked, SystemClock().now_ms(), screen()):
        say(line)
    default = None if asks_for_words(asked) else str(asked.default)
    found: str = click.prompt("  your answer", default=default, err=True, value_proc=checked)
    return found
