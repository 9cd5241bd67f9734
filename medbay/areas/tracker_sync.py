"""`medbay sync`: what a tracker and the store would tell each other, and telling it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from medbay.core.tracker import record
from medbay.core.tracker.issue import Listing, in_order, workflow_of
from medbay.core.untrusted import line
from medbay.errors import MedbayError
from medbay.integrations.trackers.protocol import Tracker, TrackerError
from medbay.service import issues
from medbay.store import issues as issue_rows

if TYPE_CHECKING:
    from medbay.bay import Bay

DOES: Final = ("import", "release", "cancel", "close", "write", "pause")
AT_ONCE: Final = 1_000
_SHOWN: Final = 300


@dataclass(frozen=True, slots=True)
class SyncStep:
    """One thing that is done for an issue: `does` is one of `DOES`."""

    does: str
    issue_id: str
    detail: str
    task_id: str = ""

    def as_data(self) -> dict[str, str]:
        """The documented shape."""
        return {"does": self.does, "issue_id": self.issue_id, "task_id": self.task_id, "detail": self.detail}


@dataclass(slots=True)
class SyncReport:
    """What a sync of one source did, or would do."""

    source: str
    issues_found: int = 0
    steps: list[SyncStep] = field(default_factory=list)
    left_out: str = ""
    errors: list[str] = field(default_factory=list)
    broken: str = ""  # why the issues could not be listed

    def counts(self) -> dict[str, int]:
        """How many steps of each kind there are."""
        return {does: sum(each.does == does for each in self.steps) for does in DOES}

    def as_data(self) -> dict[str, Any]:
        """The documented shape."""
        return {
            "source": self.source,
            "issues_found": self.issues_found,
            **self.counts(),
            "steps": [each.as_data() for each in self.steps],
            "left_out": self.left_out,
            "errors": [*filter(None, (self.broken,)), *self.errors],
        }


def sync_source(bay: Bay, source: str, *, dry_run: bool) -> SyncReport:
    """Import what is new, cancel what people closed, write and close what changed; or say what that would be."""
    report = SyncReport(source)
    try:
        tracker = bay.trackers.open(source)
        listed = tracker.open_issues()
        report.issues_found, report.left_out = len(listed.issues) + len(listed.unreadable), listed.left_out
        report.errors += listed.unreadable
        _plan(bay, tracker, listed, report)
    except TrackerError as error:
        report.broken = f"the issues of {source} could not be listed: {error}"
        return report
    if not dry_run:
        _carry_out(bay, tracker, listed, report)
    report.errors = list(dict.fromkeys(report.errors))
    return report


def _plan(bay: Bay, tracker: Tracker, listed: Listing, report: SyncReport) -> None:
    with bay.store.read() as tx:
        for link, task in issue_rows.changed(tx, tracker.name, AT_ONCE):
            wanted = issues.wanted(tx, link, task)
            if wanted.close:
                report.steps.append(SyncStep("close", link.issue_id, wanted.close, task.id))
                continue
            if wanted.line != link.line:
                said = line(wanted.line, _SHOWN) or "its record is cleared"
                report.steps.append(SyncStep("write", link.issue_id, said, task.id))
            if wanted.pause:
                report.steps.append(SyncStep("pause", link.issue_id, task.reason, task.id))
    gone, errors = bay.trackers.closed_by_people(tracker, listed)
    report.errors += errors
    for link in gone:
        report.steps.append(SyncStep("cancel", link.issue_id, "it is closed in the tracker", link.task_id))
    settings = bay.trackers.settings(tracker.name)
    if settings.agent or settings.run:
        _plan_imports(bay, tracker, listed, report)


def _plan_imports(bay: Bay, tracker: Tracker, listed: Listing, report: SyncReport) -> None:
    for issue in in_order(listed.issues):
        workflow = workflow_of(issue)
        if workflow is None or not record.read(issue.notes).is_free:
            continue
        with bay.store.read() as tx:
            link, task = issues.known(tx, tracker.name, issue.id)
        words = f"{line(issue.title, _SHOWN)} ({workflow.name})"
        if task is None:
            report.steps.append(SyncStep("import", issue.id, words))
        elif bay.trackers.is_reopened(tracker, link, task):
            report.steps.append(SyncStep("import", issue.id, f"{words}, open again"))
        elif link.line and link.version == task.version and task.status in ("failed", "blocked"):
            said = "its record was cleared in the tracker"
            report.steps.append(SyncStep("release", issue.id, said, task.id))


def _carry_out(bay: Bay, tracker: Tracker, listed: Listing, report: SyncReport) -> None:
    """Do it, and keep of the plan what was done."""
    settings = bay.trackers.settings(tracker.name)
    try:
        if settings.agent or settings.run:
            found = bay.trackers.dispatch(tracker, run=False)
            report.errors += [*filter(None, (found.broken,)), *found.errors]
        else:
            report.errors += [*bay.trackers.sync(tracker), *bay.trackers.end_closed(tracker, listed)[1]]
    except MedbayError as error:
        report.errors.append(str(error))
    report.errors = [each for each in report.errors if each != report.left_out]
    report.steps = [done for each in report.steps if (done := _done(bay, tracker.name, each)) is not None]


def _done(bay: Bay, source: str, step: SyncStep) -> SyncStep | None:
    """A step with the task it led to, if the store says that it was taken."""
    with bay.store.read() as tx:
        link, task = issues.known(tx, source, step.issue_id)
    if task is None:
        return None
    match step.does:
        case "close" | "cancel":
            done = link.closed_at is not None
        case "import":
            done = link.closed_at is None and not task.finished
        case "release":
            done = task.status not in ("failed", "blocked")
        case _:
            done = link.version == task.version
    return SyncStep(step.does, step.issue_id, step.detail, task.id) if done else None
