"""`medbay loop`: run tasks in a repeating cycle."""

from __future__ import annotations

from typing import Any

import click

from medbay.cli.act import print_done
from medbay.cli.completion import task_ids
from medbay.cli.session import Session, json_option, pass_session, refuse_inside_attempts
from medbay.core.model import FAILURE_RESTARTS


@click.command()
@click.argument("ids", nargs=-1, required=True, metavar="ID ID...", shell_complete=task_ids)
@click.option("--delay", metavar="D", help="How long to wait before each new round.")
@click.option("--max-iterations", type=int, metavar="N", help="Stop after N successful runs.")
@click.option(
    "--max-failure-restarts",
    type=int,
    default=FAILURE_RESTARTS,
    show_default=True,
    metavar="N",
    help="Rounds that may fail in a row before a person is asked.",
)
@json_option
@pass_session
def command(session: Session, /, ids: tuple[str, ...], **options: Any) -> None:
    """Run tasks in a repeating cycle: each is due when the one before it succeeded.

    The first is the owner: a failure of any of them starts the round again there, after a backoff.

    \b
    Example:
      medbay loop k7f2 m2xa p9cd --delay 5m
    """
    refuse_inside_attempts("medbay loop")
    members = session.bay().loop(ids, **options)
    first, rest = members[0], members[1:]
    way = " -> ".join(task.id for task in (*members, first))
    print_done(session, [(first, f"begins the loop {way}"), *((task, "waits for its turn") for task in rest)])
