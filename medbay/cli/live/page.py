"""The page beside an engine: a process of its own, started a moment after `up`, and again when it crashed.

Whatever happens to it, the engine goes on. It ends with its parent, because its standard input does.
"""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable
from typing import Final

from medbay import app
from medbay.errors import NotAllowed, UsageError

FIRST_S: Final = 1.0  # an `up` that is over sooner needs no page
BACKOFF_S: Final = (1.0, 2.0, 5.0, 15.0, 60.0)
STEADY_S: Final = 60.0  # after so long a crash is the first one again
STOP_S: Final = 5.0
GIVES_UP: Final = (NotAllowed.exit_code, UsageError.exit_code)  # a taken port, a bad address: it would end the same way


class PageProcess:
    """Starts `medbay serve` and looks after it, from a thread of its own."""

    def __init__(self, note: Callable[[str], None], *, store: str | None, clock: Callable[[], float]) -> None:
        self._note = note
        self._clock = clock
        self._environ = {**os.environ, **({"MEDBAY_STORE": store} if store else {})}
        self._ending = threading.Event()
        self._process: subprocess.Popen[str] | None = None
        self._thread = threading.Thread(target=self._run, name="medbay-page", daemon=True)

    def start(self) -> None:
        """Begin; nothing is waited for."""
        self._thread.start()

    def stop(self) -> None:
        """End the page."""
        self._ending.set()
        process = self._process
        if process is not None and process.stdin is not None:
            process.terminate()
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
        self._thread.join(STOP_S)

    def _run(self) -> None:
        wait_s, crashes, said = FIRST_S, 0, ""
        while not self._ending.wait(wait_s):
            began_s = self._clock()
            code, link, error = self._once(said)
            if self._ending.is_set():
                return
            if code in GIVES_UP:
                self._note(f"no page: {error.removeprefix('medbay: ')}")
                return
            crashes = 1 if self._clock() - began_s >= STEADY_S else crashes + 1
            wait_s, said = BACKOFF_S[min(crashes, len(BACKOFF_S)) - 1], link or said
            self._note(f"the page ended ({error or f'exit {code}'}) and is started again in {wait_s:g} s")

    def _once(self, said: str) -> tuple[int, str, str]:
        """Run it to its end: how it ended, its link, and the last line of what it complained of."""
        process = subprocess.Popen(
            app.own_command("serve", "--child"),
            env=self._environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,  # Ctrl-C is for the engine, which ends the page in its own time
        )
        self._process = process
        if self._ending.is_set():
            process.terminate()
        assert process.stdout is not None and process.stderr is not None and process.stdin is not None
        complaints: list[str] = []
        reader = threading.Thread(target=_read, args=(process, complaints), daemon=True)
        reader.start()
        link = process.stdout.readline().strip()
        if link and link != said:
            self._note(f"the page: {link}")
        code = process.wait()
        reader.join(1)
        for pipe in (process.stdin, process.stdout, process.stderr):
            pipe.close()
        return code, link, complaints[-1] if complaints else ""


def _read(process: subprocess.Popen[str], complaints: list[str]) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        if line.strip():
            complaints.append(line.strip())
            del complaints[:-20]
