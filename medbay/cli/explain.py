"""`medbay explain`: where a task stands, why, what happens next and when, and what would change that."""

from __future__ import annotations

from typing import Final

import click

from medbay.cli.completion import task_ids
from medbay.cli.output import BOLD, Screen, fields, print_json, say, screen
from medbay.cli.session import Session, json_option, pass_session
from medbay.cli.story import explain_story
from medbay.core import durations
from medbay.errors import NotFound
from medbay.views import moments
from medbay.views.text import clean, width, wrap

_LABEL: Final = 8


@click.command()
@click.argument("task_id", metavar="ID", shell_complete=task_ids)
@json_option
@pass_session
def command(session: Session, task_id: str) -> None:
    """Say why a task is where it is, what happens next, and what would change that.

    \b
    Example:
      medbay explain m2xa
    """
    from medbay.views import explanation

    bay = session.bay()
    try:
        found = bay.explain(task_id)
    except NotFound:
        if not bay.stories.exists(task_id):
            raise
        explain_story(session, bay, task_id)
        return
    if session.json:
        print_json(explanation.as_json(found))
        return
    shown = screen()
    if not shown.terminal:
        for label, sentence in explanation.sentences(found, durations.iso):
            fields(label.lower(), sentence)
        return
    last = ""
    for label, sentence in explanation.sentences(found, lambda at: moments.clock(at, found.now)):
        for line in _wrapped(label if label != last else " ", clean(sentence), shown):
            say(line)
        last = label


def _wrapped(label: str, sentence: str, shown: Screen) -> list[str]:
    """A label and its sentence, broken between words to the width of the terminal."""
    lines = wrap(shown.plain(sentence), max(30, shown.width - _LABEL))
    if width(label) >= _LABEL:
        lines.insert(0, shown.paint(label, BOLD))
        label = ""
    head = lines[0] if not label else shown.paint(label.ljust(_LABEL), BOLD) + lines[0]
    return [head, *(" " * _LABEL + each for each in lines[1:])]
