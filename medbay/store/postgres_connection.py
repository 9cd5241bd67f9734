"""One connection to a PostgreSQL server: its limits, its hearing, and how texts and values reach it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

import psycopg
from psycopg.abc import RV, Buffer, PQGen
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.numeric import Int2Dumper
from psycopg.types.string import StrDumper

from medbay.env import SystemClock
from medbay.errors import UsageError
from medbay.store.database import Row

CHANNEL: Final = "medbay"
ANSWER_S: Final = 45.0  # a server that says nothing at all for this long is given up, whatever it promised
# Where the address says nothing else. A server that vanished is noticed within half a minute.
PARAMETERS: Final[Mapping[str, str]] = {
    "connect_timeout": "5",
    "application_name": "medbay",
    "target_session_attrs": "read-write",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "20000",
}
# No statement, wait for a lock or idle transaction lasts for ever; commits are synced whatever the server's default.
SESSION_SQL: Final = (
    "SET statement_timeout = '30s'; SET lock_timeout = '10s'; SET idle_in_transaction_session_timeout = '60s';"
    " SET client_min_messages = error; SELECT set_config('synchronous_commit', 'on', false)"
    " WHERE current_setting('synchronous_commit') = 'off'"
)


class Link(psycopg.Connection[Row]):
    """A connection that hears what others say, and never waits for ever."""

    told: bool = False
    listening: bool = False

    def wait(self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = None) -> RV:
        """Drive an exchange with the server, for a limited time."""
        return super().wait(_bounded(gen, self), interval, timeout)

    def was_told(self) -> bool:
        """Whether another connection committed since the last call; the first one begins to listen, and says yes.

        Reads what has arrived, and waits for nothing. Who never asks is never sent anything.
        """
        if not self.listening:
            self.execute(f"LISTEN {CHANNEL}")
            self.listening = self.told = True
        self.pgconn.consume_input()
        while (said := self.pgconn.notifies()) is not None:
            self._hear(said.be_pid)
        told, self.told = self.told, False
        return told

    def _hear(self, pid: int) -> None:
        if pid != self.pgconn.backend_pid:
            self.told = True


def parameters(url: str) -> Mapping[str, Any]:
    """What a store's address says, with our limits where it is silent."""
    try:
        return {**PARAMETERS, **conninfo_to_dict(url)}
    except psycopg.ProgrammingError:
        # What the driver says would repeat the address, and the address may hold a password.
        raise UsageError(
            "the address of the PostgreSQL store cannot be read", hint="write postgresql://USER@HOST/DATABASE"
        ) from None


def connect(wanted: Mapping[str, Any]) -> Link:
    """A new connection with our limits; raises the driver's error."""
    link = Link.connect(autocommit=True, cursor_factory=psycopg.RawCursor, **wanted)  # texts go as they are: no parsing
    try:
        link.execute(SESSION_SQL)
    except BaseException:
        link.close()
        raise
    link.adapters.register_dumper(bool, _FlagDumper)
    link.adapters.register_dumper(str, _TextDumper)
    link.add_notify_handler(lambda said: link._hear(said.pid))
    return link


@lru_cache(maxsize=2_048)
def placeholders(sql: str) -> str:
    """The shared text of a statement as the server wants it: `?` is `$1`, `$2` and so on, except between quotes."""
    numbers = itertools.count(1)
    parts = sql.split("'")
    parts[::2] = [re.sub(r"\?", lambda _: f"${next(numbers)}", part) for part in parts[::2]]
    return "'".join(parts)


class _FlagDumper(Int2Dumper):
    """Flags are 0 or 1, as on SQLite."""

    def dump(self, obj: Any) -> Buffer | None:
        return super().dump(int(obj))


class _TextDumper(StrDumper):
    """A text of PostgreSQL holds every character but one; logs may hold that one too."""

    def dump(self, obj: str) -> Buffer | None:
        return super().dump(obj.replace("\0", "\N{SYMBOL FOR NULL}") if "\0" in obj else obj)


def _bounded(gen: PQGen[RV], link: Link) -> PQGen[RV]:
    """The same exchange, given up when the server is silent for too long."""
    clock = SystemClock()
    heard_s = clock.monotonic_s()
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            now_s = clock.monotonic_s()
            if ready:
                heard_s = now_s
            elif now_s - heard_s > ANSWER_S:
                link.close()
                raise psycopg.OperationalError(f"no answer for {ANSWER_S:.0f} s")
            wanted = gen.send(ready)
    except StopIteration as done:
        result: RV = done.value
        return result
