"""`medbay diagnose`: what Medbay thinks of an output, without running anything. `--jsonl` judges many."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from medbay.cli import files
from medbay.cli.output import BOLD, Screen, fields, note, print_json, say, screen, to_json
from medbay.cli.session import Session, json_option, pass_session
from medbay.core.untrusted import parsed
from medbay.errors import UsageError
from medbay.views import diagnosis as view
from medbay.views.text import clean, cut

if TYPE_CHECKING:
    from medbay.core.diagnosis import Diagnosis

_LINE_BYTES_MAX = files.BYTES_MAX


@click.command()
@click.argument("file", required=False, metavar="[FILE]")
@click.option("--exit-code", type=int, metavar="N", help="How the run ended.")
@click.option("--timed-out", is_flag=True, help="Its time limit ended it.")
@click.option("--jsonl", metavar="FILE", help="Judge every line {id, text, exit_code} of a file; - is stdin.")
@json_option
@pass_session
def command(session: Session, file: str | None, exit_code: int | None, timed_out: bool, jsonl: str | None) -> int:
    """Diagnose an output: FILE, or stdin.

    \b
    Examples:
      make test 2>&1 | medbay diagnose --exit-code 2
      medbay diagnose build.log --json
      medbay diagnose --jsonl outputs.jsonl
    """
    if jsonl is not None:
        if file is not None:
            raise UsageError(f"--jsonl {jsonl} and {file} were both given", hint="leave one of them out")
        return _judge_lines(jsonl)
    file = file or "-"
    text = files.text_of(file)
    found = diagnosis_of(text, exit_code=exit_code, timed_out=timed_out)
    if session.json:
        print_json(view.as_json(found))
        return 0
    shown = screen()
    for label, sentence in view.sentences(found):
        if shown.terminal:
            say(_line(label, sentence, shown))
        else:
            fields(label, sentence)
    return 0


def diagnosis_of(text: str, *, exit_code: int | None, timed_out: bool, **more: Any) -> Diagnosis:
    """What the diagnosis says of a text now, quoting no secrets."""
    from medbay.core.diagnosis import diagnose
    from medbay.core.redaction import redact

    found = diagnose(text, now=datetime.now(tz=UTC), exit_code=exit_code, timed_out=timed_out, **more)
    words = replace(found.pattern, excerpt=redact(found.pattern.excerpt), lines=redact(found.pattern.lines))
    return replace(found, pattern=words, summary=redact(found.summary), suggested_fix=redact(found.suggested_fix))


def _line(label: str, sentence: str, shown: Screen) -> str:
    return shown.paint(label.ljust(12), BOLD) + shown.plain(cut(clean(sentence), shown.width - 12))


def _judge_lines(name: str) -> int:
    """One answer per line as it is read; a bad line is named and the rest goes on. Exit 2 if there was one."""
    source = "stdin" if name == "-" else name
    bad = 0
    with files.opened(name) as stream:
        for number, raw in enumerate(iter(lambda: stream.readline(_LINE_BYTES_MAX), b""), start=1):
            if not raw.strip():
                continue
            try:
                say(to_json(_judge(raw)))
            except UsageError as error:
                bad += 1
                note(clean(f"{source}:{number}: {error}"))
    return 2 if bad else 0


def _judge(raw: bytes) -> dict[str, Any]:
    try:
        line = parsed(raw.decode("utf-8", "replace"))
    except ValueError:
        raise UsageError("is not JSON", hint='write {"id": ..., "text": ..., "exit_code": ...}') from None
    if not isinstance(line, dict) or not isinstance(line.get("text"), str):
        raise UsageError("is not an object with a text", hint='write {"id": ..., "text": ..., "exit_code": ...}')
    code, text = line.get("exit_code"), line["text"]
    if code is not None and (isinstance(code, bool) or not isinstance(code, int)):
        raise UsageError("exit_code is not a whole number")
    found = diagnosis_of(text, exit_code=code, timed_out=line.get("timed_out") is True)
    return {"id": line.get("id"), **view.as_json(found)}
