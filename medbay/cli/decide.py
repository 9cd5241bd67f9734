"""`medbay decide`: the open decisions of stories, one after the other, in one sitting."""

from __future__ import annotations

import sys

import click

from medbay.cli.inbox import question_lines
from medbay.cli.output import note, print_json, say, screen
from medbay.cli.session import Session, json_option, pass_session, refuse_inside_attempts
from medbay.core.workflow.question import DECIDE
from medbay.views import question as view
from medbay.views.text import clean


@click.command()
@click.option("--defaults", is_flag=True, help="Answer each with its default.")
@json_option
@pass_session
def command(session: Session, /, defaults: bool) -> int:
    """Go through what stories want decided, and answer each; an empty line leaves one open.

    With --defaults what blocked a story stays open: that needs a look.
    Without a terminal the open ones are listed; exit status 75 while any is open.

    \b
    Examples:
      medbay decide
      medbay decide --defaults
    """
    from medbay.env import SystemClock

    refuse_inside_attempts("medbay decide")
    bay = session.bay()
    asked = [each for each in bay.inbox() if each.owner is not None and each.owner.kind == "story"]
    if defaults:  # what blocked a story needs a look, not a default
        asked = [each for each in asked if any(option.effect == DECIDE for option in each.options)]
    typed = sys.stdin.isatty() and screen().terminal and not session.json
    left = len(asked)
    for each in asked if defaults or typed else ():
        if not defaults:
            for line in question_lines(each, SystemClock().now_ms(), screen()):
                say(line)
        words = "default" if defaults else click.prompt("  your answer", default="", show_default=False, err=True)
        if words.strip():
            chosen, _ = bay.answer(each.id, words)
            left -= 1
            note(clean(f"{each.id}: {chosen}"))
    if session.json:
        print_json([view.as_json(each) for each in asked])
    elif not typed and not defaults:
        for each in asked:
            say(f"{each.id}  {clean(each.need)}")
    if not asked:
        note("no decisions are open")
    return 75 if left else 0
