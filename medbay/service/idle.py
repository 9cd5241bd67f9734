"""Whether there is nothing left to do, and how a run is to be judged. One read of the store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from medbay.core.triage import agency
from medbay.service import stories
from medbay.store import activity, breakers, tasks, workers
from medbay.store.database import Tx

EXIT_DONE = 0
EXIT_FAILED = 1
EXIT_WAITS_FOR_A_PERSON = 75


def has_claimable(tx: Tx, queues: Sequence[str]) -> bool:
    """Whether a worker of these queues would find something to claim."""
    return any(activity.has_claimable(tx, queue) for queue in queues)


def unserved(tx: Tx, queues: Iterable[str]) -> list[str]:
    """Those of the queues in which work is ready and no live worker takes it."""
    served = {queue for worker in workers.alive(tx) if worker.lease_until > tx.now for queue in worker.queues}
    return [queue for queue in dict.fromkeys(queues) if queue not in served and activity.has_claimable(tx, queue)]


def is_idle(tx: Tx, queues: Sequence[str]) -> bool:
    """Nothing live, claimable, waiting to be tried again or held for a while, in the queues that are served."""
    return not any(
        activity.has_live_attempt(tx, queue)
        or activity.has_claimable(tx, queue)
        or tasks.waits_behind_mutex(tx, queue)
        or activity.has_pending_retry(tx, queue)
        or activity.has_requeued(tx, queue)
        or activity.is_looked_at_elsewhere(tx, queue)
        for queue in queues
    ) and not (_triage_may_start(tx, queues) or _holds_for_a_while(tx, queues) or stories.is_moving(tx, queues))


def _triage_may_start(tx: Tx, queues: Sequence[str]) -> bool:
    """Whether a task waits for a triage that starts by itself, now or after a while."""
    wanted = any(activity.has_wanted_triage(tx, queue) for queue in queues)
    return wanted and not _only_a_person_lets_triages_start(tx)


def _only_a_person_lets_triages_start(tx: Tx) -> bool:
    held = breakers.get(tx, agency.KEY)
    return held is not None and held.only_a_person_ends


def _holds_for_a_while(tx: Tx, queues: Sequence[str]) -> bool:
    """Whether something is held that a canary or a time releases; what only a person ends is not waited for."""
    healing = [each for each in breakers.holding(tx) if not each.only_a_person_ends]
    return any(tasks.parked(tx, each.key, queue, 1) for each in healing for queue in queues)


def exit_code(tx: Tx, worker_ids: Sequence[str]) -> int:
    """1 when something these workers ran was exhausted, else 75 when something waits for a person, else 0."""
    kinds = {kind for worker_id in worker_ids for kind in activity.block_kinds_of_worker(tx, worker_id)}
    kinds |= {kind for worker_id in worker_ids for kind in activity.block_kinds_of_lost(tx, worker_id)}
    if "exhausted" in kinds:
        return EXIT_FAILED
    waits = any(activity.ran_what_wants_triage(tx, worker_id) for worker_id in worker_ids)
    if waits and _only_a_person_lets_triages_start(tx):
        return EXIT_WAITS_FOR_A_PERSON
    return EXIT_WAITS_FOR_A_PERSON if kinds else EXIT_DONE
