"""The record of an agent as it grows: its log, the file in which the tool keeps its session, and what is known of both.

Where a tool tells what it used only at its end, its session tells it before, so that a budget holds while it runs. What
is known is kept beside the log, so that an engine that comes later knows what a lost one cost.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from glob import escape, glob
from typing import Final

import msgspec

from medbay.foreign import open_regular
from medbay.runners.agent import ending
from medbay.runners.agent.preset import Preset
from medbay.runners.agent.transcript import Transcript, record_in

READ_BYTES: Final = 8_000_000  # at once; a log has no more than that
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Readable:
    """A record as a person reads it: what the agent said and did, in place of the form in which its tool tells it."""

    def __init__(self, preset: Preset) -> None:
        self._preset = preset
        self._transcript = Transcript()
        self._rest = b""

    def feed(self, data: bytes, *, final: bool = False) -> bytes:
        """Take some bytes of it; the lines they come to. What is not a whole line yet waits for its rest."""
        whole, newline, rest = (self._rest + data).rpartition(b"\n")
        self._rest = b"" if final else rest
        shown = []
        for line in (whole + newline + (rest if final else b"")).decode("utf-8", "replace").split("\n"):
            self._transcript.words, self._transcript.length = [], 0
            ending.feed(self._preset, self._transcript, line)
            shown += self._transcript.words
        return "".join(f"{line}\n" for line in shown).encode("utf-8", "replace")


def record_path(log_path: str) -> str:
    """Where what is known of a live agent is kept: beside its log."""
    return f"{log_path.removesuffix('.log')}.agent.json"


def save(transcript: Transcript, log_path: str) -> None:
    """Keep what is known, whole or not at all; where it cannot be kept nothing but a later reckoning suffers."""
    path = record_path(log_path)
    with suppress(OSError):
        with suppress(FileNotFoundError):
            os.unlink(f"{path}.new")
        with open(os.open(f"{path}.new", _NEW, 0o600), "wb") as file:
            file.write(msgspec.json.encode(transcript))
        os.replace(f"{path}.new", path)


def restore(preset: Preset, log_path: str) -> Transcript:
    """What is known of an agent whose engine is gone: what was kept, and what it wrote after that."""
    transcript = Transcript()
    with suppress(OSError, ValueError, msgspec.DecodeError), open(open_regular(record_path(log_path)), "rb") as file:
        transcript = msgspec.json.decode(file.read(READ_BYTES), type=Transcript)
    read_log(preset, transcript, log_path, last=True)
    read_session(preset, transcript, os.environ)
    return transcript


def read_log(preset: Preset, transcript: Transcript, log_path: str, *, last: bool) -> None:
    """Take the lines a log has beyond what was read; one that is not whole waits, unless nothing comes any more."""
    with suppress(OSError), open(os.open(log_path, _READ), "rb") as file:
        file.seek(transcript.offset)
        raw = file.read(READ_BYTES)
        whole = len(raw) if last or len(raw) == READ_BYTES else raw.rfind(b"\n") + 1
        transcript.offset += whole
        ending.feed(preset, transcript, raw[:whole].decode("utf-8", "replace"))


def pass_over(preset: Preset, transcript: Transcript, env: Mapping[str, str]) -> None:
    """What an earlier attempt left in the session that is continued is not this one's."""
    _find(preset, transcript, env)
    with suppress(OSError):
        transcript.session_offset = os.path.getsize(transcript.session_path)


def read_session(preset: Preset, transcript: Transcript, env: Mapping[str, str]) -> None:
    """Take the whole lines that it has beyond what was read."""
    if preset.read_session is None:
        return
    _find(preset, transcript, env)
    if not transcript.session_path:
        return
    with suppress(OSError), open(open_regular(transcript.session_path), "rb") as file:
        file.seek(transcript.session_offset)
        raw = file.read(READ_BYTES)
        whole = len(raw) if len(raw) == READ_BYTES else raw.rfind(b"\n") + 1
        transcript.session_offset += whole
        for line in raw[:whole].decode("utf-8", "replace").split("\n"):
            if (record := record_in(line.strip())) is not None:
                preset.read_session(record, transcript)


def _find(preset: Preset, transcript: Transcript, env: Mapping[str, str]) -> None:
    """Look for the file, once the session has a name."""
    if transcript.session_path or not transcript.session or not preset.session_file:
        return
    variable, usual = preset.session_home
    known = {**os.environ, **env}
    home = known.get(variable) or usual.replace("~", known.get("HOME") or os.path.expanduser("~"), 1)
    name = preset.session_file.replace("{session}", transcript.session).replace("{beginning}", transcript.session[:8])
    found = glob(os.path.join(escape(home), name))
    if found:
        transcript.session_path = max(found)
