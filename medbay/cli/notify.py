"""`medbay notify`: the channels that messages go to, and a test through them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from medbay.cli.output import COLOURS, fields, note, print_json, say, screen
from medbay.cli.session import Session, json_option, pass_session, refuse_inside_attempts
from medbay.cli.table import Cell, Column, render
from medbay.views import glyphs, moments
from medbay.views.text import clean

if TYPE_CHECKING:
    from medbay.areas.notifications import ConfiguredChannel

_CUT: Final = Column(cut=True, least=12)
_COLUMNS: Final = (Column(gap=1), Column(), _CUT, _CUT)


@click.group()
def command() -> None:
    """Channels: where messages about questions, incidents and budgets go."""


@command.command("list")
@json_option
@pass_session
def list_them(session: Session) -> None:
    """List the channels: where each delivers to, when it last did, since when it fails and why.

    \b
    Example:
      medbay notify list
    """
    bay = session.bay()
    found, now = bay.notifications.list(), bay.now()
    if session.json:
        print_json([_as_json(each) for each in found])
        return
    shown = screen()
    for each in found if not shown.terminal else ():
        state = each.state
        moment = moments.iso(state.delivered_at) or ""
        fields(each.channel.name, each.channel.shown, moment, moments.iso(state.failing_since) or "", state.error)
    rows = [_row(each, now) for each in found if shown.terminal]
    for line in render(rows, _COLUMNS, shown):
        say(line)
    if not found:
        note('no channel is configured; write [notify.NAME] with url = "..." into medbay.toml')


@command.command("test")
@click.argument("name", required=False)
@json_option
@pass_session
def test_them(session: Session, name: str | None) -> None:
    """Send a test message through one channel, or through all of them, and wait until it arrived.

    \b
    Example:
      medbay notify test telegram
    """
    refuse_inside_attempts("notify test")
    area = session.bay().notifications
    results: list[dict[str, Any]] = []
    for channel in area.named(name):
        error = area.test(channel)
        results.append({"name": channel.name, "delivered": not error, "error": error or None})
        if not session.json:
            glyph, said = (glyphs.FAILED, clean(error)) if error else (glyphs.DONE, "delivered")
            say(screen().plain(f"{glyph} {channel.name}  {channel.shown}  {said}"))
    if session.json:
        print_json(results)
    if not all(each["delivered"] for each in results):
        raise click.exceptions.Exit(1)


def _row(each: ConfiguredChannel, now: int) -> list[Cell]:
    state, colour = each.state, COLOURS["fail" if each.state.failing_since is not None else "done"]
    last = f"last delivery {moments.ago(state.delivered_at, now)}" if state.delivered_at else "nothing delivered yet"
    if state.failing_since is not None:
        last = f"failing since {moments.ago(state.failing_since, now)}: {clean(state.error)}; {last}"
    last += f", {each.waiting} to deliver" if each.waiting else ""
    glyph = glyphs.FAILED if state.failing_since is not None else glyphs.DONE
    return [Cell(screen().plain(glyph), colour), Cell(each.channel.name), Cell(clean(each.channel.shown)), Cell(last)]


def _as_json(each: ConfiguredChannel) -> dict[str, Any]:
    channel, state = each.channel, each.state
    return {
        "name": channel.name,
        "to": channel.shown,
        "on": list(channel.on),
        "delivered_at": moments.iso(state.delivered_at),
        "failing_since": moments.iso(state.failing_since),
        "error": state.error or None,
        "waiting": each.waiting,
    }
