"""The part of a `Bay` that deals with outages: breakers, provider holds, incidents."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from medbay.core.holds.breaker import Breaker
from medbay.core.snapshot import IncidentDetail
from medbay.service import breakers as breaker_service
from medbay.store import breakers
from medbay.store.database import KeptStore, Tx

T = TypeVar("T")


class Outages:
    """What a person sees of breakers, and does to them."""

    store: KeptStore
    actor: str

    def breakers(self, *, closed: bool = False) -> list[tuple[Breaker, int]]:
        """The breakers, the newest first, each with how many tasks it holds: parked, or kept from their triage."""
        with self.store.read() as tx:
            return [(each, breaker_service.count_held(tx, each)) for each in breakers.select(tx, closed=closed)]

    def incidents(self, *, closed: bool = False) -> list[IncidentDetail]:
        """The incidents, the newest first, with how many tasks each holds and what is asked about it."""
        with self.store.read() as tx:
            return breaker_service.incidents(tx, closed=closed)

    def incident(self, incident_id: str) -> IncidentDetail:
        """One incident by any beginning of its fingerprint, with some of the tasks it holds."""
        with self.store.read() as tx:
            return breaker_service.incident(tx, incident_id)

    def open_breaker(self, key: str, *, why: str = "", until: int | None = None) -> Breaker:
        """Hold a provider's account (`provider:NAME/ACCOUNT`), until it is closed or until a moment."""
        said = why or f"opened by {self.actor}"
        return self._write(lambda tx: breaker_service.open_one(tx, key, actor=self.actor, why=said, until=until))

    def close_breaker(self, key: str) -> Breaker:
        """Say that it is over: what it held is released, spread out."""
        return self._write(lambda tx: breaker_service.close_one(tx, key, actor=self.actor))

    def _write(self, act: Callable[[Tx], T]) -> T:
        raise NotImplementedError
