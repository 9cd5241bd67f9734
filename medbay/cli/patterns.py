"""`medbay patterns`: the failures seen so far, their category, and which advice worked against them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from medbay.cli.completion import categories
from medbay.cli.output import BOLD, DIM, Screen, fields, note, print_json, say, screen
from medbay.cli.session import Session, json_option, pass_session, refuse_inside_attempts
from medbay.cli.table import Cell, Column, render
from medbay.core import durations
from medbay.views import moments
from medbay.views import pattern as view
from medbay.views.text import clean, clean_lines, cut

if TYPE_CHECKING:
    from medbay.core.attempt.knowledge import Known

_EXCERPT_LINES = 10
_WIDE = 90  # below, a list does without its last columns, and the summary has a line of its own
_ON_A_NARROW_ONE = 4


@click.group()
def command() -> None:
    """What is known of failures, by fingerprint."""


@command.command("list")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, metavar="N", help="At most.")
@click.option("--category", metavar="C[/SUB]", shell_complete=categories, help="Only failures of this category.")
@click.option(
    "--sort", type=click.Choice(["seen", "count"]), default="seen", show_default=True, help="Newest, or most often."
)
@json_option
@pass_session
def list_them(session: Session, limit: int, category: str | None, sort: Any) -> None:
    """List the fingerprints, the one seen last first.

    \b
    Example:
      medbay patterns list --category transient
    """
    from medbay.core.attempt.knowledge import read_kind
    from medbay.store.patterns import PatternFilter

    name, sub = read_kind(category) if category is not None else ("", None)
    found = session.bay().patterns(PatternFilter(category=name, subcategory=sub, order=sort, limit=limit))
    if session.json:
        print_json([view.as_json(each) for each in found])
        return
    shown = screen()
    if not shown.terminal:
        for each in found:
            seen = (each.count, each.tasks, moments.iso(each.first_seen), moments.iso(each.last_seen))
            fields(each.fingerprint, each.kind, "taught" if each.taught else "", *seen, view.best(each), each.summary)
        return
    for line in _table(found, shown):
        say(line)
    if not found:
        note("nothing has failed yet" if category is None else f"no failure is taken for {category}")
    else:
        note("* a person said so; more: medbay patterns show FINGERPRINT")


@command.command("show")
@click.argument("fingerprint", metavar="FINGERPRINT")
@json_option
@pass_session
def show(session: Session, fingerprint: str) -> None:
    """Show everything known of one fingerprint; any unambiguous beginning of it does.

    \b
    Example:
      medbay patterns show test_failure:a1b2
    """
    known, task_ids = session.bay().pattern(fingerprint)
    if session.json:
        print_json({**view.as_json(known), "task_ids": task_ids})
        return
    shown = screen()
    for label, sentence in view.sentences(known, task_ids, lambda at: _when(at, shown)):
        if shown.terminal:
            say(shown.paint(label.ljust(10), BOLD) + shown.plain(cut(clean(sentence), shown.width - 10)))
        else:
            fields(label.strip(), sentence)
    for each in known.advice:
        if shown.terminal:
            say(shown.plain(cut(f"  {view.rate(each)}  {clean(each.text)}", shown.width)))
        else:
            fields("advice", each.given, each.cured, each.text)
    if shown.terminal:
        for line in clean_lines(known.excerpt)[:_EXCERPT_LINES]:
            say(shown.paint(shown.plain(f"  | {cut(line, shown.width - 4)}"), DIM))
    elif known.excerpt:
        fields("excerpt", known.excerpt)


@command.command("forget")
@click.argument("fingerprint", metavar="FINGERPRINT")
@json_option
@pass_session
def forget(session: Session, fingerprint: str) -> None:
    """Forget one fingerprint: its count, what a person taught, and the record of every advice.

    \b
    Example:
      medbay patterns forget test_failure:a1b2
    """
    refuse_inside_attempts("medbay patterns forget")
    known = session.bay().forget_pattern(fingerprint)
    if session.json:
        print_json(view.as_json(known))
    else:
        say(clean(f"{known.fingerprint} is forgotten (seen {view.often(known)})"))


def _table(found: list[Known], shown: Screen) -> list[str]:
    from medbay.env import SystemClock

    now = SystemClock().now_ms()
    rows = [
        [
            Cell(each.fingerprint),
            Cell(f"{each.kind}{'*' if each.taught else ''}"),
            Cell(f"{each.count} x"),
            Cell(view.last_seen(each, now)),
            Cell(clean(each.summary)),
            Cell(f"{each.tasks} task{'' if each.tasks == 1 else 's'}"),
            Cell(clean(view.best(each))),
        ]
        for each in found
    ]
    kept = Column()
    columns = [kept, Column(cut=True, least=10), kept, kept, Column(cut=True, least=8), kept, Column(cut=True, least=8)]
    if shown.width >= _WIDE:
        return render(rows, columns, shown)
    drawn = render([row[:_ON_A_NARROW_ONE] for row in rows], columns[:_ON_A_NARROW_ONE], shown)
    below = [shown.plain(cut(f"    {clean(each.summary)}", shown.width)) for each in found]
    return [line for both in zip(drawn, below, strict=True) for line in both]


def _when(at: int, shown: Screen) -> str:
    return moments.local(at).strftime("%Y-%m-%d %H:%M") if shown.terminal else durations.iso(at)
