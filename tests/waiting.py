"""Waiting for something real: never a sleep of a fixed length."""

from __future__ import annotations

import time
from collections.abc import Callable

LOOK_EVERY_S = 0.005


def eventually(condition: Callable[[], object], seconds: float = 10.0, *, every_s: float = LOOK_EVERY_S) -> bool:
    """Whether something comes true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(every_s)
    return True


def wait_for(condition: Callable[[], object], seconds: float = 60.0) -> None:
    """Wait until something is so; a test that waits in vain fails."""
    assert eventually(condition, seconds), "it never came true"
