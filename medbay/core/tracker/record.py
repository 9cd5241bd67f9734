"""The failure record in an issue's notes: written strictly, read leniently, a person's own notes untouched.

A record is one line from `ADWS_FAILED` to the end of that line; `needs_human` at the start of a line hands the issue to
a person and stands over any record. Both markers are case-sensitive; in prose they mean nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from msgspec import Struct

from medbay.core.untrusted import line

MARK: Final = "ADWS_FAILED"
NEEDS_HUMAN: Final = "needs_human"
UNKNOWN: Final = "unknown"
PLAIN_STEP: Final = "run"  # of a task that is no phase
SUMMARY_MAX: Final = 300
REASON_MAX: Final = 500
ATTEMPT_MAX: Final = 10**6
_TIME_MAX: Final = 2**47  # a time beyond this is none that anything failed at

_KEYS: Final = ("attempt", "last_failure", "error_class", "step", "summary")
_RECORD: Final = re.compile(r"(?:(?<![\w\\])ADWS_FAILED\|[^\n]*|^ADWS_FAILED[ \t]*\r?$)", re.MULTILINE)
_HUMAN: Final = re.compile(r"^needs_human(?:\|[^\n]*|[ \t]*\r?)$", re.MULTILINE)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_SPLIT: Final = re.compile(r"(?<!\\)((?:\\\\)*)\|")
_WRITTEN: Final = {"\\": "\\\\", "|": "\\|", "\n": "\\n", "\r": "\\r"}
_READ: Final = {"\\": "\\", "|": "|", "n": "\n", "r": "\r"}


class FailureRecord(Struct, frozen=True, kw_only=True):
    """How an issue failed last, as its notes say it."""

    attempt: int
    last_failure: int  # milliseconds of UTC
    error_class: str
    step: str = PLAIN_STEP
    summary: str = ""
    extra: Mapping[str, str] = {}

    @property
    def is_unknown(self) -> bool:
        """Whether the class says nothing: the word `unknown` alone, or none. A class without a slash is known."""
        return self.error_class.strip() in ("", UNKNOWN)


class UnreadableRecord(Struct, frozen=True):
    """A record that cannot be read: never guessed, always reported."""

    text: str
    why: str


class Notes(Struct, frozen=True):
    """What an issue's notes say to us."""

    record: FailureRecord | UnreadableRecord | None = None
    human: str | None = None  # why a person is waited for; empty when no reason is given

    @property
    def is_free(self) -> bool:
        """Whether nothing in them keeps the issue from being dispatched."""
        return self.record is None and self.human is None


def read(notes: str) -> Notes:
    """What the notes of an issue say: the last record counts, and `needs_human` wins over it."""
    human = _HUMAN.search(notes)
    records = _RECORD.findall(notes)
    record = parse(records[-1]) if records else None
    return Notes(record=record, human=_reason(human[0]) if human is not None else None)


def parse(text: str) -> FailureRecord | UnreadableRecord:
    """Read one record, from its mark to the end of its line."""
    said = text.rstrip("\r\n")
    values: dict[str, str] = {}
    for part in _parts(said.removeprefix(MARK).removeprefix("|")):
        name, equals, value = part.partition("=")
        name = name.strip()
        if not equals:
            return UnreadableRecord(said, f'"{line(part, 60)}" has no value' if part.strip() else "it has no values")
        if name in values:
            return UnreadableRecord(said, f"{line(name, 60)} is there twice")
        values[name] = _unescaped(value)
    if missing := [name for name in _KEYS if name not in values]:
        return UnreadableRecord(said, f"{', '.join(missing)} missing")
    return _record(said, values)


def write(record: FailureRecord) -> str:
    """Write a record as one line; what is read from it is the record again."""
    said = {
        "attempt": str(record.attempt),
        "last_failure": iso(record.last_failure),
        "error_class": record.error_class,
        "step": record.step,
        "summary": record.summary,
        **record.extra,
    }
    return "|".join((MARK, *(f"{name}={_escaped(value)}" for name, value in said.items())))


def needs_human(reason: str) -> str:
    """The line that hands an issue to a person."""
    return f"{NEEDS_HUMAN}|reason={_escaped(line(reason, REASON_MAX))}"


def with_line(notes: str, ours: str) -> str:
    """Put our one line into the notes: in place of what we wrote before, else behind what is there."""
    own = _own_lines(notes)
    if own:
        start, end = own[-1].span()
        return cleared(notes[:start], at_end=False) + ours + notes[end:]
    if not notes or notes.endswith("\n"):
        return f"{notes}{ours}\n" if notes else ours
    return f"{notes}\n{ours}"


def cleared(notes: str, *, at_end: bool = True) -> str:
    """The notes without our lines. What `with_line` added to notes of a person is taken out to the byte."""
    return _taken_out(notes, _own_lines(notes), at_end=at_end)


def without(notes: str, ours: str) -> str:
    """The notes without the line that we wrote, edited by a person or not; a record that goes on counting is another's.

    With `needs_human` as our line every such mark goes.
    """
    return _taken_out(notes, [found for found in _own_lines(notes) if _is_same(found[0], ours)])


def last_line(notes: str) -> str:
    """The last record in the notes, as it stands there; empty when there is none."""
    records = _RECORD.findall(notes)
    return records[-1].rstrip("\r") if records else ""


def iso(at_ms: int) -> str:
    """A time as a record has it: ISO 8601, UTC, to the second; milliseconds only where there are some."""
    moment = datetime.fromtimestamp(at_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{moment}.{at_ms % 1000:03d}Z" if at_ms % 1000 else f"{moment}Z"


def time_of(text: str) -> int | None:
    """The time that a text names; None when it names none. Without a zone it is UTC."""
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    moment = found if found.tzinfo is not None else found.replace(tzinfo=UTC)
    at = round(moment.timestamp() * 1000)
    return at if 0 <= at < _TIME_MAX else None


def _record(said: str, values: Mapping[str, str]) -> FailureRecord | UnreadableRecord:
    number, at = values["attempt"].strip(), time_of(values["last_failure"])
    if not (number.isascii() and number.isdigit() and 1 <= int(number[:9]) <= ATTEMPT_MAX):
        return UnreadableRecord(said, f'attempt "{line(number, 40)}" is no number from 1 on')
    if at is None:
        return UnreadableRecord(said, f'last_failure "{line(values["last_failure"], 60)}" is no time')
    return FailureRecord(
        attempt=int(number),
        last_failure=at,
        error_class=values["error_class"],
        step=values["step"],
        summary=values["summary"],
        extra={name: value for name, value in values.items() if name not in _KEYS},
    )


def _is_same(found: str, ours: str) -> bool:
    if _HUMAN.match(ours):
        return _HUMAN.match(found) is not None
    theirs, known = parse(found), parse(ours)
    counts = isinstance(theirs, FailureRecord) and isinstance(known, FailureRecord) and theirs.attempt <= known.attempt
    return counts or found.rstrip("\r") == ours


def _taken_out(notes: str, lines: list[re.Match[str]], *, at_end: bool = True) -> str:
    for found in reversed(lines):
        start, end = found.span()
        if notes[end : end + 1] == "\n" and (start == 0 or notes[start - 1] == "\n"):
            end += 1
        elif end == len(notes) and at_end and notes[start - 1 : start] == "\n":
            start -= 1
        notes = notes[:start] + notes[end:]
    return notes


def _own_lines(notes: str) -> list[re.Match[str]]:
    """Our lines in the notes, in order; text in front of a record on its line is a person's."""
    return sorted((*_RECORD.finditer(notes), *_HUMAN.finditer(notes)), key=lambda found: found.start())


def _reason(text: str) -> str:
    _, _, rest = text.rstrip("\r").partition("|")
    for part in _parts(rest):
        name, equals, value = part.partition("=")
        if equals and name.strip() == "reason":
            return _unescaped(value)
    return ""


def _parts(text: str) -> list[str]:
    """A line at its pipes, those behind a backslash excepted."""
    parts, start = [], 0
    for found in _SPLIT.finditer(text):
        parts.append(text[start : found.end() - 1])
        start = found.end()
    return [*parts, text[start:]]


def _escaped(text: str) -> str:
    return "".join(_WRITTEN.get(char, char) for char in text)


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda found: _READ.get(found[1], found[0]), text)
