"""`medbay log`: what an attempt printed, without secrets. On a terminal its colours and nothing else pass."""

from __future__ import annotations

import codecs
import contextlib
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from medbay.cli.completion import task_ids
from medbay.cli.output import Screen, note, print_json, screen
from medbay.cli.session import Session, json_option, pass_session
from medbay.cli.story import task_of
from medbay.errors import NotFound, UsageError
from medbay.foreign import open_regular
from medbay.views.text import ColoursOnly, clean

if TYPE_CHECKING:
    from medbay.bay import Bay
    from medbay.core.model import Attempt, Task
    from medbay.core.outcome import Output
    from medbay.core.redaction import Redaction
    from medbay.runners.agent.record import Readable

_CHUNK: Final = 65_536
_LOOK_EVERY_S: Final = 0.2
_CHECK_HELP: Final = "The output of its check K instead; 0 is the evaluation."


@click.command()
@click.argument("task_id", metavar="ID", shell_complete=task_ids)
@click.option("-f", "--follow", is_flag=True, help="Go on as it grows, into the next attempts.")
@click.option("--attempt", "number", type=click.IntRange(min=1), metavar="N", help="This attempt, not the newest.")
@click.option("--raw", is_flag=True, help="The record of an agent as its tool writes it.")
@click.option("--check", "position", type=click.IntRange(min=0), metavar="K", help=_CHECK_HELP)
@json_option
@pass_session
def command(session: Session, task_id: str, follow: bool, number: int | None, raw: bool, position: int | None) -> None:
    """Print the output of a task's newest attempt; of an agent what it said and did.

    \b
    Examples:
      medbay log m2xa
      medbay log m2xa --attempt 1
      medbay log m2xa --check 2
      medbay log m2xa --raw
      medbay log m2xa -f
    """
    bay = session.bay()
    task = task_of(bay, task_id)
    if follow and position is not None:
        raise UsageError("-f follows attempts, not checks", hint="leave one of them out")
    if follow:
        _follow(bay, task, number, raw=raw)
        return
    attempt = _attempt(bay, task, number)
    if attempt is None:
        raise NotFound(f"{task.id} has no output yet: it was not started", hint=f"medbay explain {task.id} says why")
    if position is None:
        printed = _of_attempt(bay, attempt)
    else:
        printed = _of_check(bay, attempt, position)
    if session.json:
        print_json(_as_json(printed, redaction_for(bay, task)))
        return
    out = _printer(bay, task, None if raw or position is not None else attempt)
    copied = out.copy(printed.path, 0)
    if copied is None:
        _from_store(printed, out)
    elif copied == 0 and attempt.ended_at is not None and position is None:
        note(f"attempt {attempt.number} printed nothing")
    out.end()
    _say_dropped(printed.path)
    if task.role == "triage":
        _beside(printed.path)


def _say_dropped(log: Path) -> None:
    """What is missing of a long log, which is easy to overlook in the middle of it."""
    from medbay.places import logs
    from medbay.views.store import size

    with contextlib.suppress(OSError, ValueError):
        if hole := logs.dropped(log):
            missing, first = size(hole.end - hole.begin), size(hole.begin)
            note(f"{missing} in the middle were dropped while it was written: the first {first} and the end are kept")


def _beside(log: Path) -> None:
    """Where the rest of a triage is: its log is what it wrote on stderr."""
    for what, name in (("what it was shown", "context.json"), ("what it answered", "answer")):
        path = log.with_suffix(f".{name}")
        if path.exists() and path.stat().st_size:
            note(clean(f"{what}: {os.path.relpath(path)}"))


@dataclass(frozen=True, slots=True)
class _Printed:
    """What an attempt or one of its checks printed: a file, and the ends that the store keeps."""

    attempt: Attempt
    path: Path
    kept: Output | None
    check: int | None = None
    silent: bool = False  # it is known to have printed nothing


def _of_attempt(bay: Bay, attempt: Attempt) -> _Printed:
    """Of what was printed the store keeps the ends, until the task is archived; of a lost attempt it has nothing."""
    kept = bay.output(attempt.task_id, attempt.number)
    silent = False
    if kept is None and attempt.ended_at is not None and attempt.outcome != "lost":
        silent = any(each.name == "task:created" for each in bay.events(limit=1, task_id=attempt.task_id))
    return _Printed(attempt, Path(attempt.log_path), kept, silent=silent)


def _of_check(bay: Bay, attempt: Attempt, position: int) -> _Printed:
    from medbay.core.outcome import Output

    found = bay.checks(attempt.task_id, since=attempt.number).get(attempt.number, [])
    each = next((each for each in found if each.position == position), None)
    if each is None:
        hint = f"medbay show {attempt.task_id} lists its checks"
        what = f"check {position}" if position else "evaluation"
        raise NotFound(f"attempt {attempt.number} of {attempt.task_id} has no {what}", hint=hint)
    kept = Output(head=each.head, tail=each.tail, total_bytes=each.total_bytes) if each.total_bytes else None
    return _Printed(attempt, Path(each.log_path or "nowhere"), kept, position)


def redaction_for(bay: Bay, task: Task) -> Redaction:
    """What is not shown of a task's logs."""
    from medbay import app

    return app.redaction_of(bay.place.config, os.environ).knowing(dict(task.env))


def _printer(bay: Bay, task: Task, attempt: Attempt | None) -> Printer:
    """What prints a log; of an agent that is given in a form that a person reads."""
    profile = bay.profiles.get(attempt.agent) if attempt is not None and attempt.agent else None
    if profile is None:
        return Printer(screen(), redaction_for(bay, task))
    from medbay.runners.agent.profiles import preset_of
    from medbay.runners.agent.record import Readable

    known = preset_of(profile)
    return Printer(screen(), redaction_for(bay, task), Readable(known) if known.read is not None else None)


class Printer:
    """Copies bytes of a log to stdout without secrets: else untouched in a pipe, no escape sequences on a terminal."""

    def __init__(self, shown: Screen, redaction: Redaction, readable: Readable | None = None) -> None:
        from medbay.core.redaction import Redactor

        self._readable = readable
        self._raw = not shown.terminal
        self._filter = ColoursOnly(colours=shown.colour)
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape" if self._raw else "replace")
        self._redactor = Redactor(redaction)
        self._newline = True

    def write(self, data: bytes, *, final: bool = False) -> None:
        """Print some bytes; the line they end in waits for its rest unless they are the last."""
        if self._readable is not None:
            data = self._readable.feed(data, final=final)
        text = self._redactor.feed(self._decoder.decode(data, final), final=final)
        if not text:
            return
        self._newline = text.endswith("\n")
        if self._raw:
            sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
            sys.stdout.buffer.flush()
        else:
            sys.stdout.write(self._filter.feed(text))
            sys.stdout.flush()

    def copy(self, path: Path, offset: int) -> int | None:
        """Print a log from an offset to its present end; the offset reached, None when there is no such file."""
        try:
            while True:
                data, after = read_bytes(path, offset)
                if after <= offset:
                    return offset
                self.write(data)
                offset = after
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            note(clean(f"cannot read {path}: {getattr(error, 'strerror', None) or error}"))
            return None

    def end(self) -> None:
        """The rest; a prompt starts on a line of its own, and in its own colour."""
        self.write(b"", final=True)
        if not self._raw and not self._newline:
            sys.stdout.write("\n")


def read_bytes(path: Path, offset: int) -> tuple[bytes, int]:
    """Some bytes of a log from an offset, and where to go on; one line in place of what was dropped."""
    from medbay.places import logs

    hole = logs.dropped(path)
    if hole and hole.begin <= offset < hole.end:
        return hole.line().encode(), hole.end
    room = hole.begin - offset if hole and offset < hole.begin else _CHUNK
    with open(open_regular(path), "rb") as file:
        file.seek(offset)
        data = file.read(min(_CHUNK, room))
    return data, offset + len(data)


def _attempt(bay: Bay, task: Task, number: int | None) -> Attempt | None:
    if number is None:
        return next(iter(bay.attempts(task.id, 1)), None)
    found = next((each for each in bay.attempts(task.id, task.attempts or 1) if each.number == number), None)
    if found is None:
        raise NotFound(f"{task.id} has no attempt {number}", hint=f"it had {task.attempts}; medbay show {task.id}")
    return found


def _as_json(printed: _Printed, redaction: Redaction) -> dict[str, Any]:
    """The text of a log with where it came from; `whole` is false when only its ends were left."""
    from medbay.places import logs

    attempt, path = printed.attempt, printed.path
    try:
        text, whole = "".join(logs.pieces(path)), logs.dropped(path) is None
    except (OSError, ValueError):
        text, whole = (printed.kept.text(), not printed.kept.head) if printed.kept else ("", printed.silent)
    return {
        "task": attempt.task_id,
        "attempt": attempt.number,
        "check": printed.check,
        "host": attempt.host,
        "log_path": str(path),
        "whole": whole,
        "text": redaction.text(text),
    }


def _from_store(printed: _Printed, out: Printer) -> None:
    """The file is elsewhere or gone: the ends that the store keeps."""
    kept = printed.kept
    where = clean(f"{printed.attempt.host}:{printed.path}")
    if printed.silent:
        note(f"attempt {printed.attempt.number} printed nothing")
        return
    if kept is None:
        what = "it has printed nothing yet" if printed.attempt.ended_at is None else "nothing of it was kept"
        note(f"{where} cannot be read here, and {what}")
        return
    if kept.head:  # without one, the rest is all there was: a Python call that prints little has no file either
        note(f"{where} cannot be read here; this is what the store kept of {kept.total_bytes} bytes")
    out.write(kept.text().encode("utf-8", "replace"))


def _follow(
    bay: Bay, task: Task, number: int | None, wait: Callable[[float], None] = time.sleep, *, raw: bool = False
) -> None:
    """Print attempt after attempt as they grow, until the task ends or waits for a person."""
    out: Printer | None = None
    offset, at, told = 0, number, 0  # up to where, of which attempt, and the last one that the store told of
    while True:
        task = bay.get(task.id)
        attempt = _attempt(bay, task, at)
        if attempt is not None:
            if at is None:
                at = attempt.number
                note(f"attempt {at}")
            out = out or _printer(bay, task, None if raw else attempt)
            copied = out.copy(Path(attempt.log_path), offset)
            offset = copied or offset
            if attempt.ended_at is not None:
                # It ran elsewhere, or has no file: the store has its ends.
                if copied is None and told != attempt.number:
                    told = attempt.number
                    _from_store(_of_attempt(bay, attempt), out)
                out.end()
                if number is not None or (at == task.attempts and _stands(task)):
                    return
                if at < task.attempts:
                    at, offset, out = at + 1, 0, None
                    note(f"attempt {at}")
                    continue
        elif _stands(task):
            return
        wait(_LOOK_EVERY_S)


def _stands(task: Task) -> bool:
    """Whether nothing more comes by itself."""
    return task.finished or task.status == "blocked" or task.paused
