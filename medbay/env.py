"""Clock, randomness and ids: the only module that touches time, random or uuid.

Everything else is handed these, so that the simulator can run the real engine.
"""

from __future__ import annotations

import os
import random
import time
import uuid
from bisect import bisect
from datetime import datetime, tzinfo
from typing import Protocol
from zoneinfo import ZoneInfo

Random = random.Random  # the type, for those who are handed one

ID_LETTERS = "abcdefghjkmnpqrstuvwxyz"  # without i, l, o: they look like digits
ID_SYMBOLS = ID_LETTERS + "23456789"
_BOOTTIME = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # Linux has it
_BITS_DRAWN = 128  # 16 symbols of 31 need 80
_BYTES_DRAWN = 4096  # from the system at once
_LENGTHS, _IDS_PER_LENGTH = (4, 5, 6, 8), (10_000, 300_000, 10_000_000)


class Clock(Protocol):
    """Wall time for leases and schedules, monotonic time for limits of processes."""

    def now_ms(self) -> int:
        """UTC milliseconds since the epoch."""
        ...

    def monotonic_s(self) -> float:
        """Seconds that never go back; only differences mean anything."""
        ...

    def boottime_s(self) -> float:
        """The same, but going on while the machine is suspended: what others see of a lease."""
        ...


class Rng(Protocol):
    """Where randomness comes from."""

    def getrandbits(self, bits: int, /) -> int:
        """A number of so many random bits."""
        ...


class SystemBits:
    """Random bits of the system, taken from it for many at once. Never the same in two processes."""

    def __init__(self) -> None:
        self._drawn = memoryview(b"")
        os.register_at_fork(after_in_child=self._forget)

    def getrandbits(self, bits: int, /) -> int:
        """A number of so many random bits, a multiple of eight."""
        size = bits // 8
        if len(self._drawn) < size:
            self._drawn = memoryview(os.urandom(_BYTES_DRAWN))
        taken, self._drawn = self._drawn[:size], self._drawn[size:]
        return int.from_bytes(taken, "little")

    def _forget(self) -> None:
        self._drawn = memoryview(b"")


_SYSTEM_BITS = SystemBits()


class SystemClock:
    """The clock of this machine."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_s(self) -> float:
        return time.monotonic()

    def boottime_s(self) -> float:
        return time.clock_gettime(_BOOTTIME)


class Ids:
    """Short, typeable, unique names: `k7f2`. The caller retries on a collision."""

    def __init__(self, rng: Rng | None = None) -> None:
        self._rng: Rng = rng or _SYSTEM_BITS

    def task(self, existing: int) -> str:
        """A new task id; longer when many exist, so that collisions stay rare."""
        length = _LENGTHS[bisect(_IDS_PER_LENGTH, existing)]
        return self._drawn(1, ID_LETTERS) + self._drawn(length - 1)

    def worker(self) -> str:
        """A new worker identity, never used again."""
        return "w-" + self._drawn(10)

    def store(self) -> str:
        """The name of a store, carried by every process it starts."""
        return self._drawn(16)

    def token(self) -> str:
        """What opens a door, too long to be guessed."""
        return self._drawn(16) + self._drawn(16)

    def _drawn(self, length: int, symbols: str = ID_SYMBOLS) -> str:
        """So many symbols from one draw, wide enough that each is as likely as the others."""
        number, drawn = self._rng.getrandbits(_BITS_DRAWN), []
        for _ in range(length):
            number, at = divmod(number, len(symbols))
            drawn.append(symbols[at])
        return "".join(drawn)


def seeded(name: str) -> Random:
    """Randomness that is the same for the same name, in every process: what the simulator hands in."""
    return Random(name)


def local_zone() -> tzinfo:
    """The zone of this machine, by name where it has one, so that summer time is known too."""
    name = os.environ.get("TZ", "").lstrip(":") or os.path.realpath("/etc/localtime").partition("/zoneinfo/")[2]
    try:
        return ZoneInfo(name)
    except (OSError, ValueError):
        return datetime.now().astimezone().tzinfo or ZoneInfo("UTC")


def user_name() -> str:
    """Who runs this, by name where the machine knows one."""
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


def machine_id() -> str:
    """A stable name of this machine, for refusing a store that came from another."""
    for path in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        try:
            with open(path, encoding="ascii") as handle:
                found = handle.read().strip()
        except OSError:
            continue
        if found:
            return found
    return f"{uuid.getnode():012x}"


def boot_id() -> str:
    """The name of this boot; another one means every process of the last is dead."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as handle:
            return handle.read().strip()
    except OSError:
        return ""
