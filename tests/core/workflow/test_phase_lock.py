"""The lock of a phase: whose it is, and whether it still counts."""

from __future__ import annotations

import pytest

from medbay.core.durations import iso
from medbay.core.workflow import phase_lock
from medbay.core.workflow.phase_lock import FRESH_MS, PhaseLock, standing

NOW = 1_700_000_000_000
OLD = NOW - FRESH_MS
LOCK = PhaseLock(phase="implement", command="story implement", started_at=iso(NOW), pid=7, host="here", run="S-1/2")


def test_a_lock_is_read_as_it_was_written() -> None:
    """With the names of its format."""
    text = phase_lock.render(phase_lock.renewed(LOCK, NOW + 5_000))

    assert "startedAt: " in text and "renewedAt: " in text
    assert phase_lock.read(text) == phase_lock.renewed(LOCK, NOW + 5_000)


def test_the_lock_of_another_tool_is_read() -> None:
    """As the format's own example has it."""
    found = phase_lock.read("phase: dev\ncommand: /dev\nstartedAt: 2026-02-01T12:00:00Z\npid: 12345\n")

    assert found == PhaseLock(phase="dev", command="/dev", started_at="2026-02-01T12:00:00Z", pid=12345)


@pytest.mark.parametrize(
    "text", ["", "[", "phase: [a]", "- a", "command: x", "phase: x\npid: none", "phase: x\npid: -1"]
)
def test_what_is_no_lock_is_none(text: str) -> None:
    """Then the time of its file counts."""
    assert phase_lock.read(text) is None


@pytest.mark.parametrize(
    ("started", "renewed", "alive", "how"),
    [
        (NOW - 1, None, True, "live"),
        (NOW - 1, None, False, "live"),  # younger than an hour refuses, whoever left it
        (NOW + 9, None, None, "live"),
        (OLD, None, True, "stale"),  # alive, but it does not renew
        (OLD, NOW - 1, True, "live"),
        (OLD, NOW - 1, None, "live"),
        (OLD, NOW - 1, False, "stale"),
        (OLD - 9, OLD, True, "stale"),
    ],
)
def test_a_foreign_lock_counts_for_an_hour_or_while_it_is_renewed(
    started: int, renewed: int | None, alive: bool | None, how: str
) -> None:
    """The table of young, old, alive and renewed."""
    lock = PhaseLock(phase="x", started_at=iso(started), renewed_at=iso(renewed) if renewed else "")

    assert standing(lock, written_at=OLD - 99, now=NOW, run="S-1/2", alive=alive) == how


def test_our_own_lock_is_taken_over() -> None:
    """After a crash the same run goes on."""
    assert standing(LOCK, written_at=NOW, now=NOW, run="S-1/2", alive=True) == "ours"
    assert standing(LOCK, written_at=NOW, now=NOW, run="S-1/3", alive=True) == "live"


@pytest.mark.parametrize("lock", [None, PhaseLock(phase="x", started_at="soon")])
def test_without_a_time_that_of_the_file_counts(lock: PhaseLock | None) -> None:
    """Also for what cannot be read at all."""
    assert standing(lock, written_at=NOW - 1, now=NOW, run="", alive=None) == "live"
    assert standing(lock, written_at=OLD, now=NOW, run="", alive=None) == "stale"


def test_a_time_without_a_zone_is_utc() -> None:
    """Tools write it without one."""
    lock = PhaseLock(phase="x", started_at=iso(OLD).removesuffix("Z"))

    assert standing(lock, written_at=NOW, now=NOW, run="", alive=None) == "stale"


def test_who_holds_it_is_said() -> None:
    """As far as it is known."""
    assert phase_lock.described(LOCK) == f"implement by process 7 on here since {iso(NOW)}"
    assert phase_lock.described(PhaseLock(phase="x")) == "x by an unnamed process"
    assert phase_lock.described(None) == "by a lock that cannot be read"
