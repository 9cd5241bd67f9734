"""`medbay top`: the tasks live on the whole screen."""

from __future__ import annotations

import os
import sys

import click

from medbay.cli.session import Session, pass_session, refuse_inside_attempts
from medbay.errors import UsageError


@click.command()
@pass_session
def command(session: Session) -> None:
    """Watch the tasks on the whole screen, what needs you first, and act on them with single keys.

    j k move, / filters, o opens, r retries, p pauses, a answers, l shows the log, ? helps, q quits.
    """
    refuse_inside_attempts("top")
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or os.environ.get("TERM", "dumb") == "dumb":
        raise UsageError("top needs a terminal", hint="medbay list and medbay events -f print the same as lines")
    from medbay.cli.live.top import Top

    Top(session.bay(), session.store).run()
