"""The engine's side of its guardian: started before the first attempt, sent every renewal, replaced when it died."""

from __future__ import annotations

import logging
import os
import subprocess
import threading
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol

from medbay.engine.lease import KILL_AT
from medbay.places.guardian import start_command

_PACKAGE: Final = os.path.abspath(Path(__file__).parents[2])
_NEEDED: Final = ("PATH", "LD_LIBRARY_PATH")  # to start at all; nothing else, least of all the key of an outer attempt
_LAST_STRIKE_S: Final = 10.0

log = logging.getLogger("medbay.engine")


class Guards(Protocol):
    """What ends the trees of an engine when that cannot, as the engine and its loop know it."""

    def begin(self, renewed_s: float) -> None:
        """Guard from now on; the lease was last renewed at this time, by the clock that counts suspends."""
        ...

    def restart(self, renewed_s: float) -> None:
        """Under a new lease: nothing may be ended any more because of the last one."""
        ...

    def tend(self, renewed_s: float) -> None:
        """The lease was last renewed at this time."""
        ...

    def close(self, *, in_order: bool) -> None:
        """Guard no longer. What is still there after an end that was not in order is ended."""
        ...


class Unguarded:
    """No guardian: where nothing real is started, or where the guardian is simulated."""

    def begin(self, renewed_s: float) -> None:
        """Nothing to begin."""

    def restart(self, renewed_s: float) -> None:
        """Nothing was begun."""

    def tend(self, renewed_s: float) -> None:
        """Nothing hears of it."""

    def close(self, *, in_order: bool) -> None:
        """Nothing to end."""


class Guardian:
    """One guardian process at a time, for the processes that carry a mark."""

    def __init__(self, mark: str, *, lease_ms: int) -> None:
        self._mark = mark
        self._limit_s = lease_ms * KILL_AT / 1000
        self._lock = threading.Lock()  # the loop and the threads beside it all send
        self._begun = False
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe = -1
        self._sent_s = 0.0
        self._troubled = False  # logged once, not at every try

    def begin(self, renewed_s: float) -> None:
        """Start one."""
        with self._lock:
            self._begun = True
            self._start(renewed_s)

    def restart(self, renewed_s: float) -> None:
        """Another one in place of one that may be striking this moment."""
        with self._lock:
            if self._begun:
                self._end(kill=True)
                self._start(renewed_s)

    def tend(self, renewed_s: float) -> None:
        """See that it is there and knows of this renewal."""
        with self._lock:
            if not self._begun:
                return
            if self._process is None or self._process.poll() is not None or not self._send(renewed_s):
                gone = self._process is not None
                self._end(kill=True)
                self._start(renewed_s)
                if gone:
                    self._complain("the guardian was gone and has been replaced")

    def close(self, *, in_order: bool) -> None:
        """Let it go: after an end in order it has nothing to do, otherwise it ends what is left."""
        with self._lock:
            self._begun = False
            self._end(kill=in_order)

    def _start(self, renewed_s: float) -> None:
        theirs, ours = os.pipe()  # not inheritable: while a task held our end, our death would go unnoticed
        try:
            arguments = (self._mark, str(os.getpid()), f"{renewed_s:.3f}", f"{self._limit_s:.3f}")
            self._process = subprocess.Popen(
                start_command(_PACKAGE, *arguments),
                stdin=theirs,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={name: value for name, value in os.environ.items() if name in _NEEDED},
                start_new_session=True,
            )
        except OSError as error:
            os.close(ours)
            self._complain(f"the guardian cannot be started, and is tried again: {error}")
            return
        finally:
            os.close(theirs)
        os.set_blocking(ours, False)
        self._pipe, self._sent_s = ours, renewed_s

    def _send(self, renewed_s: float) -> bool:
        """Whether it knows, or will as soon as it looks."""
        if renewed_s > self._sent_s:
            try:
                os.write(self._pipe, f"{renewed_s:.3f}\n".encode())
            except OSError:  # gone this moment, or it has not read for hours
                return False
            self._sent_s = renewed_s
        return True

    def _end(self, *, kill: bool) -> None:
        if self._process is None:
            return
        if kill:
            self._process.kill()
        os.close(self._pipe)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(None if kill else _LAST_STRIKE_S)  # with a limit it is waited for in steps
        self._process = None

    def _complain(self, what: str) -> None:
        if not self._troubled:
            log.warning("%s", what)
        self._troubled = True
