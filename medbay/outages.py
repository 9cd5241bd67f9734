"""The part of a `Bay` that deals with outages: breakers, provider holds, incidents."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from medbay.core.holds.breaker import Breaker
from medbay.core.model import Question, Task, Triage
from medbay.service import breakers as breaker_service
from medbay.service import explain
from medbay.store import breakers, questions, triages
from medbay.store import tasks as task_rows
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

    def incidents(self, *, closed: bool = False) -> list[tuple[Breaker, int]]:
        """The incidents, the newest first, each with how many tasks are parked under it."""
        with self.store.read() as tx:
            found = breaker_service.incidents(tx, closed=closed)
            return [(each, task_rows.count_held(tx, each.key)) for each in found]

    def incident(self, incident_id: str) -> tuple[Breaker, int, list[Task]]:
        """One incident by any beginning of its fingerprint: how many tasks it holds, and some of them."""
        with self.store.read() as tx:
            found, some = breaker_service.incident(tx, incident_id)
            return found, task_rows.count_held(tx, found.key), some

    def question_of(self, found: Breaker) -> Question | None:
        """What is asked about a breaker or an incident."""
        with self.store.read() as tx:
            return questions.get(tx, found.question_id) if found.question_id else None

    def triage_of_incident(self, found: Breaker) -> tuple[Triage | None, str]:
        """The one triage that an incident has or had, and what came of it in words."""
        with self.store.read() as tx:
            return triages.get(tx, found.data.get("triage") or ""), explain.looked_at(tx, found)

    def open_breaker(self, key: str, *, why: str = "", until: int | None = None) -> Breaker:
        """Hold a provider's account (`provider:NAME/ACCOUNT`), until it is closed or until a moment."""
        said = why or f"opened by {self.actor}"
        return self._write(lambda tx: breaker_service.open_one(tx, key, actor=self.actor, why=said, until=until))

    def close_breaker(self, key: str) -> Breaker:
        """Say that it is over: what it held is released, spread out."""
        return self._write(lambda tx: breaker_service.close_one(tx, key, actor=self.actor))

    def queues_out_of_share(self, queues: set[str], share: float) -> set[str]:
        """The queues in which retries have had their share of the slots while fresh work waits."""
        with self.store.read() as tx:
            return explain.queues_out_of_share(tx, queues, share)

    def _write(self, act: Callable[[Tx], T]) -> T:
        raise NotImplementedError
