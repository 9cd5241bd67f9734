"""The part of a `Bay` that looks after the store itself: check, back up, archive, copy."""

from __future__ import annotations

import os
from pathlib import Path

from medbay import app
from medbay.app import StoreLocation
from medbay.core import durations
from medbay.core.snapshot import ObservedWorker, StoreReport
from medbay.env import Clock, SystemClock
from medbay.errors import NotAllowed
from medbay.service import liveness, upkeep
from medbay.service import upkeep as archiving
from medbay.service import workers as worker_service
from medbay.store import meta
from medbay.store.archive import ArchiveFile
from medbay.store.database import KeptStore


class Upkeep:
    """What a person does with a whole store."""

    place: StoreLocation
    store: KeptStore
    _clock: Clock

    def check(self) -> StoreReport:
        """Whether the files are sound, nothing stands still, nothing contradicts itself; and what there is."""
        return upkeep.check(self.store)

    def schema(self) -> str:
        """The number of the last migration this store has."""
        with self.store.read() as tx:
            return meta.describe(tx).get("schema", "?")

    def standstills(self) -> list[tuple[str, str]]:
        """Tasks that nothing would ever move again, and places where the record contradicts itself."""
        with self.store.read() as tx:
            return liveness.standstills(tx) + liveness.contradictions(tx)

    def fleet(self, *, stopped: int = 0) -> list[ObservedWorker]:
        """The engines on this store with what they run; with `stopped` also so many that ended last."""
        with self.store.read() as tx:
            return worker_service.fleet(tx, stopped=stopped)

    def dead_engines(self) -> list[ObservedWorker]:
        """Those nobody has given up yet whose process is gone, as far as this machine can tell."""
        return [each for each in self.fleet() if app.is_gone(each.worker)]

    def backup(self, path: Path | str) -> Path:
        """A consistent copy of the store in a new private file, while others go on working."""
        target = Path(path).absolute()
        self.store.backup(str(target))
        return target

    def archive(self, older_than_ms: int, *, dry_run: bool = False) -> tuple[dict[str, int], Path]:
        """Move the details of what ended so long ago into a file; how many rows of each table, and which file."""
        now = self._clock.now_ms()
        name = durations.iso(now).replace(":", "").replace("-", "").partition(".")[0]
        file = ArchiveFile(self.place.folder / "archive" / f"{name}Z.jsonl")
        if dry_run:
            return archiving.leaving(self.store, now - older_than_ms), file.path
        try:
            return archiving.move(self.store, now - older_than_ms, file.write), file.path
        finally:
            file.close()

    def copy_to(self, url: str) -> dict[str, int]:
        """Copy everything into another, empty store, in one transaction; how many rows each table has there."""
        place = app.find_place(Path.cwd(), store_url=url, environ=os.environ)
        other = app.open_store(place, SystemClock(), create=True)
        try:
            if other.store_id == self.store.store_id:
                raise NotAllowed("this is the same store", hint="name another one")
            with self.store.read() as source, other.write() as target:
                return upkeep.copy(source, target)
        finally:
            other.close()
