"""What every live command shares: a screen with one line that changes in place, the feed of events, signals."""

from __future__ import annotations

import contextlib
import logging
import os
import select
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TYPE_CHECKING, Final

from medbay.cli import output
from medbay.cli.live.output import Cleaner
from medbay.core.redaction import redact
from medbay.views.glyphs import Token
from medbay.views.text import cut, wrap

if TYPE_CHECKING:
    from medbay.bay import Bay
    from medbay.core.model import Event

_NUMBERS: Final = {"debug": logging.DEBUG, "info": logging.INFO, "warn": logging.WARNING, "error": logging.ERROR}
EVENTS_AT_ONCE: Final = 1_000
BATCHES_MAX: Final = 20  # a flood is printed over several rounds, so that the engine is never kept waiting


class Display:
    """Lines for people on stderr, the command's own output on stdout, and one line that changes in place."""

    def __init__(self, *, live: bool = True) -> None:
        self.screen = output.screen(sys.stderr)
        self.live = live and self.screen.terminal and os.environ.get("TERM", "dumb") != "dumb"
        passed_to_terminal = sys.stdout.isatty()
        self._cleaner = Cleaner(colours=output.screen(sys.stdout).colour) if passed_to_terminal else None
        self._together = self.screen.terminal and passed_to_terminal  # both streams write on one screen
        self._lock = threading.RLock()
        self._shown = ""
        self._later = ""
        self._mid_line = False  # the command's output stands in the middle of a line

    @property
    def width(self) -> int:
        """How many columns there are now."""
        return shutil.get_terminal_size((100, 24)).columns

    def paint(self, text: str, token: Token) -> str:
        """The text in the colour of a token, where there are colours."""
        return self.screen.token(text, token)

    def line(self, text: str = "") -> None:
        """A line that stays."""
        with self._lock:
            self._say_later()
            self._erase()
            self._fresh_line()
            self._put(self.screen.plain(text) + "\n")

    def words(self, text: str, token: Token) -> None:
        """A sentence that stays, in a colour; on a terminal broken between words, so that it keeps to the width."""
        first, *rest = wrap(text, max(20, self.width - 3)) if self.live else [text]
        self.line("\n".join([self.paint(first, token), *("  " + self.paint(each, token) for each in rest)]))

    def later(self, text: str) -> None:
        """A line that stays once anything else is said; until then the line in place may say it better."""
        with self._lock:
            self._say_later()
            self._later = text
            if not self.live:
                self._say_later()

    @property
    def silent(self) -> bool:
        """Whether nothing was said since `later`."""
        return bool(self._later)

    def status(self, text: str, token: Token = "idle") -> None:
        """The line that changes in place, cut to the width; nothing where there is no terminal."""
        if not self.live:
            return
        with self._lock:
            shown = cut(self.screen.plain(text), self.width - 1)
            if shown == self._shown:
                return
            self._fresh_line()
            self._put("\r" + self.paint(shown, token) + "\x1b[K")
            self._shown = shown

    def pass_through(self, raw: bytes) -> None:
        """The command's own output; raises OSError when its reader is gone."""
        with self._lock:
            if self._cleaner is not None:
                raw = self._cleaner.feed(raw)
            if raw:
                self._say_later()
            if self._together and raw:
                self._erase()
                self._mid_line = not raw.endswith(b"\n")
        write_all(sys.stdout.fileno(), raw)

    def raw(self, text: str) -> None:
        """Whatever a view of the whole screen wants written."""
        with self._lock:
            self._put(text)

    def clear(self) -> None:
        """Take the line in place away."""
        with self._lock:
            self._erase()

    def _say_later(self) -> None:
        said, self._later = self._later, ""
        if said:
            self.line(said)

    def _erase(self) -> None:
        if self._shown:
            self._put("\r\x1b[K")
            self._shown = ""

    def _fresh_line(self) -> None:
        """Our own words never begin in the middle of the command's line, nor in its colours."""
        if self._together and self.screen.colour and not self._shown:
            self._put("\x1b[0m")
        if self._mid_line:
            self._put("\n")
            self._mid_line = False

    def _put(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):  # its reader is gone: no reason to stop the work
            sys.stderr.write(text)
            sys.stderr.flush()


class Feed:
    """The events of a store as they come, each once."""

    def __init__(self, bay: Bay, since: int) -> None:
        self._bay = bay
        self._since = since

    def take(self) -> list[Event]:
        """What happened since the last call."""
        found: list[Event] = []
        for _ in range(BATCHES_MAX):
            batch = self._bay.events(self._since, limit=EVENTS_AT_ONCE)
            found += batch
            if batch:
                self._since = batch[-1].seq
            if len(batch) < EVENTS_AT_ONCE:
                break
        return found


class Interrupts:
    """Counts the signals that ask for an end; what follows is decided where it is safe."""

    def __init__(self, *signals: signal.Signals) -> None:
        self.count = 0
        self.first: signal.Signals | None = None
        self._then: Callable[[int], None] | None = None
        self._heard = 0  # how many were handed on
        self._signals = signals
        self._before: dict[signal.Signals, object] = {}

    def __enter__(self) -> Interrupts:
        for each in self._signals:
            if signal.getsignal(each) is not signal.SIG_IGN:  # nohup stays in force
                self._before[each] = signal.signal(each, self._take)
        return self

    def __exit__(self, *_: object) -> None:
        for each, before in self._before.items():
            signal.signal(each, before)  # type: ignore[arg-type]

    @property
    def then(self) -> Callable[[int], None] | None:
        """Called with the count inside the handler, and at once for what came before it was set."""
        return self._then

    @then.setter
    def then(self, then: Callable[[int], None] | None) -> None:
        self._then = then
        self._hand_on()

    def _take(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        self.first = self.first or signal.Signals(number)
        self._hand_on()

    def _hand_on(self) -> None:
        if self._then is not None and self.count > self._heard:
            self._heard = self.count
            self._then(self.count)


@contextlib.contextmanager
def log_to(display: Display, write: Callable[[str, str], None] | None = None, *, level: str = "warn") -> Iterator[None]:
    """What the engine has to say goes to the screen, so that it does not run through the line in place.

    `write` gets each line and its level.
    """
    handler = _ToScreen(write or (lambda text, _: display.line(text)), _NUMBERS[level])
    log = logging.getLogger("medbay.engine")
    log.addHandler(handler)
    propagate, log.propagate = log.propagate, False
    before = log.level
    log.setLevel(min(_NUMBERS[level], logging.WARNING))
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(before)
        log.propagate = propagate


class _ToScreen(logging.Handler):
    def __init__(self, write: Callable[[str, str], None], level: int) -> None:
        super().__init__(level=level)
        self._write = write

    def emit(self, record: logging.LogRecord) -> None:
        level = max((name for name in _NUMBERS if _NUMBERS[name] <= record.levelno), key=_NUMBERS.__getitem__)
        self._write(redact(record.getMessage()), level)


def write_all(descriptor: int, raw: bytes) -> None:
    """Every byte, also into a descriptor that does not block."""
    view = memoryview(raw)
    while view:
        try:
            view = view[os.write(descriptor, view) :]
        except BlockingIOError:
            select.select([], [descriptor], [])
