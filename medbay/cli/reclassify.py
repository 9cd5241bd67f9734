"""`medbay reclassify`: a person says what a failure was, and the next ones like it follow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from medbay.cli.completion import categories, task_ids
from medbay.cli.output import fields, note, print_json, say, screen
from medbay.cli.session import Session, json_option, pass_session, refuse_inside_attempts
from medbay.views.status import status_phrase
from medbay.views.text import clean

if TYPE_CHECKING:
    from medbay.core.model import Task
    from medbay.service.teaching import Reclassified


@click.command()
@click.argument("attempt", metavar="ATTEMPT", shell_complete=task_ids)
@click.argument("category", metavar="CATEGORY[/SUB]", shell_complete=categories)
@json_option
@pass_session
def command(session: Session, attempt: str, category: str) -> None:
    """Say what a failure was. ATTEMPT is ID (its newest failed attempt) or ID/NUMBER.

    CATEGORY is transient, code_error, test_failure, timeout, resource_exhaustion, dependency_missing or unknown; a
    subcategory may follow, such as transient/network. Later failures with the same fingerprint follow it, and where
    the task still waits because of this failure, that is decided again at once.

    \b
    Examples:
      medbay reclassify k7f2 transient/network
      medbay reclassify k7f2/3 unknown/auth
    """
    from medbay.core.diagnosis.consequences import CONSEQUENCES
    from medbay.views import task as view

    refuse_inside_attempts("medbay reclassify")
    done = session.bay().reclassify(attempt, category)
    if session.json:
        print_json([view.summary(task) for task in done.tasks])
        return
    shown = screen()
    for task in done.tasks:
        if shown.terminal:
            say(shown.plain(f"{task.id} {_words(done, task)}"))
        else:
            fields(task.id, _words(done, task))
    note(f"failures with the fingerprint {clean(done.fingerprint)} are {done.after} from now on")
    if done.after not in CONSEQUENCES:
        note(f"nothing special is known of {done.after}: it is treated as {done.after.partition('/')[0]}")


def _words(done: Reclassified, task: Task) -> str:
    from medbay.env import SystemClock

    changed = f"is {done.after} now (was {done.before})"
    if not done.decided_again:
        return f"attempt {done.attempt} {changed}; nothing that waits was decided by it"
    return f"{changed}: {status_phrase(task, SystemClock().now_ms()).words}"
