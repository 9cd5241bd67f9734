"""Storing how attempts ended: one transaction for all, each under its own savepoint. Nothing is dropped unstored."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterable, Sequence
from typing import Final

from medbay.core.decision import WorkingSet
from medbay.core.redaction import redact
from medbay.errors import StaleClaim, StoreError
from medbay.service import attempts, working_set
from medbay.service.attempts import Finished, Judgement
from medbay.store.database import Store, Tx

_TOGETHER: Final = 2  # how often all are stored in one transaction before each is tried alone

log = logging.getLogger("medbay.engine")


class Settler:
    """Keeps ended attempts in memory until the store has them."""

    def __init__(self, store: Store, by: Judgement) -> None:
        self._store = store
        self._by = by
        self.unstored: list[Finished] = []
        self._troubled = False  # logged once, not at every try

    def take(self, finished: Iterable[Finished]) -> None:
        """Remember what ended."""
        self.unstored += finished

    def settle(self, worker_id: str) -> bool:
        """Store everything: together, once more together, then one by one; whether nothing is left."""
        if not self.unstored:
            return True
        self._sort()
        for _ in range(_TOGETHER):
            try:
                left = self._store_together(self.unstored, worker_id)
                break
            except StoreError as error:
                if not self._troubled:
                    log.warning("cannot write the store: %d results are kept in memory (%s)", len(self.unstored), error)
                self._troubled = True
        else:
            left = self._store_one_by_one(worker_id)
        self._stored_all_but(left)
        return not left

    def settle_all_in(self, tx: Tx, worker_id: str) -> list[Finished]:
        """Settle everything within a transaction that does more; what has to be tried again."""
        self._sort()
        return self.settle_in(tx, self.unstored, worker_id, working_set.load(tx))

    def stored_all(self) -> None:
        """The transaction that everything was settled in is committed."""
        self._stored_all_but([])

    def _stored_all_but(self, left: list[Finished]) -> None:
        self.unstored = left
        if self._troubled and not left:
            log.warning("the store can be written again; all results are stored")
            self._troubled = False

    def _sort(self) -> None:
        self.unstored.sort(key=lambda each: (each.ended_at, each.task_id, each.number))

    def _store_one_by_one(self, worker_id: str) -> list[Finished]:
        """Whatever the store takes; the rest is kept."""
        left = []
        for each in self.unstored:
            try:
                left += self._store_together([each], worker_id)
            except StoreError:
                left.append(each)
        return left

    def forget(self) -> None:
        """This worker's identity is gone: the engine that reaped it has recorded what it was running."""
        self.unstored.clear()

    def settle_in(self, tx: Tx, finished: Sequence[Finished], worker_id: str, work: WorkingSet) -> list[Finished]:
        """Settle within a transaction that is open already; what has to be tried again."""
        attempts.lock(tx, finished, work)
        if self._settle_at_once(tx, finished, worker_id, work):
            return []
        again = []
        for each in finished:
            try:
                with tx.savepoint():
                    work = self._end(tx, each, worker_id, work)
            except StaleClaim:
                again.append(each)
            except StoreError:
                raise
            except Exception:
                report = redact(traceback.format_exc())
                log.error("a rule broke on %s; it waits for a person\n%s", each.task_id, report)
                with tx.savepoint():
                    attempts.end_broken(tx, each, work, worker_id=worker_id, by=self._by, traceback=report)
        return again

    def _settle_at_once(self, tx: Tx, finished: Sequence[Finished], worker_id: str, work: WorkingSet) -> bool:
        """Whether nothing stood in the way: no rule broke, and every task is as its claim left it. Else undone."""
        if any(each.claim is None for each in finished):
            return False
        try:
            with tx.savepoint():
                attempts.end_together(tx, finished, work, worker_id=worker_id, by=self._by)
        except StoreError:
            raise
        except Exception as error:
            log.info("%d results are stored one by one (%s)", len(finished), error)
            return False
        return True

    def _store_together(self, finished: Sequence[Finished], worker_id: str) -> list[Finished]:
        with self._store.write() as tx:
            return self.settle_in(tx, finished, worker_id, working_set.load(tx))

    def _end(self, tx: Tx, each: Finished, worker_id: str, work: WorkingSet) -> WorkingSet:
        after = attempts.end(tx, each, work, worker_id=worker_id, by=self._by)
        if after is None:
            log.warning("attempt %d of %s is not this worker's any more", each.number, each.task_id)
            return work
        return after
