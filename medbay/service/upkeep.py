"""Looking after a whole store: is it sound, and what is in it."""

from __future__ import annotations

from dataclasses import dataclass

from medbay.service import liveness
from medbay.store import tables, tasks
from medbay.store.database import KeptStore


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreReport:
    """What a check found; empty lists mean that all is well."""

    kind: str
    damage: tuple[str, ...]
    standstills: tuple[tuple[str, str], ...]
    contradictions: tuple[tuple[str, str], ...]
    tasks: dict[str, int]
    rows: dict[str, int]

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return not (self.damage or self.standstills or self.contradictions)


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
            rows={table: tables.count(tx, table) for table in tables.TABLES},
        )
