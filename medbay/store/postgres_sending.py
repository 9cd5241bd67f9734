"""How one statement with many sets of values reaches a PostgreSQL server: in as few messages as it allows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

import psycopg

from medbay.store.database import Row
from medbay.store.postgres_connection import Link, placeholders
from medbay.store.together import Values

# Rows of one INSERT go in powers of two, so that a few texts serve any number and the server keeps their plans.
ROWS_AT_ONCE: Final = 64
_INSERT: Final = re.compile(r"(INSERT INTO .* VALUES )(\([^()]*\))(.*)", re.DOTALL)
# What updates a row that exists already may meet the same one twice, which one statement refuses.
_ONE_BY_ONE: Final = "DO UPDATE"


def send_all(link: Link, steps: Sequence[tuple[str, Sequence[Values]]]) -> list[int]:
    """Run statements, each once for each of its sets of values; how many rows each changed in all.

    Nothing waits for the answer to what was sent before it.
    """
    if len(steps) == 1 and len(steps[0][1]) == 1:  # a pipeline costs more than it saves
        sent = [send(link, *steps[0])]
    else:
        with link.pipeline():
            sent = [send(link, sql, sets) for sql, sets in steps]
    return [sum(max(0, cursor.rowcount) for cursor in cursors) for cursors in sent]


def send(link: Link, sql: str, sets: Sequence[Values]) -> list[psycopg.Cursor[Row]]:
    """Send one of them; in a pipeline its cursors know how many rows they changed when that ends."""
    if len(sets) == 1:
        return [link.execute(placeholders(sql), sets[0])]
    if _with_rows(sql, 2):
        return [link.execute(text, values) for text, values in _in_rows(sql, sets)]
    cursor = link.cursor()
    cursor.executemany(placeholders(sql), sets)
    return [cursor]


def _in_rows(sql: str, sets: Sequence[Values]) -> Iterator[tuple[str, list[Any]]]:
    begin = 0
    while (left := len(sets) - begin) > 0:
        size = min(ROWS_AT_ONCE, 1 << (left.bit_length() - 1))
        yield _with_rows(sql, size), [value for each in sets[begin : begin + size] for value in each]
        begin += size


@lru_cache(maxsize=1_024)
def _with_rows(sql: str, rows: int) -> str:
    """The same INSERT for so many rows; empty when it can take only one."""
    parts = _INSERT.fullmatch(sql)
    if parts is None or _ONE_BY_ONE in parts[3]:
        return ""
    return placeholders(parts[1] + ", ".join([parts[2]] * rows) + parts[3])
