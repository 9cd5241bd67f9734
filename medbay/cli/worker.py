"""`medbay worker`: one more machine on the same store. It only runs attempts."""

from __future__ import annotations

import click

from medbay.cli.session import Session, pass_session


@click.command()
@click.option("--queue", metavar="A,B", help="Serve these queues instead of default.")
@click.option("--workers", type=click.IntRange(1, 1000), metavar="N", help="How many attempts run at once.")
@pass_session
def command(session: Session, /, queue: str | None, workers: int | None) -> int:
    """Run attempts of a store that others use too, until stopped. Ctrl-C or SIGTERM ends it in order, twice at once.

    \b
    Example:
      medbay worker --queue gpu,default --workers 2
    """
    from medbay.cli.serving import named_queues, serve

    queues = named_queues(queue)
    return serve(session.bay(), "medbay worker", workers=workers, queues=queues)
