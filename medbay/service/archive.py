"""Moving what ended long ago out of the store, a bounded number of rows at a time; nothing is deleted unwritten."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final

from medbay.errors import StoreError
from medbay.store import archive
from medbay.store.archive import Leaving
from medbay.store.database import Store

ROWS_AT_ONCE: Final = 500


def leaving(store: Store, before: int) -> dict[str, int]:
    """How many rows of each table would leave: those that ended before this moment."""
    found: Counter[str] = Counter()
    with store.read() as tx:
        for part in archive.PARTS:
            found[part.table] += archive.count(tx, part, before)
    return dict(found)


def move(store: Store, before: int, write: Callable[[str, Sequence[Leaving]], None]) -> dict[str, int]:
    """Write a piece, then delete it, until nothing is left. `write` returns when it is safe on the disk.

    Stopped in between, a piece is written and still in the store; the next run writes it once more.
    """
    moved: Counter[str] = Counter()
    for part in archive.PARTS:
        moved[part.table] += 0
        after: Sequence[Any] = ()
        while True:
            with store.write() as tx:
                tx.serialise("archive")  # two at once would both write the same rows, and one delete nothing
                rows = archive.leaving(tx, part, before, after=after, limit=ROWS_AT_ONCE)
                if not rows:
                    break
                write(part.table, rows)
                gone = archive.leave_checkpoints(tx, rows) if part.checkpoint else rows
                if archive.remove(tx, part, gone) != len(gone):
                    raise StoreError(f"not every row of {part.table} could be moved", hint="medbay db check says more")
            moved[part.table] += len(rows)
            after = [rows[-1][name] for name in part.key]
    return dict(moved)
