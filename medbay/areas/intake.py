"""Intake: captures, the worker that turns them into workorders, candidates and what becomes of them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from medbay import app
from medbay.core.intake.records import QUEUE, SCHEDULED, Candidate, Capture, Workorder
from medbay.core.intake.workorder import IntakeWork
from medbay.core.model import Task
from medbay.core.workflow import story as rules
from medbay.core.workflow.records import Story
from medbay.env import Ids
from medbay.errors import NotAllowed, StaleClaim, UsageError
from medbay.service import intake, requests, stories
from medbay.service.intake import WorkorderDetail
from medbay.store import intake as rows
from medbay.store.database import Tx
from medbay.views import intake as view

if TYPE_CHECKING:
    from medbay.bay import Bay

GIT_S: Final = 5.0
POLL_S: Final = 1.0
PROMOTED_AT_ONCE: Final = 100
LISTED_MAX: Final = 1_000
Listed = TypeVar("Listed", Capture, Workorder, Candidate)


@dataclass(frozen=True, slots=True, kw_only=True)
class IntakeRun:
    """What one run of the intake worker did."""

    events_processed: int = 0
    reason: str | None = None
    captures: tuple[str, ...] = ()
    snapshot: str | None = None
    workorder: str | None = None
    verdict: str | None = None
    candidates: tuple[Candidate, ...] = ()
    errors: tuple[str, ...] = ()

    def as_data(self) -> dict[str, Any]:
        """As `medbay intake --once --json` prints it."""
        return {
            "events_processed": self.events_processed,
            "reason": self.reason,
            "captures": list(self.captures),
            "snapshot": self.snapshot,
            "workorder": self.workorder,
            "verdict": self.verdict,
            "candidates": [view.candidate_as_json(each) for each in self.candidates],
            "errors": list(self.errors),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordPage(Generic[Listed]):
    """One page of a list: its records, how many match by status, and where the next page begins."""

    rows: list[Listed]
    counts: dict[str, int]
    next: str | None  # the id behind which it goes on; None at the end

    @property
    def total(self) -> int:
        """How many match on all pages."""
        return sum(self.counts.values())


class Intake:
    """Captures to candidates to tasks."""

    def __init__(self, bay: Bay) -> None:
        self._bay = bay
        self._owner = Ids().store()

    # Lists

    def page(
        self,
        kind: type[Listed],
        *,
        status: Sequence[str] = (),
        workorder: str = "",
        limit: int = LISTED_MAX,
        after: str = "",
    ) -> RecordPage[Listed]:
        """One page of captures, workorders or candidates, the oldest first; `after` is where the page before ended."""
        with self._bay.store.read() as tx:
            if after and rows.get(tx, kind, after) is None:
                raise UsageError("this is not a place in a list", hint="take the end of the page before, or none")
            found = rows.select(tx, kind, status=status, workorder=workorder, limit=limit + 1, after=after)
            counts = rows.count(tx, kind, status=status, workorder=workorder)
        shown = found[:limit]
        return RecordPage(rows=shown, counts=counts, next=shown[-1].id if len(found) > limit else None)

    # Captures

    def capture(self, text: str) -> Capture:
        """Store a thought; secrets that are known or look like one are redacted."""
        said = app.redaction_of(self._bay.place.config, os.environ).text(text)
        return self._bay.write(lambda tx: intake.capture(tx, said, ids=self._bay.ids, actor=self._bay.actor))

    def show_capture(self, capture_id: str) -> dict[str, Any]:
        """One capture with the workorders it was in and the candidates made of it."""
        with self._bay.store.read() as tx:
            found = intake.resolve(tx, Capture, capture_id)
            orders = rows.workorders_of(tx, found.id)
            made = [one for each in orders for one in rows.select(tx, Candidate, workorder=each)]
            return view.capture_in_full(found, orders, [each for each in made if found.id in each.captures])

    def edit_capture(self, capture_id: str, text: str) -> Capture:
        """Change the text of a capture that waits."""
        said = app.redaction_of(self._bay.place.config, os.environ).text(text)
        return self._bay.write(lambda tx: intake.edit_capture(tx, capture_id, said, actor=self._bay.actor))

    def release_capture(self, capture_id: str) -> Capture:
        """Let a capture be triaged at once; one that is poison gets new tries."""
        return self._bay.write(lambda tx: intake.release_capture(tx, capture_id, actor=self._bay.actor))

    def discard(self, record_id: str) -> Capture | Candidate:
        """Discard a candidate or a capture."""
        return self._bay.write(lambda tx: intake.discard(tx, record_id, actor=self._bay.actor))

    # Workorders and candidates

    def workorder(self, workorder_id: str) -> WorkorderDetail:
        """Everything about one workorder."""
        with self._bay.store.read() as tx:
            return intake.detail(tx, workorder_id)

    def candidate(self, candidate_id: str) -> Candidate:
        """One candidate."""
        with self._bay.store.read() as tx:
            return intake.resolve(tx, Candidate, candidate_id)

    def edit_candidate(self, candidate_id: str, **changes: Any) -> Candidate:
        """Change title, description or acceptance_criteria of a candidate that is open."""
        return self._bay.write(lambda tx: intake.edit_candidate(tx, candidate_id, changes, actor=self._bay.actor))

    def promote(
        self, candidate_id: str, *, run: str | None = None, agent: str | None = None, story: bool = False
    ) -> Task | Story:
        """Make a task of a candidate: a person's, unless a command or an agent is named. Or a story of its own."""
        if story:
            if run or agent:
                raise UsageError("--story goes without --run and --agent", hint="its roles work on it: [roles.NAME]")
            return self._promote_to_story(candidate_id)
        if run and agent:
            raise UsageError("--run and --agent exclude each other", hint="choose one")
        bay = self._bay
        given = {"title": "-", "run": run, "agent": agent, "person": True if not run and not agent else None}

        def make(tx: Tx) -> Task:
            defaults = app.defaults_of(bay.place.config)
            new = requests.new_task(given, now=tx.now, defaults=defaults, agents=bay.profiles)
            how = {"runner": new.runner, "command": new.command, "cwd": new.cwd, "shell": new.shell}
            return intake.promote(tx, candidate_id, {**how, "resources": new.resources}, ids=bay.ids, actor=bay.actor)

        return bay.write(make)

    def _promote_to_story(self, candidate_id: str) -> Story:
        """A story with the candidate's id, title and criteria; it and its candidate name each other."""
        bay, found = self._bay, self.candidate(candidate_id)
        described = f"{found.description}\n\nFrom {', '.join(found.captures)}".strip()
        new, definition = bay.stories.prepared(
            found.id, title=found.title, description=described, criteria=found.acceptance_criteria
        )

        def make(tx: Tx) -> Story:
            made = stories.create(tx, rules.begun(new, tx.now), definition, actor=bay.actor)
            intake.promoted_to(tx, found.id, made.id, actor=bay.actor)
            return made

        made = bay.write(make)
        bay.stories.settle_files(made.id)
        return made

    # The worker

    def once(self, *, early: bool = True) -> IntakeRun:
        """Process the oldest event, with `early` whatever its delay, and run the workorder it leads to.

        Events with nothing left to take are processed on the way. A workorder that a run before this one left
        unfinished is run first, and reported where no event led to another.
        """
        work = self._work(QUEUE)
        self._bay.write(lambda tx: intake.take_unserved(tx, QUEUE))
        found = self._schedule(work, early=early)
        before = [each.id for each in self.page(Workorder, status=("CREATED",)).rows]
        if before:
            self._bay.run_until_idle(queues=(QUEUE,))
        self.promote_due()
        order = found.workorder or (before[0] if before else None)
        return self._reported(found, order) if order else found

    def cycle(self, queue: str) -> list[str]:
        """What a daemon does beside its engine: schedule all that is due, promote what the setting says."""
        with self._bay.store.read() as tx:
            due, left = rows.has_due(tx), rows.unbegun_tasks(tx)
        if left:
            self._bay.write(lambda tx: intake.take_unserved(tx, queue))
        self.promote_due()
        errors: list[str] = []
        if due:
            work = self._work(queue)
            while (found := self._schedule(work)).events_processed and not found.errors:
                pass
            errors += found.errors
        return errors

    def promote_due(self) -> None:
        """Promote what is at least as sure as the setting wants."""
        with self._bay.store.read() as tx:
            found = rows.to_promote(tx, PROMOTED_AT_ONCE)
        for each in found:
            try:
                self.promote(each)
            except NotAllowed:  # a person was faster
                continue

    def _schedule(self, work: IntakeWork, *, early: bool = False) -> IntakeRun:
        """Process events until one leads to a workorder or none is left; each in two transactions."""
        done, reason = 0, None
        while True:
            event = self._bay.write(lambda tx: intake.claim(tx, by=self._owner, early=early))
            if event is None:
                return IntakeRun(events_processed=done, reason=reason)
            try:
                order, batch = self._bay.write(partial(intake.schedule, event_id=event.id, work=work, by=self._owner))
            except StaleClaim as error:
                return IntakeRun(events_processed=done, reason=reason, errors=(str(error),))
            done += 1
            reason = "NO_PENDING_CAPTURES"
            if order is not None:
                taken = tuple(each.id for each in batch)
                return IntakeRun(
                    events_processed=done,
                    reason=SCHEDULED,
                    captures=taken,
                    snapshot=order.snapshot_id,
                    workorder=order.id,
                )

    def _reported(self, found: IntakeRun, order: str) -> IntakeRun:
        detail = self.workorder(order)
        record = detail.run_record
        errors = () if record is None or record.gate_result == "PASS" else (record.gate_reason,)
        if record is None:
            errors = (f"{order} has not ended: medbay explain {detail.workorder.task_id}",)
        return IntakeRun(
            events_processed=found.events_processed,
            reason=found.reason,
            captures=found.captures or tuple(each.id for each in detail.captures),
            snapshot=detail.workorder.snapshot_id,
            workorder=order,
            verdict=record.gate_result if record is not None else None,
            candidates=detail.candidates,
            errors=(*found.errors, *errors),
        )

    def _work(self, queue: str) -> IntakeWork:
        folder = self._bay.place.config.folder or self._bay.place.folder.parent
        return app.intake_of(self._bay.place.config, folder, queue=queue, commit=_commit(folder))


def _commit(folder: Path) -> str | None:
    """The commit of the repository that a directory belongs to, or none."""
    command = ["git", "-C", str(folder), "rev-parse", "--verify", "HEAD"]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=GIT_S, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return ran.stdout.strip()[:64] or None if ran.returncode == 0 else None
