"""`medbay story board`: the stories by the directory of their status."""

from __future__ import annotations

import click

from medbay.cli.output import COLOURS, DIM, fields, note, print_json, say, screen
from medbay.cli.session import Session, json_option, pass_session
from medbay.cli.table import Cell, Column, render
from medbay.views import board as view
from medbay.views.text import clean

_COLUMNS = (Column(), Column(cut=True, least=16), Column(cut=True, least=12), Column(cut=True, least=12))


@click.command("board")
@json_option
@pass_session
def board(session: Session) -> None:
    """Show the stories by the directory of their status: what runs, what waits for what, what needs you.

    \b
    Example:
      medbay story board
    """
    area = session.bay().board
    if session.json:
        print_json(area.overview())
        return
    shown, cards = screen(), area.cards()
    for name, found in view.columns(cards):
        if not shown.terminal:
            for card in found:
                said = view.status_of(card)
                fields(
                    name, card.story.id, card.story.status, said.words, "; ".join(view.notes_of(card)), card.story.title
                )
            continue
        if not found:
            continue
        say(shown.paint(f"{name} ({len(found)})", "1"))
        rows = []
        for card in found:
            said = view.status_of(card)
            rows.append(
                (
                    Cell(card.story.id),
                    Cell(f"{said.glyph} {said.words}", COLOURS[said.token]),
                    Cell("; ".join(view.notes_of(card)), DIM),
                    Cell(clean(card.story.title)),
                )
            )
        for line in render(rows, _COLUMNS, shown, indent=2):
            say(line)
    if not cards:
        note("no stories; medbay story new ID --title T makes one")
