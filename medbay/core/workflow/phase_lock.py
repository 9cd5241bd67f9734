"""`.phase-lock`: the file that says a phase of this story runs, for people's tools as well as for ours.

It refuses a second start for an hour since it was made or renewed. The store knows the phases it started itself: their
locks are ours to take over after a crash, and to remove when nothing runs any more.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Final, Literal

import msgspec
import yaml
from msgspec import Meta, Struct

from medbay.core.durations import iso
from medbay.core.untrusted import line

FRESH_MS: Final = 3_600_000
RENEW_MS: Final = 5 * 60_000  # how often a running phase renews its own
TEXT_MAX: Final = 16 * 1024  # characters

Standing = Literal["ours", "live", "stale"]
_Pid = Annotated[int, Meta(ge=1, le=2**31)]


class PhaseLock(Struct, frozen=True, kw_only=True, rename="camel"):
    """Who works on a story: the fields of the file. Times in ISO 8601, as other tools write them."""

    phase: str
    command: str = ""
    started_at: str = ""
    pid: _Pid | None = None
    host: str = ""
    renewed_at: str = ""
    run: str = ""  # of ours: the task that runs the phase


def read(text: str) -> PhaseLock | None:
    """What a lock says; None where it cannot be read, which only means that its file's own time counts."""
    try:
        found = yaml.load(text[:TEXT_MAX], yaml.BaseLoader)  # texts only: nothing is made of them
        return msgspec.convert(found, PhaseLock, strict=False)
    except (yaml.YAMLError, RecursionError, ValueError):
        return None


def render(lock: PhaseLock) -> str:
    """The text of a lock."""
    values = {name: value for name, value in msgspec.to_builtins(lock).items() if value not in ("", None)}
    return yaml.safe_dump(values, sort_keys=False, allow_unicode=True)


def renewed(lock: PhaseLock, now: int) -> PhaseLock:
    """The lock of a phase that still runs."""
    return msgspec.structs.replace(lock, renewed_at=iso(now))


def standing(lock: PhaseLock | None, *, written_at: int, now: int, run: str, alive: bool | None) -> Standing:
    """What a lock means for the run that wants to start: its own, that of somebody who works, or a leftover.

    `written_at` is the time of the file. `alive` says whether the process of the lock runs; None on another machine,
    where nobody can know. A lock from the future counts as just made.
    """
    if lock is not None and lock.run and lock.run == run:
        return "ours"
    started = _at(lock.started_at) if lock is not None else None
    renewed = _at(lock.renewed_at) if lock is not None else None
    if now - (written_at if started is None else started) < FRESH_MS:
        return "live"
    last = max(renewed or 0, written_at)
    return "live" if alive is not False and renewed is not None and now - last < FRESH_MS else "stale"


def described(lock: PhaseLock | None) -> str:
    """Who holds it, in words."""
    if lock is None:
        return "by a lock that cannot be read"
    who = f"process {lock.pid}" if lock.pid else "an unnamed process"
    where = f" on {line(lock.host, 60)}" if lock.host else ""
    since = f" since {line(lock.started_at, 40)}" if lock.started_at else ""
    return f"{line(lock.phase, 60)} by {who}{where}{since}"


def _at(text: str) -> int | None:
    """A time of the file in milliseconds; None where it is none."""
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    if found.tzinfo is None:
        found = found.replace(tzinfo=UTC)
    return int(found.timestamp() * 1000)
