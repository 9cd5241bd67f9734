"""Trackers: issues are dispatched as tasks, failures are mirrored into their notes, triage clears or hands them on.

Calls of a tracker happen between transactions, never inside one; each step can be repeated after a crash.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec import structs
from msgspec.structs import replace

from medbay.areas.held_tracker import HeldTracker
from medbay.config.fields import BeadsConfig
from medbay.core import agent
from medbay.core.model import TRACKER, Check, Task
from medbay.core.tracker import mirror, record, tiers
from medbay.core.tracker.issue import Issue, Listing, TagWorkflow, in_order, workflow_of
from medbay.core.tracker.mirror import IssueLink, Wanted
from medbay.core.tracker.record import FailureRecord, UnreadableRecord
from medbay.core.tracker.source import TrackerSource
from medbay.core.triage.cycle import TRIAGES_AT_ALL, Cycle, Item
from medbay.errors import MedbayError, UsageError
from medbay.integrations.trackers import beads, open_source
from medbay.integrations.trackers.protocol import Tracker, TrackerError
from medbay.service import issues
from medbay.service.issues import IssueWork
from medbay.store import issues as issue_rows
from medbay.store import tasks as task_rows
from medbay.store import triages
from medbay.store.database import Tx

if TYPE_CHECKING:
    from medbay.bay import Bay
    from medbay.engine.daemon import Daemon

FAULTS_MAX: Final = 3  # failed clears in a row after which an issue is a person's
AT_ONCE: Final = 1_000
READ_AT_ONCE: Final = 50  # issues of unfinished tasks that a list did not have
_MINUTE_MS: Final = 60_000
TURN_MS: Final = _MINUTE_MS  # how much longer than two polls a daemon keeps its turn
SKIPPED: Final = ("active_record", "needs_human", "untagged", "unreadable")
_NOTHING: Final = ("false",)  # what an import runs before anything is configured: dispatch replaces it


@dataclass(slots=True)
class Dispatch:
    """What one dispatch of a tracker's issues did."""

    issues_found: int = 0
    dispatched: list[str] = field(default_factory=list)  # ids of issues
    closed: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    skipped: dict[str, list[str]] = field(default_factory=lambda: {name: [] for name in SKIPPED})
    errors: list[str] = field(default_factory=list)
    broken: str = ""  # why the issues could not be listed

    def outcome(self, issue_id: str) -> str:
        """What became of an issue that was dispatched."""
        return "closed" if issue_id in self.closed else "failed" if issue_id in self.failed else "unfinished"

    def as_data(self) -> dict[str, Any]:
        """The documented shape."""
        return {
            "issues_found": self.issues_found,
            "dispatched": len(self.dispatched),
            "closed": len(self.closed),
            "failed": len(self.failed),
            "skipped": {name: len(found) for name, found in self.skipped.items()},
            "errors": [*filter(None, (self.broken,)), *self.errors],
            "results": [{"issue_id": each, "outcome": self.outcome(each)} for each in self.dispatched],
        }


class Trackers:
    """The trackers of a Bay."""

    def __init__(self, bay: Bay) -> None:
        self._bay = bay

    def beads(self, cwd: Path | None = None) -> Tracker:
        """The Beads workspace that is configured, or found upward; raises TrackerError where there is none."""
        return beads.open_tracker(self._bay.place.config.beads.path, cwd or Path(os.getcwd()))

    @property
    def sources(self) -> tuple[str, ...]:
        """The names of the trackers that are configured, Beads first."""
        config = self._bay.place.config
        chosen = config.beads
        with_beads = chosen.dispatch or chosen.agent or chosen.run or chosen.path
        return (*((beads.NAME,) if with_beads else ()), *config.trackers)

    def open(self, source: str, cwd: Path | None = None) -> Tracker:
        """The tracker of a name: UsageError where none has it, TrackerError where it cannot be asked at all."""
        if source == beads.NAME:
            return self.beads(cwd)
        return HeldTracker(self._bay, open_source(self._source(source)))

    def settings(self, source: str) -> BeadsConfig | TrackerSource:
        """How the issues of a tracker are worked on, as it is configured."""
        return self._bay.place.config.beads if source == beads.NAME else self._source(source)

    def _source(self, name: str) -> TrackerSource:
        known = self._bay.place.config.trackers
        if name not in known:
            hint = f"configured are {', '.join(self.sources) or 'none'}; [trackers.NAME] of medbay.toml makes one"
            raise UsageError(f'there is no tracker "{name}"', hint=hint)
        return known[name]

    def work(self, tracker: Tracker) -> IssueWork:
        """How the issues of a tracker are worked on, by `[beads]` or `[trackers.NAME]`."""
        config = self._bay.place.config
        chosen = self.settings(tracker.name)
        runner = "shell"
        resources: tuple[str, ...] = ()
        command: tuple[str, ...] | str = _NOTHING
        if chosen.agent:
            profile = agent.find(self._bay.profiles, chosen.agent)
            runner, command, resources = agent.runner_of(chosen.agent), (), profile.resources
        elif chosen.run:
            command = chosen.run
        return IssueWork(
            source=tracker.name,
            queue=tracker.name,
            command=command,
            runner=runner,
            cwd=str((config.folder or self._bay.place.folder.parent).resolve()),
            resources=resources,
            checks=tuple(Check(each) for each in chosen.checks),
        )

    # Dispatch

    def dispatch(
        self, tracker: Tracker, *, run: bool = True, begun: Callable[[Daemon], None] | None = None
    ) -> Dispatch:
        """Take up what may be worked on; with `run` work on it here and now, one attempt each, and mirror its end."""
        self.check_work(tracker.name)
        found = Dispatch(errors=self.sync(tracker))
        try:
            listed = tracker.open_issues()
        except TrackerError as error:
            found.broken = f"the issues could not be listed: {error}"
            return found
        found.issues_found = len(listed.issues) + len(listed.unreadable)
        found.skipped["unreadable"] += listed.unreadable
        found.errors += filter(None, (listed.left_out,))
        found.errors += self.end_closed(tracker, listed)[1]
        taken: dict[str, str] = {}  # task -> issue
        for issue in in_order(listed.issues):
            try:
                if (task := self._take_up(tracker, issue, found)) is not None:
                    taken[task.id] = issue.id
                    found.dispatched.append(issue.id)
            except (MedbayError, OSError) as error:
                found.errors.append(f"{issue.id}: {error}")
        found.errors = list(dict.fromkeys(found.errors))
        if run and taken:
            self._run(tracker, taken, found, begun)
        return found

    def check_work(self, source: str) -> None:
        """Raise UsageError where nothing says how the issues of a tracker are worked on."""
        config, table = self.settings(source), source if source == beads.NAME else f"trackers.{source}"
        if not (config.agent or config.run):
            hint = f'run = "./work.sh" in [{table}] of medbay.toml'
            raise UsageError(f"[{table}] says neither agent nor run", hint=hint)

    def _take_up(self, tracker: Tracker, issue: Issue, found: Dispatch) -> Task | None:
        """The task of an issue that is to start now; None when it is not, which is counted where it is skipped."""
        workflow = workflow_of(issue)
        why = _skipped(issue, workflow)
        if why or workflow is None:
            found.skipped[why].append(issue.id)
            return None
        link, task = self._read(lambda tx: issues.known(tx, tracker.name, issue.id))
        if task is None and self._read(lambda tx: issues.is_part(tx, issue.key)):
            return None  # of a split that the mirror has not finished
        again = self.is_reopened(tracker, link, task)
        if task is not None and not again and not self._may_start(tracker, link, task):
            return None
        work, path = self.work(tracker), self._input_path(tracker, issue)
        env = (("MEDBAY_INPUT", str(path)), ("MEDBAY_ISSUE", issue.id))
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write_private(path, json.dumps(_shown(issue), ensure_ascii=False))

        def take(tx: Tx) -> Task:
            ids, actor = self._bay.ids, mirror.ACTOR
            made = issues.take_up(tx, issue, work, env, ids=ids, actor=actor, checked=workflow.checked, again=again)
            if made.status in ("failed", "blocked") and task is not None and made.since == task.since:
                # Our line was there and is gone: a person, or a triage of its own, cleared it.
                made = issues.clear(tx, made, why="its record was cleared in the tracker")
            return made

        made = self._bay.write(take)
        return made if made.status == "pending" else None

    def _may_start(self, tracker: Tracker, link: IssueLink, task: Task) -> bool:
        """Whether a task that there is may start, its issue saying nothing against it.

        What failed may where its notes said so and do no more: they are read again, since the list may be older than
        what the mirror wrote, and what the mirror could not write yet was never there to be cleared.
        """
        if task.finished or task.live is not None or task.paused:
            return False
        if task.status not in ("failed", "blocked"):
            return True
        waits = bool(link.line) or task.waits_for == TRACKER
        return waits and link.version == task.version and record.read(tracker.read(link.issue_id).notes).is_free

    def is_reopened(self, tracker: Tracker, link: IssueLink, task: Task | None) -> bool:
        """Whether an issue that was closed is open again; it is read once more, since a list may be older."""
        closed = task is not None and task.finished and link.closed_at is not None
        return closed and tracker.read(link.issue_id).status == "open"

    def end_closed(self, tracker: Tracker, listed: Listing) -> tuple[list[IssueLink], list[str]]:
        """Cancel the tasks of issues that people closed or deleted; those issues, and what went wrong."""
        gone, errors = self.closed_by_people(tracker, listed)
        for link in gone:
            self._bay.write(partial(issues.end_closed, link=link, actor=mirror.ACTOR))
        return gone, errors

    def closed_by_people(self, tracker: Tracker, listed: Listing) -> tuple[list[IssueLink], list[str]]:
        """The issues of unfinished tasks that are closed or deleted, not by us; and what went wrong.

        What a list does not have is read by itself: it may be put aside, left out, or too new for that list.
        """
        seen = {each.id for each in listed.issues}
        gone: list[IssueLink] = []
        errors: list[str] = []
        with self._bay.store.read() as tx:
            unfinished = [each for each in issue_rows.unfinished(tx, tracker.name) if each.issue_id not in seen]
        # Where there are more than are read at once, each minute reads others.
        first = self._bay.now() // _MINUTE_MS * READ_AT_ONCE % max(1, len(unfinished))
        for link in (*unfinished[first:], *unfinished[:first])[:READ_AT_ONCE]:
            try:
                if tracker.read(link.issue_id).status == "closed":
                    gone.append(link)
            except TrackerError as error:
                if error.is_whole:
                    return gone, [*errors, str(error)]
                if error.kind == "not_found":
                    gone.append(link)
                else:
                    errors.append(f"{link.issue_id}: {error}")
        return gone, errors

    def _input_path(self, tracker: Tracker, issue: Issue) -> Path:
        name = issue.id.replace("/", "_").replace("#", "_")
        return self._bay.place.folder.resolve() / "inputs" / tracker.name / f"{name}.json"

    def _run(
        self, tracker: Tracker, taken: dict[str, str], found: Dispatch, begun: Callable[[Daemon], None] | None
    ) -> None:
        daemon = self._bay.daemon(queues=(tracker.name,))
        if begun is not None:
            begun(daemon)
        daemon.run(until=lambda: not daemon.engine.live and not self._under_way(taken))
        found.errors += self.sync(tracker)
        for task_id, issue_id in taken.items():
            task = self._task(task_id)
            if task is not None and task.status == "completed":
                found.closed.append(issue_id)
            elif task is not None and task.status in ("failed", "blocked"):
                found.failed.append(issue_id)

    def _under_way(self, taken: Iterable[str]) -> bool:
        """Whether any of these tasks runs, is checked, or is about to start."""
        with self._bay.store.read() as tx:
            found = [task for task in (task_rows.get(tx, each) for each in taken) if task is not None]
        return any(task.ready or task.live is not None for task in found)

    def _task(self, task_id: str) -> Task | None:
        with self._bay.store.read() as tx:
            return task_rows.get(tx, task_id)

    # The mirror

    def sync(self, tracker: Tracker, *, dry_run: bool = False) -> list[str]:
        """Write into the tracker what changed in the store since it was written last; what went wrong, by issue."""
        errors: list[str] = []
        with self._bay.store.read() as tx:
            behind = issue_rows.changed(tx, tracker.name, AT_ONCE)
        for link, task in behind if not dry_run else ():
            try:
                self._mirror(tracker, link, task)
            except MedbayError as error:
                if isinstance(error, TrackerError) and error.is_whole:  # no issue is to blame, and the rest waits too
                    return [*errors, str(error)]
                self._save(replace(link, faults=link.faults + 1))
                errors.append(f"{link.issue_id}: {error}")
        return errors

    def _mirror(self, tracker: Tracker, link: IssueLink, task: Task) -> None:
        """Let an issue say what its task says: the parts of a split first, then our line in its notes, then its end."""
        if task.status == "cancelled":
            self._make_parts(tracker, link, task)
        wanted = self._read(lambda tx: issues.wanted(tx, link, task))
        if wanted.close:
            # Without our line a closed issue that is opened again starts afresh.
            self._take_back(tracker, link)
            tracker.close(link.issue_id, wanted.close)
            if wanted.close.startswith(mirror.SPLIT):
                self._bay.write(lambda tx: issues.complete_split(tx, task.id))
        elif wanted.line:
            self._write_line(tracker, link.issue_id, wanted.line)
        else:
            self._take_back(tracker, link)
        if wanted.pause:
            tracker.pause(link.issue_id)
        self._save(_written(link, task, wanted, self._bay.now()))

    def _take_back(self, tracker: Tracker, link: IssueLink) -> None:
        """Take our line out of the notes; what another tool wrote there is not ours to take."""
        if link.line:
            notes = tracker.read(link.issue_id).notes
            changed = record.without(notes, link.line)
            if changed != notes:
                tracker.set_notes(link.issue_id, changed)

    def _write_line(self, tracker: Tracker, issue_id: str, line: str) -> None:
        """Change our line in the notes and nothing else: they are read again right before."""
        notes = tracker.read(issue_id).notes
        changed = record.with_line(notes, line) if line else record.cleared(notes)
        if changed != notes:
            tracker.set_notes(issue_id, changed)

    def _make_parts(self, tracker: Tracker, link: IssueLink, task: Task) -> None:
        with self._bay.store.read() as tx:
            parts = issue_rows.parts_without_issue(tx, task.id)
        if not parts:
            return
        whole = tracker.read(link.issue_id)
        workflow = workflow_of(whole)
        labels = whole.labels if workflow is None or workflow.name in whole.labels else (*whole.labels, workflow.name)
        for part in parts:
            made = tracker.create(
                part.title, part.description, like=whole, labels=labels, key=f"{issues.PART_KEY}{part.id}"
            )
            self._save(IssueLink(source=tracker.name, issue_id=made, task_id=part.id, version=part.version))

    # Triage

    def triage(self, tracker: Tracker, *, dry_run: bool = False, judge: bool = True) -> Cycle:
        """One cycle over the failed issues, oldest failure first; without `judge` a triage is left to the engine."""
        refused = [] if dry_run else self.sync(tracker)
        try:
            listed = tracker.open_issues()
        except TrackerError as error:
            return Cycle(broken=f"the issues could not be listed: {error}", refused=tuple(refused))
        odd = [Item("", 3, "issue_unreadable", each) for each in listed.unreadable]
        failed: list[tuple[Issue, FailureRecord | UnreadableRecord]] = []
        for issue in listed.issues:
            notes = record.read(issue.notes)
            if notes.human is None and notes.record is not None:
                failed.append((issue, notes.record))
        failed.sort(key=lambda each: (_failed_at(each[1]), each[0].id))
        judged = (self._judged(tracker, *each, dry_run=dry_run, judge=judge) for each in failed)
        return Cycle((*odd, *judged), refused=tuple(refused))

    def _judged(
        self, tracker: Tracker, issue: Issue, found: FailureRecord | UnreadableRecord, *, dry_run: bool, judge: bool
    ) -> Item:
        """What becomes of one issue; an error is its result and no other's."""
        try:
            return self._judge(tracker, issue, found, dry_run=dry_run, judge=judge)
        except Exception as error:  # what happens to one item never affects another
            tier = 2 if isinstance(found, FailureRecord) else 3
            action = "triage_failed" if tier == 2 else "escalation_failed"
            return Item(issue.id, tier, action, f"{type(error).__name__}: {error}")

    def _judge(
        self, tracker: Tracker, issue: Issue, found: FailureRecord | UnreadableRecord, *, dry_run: bool, judge: bool
    ) -> Item:
        if isinstance(found, UnreadableRecord):
            why = mirror.reason_for(found)
            return self._escalate(tracker, issue, None, why, action="record_unreadable", dry_run=dry_run)
        link, task = self._read(lambda tx: issues.known(tx, tracker.name, issue.id))
        found = replace(found, attempt=max(found.attempt, link.charged, task.charged if task else 0))
        tier = tiers.tier_of(found)
        if task is not None and task.status == "blocked" and task.block_kind in mirror.BLOCKS_FOR_A_PERSON:
            return self._escalate(tracker, issue, found, task.reason or mirror.reason_for(found), dry_run=dry_run)
        if task is not None and task.status != "failed":
            return Item(issue.id, tier, "no_action", f"another's record is left alone: {task.id} is {task.status}")
        waited = tier == 1 or (task is not None and task.waits_for == TRACKER and task.triages > 0)
        if tier == 3 or link.faults >= FAULTS_MAX:
            return self._escalate(tracker, issue, found, mirror.reason_for(found), dry_run=dry_run)
        if waited:
            return self._cool_down(tracker, issue, found, tier, dry_run=dry_run)
        return self._ask_triage(tracker, issue, found, dry_run=dry_run, judge=judge)

    def _cool_down(self, tracker: Tracker, issue: Issue, found: FailureRecord, tier: int, *, dry_run: bool) -> Item:
        """Tier 1: the record is cleared once its cooldown is over; nothing is written before."""
        now = self._bay.now()
        if not tiers.is_over(found, now):
            at = record.iso(tiers.eligible_at(found, now))
            return Item(issue.id, tier, "cooldown_pending", f"cooldown not over, eligible at {at}")
        if dry_run:
            return Item(issue.id, tier, "cleared_for_retry", "its cooldown is over: it would be cleared")
        link, _ = self._read(lambda tx: issues.known(tx, tracker.name, issue.id))
        if link.charged < found.attempt:  # before the notes forget it
            link = replace(link, charged=found.attempt)
            self._save(link)
        try:
            self._write_line(tracker, issue.id, "")
        except TrackerError as error:
            self._save(replace(link, faults=link.faults + (not error.is_whole)))
            return Item(issue.id, tier, "clear_failed", str(error))

        def clear(tx: Tx) -> None:
            known, mine = issues.known(tx, tracker.name, issue.id)
            if mine is not None and mine.status == "failed":
                mine = issues.clear(tx, mine, why="its cooldown is over")
            version = mine.version if mine is not None else -1
            charged = max(known.charged, found.attempt)
            issue_rows.save(tx, replace(known, charged=charged, line="", version=version, faults=0))

        self._bay.write(clear)
        return Item(issue.id, tier, "cleared_for_retry", "cooldown elapsed, failure record cleared")

    def _ask_triage(self, tracker: Tracker, issue: Issue, found: FailureRecord, *, dry_run: bool, judge: bool) -> Item:
        """Tier 2: a triage judges it; what it cannot help with is a person's in the same cycle."""
        if dry_run:
            return Item(issue.id, 2, "triage_started", f"failed {found.attempt} times: a triage would judge it")
        work = self.work(tracker)

        def take(tx: Tx) -> Task:
            made = issues.import_failed(tx, issue, found, work, ids=self._bay.ids, actor=mirror.ACTOR)
            return issues.want_triage(tx, made)

        task = self._bay.write(take)
        alike = [each for each in self._triages(task) if each.fingerprint == task.last_fingerprint]
        if len(alike) >= TRIAGES_AT_ALL:
            why = f"the same failure after {len(alike)} triages: {task.last_summary}"
            return self._escalate(tracker, issue, found, why, dry_run=False)
        if not judge:
            return Item(issue.id, 2, "triage_started", f"waits for a triage of {task.id}")
        done = self._bay.triage(task.id)
        item = next((each for each in done.items if each.issue_id == task.id), None)
        self.sync(tracker)
        if item is None:
            return self._escalate(tracker, issue, found, done.broken or "its triage could not start", dry_run=False)
        return self._after_triage(tracker, issue, task, item)

    def _after_triage(self, tracker: Tracker, issue: Issue, task: Task, item: Item) -> Item:
        """The result of a triage in the words of the tracker: the issues of a split, a person where nothing helped."""
        link, task_now = self._read(lambda tx: issues.known(tx, tracker.name, issue.id))
        if item.action == "split":
            with self._bay.store.read() as tx:
                made = [each.issue_id for each, _ in issue_rows.of_parts(tx, task.id)]
            if link.closed_at is None:
                return Item(issue.id, 2, "split_failed", "the parts could not be made in the tracker yet; tried again")
            return Item(issue.id, 2, "split", mirror.SPLIT + ", ".join(made))
        stuck = task_now is not None and task_now.status == "blocked" and item.tier == 2
        return Item(issue.id, 3 if stuck and item.action not in _HELPED else item.tier, item.action, item.detail)

    def _triages(self, task: Task) -> list[Any]:
        with self._bay.store.read() as tx:
            return list(triages.of_task(tx, task.id))

    def _escalate(
        self,
        tracker: Tracker,
        issue: Issue,
        found: FailureRecord | None,
        why: str,
        *,
        action: str = "escalated_to_human",
        dry_run: bool,
    ) -> Item:
        """Tier 3: the issue is marked for a person, and asks in our inbox as well."""
        if dry_run:
            return Item(issue.id, 3, action, f"a person would be asked: {why}")
        try:
            work = self.work(tracker)
            now = self._bay.now()
            known = found or FailureRecord(attempt=1, last_failure=now, error_class=record.UNKNOWN, summary=why)

            def ask(tx: Tx) -> Task:
                made = issues.import_failed(tx, issue, known, work, ids=self._bay.ids, actor=mirror.ACTOR)
                return issues.escalate(tx, made, why=why)

            task = self._bay.write(ask)
            line = record.needs_human(why)
            self._write_line(tracker, issue.id, line)
            link, _ = self._read(lambda tx: issues.known(tx, tracker.name, issue.id))
            self._save(replace(link, line=line, version=task.version, faults=0))
        except MedbayError as error:
            return Item(issue.id, 3, "escalation_failed", str(error))
        return Item(issue.id, 3, action, why)

    def cycle(self, source: str, owner: str) -> list[str]:
        """What a daemon does for a tracker now and then: triage, then dispatch; its engine does the work.

        Of several daemons on one store one has the turn. What went wrong, or nothing.
        """
        until = self._bay.now() + 2 * self.settings(source).poll_ms + TURN_MS
        if not self._bay.write(lambda tx: issues.take_turn(tx, source, owner=owner, until=until)):
            return []
        try:
            tracker = self.open(source, self._bay.place.config.folder)
            judged = self.triage(tracker, judge=False)
            found = self.dispatch(tracker, run=False)
        except MedbayError as error:
            return [str(error)]
        told = (found.broken or judged.broken, *judged.errors, *found.errors)
        return list(dict.fromkeys(filter(None, told)))

    def _read(self, ask: Callable[[Tx], Any]) -> Any:
        with self._bay.store.read() as tx:
            return ask(tx)

    def _save(self, link: IssueLink) -> None:
        self._bay.write(lambda tx: issue_rows.save(tx, link))


_HELPED: Final = frozenset(
    "adjusted split fix_filed paused spec_refresh_requested no_action config_recommended".split()
)


def _skipped(issue: Issue, workflow: TagWorkflow | None) -> str:
    """Why an issue is not dispatched, by what it says itself; empty when it may be."""
    notes = record.read(issue.notes)
    if notes.human is not None:
        return "needs_human"
    if isinstance(notes.record, UnreadableRecord):
        return "unreadable"
    if notes.record is not None:
        return "active_record"
    return "untagged" if workflow is None else ""


def _shown(issue: Issue) -> dict[str, Any]:
    """An issue as the command that works on it gets it."""
    return {name: value for name, value in structs.asdict(issue).items() if name != "key"}


def _failed_at(found: FailureRecord | UnreadableRecord) -> int:
    """When an issue failed; what cannot be read comes first."""
    return found.last_failure if isinstance(found, FailureRecord) else -1


def _written(link: IssueLink, task: Task, wanted: Wanted, now: int) -> IssueLink:
    charged = max(link.charged, task.charged)
    closed = now if wanted.close else None
    return replace(link, line=wanted.line, version=task.version, charged=charged, faults=0, closed_at=closed)


def _write_private(path: Path, text: str) -> None:
    """Write a file that only its owner reads, whole or not at all."""
    part = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}.part")  # two daemons may write it at once
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    part.replace(path)
