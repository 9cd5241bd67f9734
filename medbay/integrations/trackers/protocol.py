"""What we need of a tracker: list, read, create, set notes, close, pause. Every call may take seconds and may fail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from medbay.core.tracker.issue import Issue, Listing
from medbay.errors import MedbayError

TrackerFault = Literal[
    "missing",
    "no_workspace",
    "not_found",
    "refused",
    "unauthorized",
    "unreadable",
    "timeout",
    "limited",
    "unreachable",
    "failed",
]
PullRequestState = Literal["open", "merged", "closed"]
HOLDING: Final[frozenset[TrackerFault]] = frozenset({"limited", "unreachable"})
"""Faults after which a tracker is left alone for a while."""
WHOLE: Final[frozenset[TrackerFault]] = HOLDING | {"unauthorized", "missing", "no_workspace"}
"""Faults of a tracker as a whole, or of our way to it: no issue is blamed for them."""


class TrackerError(MedbayError):
    """A call of a tracker that went wrong: what was run, and what came back."""

    def __init__(
        self, kind: TrackerFault, message: str, *, hint: str = "", output: str = "", wait_s: float | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.kind: TrackerFault = kind
        self.output = output  # what it printed, for a diagnosis
        self.wait_s = wait_s  # how long it asks to be left alone

    @property
    def holds(self) -> bool:
        """Whether the tracker as a whole is to be left alone for a while."""
        return self.kind in HOLDING

    @property
    def is_whole(self) -> bool:
        """Whether every other call would fail as well, so that no issue is to blame."""
        return self.kind in WHOLE


class Tracker(Protocol):
    """One tracker. A call raises TrackerError when it went wrong, and UsageError for an id that is none."""

    @property
    def name(self) -> str:
        """The name of the system, as it stands in the store."""
        ...

    def open_issues(self) -> Listing:
        """The open issues: all of them, unless the listing says what it leaves out."""
        ...

    def read(self, issue_id: str) -> Issue:
        """One issue as it is now."""
        ...

    def create(self, title: str, description: str, *, like: Issue, labels: Sequence[str], key: str) -> str:
        """Make an issue beside another one; with the same key a second time it is the same issue. Its id."""
        ...

    def set_notes(self, issue_id: str, notes: str) -> None:
        """Replace the notes of an issue."""
        ...

    def close(self, issue_id: str, reason: str) -> None:
        """Close an issue."""
        ...

    def pause(self, issue_id: str) -> None:
        """Take an issue out of the way until a person brings it back."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckSeen:
    """One check of a pull request, in words of others."""

    words: str
    state: Literal["waits", "fine", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequestSeen:
    """A pull request as it is now. Of one that is not open nothing more is asked than that."""

    url: str
    state: PullRequestState
    head: str = ""  # the commit it asks to merge, as far as the other side knows
    checks: tuple[CheckSeen, ...] = ()
    said: tuple[tuple[str, str], ...] = ()  # what people wrote, each with its moment in ISO 8601


class CodeHost(Protocol):
    """What is asked of a tracker that has the pull requests of a repository too. A call may raise TrackerError."""

    def pull_request(self, branch: str) -> PullRequestSeen | None:
        """The pull request of a branch with its checks and what was written; None where there is none."""
        ...

    def open_pull_request(self, branch: str, *, base: str, title: str, body: str) -> str:
        """Ask for the merge of a branch, or find where that is asked already; the address."""
        ...
