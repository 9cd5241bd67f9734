"""Why a service did not take a message."""

from __future__ import annotations


class Refused(Exception):
    """A service did not take a message; `wait_ms` is how long it asked to be left alone."""

    def __init__(self, why: str, wait_ms: int = 0) -> None:
        super().__init__(why)
        self.wait_ms = wait_ms
