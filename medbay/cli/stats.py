"""`medbay stats`: figures of the store, with bars. `--cost` is what agents used: tokens and money."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click
from msgspec.structs import replace

from medbay.cli.output import DIM, fields, note, print_json, say, screen
from medbay.cli.session import Session, json_option, pass_session
from medbay.cli.table import Cell, Column, render
from medbay.core.durations import parse_duration
from medbay.errors import UsageError
from medbay.views import moments, report
from medbay.views import spending as view
from medbay.views.text import clean

if TYPE_CHECKING:
    from medbay.core.budget import Budget, Day
    from medbay.core.spending import Sum

_COLUMNS: Final = (Column(cut=True, least=12), Column(), Column(), Column(), Column())
_BARS: Final = (Column(cut=True, least=12), Column(), Column(), Column(cut=True, least=8))
_GROUPS: Final = ("category", "agent", "tag", "day")
_HOW: Final = {
    "plain": "done at once",
    "healed": "healed",
    "person": "done with a person",
    "cancelled": "cancelled",
    "succeeded": "succeeded",
    "lost": "lost",
}
_HEAD: Final = ("attempts", "tokens in", "tokens out", "cost")


@click.command()
@click.option("--since", default="7d", show_default=True, metavar="TIME", help="How far back: 24h, 7d.")
@click.option("--by", type=click.Choice(_GROUPS), default="category", help="What bars stand for.")
@click.option("--cost", "of_cost", is_flag=True, help="What agents used: tokens and money.")
@click.option("--days", type=click.IntRange(1, 36_500), metavar="N", help="Of --cost: the last N days, today included.")
@json_option
@pass_session
def command(session: Session, since: str, by: str, of_cost: bool, days: int | None) -> None:
    """Print figures of the store: what was done, what healed, how often retries helped.

    \b
    Example:
      medbay stats --since 7d --by category
      medbay stats --cost --days 7
    """
    if of_cost:
        _cost(session, days)
        return
    if days is not None:
        raise UsageError("--days goes with --cost", hint=f"medbay stats --since {days}d")
    found = session.bay().statistics.summary(parse_duration(since))
    if session.json:
        print_json(found)
        return
    if screen().terminal:
        say(f"since {since}: {report.headline(found)}")
        for words in (_heal_words(found), _retry_words(found)):
            say(words)
    else:
        for name in ("completed", "healed", "waiting", "need_person", "cancelled"):
            fields("total", name, found[name])
    _bars(found, by)


def _heal_words(found: dict[str, Any]) -> str:
    heal = found["heal"]
    if not heal["n"]:
        return "nothing had to heal"
    half, most = (moments.short(round(heal[name] * 1000)) for name in ("p50_s", "p90_s"))
    return f"healing took {half} for half of them, {most} for nine in ten (n={heal['n']})"


def _retry_words(found: dict[str, Any]) -> str:
    made = found["retries"]
    wait = f", {moments.short(round(made['avg_delay_s'] * 1000))} on average" if made["avg_delay_s"] is not None else ""
    return f"retries: {made['executed']} executed, {made['pending']} pending, {made['cancelled']} cancelled{wait}"


def _bars(found: dict[str, Any], by: str) -> None:
    """The failures by category, tag, agent or day, each with what else is known of it."""
    success, groups = found["success"].get(f"by_{by}", {}), found.get(f"by_{by}", {})
    counts = (
        sorted(((name, each.get("failed", 0)) for name, each in groups.items()), key=lambda each: (-each[1], each[0]))
        if by in ("agent", "tag")
        else report.counted(found["failures"], by_day=by == "day")
    )
    shown = screen()
    rows = []
    for name, bar, number in report.bars(counts):
        tried = success.get(name)
        share = f"{tried['cured']} of {tried['n']} retries succeeded" if tried else ""
        share = "  ".join(filter(None, (_group_words(groups.get(name, {})), share)))
        if not shown.terminal:
            fields(by, name, number, tried["n"] if tried else "", tried["cured"] if tried else "")
        rows.append(
            [
                Cell(clean(name)),
                Cell(bar if shown.unicode else "#" * number and "#" * len(bar)),
                Cell(str(number)),
                Cell(share, DIM),
            ]
        )
    for line in render(rows, _BARS, shown) if shown.terminal else ():
        say(line)
    if not rows:
        note("no failures in this window")


def _group_words(group: dict[str, int]) -> str:
    """What became of the tasks of a tag, or of the attempts of an agent: `12 healed, 3 plain`."""
    return ", ".join(f"{number} {_HOW[how]}" for how, number in sorted(group.items()) if how != "failed")


def _cost(session: Session, days: int | None) -> None:
    from medbay.core.spending import GROUPS, summed, total
    from medbay.runners.agent.prices import AS_OF

    found = session.bay().statistics
    rows, budgets = found.cost(days=days), found.budgets()
    if session.json:
        print_json(view.cost_as_json(rows, budgets, prices_as_of=AS_OF))
        return
    groups = {group: summed(rows, group) for group in GROUPS}
    shown = screen()
    for group, sums in groups.items():
        if shown.terminal:
            _table(group, sums)
        for each in sums if not shown.terminal else ():
            _fields(group, each)
    whole = total(rows)
    if not shown.terminal:
        _fields("total", replace(whole, name=""))
    elif rows:
        _table("total", [whole])
    for day, limits in budgets:
        if shown.terminal:
            say(f"today's budget of {clean(view.budget_words(day, limits))}")
        else:
            fields("budget", day.role, day.used.tokens, limits.daily_tokens, *_money_of(day, limits))
    if words := view.unpriced_words(rows, prices_as_of=AS_OF):
        note(words)
    if not rows:
        note("nothing was used: no attempt of an agent has ended")


def _money_of(day: Day, limits: Budget) -> tuple[str, str]:
    return view.money(day.used.cost), "" if limits.daily_cost is None else view.money(limits.daily_cost)


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
