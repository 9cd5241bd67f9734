"""`medbay story board`, `stats` and `schema`: stories side by side, in figures, and the shapes of their files."""

from __future__ import annotations

import click

from medbay.cli.output import BOLD, COLOURS, DIM, fields, note, print_json, say, screen
from medbay.cli.session import Session, json_option, pass_session
from medbay.cli.table import Cell, Column, render
from medbay.core.durations import parse_duration
from medbay.views import board as view
from medbay.views import moments
from medbay.views.text import clean

NO_STORIES = "no stories; medbay story new ID --title T makes one"
_CARDS = (Column(), Column(cut=True, least=10), Column(cut=True, least=8), Column(cut=True, least=8))
_PHASES = (Column(cut=True, least=10), Column(), Column(), Column(), Column(), Column())
_HEAD = ("phase", "runs", "passed", "half within", "longest", "tokens")


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
        for line in render(rows, _CARDS, shown, indent=2):
            say(line)
    if not cards:
        note(NO_STORIES)


@click.command("stats")
@click.option("--since", default="30d", show_default=True, metavar="TIME", help="How far back: 7d, 30d.")
@json_option
@pass_session
def stats(session: Session, since: str) -> None:
    """Print figures over stories: cycle time per phase, tokens, how often gates pass, review rounds, learnings.

    \b
    Example:
      medbay story stats --since 30d
    """
    said, found = session.bay().board.figures(parse_duration(since))
    if session.json:
        print_json(found)
        return
    if not found["stories"]:
        note(NO_STORIES)
    shown = screen()
    if not shown.terminal:
        for each in found["phases"]:
            fields(*(each[name] for name in ("phase", "runs", "passed", "median_s", "longest_s", "tokens")))
        return
    for line in said:
        say(line)
    rows = [tuple(Cell(each, BOLD) for each in _HEAD)]
    for each in found["phases"]:
        times = (moments.short(round(each[name] * 1000)) for name in ("median_s", "longest_s"))
        cells = (each["phase"], str(each["runs"]), str(each["passed"]), *times, view.tokens(each["tokens"]))
        rows.append(tuple(map(Cell, cells)))
    for line in render(rows, _PHASES, shown) if found["phases"] else ():
        say(line)
    for each in found["learnings"]:
        say(shown.plain(f"learned, {each['role']} ({each['count']}): {clean(each['text'])}"))


@click.command("schema")
@click.argument("name", required=False)
@json_option
@pass_session
def schema(session: Session, name: str | None) -> None:
    """Print the JSON schema of an artifact (EVIDENCE.yaml, GATE.yaml, ...); without NAME, which there are.

    \b
    Example:
      medbay story schema EVIDENCE.yaml
    """
    from medbay.core.workflow import shapes
    from medbay.errors import NotFound

    if name is None:
        if session.json:
            print_json([*shapes.SHAPES])
        else:
            for each in shapes.SHAPES:
                say(each)
        return
    known = {each.casefold(): each for each in shapes.SHAPES}
    found = known.get(name.casefold()) or known.get(f"{name.casefold()}.yaml")
    if found is None:
        raise NotFound(f'there is no schema for "{name}"', hint=f"one of {', '.join(shapes.SHAPES)}")
    print_json(shapes.schema(found))
