"""`medbay capture`: a thought, written down as it comes."""

from __future__ import annotations

import sys
from typing import IO

import click

from medbay.cli.output import print_json, say
from medbay.cli.session import Session, json_option, pass_session
from medbay.core.intake.records import CAPTURE_MAX
from medbay.errors import UsageError
from medbay.views import intake as view

_READ_MAX = 4 * (CAPTURE_MAX + 1)  # bytes: a character takes four at most


@click.command()
@click.argument("text", required=False)
@click.option("--file", "file", type=click.File("rb"), metavar="F", help="Take the text from a file.")
@json_option
@pass_session
def command(session: Session, text: str | None, file: IO[bytes] | None) -> None:
    """Store TEXT (or - for standard input) as a capture, and print its id.

    `medbay up` or `medbay intake` turns captures into candidates; `medbay candidates` lists those.

    \b
    Examples:
      medbay capture "login is flaky on Safari"
      git log -1 | medbay capture -
    """
    if (text is None) == (file is None):
        raise UsageError("name the text, or a file with --file", hint='medbay capture "TEXT"')
    source = sys.stdin.buffer if text == "-" else file
    said = text or ""
    if source is not None:
        raw = source.read(_READ_MAX)
        try:
            said = raw.decode("utf-8")
        except UnicodeDecodeError:
            hint = "a longer one is no capture" if len(raw) == _READ_MAX else "convert it first"
            raise UsageError("the text is not UTF-8", hint=hint) from None
    made = session.bay(create=True).intake.capture(said)
    if session.json:
        print_json(view.capture_as_json(made))
    else:
        say(made.id)
