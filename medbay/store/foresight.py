"""What the steps of a round ask one after the other, said beforehand: a server is asked it in one way and back.

Each is worded as the function words it that asks; what is asked differently is asked again, by itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from medbay.store import breakers, questions, tasks, triages, workers
from medbay.store.activity import FRESH_SQL, NEXT_WAKES_SQL, SUSPECT_SQL
from medbay.store.database import Query, Tx


def shared(tx: Tx, *, changing: bool) -> None:
    """What several tasks share."""
    if tx.dialect.is_away:
        tx.foresee(*_shared(tx, changing=changing))


def due(tx: Tx, limit: int) -> None:
    """What is released, and since when somebody could have released it."""
    if tx.dialect.is_away:
        tx.foresee((tasks.DUE_SQL + tx.locks.take_free, (tx.now, limit)), (workers.ALIVE_SQL, ()))


def woken(tx: Tx, limit: int) -> None:
    """What something that woke may have woken in turn."""
    if tx.dialect.is_away:
        late = (questions.UNANSWERED_SQL, tasks.EXPECTED_SQL, tasks.SLOW_SQL)
        tx.foresee(*((sql + tx.locks.take_free, (tx.now, limit)) for sql in late))


def end_of_turn(tx: Tx, worker_id: str, queues: Sequence[str], *, claiming: bool) -> None:
    """Who wants a triage, what is cancelled, and what a claim looks at first."""
    if not tx.dialect.is_away:
        return
    asked: list[Query] = [*_wishes(queues), (tasks.CANCELS_SQL, ())]
    if claiming:
        asked += _shared(tx, changing=False)
        asked.append((workers.GET_SQL + tx.locks.keep, (worker_id,)))
        asked += _behind_mutexes(queues)
    tx.foresee(*asked)


def heads(
    tx: Tx,
    suspects: Sequence[tuple[str, int]],
    ready: Sequence[tuple[str, bool, int]],
    *,
    past: Sequence[str],
    place: str,
) -> None:
    """What a claim looks at: of each queue so many suspects, and so many that are fresh or failed before."""
    sql = tasks.claim_head_sql(past) + tx.locks.take_free
    tx.foresee(
        *((tasks.CLAIM_SUSPECTS_SQL + tx.locks.take_free, each) for each in suspects),
        *((sql, (queue, int(again), place, *past, limit)) for queue, again, limit in ready),
    )


def idle(tx: Tx, queues: Sequence[str]) -> None:
    """Whether anything can be claimed."""
    if tx.dialect.is_away:
        ready = [(sql, (queue,)) for queue in queues for sql in (FRESH_SQL, SUSPECT_SQL)]
        tx.foresee(*ready, *_behind_mutexes(queues))


def next_wake(tx: Tx, queues: Sequence[str]) -> None:
    """Who wants a triage, and when something has to be seen to."""
    if tx.dialect.is_away:
        tx.foresee(*_wishes(queues), (NEXT_WAKES_SQL, ()))


def _wishes(queues: Sequence[str]) -> list[Query]:
    return [(triages.NEWEST_WISH_SQL, (queue,)) for queue in queues]


def _shared(tx: Tx, *, changing: bool) -> list[Query]:
    lock = tx.locks.take if changing else tx.locks.keep
    return [(breakers.OPEN_SQL + lock, ()), (questions.OPEN_SCOPES_SQL, ())]


def _behind_mutexes(queues: Sequence[str]) -> list[Query]:
    return [(tasks.MUTEX_HEADS_SQL, (queue, queue, queue, tasks.MUTEXES_LOOKED_AT)) for queue in queues]
