"""`medbay up`: the daemon. Runs what is due until it is stopped, or until nothing is left to do."""

from __future__ import annotations

import click

from medbay.cli.session import Session, pass_session


@click.command(name="up", short_help="run what is due until stopped, or --until-idle")
@click.option("--until-idle", is_flag=True, help="End when nothing runs, is ready or waits to be retried.")
@click.option("--workers", type=click.IntRange(1, 1000), metavar="N", help="How many attempts run at once.")
@click.option("--queue", metavar="A,B", help="Serve these queues instead of default.")
@click.option("--no-web", is_flag=True, help="Without the dashboard (this version has none).")
@pass_session
def command(session: Session, /, until_idle: bool, workers: int | None, queue: str | None, no_web: bool) -> int:
    """Run what is due, heal what fails, ask about the rest. Ctrl-C ends it in order, twice at once.

    With --until-idle it exits 1 when something was given up, else 75 when something waits for a
    person (or it was stopped before all was done), else 0.
    """
    from medbay.cli.serving import named_queues, serve

    queues = named_queues(queue)
    return serve(session.bay(create=True), "medbay up", workers=workers, queues=queues, until_idle=until_idle)
