"""Starts the checks of attempts that succeeded: this engine's own, and those it took over from a dead one."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from pathlib import Path

from msgspec.structs import replace

from medbay.core.attempt import rescue
from medbay.core.attempt.checks import LANDING
from medbay.core.model import CheckResult, Task
from medbay.core.tracker.source import TrackerSource
from medbay.core.workspace import WorkSeen, requested
from medbay.engine.settings import Settings
from medbay.engine.verification import Verification
from medbay.env import Clock
from medbay.errors import StoreError
from medbay.integrations import landing
from medbay.integrations.git import without_hooks
from medbay.places.protocol import Launch, LiveAttempts, Place
from medbay.service import checks
from medbay.service.attempts import Claim, Finished
from medbay.service.checks import Begun
from medbay.store.database import Store

log = logging.getLogger("medbay.engine")


class CheckStarter:
    """Knows whether attempts wait for their checks; the store says which."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        place: Place,
        settings: Settings,
        *,
        live: LiveAttempts,
    ) -> None:
        self.due = False  # something succeeded, or was taken over, since the last look
        self.waiting: tuple[Task, ...] = ()  # those that have an attempt which needs a slot for its checks
        self._store = store
        self._clock = clock
        self._place = place
        self._settings = settings
        self._live = live

    def start(
        self, worker_id: str, held: Collection[Claim], give_up: Callable[[list[Finished]], None]
    ) -> list[tuple[Claim, Verification]]:
        """Start what waits, as far as slots allow; a store that is away is asked again in the next round."""
        if not self.due:
            return []
        try:
            begun = self._begin(worker_id, held, give_up)
        except StoreError as error:
            log.warning("the checks cannot be begun yet: %s", error)
            return []
        return [(each.claim, self._verification(each)) for each in begun]

    def count(self, worker_id: str, held: Collection[Claim]) -> bool:
        """See what waits: also what was taken over since the last look, or not begun then; whether that is known."""
        try:
            if self.due:
                self._look(worker_id, held)
        except StoreError as error:
            log.warning("what waits for its checks is not known yet: %s", error)
            return False
        return True

    def _look(self, worker_id: str, held: Collection[Claim]) -> list[Claim]:
        running = {(claim.task.id, claim.attempt.number) for claim in held}
        with self._store.read() as tx:
            found = checks.waiting(tx, worker_id)
        found = [claim for claim in found if (claim.task.id, claim.attempt.number) not in running]
        self.waiting = tuple(claim.task for claim in found)
        return found

    def _begin(self, worker_id: str, held: Collection[Claim], give_up: Callable[[list[Finished]], None]) -> list[Begun]:
        found = self._look(worker_id, held)
        with self._store.read() as tx:
            worn = checks.worn_out(tx, found, now=self._clock.now_ms())
        give_up(worn)
        lost = {(each.task_id, each.number) for each in worn}
        found = [claim for claim in found if (claim.task.id, claim.attempt.number) not in lost]
        chosen = self._fitting(found, held)
        begun: list[Begun] = []
        if chosen:
            self._end_earlier_rounds(chosen)
            with self._store.write() as tx:
                begun = checks.begin(tx, worker_id, chosen, log_path=self._log_path, redaction=self._settings.redaction)
        checked = {each.claim.task.id for each in begun}
        self.waiting = tuple(claim.task for claim in found if claim.task.id not in checked)
        self.due = bool(self.waiting)
        return begun

    def _fitting(self, found: list[Claim], held: Collection[Claim]) -> list[Claim]:
        """What fits into the slots; of those whose engine died before, one at a time."""
        free = self._settings.slots - sum(not claim.task.place for claim in held)
        suspect = any(claim.task.crashes > 0 for claim in held)
        chosen: list[Claim] = []
        elsewhere: list[Claim] = []
        for claim in sorted(found, key=lambda claim: (claim.task.crashes, claim.task.priority, claim.task.id)):
            if claim.task.place:  # checked there, right after the work: this only reads how that ended
                elsewhere.append(claim)
            elif len(chosen) < free and not (suspect and claim.task.crashes > 0):
                chosen.append(claim)
                suspect = suspect or claim.task.crashes > 0
        return chosen + elsewhere

    def _end_earlier_rounds(self, chosen: list[Claim]) -> None:
        """What was begun before may still run. Before anything is recorded: a store that is away stops us here."""
        with self._store.read() as tx:
            again = checks.begun_before(tx, chosen)
        own = {(claim.task.id, claim.attempt.number) for claim in again}
        for claim in again:
            live: LiveAttempts = lambda: self._live() - own  # noqa: E731 - their own processes are the leftovers
            self._place.end_leftovers(store_id=self._store.store_id, live=live, task_id=claim.task.id)

    def _verification(self, begun: Begun) -> Verification:
        claim = begun.claim
        return Verification(
            [(each, self._launch(begun, each)) for each in begun.results],
            self._place,
            fail_fast=claim.task.fail_fast,
            threshold=claim.task.threshold,
            now_ms=self._clock.now_ms,
            monotonic_s=self._clock.monotonic_s(),
        )

    def _log_path(self, task_id: str, number: int, position: int) -> str:
        return str(self._settings.check_log_path(task_id, number, position))

    def _launch(self, begun: Begun, check: CheckResult) -> Launch:
        task, attempt = begun.claim.task, begun.claim.attempt
        launch = Launch(
            store_id=self._store.store_id,
            task_id=task.id,
            number=attempt.number,
            part=f"check-{check.position}",
            runner="shell",
            command=check.command,
            shell=task.shell,
            cwd=Path(task.cwd) if task.cwd else self._settings.home,
            log_path=check.log_path,
            result_path=str(Path(check.log_path).with_suffix(".result.json")),
            idempotency_key=f"{self._store.store_id}:{task.id}:{task.iteration}",
            env=dict(task.env),
            guidance=attempt.guidance,
            timeout_s=task.check_timeout_ms / 1000,
            place=task.place,
        )
        if begun.work is not None:
            launch = _at_work(launch, begun.work, task, check, self._settings.trackers)
        return launch if check.position != rescue.POSITION else self._evaluation(launch, begun.shown)

    def _evaluation(self, launch: Launch, shown: str) -> Launch:
        """An evaluator reads what there is to know and answers into a file."""
        return replace(
            launch,
            part="evaluation",
            place="",
            timeout_s=self._settings.means.timeout_ms / 1000,
            stdin_text=shown,
            stdin_path=self._settings.context_path(launch.task_id, launch.number),
            answer_path=self._settings.answer_path(launch.task_id, launch.number),
        )


def _at_work(
    launch: Launch, work: WorkSeen, task: Task, check: CheckResult, trackers: Collection[TrackerSource]
) -> Launch:
    """A check runs where the agent worked; what merges its work runs in the repository itself."""
    if check.position != LANDING:
        return replace(launch, cwd=Path(work.directory), env={**without_hooks(launch.env), **launch.env})
    asked = requested(task)
    name = asked.name if asked is not None else task.id
    command = landing.start_command(work, name, task.title, trackers, asker=f"{task.id}:{launch.number}")
    waits_s = (launch.timeout_s or 0) + (work.pr_wait_s if work.on_pass == "pr" else 0)
    return replace(launch, part="landing", cwd=Path(work.repository), command=command, timeout_s=waits_s)
