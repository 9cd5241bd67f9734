"""`medbay simulate`: the real engine and store against faults, in virtual time, by seed."""

from __future__ import annotations

import click

from medbay.cli.output import say
from medbay.cli.session import Session, json_option, pass_session


@click.command()
@click.option("--seed", type=int, metavar="N", help="One seed, to see again what it did.")
@click.option("--seeds", type=click.IntRange(min=1), default=20, show_default=True, metavar="N", help="How many seeds.")
@click.option("--first", type=int, default=1, show_default=True, metavar="N", help="The first of them.")
@click.option("--days", type=click.FloatRange(min=0.05), metavar="D", help="Virtual days with faults; else by seed.")
@click.option("--tasks", type=click.IntRange(min=1), metavar="N", help="How many tasks; else by seed.")
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, metavar="N", help="Processes.")
@json_option
@pass_session
def command(
    session: Session, seed: int | None, seeds: int, first: int, days: float | None, tasks: int | None, jobs: int
) -> int:
    """Check the promises: crashes between commits, two engines, outages, people at random; then all must end.

    \b
    Examples:
      medbay simulate --seed 4711
      medbay simulate --seeds 100 --jobs 2
    """
    from medbay.sim.many import simulate

    chosen = [seed] if seed is not None else range(first, first + seeds)
    return simulate(chosen, days=days, tasks=tasks, jobs=jobs, as_json=session.json, say=say)
