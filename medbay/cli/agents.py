"""`medbay agents`: which agents there are here, signed in or not, and what they cost today; `check` calls one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

import click

from medbay.cli.output import Screen, fields, note, print_json, say, screen
from medbay.cli.session import Session, json_option, pass_session, refuse_inside_attempts
from medbay.cli.table import Cell, Column, aligned, render
from medbay.core.budget import MILLION
from medbay.views import moments
from medbay.views import spending as view
from medbay.views.text import clean, width

if TYPE_CHECKING:
    from medbay.areas.agents import KnownAgent

_TITLE: Final = 1  # the column that a narrow screen does without: names say almost the same
_COLUMNS: Final = (Column(), Column(), Column(cut=True, least=13), Column(), Column())


@click.group(invoke_without_command=True)
@json_option
@pass_session
@click.pass_context
def command(context: click.Context, session: Session) -> None:
    """List the agents: installed, version, signed in, last used, cost today.

    \b
    Examples:
      medbay agents
      medbay agents check claude
    """
    if context.invoked_subcommand is not None:
        return
    from medbay.env import SystemClock

    known, now = session.bay().agents.known(), SystemClock().now_ms()
    if session.json:
        print_json([_as_json(each) for each in known])
        return
    if screen().terminal:
        for line in _table([_cells(each, now) for each in known], screen()):
            say(line)
        for each in known:
            if each.presence.path and each.presence.signed_in is False:
                note(f"to sign in to {each.profile.name}: {each.presence.sign_in}")
        missing = [each for each in known if not each.presence.path and each.presence.install]
        for each in missing[:1]:
            note(f"to install one: {each.presence.install}")
        return
    for each in known:
        last = moments.iso(each.use.last_used_at) or ""
        cost = view.money(each.use.cost_today or 0)
        here = each.presence
        fields(each.profile.name, here.path, here.version, _signed_in(each), last, each.use.attempts_today, cost)


@command.command()
@click.argument("name", metavar="NAME")
@json_option
@pass_session
def check(session: Session, name: str) -> None:
    """Make one cheap real call with an agent, and say how it went.

    \b
    Example:
      medbay agents check claude
    """
    refuse_inside_attempts("medbay agents check")
    agents = session.bay().agents
    here = agents.look(name)
    if here.path and here.signed_in is False:
        note(f"as far as its files and the environment show, {name} is not signed in: {here.sign_in}")
    called = agents.check(name)
    cost = None if called.cost is None else called.cost / MILLION
    if session.json:
        kind = called.kind or None
        print_json(
            {
                "agent": name,
                "works": called.worked,
                "said": called.said,
                "kind": kind,
                "model": called.model or None,
                "tokens": called.tokens,
                "cost": cost,
            }
        )
    else:
        used = view.used(called.tokens, called.cost)
        how = "works" if called.worked else f"does not work ({called.kind or 'no reason known'})"
        say(f"{name} {how}: {clean(called.said)}" + (f"  [{called.model or 'model unknown'}, {used}]" if used else ""))
    if not called.worked:
        sys.exit(1)


def _table(rows: list[list[str]], shown: Screen) -> list[str]:
    """One line for each agent."""
    columns: tuple[Column, ...] = _COLUMNS
    cells = [[Cell(clean(text)) for text in row] for row in rows]
    if max(map(width, aligned(rows)), default=0) > shown.width:
        cells = [[*row[:_TITLE], *row[_TITLE + 1 :]] for row in cells]
        columns = (*columns[:_TITLE], *columns[_TITLE + 1 :])
    return render(cells, columns, shown)


def _signed_in(each: KnownAgent) -> str:
    return {True: "yes", False: "no", None: "?"}[each.presence.signed_in]


def _cells(each: KnownAgent, now: int) -> list[str]:
    here = each.presence
    version = here.version.removeprefix(each.profile.preset).removeprefix("-cli").strip()
    signed = {True: ", signed in", False: ", signed out", None: ""}[here.signed_in]
    state = f"{version or 'installed'}{signed}" if here.path else "not installed"
    last = moments.ago(each.use.last_used_at, now) if each.use.last_used_at else "unused"
    today = f"today {view.money(each.use.cost_today or 0)}" if each.use.attempts_today else ""
    return [each.profile.name, each.title, state, last, today]


def _as_json(each: KnownAgent) -> dict[str, Any]:
    here = each.presence
    return {
        "name": each.profile.name,
        "preset": each.profile.preset,
        "configured": each.configured,
        "installed": bool(here.path),
        "path": here.path or None,
        "version": here.version or None,
        "signed_in": here.signed_in,
        "provider": each.profile.provider or None,
        "model": each.profile.model or None,
        **view.use_as_json(each.use),
    }
