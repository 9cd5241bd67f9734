"""Trackers without notes: the failure record is one comment of ours, edited in place; person and pause are labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from medbay.core.tracker import comment, record
from medbay.core.tracker.issue import Issue, Listing, checked_id
from medbay.core.tracker.mirror import SPLIT


class RemoteIssue(Struct, frozen=True, kw_only=True):
    """An issue as a system of others has it, with our comment on it."""

    issue: Issue  # without notes
    handle: str = ""  # what the system calls it in requests
    comment_id: str = ""  # empty: we have written none
    comment: str = ""


class RemoteListing(Struct, frozen=True, kw_only=True):
    """The open issues of such a system."""

    issues: tuple[RemoteIssue, ...] = ()
    unreadable: tuple[str, ...] = ()
    left_out: str = ""


class IssueApi(Protocol):
    """What is asked of one system. A call raises TrackerError when it went wrong."""

    @property
    def name(self) -> str:
        """The name of the source."""
        ...

    @property
    def fence(self) -> str:
        """The line around text that its markup leaves alone."""
        ...

    def listed(self) -> RemoteListing:
        """The open issues, and what the list leaves out."""
        ...

    def fetch(self, issue_id: str) -> RemoteIssue:
        """One issue as it is now, closed ones too."""
        ...

    def find(self, key: str) -> str:
        """The id of the issue that was made with a key; empty where there is none."""
        ...

    def make(self, title: str, description: str, *, like: Issue, labels: Sequence[str], key: str) -> str:
        """Make an issue that `find` finds by its key; its id."""
        ...

    def write_comment(self, remote: RemoteIssue, text: str) -> None:
        """Edit our comment, or write it where there is none."""
        ...

    def change_labels(self, remote: RemoteIssue, *, add: Sequence[str] = (), remove: Sequence[str] = ()) -> None:
        """Add and remove labels; one that is to be removed and is not there is fine."""
        ...

    def finish(self, remote: RemoteIssue, *, completed: bool) -> None:
        """Close an open issue, as done or as given up for others."""
        ...


@dataclass(frozen=True, slots=True)
class LabelledTracker:
    """A tracker whose notes are a comment and labels."""

    api: IssueApi

    @property
    def name(self) -> str:
        """The name of the source."""
        return self.api.name

    def open_issues(self) -> Listing:
        """The open issues that are not put aside."""
        found = self.api.listed()
        issues = tuple(self._issue(each) for each in found.issues if comment.PAUSE_LABEL not in each.issue.labels)
        return Listing(issues=issues, unreadable=found.unreadable, left_out=found.left_out)

    def read(self, issue_id: str) -> Issue:
        """One issue as it is now."""
        return self._issue(self.api.fetch(checked_id(issue_id)))

    def create(self, title: str, description: str, *, like: Issue, labels: Sequence[str], key: str) -> str:
        """Make an issue; the one that was made with this key before is not made again."""
        plain = [each for each in labels if each not in comment.OWN_LABELS]
        made = self.api.find(key) or self.api.make(title, description, like=like, labels=plain, key=key)
        return checked_id(made)

    def set_notes(self, issue_id: str, notes: str) -> None:
        """Let comment and label say what the notes say.

        The label counts, so it comes first where a person is to be waited for and goes last where not: a crash in
        between never releases an issue.
        """
        remote = self.api.fetch(checked_id(issue_id))
        labels, human = remote.issue.labels, record.read(notes).human is not None
        if human and comment.PERSON_LABEL not in labels:
            self.api.change_labels(remote, add=(comment.PERSON_LABEL,))
        if remote.comment_id or notes.strip():
            self._say(remote, comment.with_notes(notes, self.api.fence))
        if not human and comment.PERSON_LABEL in labels:
            self.api.change_labels(remote, remove=(comment.PERSON_LABEL,))

    def close(self, issue_id: str, reason: str) -> None:
        """Close an issue with the reason in our comment; a closed one only says it."""
        remote = self.api.fetch(checked_id(issue_id))
        self._say(remote, comment.with_reason(reason))
        if own := [each for each in remote.issue.labels if each in comment.OWN_LABELS]:
            self.api.change_labels(remote, remove=own)
        if remote.issue.status != "closed":
            self.api.finish(remote, completed=not reason.startswith(SPLIT))

    def pause(self, issue_id: str) -> None:
        """Put an issue aside, by a label."""
        remote = self.api.fetch(checked_id(issue_id))
        if comment.PAUSE_LABEL not in remote.issue.labels:
            self.api.change_labels(remote, add=(comment.PAUSE_LABEL,))

    def _say(self, remote: RemoteIssue, text: str) -> None:
        if remote.comment.strip() != text.strip():
            self.api.write_comment(remote, text)

    def _issue(self, remote: RemoteIssue) -> Issue:
        issue = remote.issue
        put_aside = issue.status == "open" and comment.PAUSE_LABEL in issue.labels
        notes = comment.notes_of(remote.comment, issue.labels, self.api.fence)
        return replace(issue, notes=notes, status="deferred" if put_aside else issue.status)
