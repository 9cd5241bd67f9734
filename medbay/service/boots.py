"""Tasks that run once after each start of their machine: an engine that sees a new boot releases them."""

from __future__ import annotations

from collections.abc import Sequence

from medbay.core import rules
from medbay.core.model import PRIVATE_QUEUES
from medbay.store import meta, tasks
from medbay.store.apply import apply
from medbay.store.database import Tx


def notice(tx: Tx, *, machine_id: str, boot_id: str, booted_at: int, queues: Sequence[str]) -> int:
    """Release what waited for this boot in the queues an engine serves, once per machine and boot; how many there were.

    What was added after the machine was started waits for the next boot. A private queue has nothing that recurs.
    """
    found = []
    for queue in queues:
        known = f"boot/{machine_id}/{queue}"
        if not boot_id or queue.startswith(PRIVATE_QUEUES) or meta.value(tx, known) == boot_id:
            continue
        meta.put(tx, known, boot_id)
        found += [task for task in tasks.per_boot(tx, queue) if (task.planned_at or 0) < booted_at]
    for task in found:
        apply(tx, rules.on_booted(task, tx.now, at=booted_at))
    return len(found)
