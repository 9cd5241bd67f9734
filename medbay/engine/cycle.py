"""One triage cycle that a person waits for: start what may start, run it here and now, say what came of it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from medbay.core.model import PRIVATE_QUEUES, Task, Triage
from medbay.core.policy.policy import Policy
from medbay.core.triage.case import Means
from medbay.core.triage.cycle import Cycle, Item
from medbay.core.triage.rights import shown
from medbay.engine.triage import SUPPRESSED
from medbay.env import Ids
from medbay.errors import MedbayError
from medbay.service import tasks, triage, working_set
from medbay.service.triage import Started
from medbay.store import tasks as task_rows
from medbay.store import triages
from medbay.store.database import Store, Tx

if TYPE_CHECKING:
    from medbay.engine.daemon import Daemon

HELD_BACK: Final = "the agency breaker holds it back: medbay breaker list"

log = logging.getLogger("medbay.engine")

Begun = Callable[["Daemon"], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class TriageCycle:
    """What a cycle works with; the daemon is made for its queue alone."""

    store: Store
    policy: Policy
    means: Callable[[], Means]  # what triage works with; refuses settings that do not fit each other
    daemon: Callable[[tuple[str, ...]], Daemon]
    write: Callable[[Callable[[Tx], Started]], Started]  # one transaction, made again when the store was busy

    def run(self, task_id: str | None, *, dry_run: bool, begun: Begun | None) -> Cycle:
        """One cycle for all that wait for a triage, or for one task that is named."""
        queue = PRIVATE_QUEUES + Ids().store()
        try:
            would = self._start(task_id, queue, dry_run=True)  # refuses what cannot be triaged
            if dry_run or not (would.found_any or self._any_open()):
                return _cycle(self._items(would))
        except MedbayError as error:
            if task_id is not None:
                raise
            return Cycle(broken=f"the tasks could not be listed: {error}")
        return _cycle(self._run(task_id, queue, begun))

    def _any_open(self) -> bool:
        with self.store.read() as tx:
            return bool(triages.count_open(tx))

    def _start(self, task_id: str | None, queue: str, *, dry_run: bool) -> Started:
        means = self.means()

        def act(tx: Tx) -> Started:
            work = working_set.load(tx, changing=not dry_run)
            if task_id is None:
                taken = triage.take_unserved(tx, queue) if not dry_run else []
                found = triage.start_wanted(
                    tx, None, work, policy=self.policy, means=means, queue=queue, dry_run=dry_run
                )
                return replace(found, started=[*taken, *found.started])
            task = tasks.resolve(tx, task_id)
            if not dry_run and (taken := triage.take_unserved(tx, queue, task.id)):
                return Started(started=taken)
            return triage.start_asked(tx, task, work, policy=self.policy, means=means, queue=queue, dry_run=dry_run)

        if dry_run:
            with self.store.read() as tx:
                return act(tx)
        return self.write(act)

    def _run(self, task_id: str | None, queue: str, begun: Begun | None) -> list[Item]:
        """Take over what a dead engine left, start what may start, and run it; a dying caller leaves a worker row."""
        daemon = self.daemon((queue,))
        try:
            if begun is not None:
                begun(daemon)
            lost = self._recover(daemon, task_id)
            found = self._start(task_id, queue, dry_run=False)
        except BaseException:
            daemon.engine.stop()
            raise
        if found.suppressed:
            log.warning(SUPPRESSED, found.suppressed)
        daemon.run(until_idle=True, until=lambda: not daemon.engine.live and self._are_held(found.started))
        again = {each.task_id for each in found.started}
        return self._items(
            replace(found, started=[*(each for each in lost if each.task_id not in again), *found.started])
        )

    def _recover(self, daemon: Daemon, task_id: str | None) -> list[Triage]:
        """What `up` does when it starts: attempts of dead engines are lost. The triages among them."""
        with self.store.read() as tx:
            before = triages.open_ones(tx)
            wanted = None if task_id is None else tasks.resolve(tx, task_id).id
        daemon.engine.recover()
        with self.store.read() as tx:
            over = [triages.get(tx, each.id) for each in before if wanted in (None, each.task_id)]
            return [each for each in over if each is not None and each.ended_at is not None]

    def _are_held(self, started: list[Triage]) -> bool:
        """Whether none of these can go on by now: ended, or held by something that may take hours."""
        with self.store.read() as tx:
            own = [task_rows.get(tx, each.id) for each in started]
        return all(each is None or each.finished or _waits(each) for each in own)

    def _items(self, found: Started) -> list[Item]:
        with self.store.read() as tx:
            items = [
                _item(triages.get(tx, each.id) or each, task_rows.get(tx, each.id))
                for each in (*found.started, *found.under_way)
            ]
        items += [Item(task.id, 1, "cooldown_pending", why) for task, why in found.waiting]
        items += [Item(task.id, 1, "cooldown_pending", HELD_BACK) for task in found.held_back]
        items += [Item(task.id, 3, "escalated_to_human", why) for task, why in found.to_a_person]
        return items + [Item(task.id, 2, "no_action", why) for task, why in found.dropped]


def _cycle(items: list[Item]) -> Cycle:
    return Cycle(tuple(items))


def _waits(own: Task) -> str:
    """What the task of a triage waits for, where that may take hours; empty when it can go on."""
    if own.hold:
        return f"held by {own.hold}: medbay breaker list"
    if own.status == "blocked":
        return f"a person is asked: {own.reason}"
    return f"its agent could not work: {own.last_summary}" if own.status == "failed" else ""


def _item(looked: Triage, own: Task | None) -> Item:
    if not looked.action and own is not None and (why := _waits(own)):
        return Item(looked.task_id, 1, "cooldown_pending", f"{looked.id} waits, {why}")
    if not looked.action:
        return Item(looked.task_id, 2, "triage_started", f"{looked.id} by {looked.agent}")
    tier = 3 if looked.action in ("escalated_to_human", "refused", "triage_failed", "verdict_unreadable") else 2
    return Item(looked.task_id, tier, looked.action, looked.detail, tuple(shown(looked.diff or {})))
