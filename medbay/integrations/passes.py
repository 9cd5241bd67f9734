"""The passes of live attempts: the token an agent shows at the engine's door, and what it stands for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from medbay.env import Ids
from medbay.places.protocol import Launch

SOCKET: Final = "MEDBAY_SOCKET"  # the variable that names the door
TOKEN: Final = "MEDBAY_TOKEN"
ATTEMPT: Final = "MEDBAY_ATTEMPT_KEY"


class Pass(Struct, frozen=True, kw_only=True):
    """Which attempt a token belongs to, and where that leaves its result and its log."""

    task_id: str
    number: int
    runner: str
    cwd: str
    result_path: str
    log_path: str


class Passes:
    """One engine's; its door and its runners use it from different threads."""

    def __init__(self, open_door: Callable[[], None] = lambda: None) -> None:
        """The door is opened when the first pass is issued."""
        self.socket = ""  # where the door is; empty: there is none
        self._open_door = open_door
        self._ids = Ids()
        self._lock = threading.Lock()
        self._known: dict[str, Pass] = {}

    def issue(self, launch: Launch) -> str:
        """A new token for an attempt that is about to start; empty where there is no door."""
        if not self.socket:
            self._open_door()
        if not self.socket:
            return ""
        token = self._ids.token()
        given = Pass(
            task_id=launch.task_id,
            number=launch.number,
            runner=launch.runner,
            cwd=str(launch.cwd),
            result_path=launch.result_path,
            log_path=launch.log_path,
        )
        with self._lock:
            self._known[token] = given
        return token

    def find(self, token: object) -> Pass | None:
        """What a token stands for; None for one that is over or was never given."""
        with self._lock:
            return self._known.get(token) if isinstance(token, str) else None

    def revoke(self, token: str) -> None:
        """The attempt has ended: its token opens nothing any more."""
        with self._lock:
            self._known.pop(token, None)
