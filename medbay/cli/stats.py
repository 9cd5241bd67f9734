"""`medbay stats`: figures of the store. `--cost` is what agents used, by day, agent, model, provider and task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from medbay.cli.output import DIM, fields, note, print_json, say, screen
from medbay.cli.session import Session, json_option, pass_session
from medbay.cli.table import Cell, Column, render
from medbay.errors import UsageError
from medbay.views import spending as view
from medbay.views.text import clean

if TYPE_CHECKING:
    from medbay.core.spending import Sum

_COLUMNS: Final = (Column(cut=True, least=12), Column(), Column(), Column(), Column())
_HEAD: Final = ("attempts", "tokens in", "tokens out", "cost")


@click.command()
@click.option("--cost", "of_cost", is_flag=True, help="What agents used: tokens and money.")
@click.option("--days", type=click.IntRange(1, 36_500), metavar="N", help="Only the last N days, today included.")
@json_option
@pass_session
def command(session: Session, of_cost: bool, days: int | None) -> None:
    """Print figures of the store.

    \b
    Example:
      medbay stats --cost --days 7
    """
    from medbay.core.spending import GROUPS, summed, total
    from medbay.runners.agent.prices import AS_OF

    if not of_cost:
        raise UsageError("say which figures", hint="medbay stats --cost")
    rows = session.bay().statistics.cost(days=days)
    if session.json:
        print_json(view.cost_as_json(rows, prices_as_of=AS_OF))
        return
    groups = {group: summed(rows, group) for group in GROUPS}
    shown = screen()
    for group, sums in groups.items():
        if shown.terminal:
            _table(group, sums)
        for each in sums if not shown.terminal else ():
            fields(
                group, each.name, each.attempts, each.tokens_in, each.tokens_out, view.money(each.cost), each.unpriced
            )
    whole = total(rows)
    if not shown.terminal:
        fields("total", "", whole.attempts, whole.tokens_in, whole.tokens_out, view.money(whole.cost), whole.unpriced)
    elif rows:
        _table("total", [whole])
    if words := view.unpriced_words(rows, prices_as_of=AS_OF):
        note(words)
    if not rows:
        note("nothing was used: no attempt of an agent has ended")


def _fields(group: str, each: Sum) -> None:
    """For programs: group, name, attempts, tokens in and out, cost, how many attempts have no known cost."""
    cost = view.money(each.cost)
    fields(group, each.name, each.attempts, each.tokens_in, each.tokens_out, cost, each.unpriced)


def _table(title: str, sums: list[Sum]) -> None:
    if not sums:
        return
    head = [Cell(f"by {title}" if title != "total" else title, DIM), *(Cell(each, DIM) for each in _HEAD)]
    body = [[Cell(clean(each)) for each in view.cells(one)] for one in sums]
    for line in render([head, *body], _COLUMNS, screen()):
        say(line)
