"""Reading the log file of an attempt: its ends, all of it, or what was added, in bounded pieces.

The middle of a long log was punched out while it was written (`log_cap`); the hole itself says where. A job may have
put anything in the place of its log: what is no regular file is an OSError or a ValueError, and no link is followed.
"""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from medbay.core.outcome import HEAD_BYTES, TAIL_BYTES
from medbay.foreign import open_regular

NOTE_MARK: Final = "[medbay]"
_CHUNK: Final = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class Hole:
    """The range of a log that was dropped while it was written."""

    begin: int
    end: int

    def line(self) -> str:
        """What a reader sees in its place."""
        return f"\n[... {self.end - self.begin} bytes dropped here ...]\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPiece:
    """Some text of a log, and the offset to go on from."""

    text: str
    offset: int


def read_ends(path: str | Path, head_bytes: int = HEAD_BYTES, tail_bytes: int = TAIL_BYTES) -> tuple[str, str, int]:
    """Head, tail and size of a log. A log that fits into the tail has no head; the two never overlap."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return "", "", 0
    try:
        total = os.fstat(descriptor).st_size
        if total <= tail_bytes:
            return "", _as_text(os.pread(descriptor, tail_bytes, 0)), total
        hole = _hole(descriptor, total)
        head_end = min(head_bytes, total - tail_bytes, hole.begin if hole else total)
        tail_begin = max(total - tail_bytes, hole.end if hole else 0)
        head = os.pread(descriptor, head_end, 0)
        tail = os.pread(descriptor, total - tail_begin, tail_begin)
        return _as_text(head, cut_end=True), _as_text(tail, cut_begin=True), total
    except OSError:
        return "", "", 0
    finally:
        os.close(descriptor)


def lines_before_tail(path: str | Path, total: int) -> int | None:
    """How many line breaks stand before the tail that `read_ends` gives; None where a part was dropped or is gone."""
    end, at, found = total - TAIL_BYTES, 0, 0
    try:
        with open(open_regular(Path(path)), "rb", buffering=0) as handle:
            if _hole(handle.fileno(), total) is not None:
                return None
            while at < end and (piece := os.pread(handle.fileno(), min(end - at, _CHUNK), at)):
                found, at = found + piece.count(b"\n"), at + len(piece)
            return found
    except (OSError, ValueError):
        return None


def dropped(path: Path) -> Hole | None:
    """The range that was dropped from a log, if any."""
    with open(open_regular(path), "rb", buffering=0) as handle:
        return _hole(handle.fileno(), os.fstat(handle.fileno()).st_size)


def pieces(path: Path) -> Iterator[str]:
    """A whole log in bounded pieces, one visible line in place of what was dropped."""
    offset = 0
    while True:
        piece = read_from(path, offset, ended=True)
        if piece.offset <= offset:
            return
        offset = piece.offset
        yield piece.text


def read_from(path: Path, offset: int, *, ended: bool = False) -> LogPiece:
    """What a log holds from this offset on, bounded; call again with the offset it gives, to follow it.

    While the writer lives a character cut in half is left for the next call; `ended` gives it out.
    """
    with open(open_regular(path), "rb", buffering=0) as handle:
        descriptor = handle.fileno()
        total = os.fstat(descriptor).st_size
        if offset > total:
            offset = 0  # the command truncated its own output (`> /dev/stderr` does)
        hole = _hole(descriptor, total)
        if hole and hole.begin <= offset < hole.end:
            return LogPiece(text=hole.line(), offset=hole.end)
        room = hole.begin - offset if hole and offset < hole.begin else _CHUNK
        raw = os.pread(descriptor, min(_CHUNK, room), offset)
    end = offset + len(raw)
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    # Nothing comes after the end of an ended log or before a hole that could complete a character.
    text = decoder.decode(raw, final=(ended and end >= total) or (hole is not None and end == hole.begin))
    return LogPiece(text=text.replace("\0", "\ufffd"), offset=end - len(decoder.getstate()[0]))


def append_note(path: str | Path, note: str) -> None:
    """Leave a line of our own at the end of a log; a log that cannot be written is no reason to fail."""
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            size = os.fstat(descriptor).st_size
            begun = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"  # a prompt has no line break after it
            os.write(descriptor, (b"\n" if begun else b"") + note_line(note))
        finally:
            os.close(descriptor)


def note_line(note: str) -> bytes:
    """A line of our own as it stands in a log."""
    return f"{NOTE_MARK} {note}\n".encode("utf-8", "replace")


def _hole(descriptor: int, total: int) -> Hole | None:
    try:
        begin = os.lseek(descriptor, 0, os.SEEK_HOLE)
        if begin >= total:
            return None  # only the virtual hole at the end of every file
        return Hole(begin=begin, end=os.lseek(descriptor, begin, os.SEEK_DATA))
    except OSError:  # no support, an empty file, or nothing but a hole
        return None


def _as_text(raw: bytes, *, cut_begin: bool = False, cut_end: bool = False) -> str:
    if cut_begin:  # at most three bytes can be the rest of a character that was cut
        lead = next((i for i, byte in enumerate(raw[:4]) if byte & 0xC0 != 0x80), 0)
        raw = raw[lead:]
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(raw, final=not cut_end)
    return text.replace("\0", "\ufffd")  # PostgreSQL takes no NUL in a text
