"""`medbay edit`: new values for a task, from its next attempt on."""

from __future__ import annotations

from typing import Any

import click

from medbay.cli.act import print_done
from medbay.cli.completion import task_ids
from medbay.cli.session import Session, json_option, pass_session, refuse_inside_attempts
from medbay.cli.values import DashCommand, given_values, refuse_missing_files, value_options
from medbay.errors import UsageError


@click.command(cls=DashCommand)
@click.argument("task_id", metavar="ID", shell_complete=task_ids)
@click.option("--title", metavar="TEXT", help="A new title.")
@value_options
@click.option("--reset-failures", is_flag=True, help="Forget the failures in a row.")
@click.option("--clear-triage-cooldown", is_flag=True, help="A triage may start again at its next failure.")
@json_option
@click.pass_context
@pass_session
def command(
    session: Session,
    ctx: click.Context,
    /,
    task_id: str,
    reset_failures: bool,
    clear_triage_cooldown: bool,
    **values: Any,
) -> None:
    """Change a task; what runs now is not touched.

    --after adds a task to wait for; --tag, --env, --provider and the checks replace what was there
    (--check '' takes all checks away).

    \b
    Example:
      medbay edit k7f2 --timeout 20m --priority 1
    """
    refuse_inside_attempts("medbay edit")
    given = given_values(ctx, values)
    cleared = {"failures": reset_failures, "triage-cooldown": clear_triage_cooldown}
    if not given and not any(cleared.values()):
        raise UsageError("nothing to change", hint=f"medbay edit {task_id} --help lists what can be")
    after = given.pop("after", ())
    bay = session.bay()
    refuse_missing_files(bay, given)
    task = bay.edit(
        task_id, reset_failures=reset_failures, clear_triage_cooldown=clear_triage_cooldown, after=after, **given
    )
    changed = [*given, *(["after"] if after else []), *(name for name, wanted in cleared.items() if wanted)]
    names = ", ".join(name.replace("_", "-") for name in changed)
    when = f"from attempt {task.attempts + 1} on"
    print_done(session, [(task, f"changed: {names}; {when}")])
