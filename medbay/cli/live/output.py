"""A command's own output, passed through while it runs: raw into a pipe, made harmless on a terminal."""

from __future__ import annotations

import codecs
import contextlib
import os
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

from medbay.foreign import open_regular
from medbay.places.logs import NOTE_MARK, dropped
from medbay.views.text import ColoursOnly

CHUNK_BYTES: Final = 65_536
LOOK_EVERY_S: Final = 0.03
HELD_MAX: Final = 4_096  # of lines that look like notes of ours

_NOTES = re.compile(rb"(?:" + re.escape(NOTE_MARK.encode()) + rb" [^\n]*(?:\n|\Z))+\Z")


class Cleaner:
    """Takes bytes as they come and gives text that can do no more to a terminal than colour it."""

    def __init__(self, *, colours: bool) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._filter = ColoursOnly(redraws=True, colours=colours)

    def feed(self, raw: bytes) -> bytes:
        """The harmless part of it; what is cut in half waits for its rest."""
        return self._filter.feed(self._decoder.decode(raw)).encode("utf-8", "replace")


class Tail:
    """Passes growing log files on from a thread of its own, so that a slow reader never stops the engine."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self.gone = False  # its reader is gone
        self._write = write
        self._path: Path | None = None
        self._offset = 0
        self._held = b""
        self._ending = False
        self._done = threading.Event()
        self._done.set()
        self._wake = threading.Event()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="medbay-tail", daemon=True)
        self._thread.start()

    def follow(self, path: Path) -> None:
        """Begin with the log of another attempt; the one before was finished."""
        self._path, self._offset, self._held, self._ending = path, 0, b"", False
        self._done.clear()
        self._wake.set()

    def finish(self) -> bool:
        """The attempt is over: pass the rest on; whether all of it is out."""
        self._ending = True
        self._wake.set()
        return self._done.is_set()

    def close(self) -> None:
        """Stop following; what a stuck reader did not take is left."""
        self._closing = True
        self._wake.set()
        self._thread.join(timeout=1.0)

    def _run(self) -> None:
        while not self._closing:
            self._wake.wait(None if self._done.is_set() else LOOK_EVERY_S)
            self._wake.clear()
            if not self._done.is_set():
                self._pass_on()

    def _pass_on(self) -> None:
        ending = self._ending  # read before the file: what comes later is seen in the next round
        with contextlib.suppress(OSError, ValueError):  # not there yet, or something else in its place
            while not self._closing and (raw := self._read()):
                self._give(self._held + raw)
        if ending:  # what is still held back are notes of ours
            self._held = b""
            self._done.set()

    def _give(self, raw: bytes) -> None:
        """Lines of ours at the end of a log are no output of the command: hold them until more comes."""
        notes = _NOTES.search(raw, max(0, len(raw) - HELD_MAX))
        self._held = raw[notes.start() :] if notes else b""
        out = raw[: notes.start()] if notes else raw
        if out and not self.gone:
            try:
                self._write(out)
            except OSError:
                self.gone = True

    def _read(self) -> bytes:
        assert self._path is not None
        with open(open_regular(self._path), "rb", buffering=0) as handle:
            size = os.fstat(handle.fileno()).st_size
            if size < self._offset:
                self._offset = 0  # the command truncated its own output
            if size - self._offset > CHUNK_BYTES and (hole := dropped(self._path)) is not None:
                if hole.begin <= self._offset < hole.end:
                    self._offset = hole.end
                    return hole.line().encode()
                if self._offset < hole.begin:
                    size = hole.begin
            raw = os.pread(handle.fileno(), min(CHUNK_BYTES, max(0, size - self._offset)), self._offset)
        self._offset += len(raw)
        return raw
