"""Everything of one store into another, empty one: in one transaction, counted on both sides."""

from __future__ import annotations

from typing import Final

from medbay.errors import NotAllowed, StoreError
from medbay.store import tables, workers
from medbay.store.database import Tx

ROWS_AT_ONCE: Final = 1_000


def copy(source: Tx, target: Tx) -> dict[str, int]:
    """Copy every table but what a store knows about itself; how many rows each has now."""
    for each in workers.alive(source):
        if each.lease_until > source.now:
            raise NotAllowed(
                f"{each.id} on {each.host} (pid {each.pid}) is running on this store", hint="stop it, then copy"
            )
    wanted = [table for table in tables.TABLES if table != tables.OWN]
    full = [table for table in wanted if tables.count(target, table)]
    if full:
        raise NotAllowed(f"the other store is not empty: it has rows in {', '.join(full)}", hint="name an empty one")
    for table in wanted:
        theirs = set(target.columns(table))
        columns = tuple(name for name in source.columns(table) if name in theirs)
        for rows in tables.pages(source, table, columns, ROWS_AT_ONCE):
            target.insert_as_is(table, columns, rows)
    counts = {table: (tables.count(source, table), tables.count(target, table)) for table in wanted}
    missing = [table for table, (here, there) in counts.items() if here != there]
    if missing:
        raise StoreError(f"the copy of {missing[0]} is not complete, so nothing was copied", hint="try again")
    return {table: there for table, (_, there) in counts.items()}
