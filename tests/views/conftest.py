"""Clock times are local; the tests live in UTC."""

from __future__ import annotations

import time

import pytest


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> None:
    """The zone of this process."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
