"""Starts triages of tasks that want one, and hands each what its agent is shown. The agents run as attempts."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from medbay.core.intake.records import RUNNER as INTAKE
from medbay.core.model import Task
from medbay.core.triage import incident
from medbay.core.triage.cycle import RUNNER
from medbay.engine.settings import Settings
from medbay.env import Clock
from medbay.errors import SpawnFailed, StaleClaim, StoreError
from medbay.places.protocol import Launch
from medbay.service import intake, triage, working_set
from medbay.service.attempts import Claim
from medbay.service.triage import Started
from medbay.store import breakers, triages
from medbay.store.database import Store, Tx
from medbay.store.triages import Wish

SUPPRESSED: Final = "suppressing triage: the agency breaker is open, %d held back"
LOOK_AGAIN_S: Final = 1.0  # at those that wait for another triage, or for the agency breaker

log = logging.getLogger("medbay.engine")


class Triager:
    """Knows whether a task may want a triage; the store says which."""

    def __init__(self, store: Store, clock: Clock, settings: Settings) -> None:
        self.again_s: float | None = None  # when those that were held back are looked at again
        self._newest: Wish | None = None  # the last task that came to want one
        self._seen: Wish | None = None  # that of the last look
        self._past: Mapping[str, Wish] = {}  # after whom the next look begins, by queue
        self._suppressed = 0  # how many were held back when that was logged last
        self._counted = 0  # how many of those that this round has looked at
        self._incidents = False  # whether one of them wants a triage
        self._incidents_at_s = 0.0  # when they are looked at again
        self._store = store
        self._clock = clock
        self._settings = settings

    def notice(self, tx: Tx) -> None:
        """Whether there is something to start; asked in a transaction that is open anyway."""
        self._newest = triages.newest_wish(tx, self._settings.queues)
        now_s = self._clock.monotonic_s()
        if now_s >= self._incidents_at_s:  # which are rare: not in every round
            self._incidents_at_s = now_s + LOOK_AGAIN_S
            self._incidents = any(map(incident.wants_one, breakers.open_incidents(tx)))

    def ended(self, task: Task) -> None:
        """An attempt of this task is over; another triage may have waited for that."""
        if task.runner == RUNNER:
            self.again_s = None

    def start(self) -> int:
        """Start what may start now; how many were. Those that wait are checked now and then, a new one at once."""
        now_s = self._clock.monotonic_s()
        waits = self.again_s is not None and now_s < self.again_s and self._newest == self._seen
        if (self._newest is None and not self._incidents) or waits:
            return 0
        settings = self._settings
        try:
            with self._store.write() as tx:
                work = working_set.load(tx)
                found = triage.start_wanted(
                    tx, settings.queues, work, policy=settings.policy, means=settings.means, past=self._past
                )
        except StaleClaim as error:  # another engine was faster with one of them
            log.info("triages are checked again (%s)", error)
            self.again_s = now_s
            return 0
        self._incidents = False
        self.again_s = now_s + LOOK_AGAIN_S if found.look_again else None
        left = ((task.since, task.id) for task in (*(each for each, _ in found.waiting), *found.held_back))
        self._seen = self._newest if found.further else max(left, default=None)
        self._log_suppressed(found)
        self._past = found.further
        return len(found.started)

    def _log_suppressed(self, found: Started) -> None:
        """How many are held back: not again at every look, which takes several where many wait."""
        before = self._counted if self._past else 0
        self._counted = before + found.suppressed
        if self._counted > self._suppressed:
            log.warning(SUPPRESSED, self._counted)
            self._suppressed = self._counted
        if not found.further:
            self._suppressed = self._counted

    def prepared(self, claim: Claim, launch: Launch) -> Launch:
        """The launch of a triage or a workorder: its agent's command, what it is shown, and a file for its answer."""
        if claim.task.runner not in (RUNNER, INTAKE):
            return launch
        settings, task, number = self._settings, claim.task, claim.attempt.number
        own = task.runner == INTAKE
        try:
            with self._store.read() as tx:
                if own:
                    shown = intake.prompt_of(tx, task)
                else:
                    shown = triage.of_triage(tx, task, means=settings.means, redaction=settings.redaction)
        except StoreError as error:
            raise SpawnFailed(f"what the triage is to be shown cannot be read: {error}") from error
        return replace(
            launch,
            command=launch.command if own else settings.means.command,
            stdin_text=shown,
            stdin_path=settings.context_path(task.id, number),
            answer_path=settings.answer_path(task.id, number),
        )
