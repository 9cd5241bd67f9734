"""`medbay workflow`: the workflows there are, shipped, of a user's own, and those that a tag on an issue may start."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import click

from medbay.cli.output import Screen, note, print_json, say, screen
from medbay.cli.session import Session, json_option, pass_session
from medbay.errors import NotFound
from medbay.views.text import clean, wrap

_WRONG: Final = 2
_NAME: Final = 24  # columns of a name
_NARROW: Final = 60


@click.group()
def command() -> None:
    """The workflows there are."""


@command.command("list")
@click.option("--dispatchable", is_flag=True, help="Only those that a tag on an issue may start.")
@json_option
@pass_session
def list_(session: Session, /, dispatchable: bool) -> None:
    """List the workflows: those of stories, and those that tags on issues stand for.

    \b
    Example:
      medbay workflow list --dispatchable
    """
    from msgspec import structs

    from medbay.config import workflows
    from medbay.core.tracker.issue import TAG_WORKFLOWS

    found: list[dict[str, Any]] = [structs.asdict(each) for each in TAG_WORKFLOWS]
    for each in workflows.every(_folder(session)):
        made = each.workflow
        found.append({"name": made.name, "does": made.about, "dispatchable": made.dispatchable, "checked": False})
    found = [each for each in found if each["dispatchable"] or not dispatchable]
    if session.json:
        print_json(found)
        return
    for one in found:
        for line in _described(clean(one["name"]), clean(one["does"]), screen()):
            say(line)


def _described(name: str, about: str, shown: Screen) -> list[str]:
    """What a workflow does beside its name; on a screen that is too narrow for both, below it."""
    if not shown.terminal:
        return [name.ljust(_NAME) + about]
    if shown.width < _NARROW:
        return [name, *(f"  {line}" for line in wrap(about, shown.width - 2))]
    first, *more = wrap(about, shown.width - _NAME)
    return [name.ljust(_NAME) + first, *(" " * _NAME + line for line in more)]


@command.command("show")
@click.argument("name")
@click.option("--format", "form", type=click.Choice(["text", "mermaid", "json"]), default="text", show_default=True)
@json_option
@pass_session
def show(session: Session, /, name: str, form: str) -> None:
    """Print one workflow: its phases, where each starts and where each verdict leads.

    \b
    Example:
      medbay workflow show story --format mermaid
    """
    from medbay.config import workflows
    from medbay.core.tracker.issue import BY_TAG
    from medbay.core.workflow import drawing

    try:
        found = workflows.find(name, _folder(session)).workflow
    except NotFound:
        if name not in BY_TAG:
            raise
        # What a tag on an issue stands for is run as a task is.
        found = replace(workflows.shipped("task").workflow, name=name, about=BY_TAG[name].does)
    if session.json or form == "json":
        print_json(drawing.as_data(found))
        return
    say(drawing.mermaid(found) if form == "mermaid" else drawing.text(found))


@command.command("check")
@click.argument("file")
@json_option
@pass_session
def check(session: Session, /, file: str) -> int:
    """Name every mistake in a workflow file with its line; exit 2 if there is one, 3 if there is no such file.

    \b
    Example:
      medbay workflow check workflows/docs.toml
    """
    from medbay.config import workflows

    mistakes = workflows.mistakes(Path(file))
    if session.json:
        print_json([{"file": at.file, "line": at.line, "message": at.message, "hint": at.hint} for at in mistakes])
        return _WRONG if mistakes else 0
    for each in mistakes:
        say(clean(str(each)))
    count = "no mistakes" if not mistakes else "1 mistake" if len(mistakes) == 1 else f"{len(mistakes)} mistakes"
    note(f"{file}: {count}")
    return _WRONG if mistakes else 0


def _folder(session: Session) -> Path | None:
    """Where workflows of a user's own are: beside the configuration that is in force here."""
    try:
        config = session.place().config
    except NotFound:  # the shipped ones are there without any project
        return None
    return config.folder / config.story.workflows if config.folder is not None else None
