"""Looking after a whole store: is it sound, and what is in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from medbay.core import durations
from medbay.core.snapshot import StoreReport
from medbay.errors import NotAllowed, StoreError
from medbay.service import liveness, statistics
from medbay.store import archive, meta, tasks, workers
from medbay.store.archive import ArchiveFile, Leaving
from medbay.store.database import KeptStore, Store, Tx

ROWS_AT_ONCE: Final = 500
ROWS_COPIED_AT_ONCE: Final = 1_000


def check(store: KeptStore) -> StoreReport:
    """Whether the files are sound, nothing stands still, nothing contradicts itself; and what there is."""
    damage = store.check()
    with store.read() as tx:
        return StoreReport(
            kind=store.kind,
            damage=tuple(damage),
            standstills=tuple(liveness.standstills(tx)),
            contradictions=tuple(liveness.contradictions(tx)),
            tasks=tasks.count_by_status(tx),
            rows={table: meta.count(tx, table) for table in meta.TABLES},
        )


def archive_old(
    store: Store, folder: Path, *, now: int, older_than_ms: int, pieces: int | None = None
) -> tuple[dict[str, int], Path]:
    """Move the details of what ended so long ago into a new file; how many rows of each table, and which file.

    `pieces` is how many at most are moved now; without it, all of them.
    """
    statistics.catch_up(store)  # what leaves is counted before
    file = ArchiveFile(archive_path(folder, now))
    try:
        return move(store, now - older_than_ms, file.write, pieces=pieces), file.path
    finally:
        file.close()


def archive_path(folder: Path, now: int) -> Path:
    """The file of an archive that is made now."""
    name = durations.iso(now).replace(":", "").replace("-", "").partition(".")[0]
    return folder / "archive" / f"{name}Z.jsonl"


def leaving(store: Store, before: int) -> dict[str, int]:
    """How many rows of each table would leave: those that ended before this moment."""
    found: Counter[str] = Counter()
    with store.read() as tx:
        for part in archive.PARTS:
            found[part.table] += archive.count(tx, part, before)
    return dict(found)


def move(
    store: Store, before: int, write: Callable[[str, Sequence[Leaving]], None], *, pieces: int | None = None
) -> dict[str, int]:
    """Write a piece, then delete it, until nothing is left. `write` returns when it is safe on the disk.

    Stopped in between, a piece is written and still in the store; the next run writes it once more.
    """
    moved: Counter[str] = Counter()
    for part in archive.PARTS:
        moved[part.table] += 0
        after: Sequence[Any] = ()
        while pieces is None or pieces > 0:
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
            pieces = None if pieces is None else pieces - 1
            after = [rows[-1][name] for name in part.key]
    return dict(moved)


def copy(source: Tx, target: Tx) -> dict[str, int]:
    """Copy every table but what a store knows about itself; how many rows each has now."""
    for each in workers.alive(source):
        if each.lease_until > source.now:
            raise NotAllowed(
                f"{each.id} on {each.host} (pid {each.pid}) is running on this store", hint="stop it, then copy"
            )
    wanted = [table for table in meta.TABLES if table != meta.OWN]
    full = [table for table in wanted if meta.count(target, table)]
    if full:
        raise NotAllowed(f"the other store is not empty: it has rows in {', '.join(full)}", hint="name an empty one")
    for table in wanted:
        theirs = set(target.columns(table))
        columns = tuple(name for name in source.columns(table) if name in theirs)
        for rows in meta.pages(source, table, columns, ROWS_COPIED_AT_ONCE):
            target.insert_as_is(table, columns, rows)
    counts = {table: (meta.count(source, table), meta.count(target, table)) for table in wanted}
    missing = [table for table, (here, there) in counts.items() if here != there]
    if missing:
        raise StoreError(f"the copy of {missing[0]} is not complete, so nothing was copied", hint="try again")
    return {table: there for table, (_, there) in counts.items()}
