"""The part of a `Bay` that looks at failures: one triage cycle, waited for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from medbay import app
from medbay.app import Place
from medbay.core.model import PRIVATE_QUEUES, Triage
from medbay.core.policy import Policy
from medbay.core.triage.cycle import Cycle, Item
from medbay.env import Ids
from medbay.errors import MedbayError
from medbay.service import tasks, triage, working_set
from medbay.service.triage import Started
from medbay.store import tasks as task_rows
from medbay.store import triages
from medbay.store.database import KeptStore, Tx

if TYPE_CHECKING:
    from medbay.engine.daemon import Daemon

_HELD_BACK: Final = "the agency breaker is open; medbay breaker close agency ends that"


class Triaging:
    """Looking at tasks that waiting did not heal."""

    store: KeptStore
    place: Place
    policy: Policy
    daemon: Callable[..., Daemon]
    _write: Callable[[Callable[[Tx], Started]], Started]

    def triage(self, task_id: str | None = None, *, dry_run: bool = False) -> Cycle:
        """One cycle: start what may start, here and now, and wait for the verdicts.

        Without a task it is for all that wait for a triage; a task that is named is looked at whatever its cooldown.
        """
        queue = PRIVATE_QUEUES + Ids().store()
        try:
            found = self._start(task_id, queue, dry_run=dry_run)
        except MedbayError as error:
            if task_id is not None:
                raise
            return Cycle(broken=f"the tasks could not be listed: {error}")
        if found.started and not dry_run:
            workers = min(len(found.started), self.place.config.engine.workers)
            self.daemon(workers=workers, queues=(queue,)).run(until_idle=True)
        return Cycle(tuple(sorted(self._items(found), key=lambda each: each.issue_id)))

    def open_triages(self) -> dict[str, int]:
        """How many triages have each status that is not an end."""
        with self.store.read() as tx:
            return triages.count_open(tx)

    def waits_for_a_person(self, task_id: str) -> bool:
        """Whether everything it comes after that is not completed waits for somebody."""
        with self.store.read() as tx:
            open_ones = [each for each in task_rows.comes_after(tx, task_id) if each[1] != "completed"]
            return bool(open_ones) and all(status == "blocked" for _, status in open_ones)

    def _start(self, task_id: str | None, queue: str, *, dry_run: bool) -> Started:
        means = app.means_of(self.place.config)

        def act(tx: Tx) -> Started:
            work = working_set.load(tx, changing=not dry_run)
            if task_id is None:
                return triage.start_wanted(
                    tx, None, work, policy=self.policy, means=means, queue=queue, dry_run=dry_run
                )
            task = tasks.resolve(tx, task_id)
            return triage.start_asked(tx, task, work, policy=self.policy, means=means, queue=queue, dry_run=dry_run)

        if dry_run:
            with self.store.read() as tx:
                return act(tx)
        return self._write(act)

    def _items(self, found: Started) -> list[Item]:
        with self.store.read() as tx:
            items = [_item(triages.get(tx, each.id) or each) for each in found.started]
        items += [Item(task.id, 2, "triage_started", why) for task, why in found.waiting]
        items += [Item(task.id, 2, "no_action", _HELD_BACK) for task in found.held_back]
        items += [Item(task.id, 3, "escalated_to_human", why) for task, why in found.to_a_person]
        return items + [Item(task.id, 2, "no_action", why) for task, why in found.dropped]


def _item(looked: Triage) -> Item:
    if not looked.action:
        return Item(looked.task_id, 2, "triage_started", f"{looked.id} by {looked.agent}")
    tier = 3 if looked.action in ("escalated_to_human", "refused", "triage_failed", "verdict_unreadable") else 2
    return Item(looked.task_id, tier, looked.action, looked.detail)
