"""The issues of a repository of GitHub."""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from medbay.core.tracker import comment
from medbay.core.tracker.issue import Issue, checked_id, workflow_of
from medbay.core.tracker.source import TrackerSource
from medbay.integrations.trackers.github_repository import PAGE, Repository, open_repository
from medbay.integrations.trackers.labelled import RemoteIssue, RemoteListing
from medbay.integrations.trackers.protocol import TrackerError
from medbay.integrations.trackers.transport import Query, fine

KEY_PAGES_MAX: Final = 3  # of the newest issues, in which one that we made a moment ago is looked for
INSIDERS: Final = frozenset({"OWNER", "MEMBER", "COLLABORATOR"})
_PRIORITY: Final = re.compile(r"(?:priority[:/ -]*)?p([0-4])", re.IGNORECASE)
_MADE: Final = re.compile(r"<!-- (\S{1,200}) -->")


def open_api(source: TrackerSource, environ: Mapping[str, str]) -> GitHub:
    """The issues of a source; raises TrackerError where it cannot be asked at all."""
    return GitHub(source, open_repository(source, environ))


@dataclass(slots=True)
class GitHub:
    """The issues of one repository."""

    source: TrackerSource
    repository: Repository
    fence: str = comment.MARKDOWN
    _login: str | None = field(default=None, repr=False)  # whose token it is; empty: an app's

    @property
    def name(self) -> str:
        """The name of the source."""
        return self.source.name

    def listed(self) -> RemoteListing:
        """The open issues, the oldest first; the comments of those that may be worked on."""
        query: Query = [("state", "open"), ("sort", "created"), ("direction", "asc"), ("per_page", str(PAGE))]
        query += [("labels", self.source.label)] if self.source.label else []
        found: list[RemoteIssue] = []
        unreadable: list[str] = []
        while query:
            entries, following = self.repository.page("issues", query)
            for each in entries:
                try:
                    if "pull_request" not in each:
                        found.append(self._with_comment(_issue(each), each))
                except TrackerError as error:
                    if error.kind != "unreadable":
                        raise
                    unreadable.append(str(error))
            if following and len(found) + len(unreadable) >= self.source.limit:
                left = f"{self.name}: only the {len(found)} oldest open issues were read; label narrows the list"
                return RemoteListing(issues=tuple(found), unreadable=tuple(unreadable), left_out=left)
            query = following
        return RemoteListing(issues=tuple(found), unreadable=tuple(unreadable))

    def fetch(self, issue_id: str) -> RemoteIssue:
        """One issue; a pull request is none."""
        found = self.repository.ask("GET", f"issues/{_number(issue_id)}")
        if not isinstance(found, dict) or "pull_request" in found:
            raise TrackerError("not_found", f"{self.name}: there is no issue {issue_id}")
        comment_id, text = self._own_comment(issue_id)
        return RemoteIssue(issue=_issue(found), comment_id=comment_id, comment=text)

    def find(self, key: str) -> str:
        """The newest issues are looked through: it was made a moment ago, or not at all."""
        query: Query = [("state", "all"), ("sort", "created"), ("direction", "desc"), ("per_page", str(PAGE))]
        for _ in range(KEY_PAGES_MAX):
            entries, query = self.repository.page("issues", query)
            for each in entries:
                if _key_in(_text(each, "body")) == key and self._wrote(each):
                    return str(each.get("number"))
            if not query:
                break
        return ""

    def make(self, title: str, description: str, *, like: Issue, labels: Sequence[str], key: str) -> str:
        """Make an issue whose last line is its key."""
        body = {"title": title, "body": f"{description}\n\n{_key_line(key)}", "labels": list(labels)}
        found = self.repository.ask("POST", "issues", body=body)
        return _issue(found if isinstance(found, dict) else {}).id

    def write_comment(self, remote: RemoteIssue, text: str) -> None:
        """Edit our comment; one that a person deleted is written again."""
        number = _number(remote.issue.id)
        if remote.comment_id:
            try:
                self.repository.ask("PATCH", f"issues/comments/{remote.comment_id}", body={"body": text})
                return
            except TrackerError as error:
                if error.kind != "not_found":
                    raise
        self.repository.ask("POST", f"issues/{number}/comments", body={"body": text})

    def change_labels(self, remote: RemoteIssue, *, add: Sequence[str] = (), remove: Sequence[str] = ()) -> None:
        """A label that is not known yet is made by adding it."""
        number = _number(remote.issue.id)
        if add:
            self.repository.ask("POST", f"issues/{number}/labels", body={"labels": list(add)})
        for each in remove:
            try:
                self.repository.ask("DELETE", f"issues/{number}/labels/{urllib.parse.quote(each, safe='')}")
            except TrackerError as error:
                if error.kind != "not_found":
                    raise

    def finish(self, remote: RemoteIssue, *, completed: bool) -> None:
        """Close it."""
        body = {"state": "closed", "state_reason": "completed" if completed else "not_planned"}
        self.repository.ask("PATCH", f"issues/{_number(remote.issue.id)}", body=body)

    def _with_comment(self, issue: Issue, entry: Mapping[str, Any]) -> RemoteIssue:
        """Comments cost a request for each issue: only those that may be worked on have one of ours."""
        may_have = entry.get("comments") and (workflow_of(issue) or comment.PERSON_LABEL in issue.labels)
        comment_id, text = self._own_comment(issue.id) if may_have else ("", "")
        return RemoteIssue(issue=issue, comment_id=comment_id, comment=text)

    def _own_comment(self, issue_id: str) -> tuple[str, str]:
        for each in self.repository.every(f"issues/{_number(issue_id)}/comments", []):
            text = str(each.get("body") or "")
            if comment.is_ours(text) and self._wrote(each):
                return str(each.get("id")), text
        return "", ""

    def _wrote(self, entry: Mapping[str, Any]) -> bool:
        """Whether a comment or issue is of the account whose token this is: anybody may write what ours look like."""
        user = entry.get("user")
        user = user if isinstance(user, dict) else {}
        if self._login is None:
            try:
                answer = fine(self.repository.transport.send("GET", "user"), "GET user").json("GET user")
                self._login = str(answer.get("login") or "") if isinstance(answer, dict) else ""
            except TrackerError as error:
                if error.kind not in ("refused", "not_found"):  # the token of an app is no user's
                    raise
                self._login = ""
        return user.get("login") == self._login if self._login else user.get("type") == "Bot"


def _number(issue_id: str) -> str:
    checked_id(issue_id)
    if not (issue_id.isascii() and issue_id.isdigit()):
        raise TrackerError("not_found", f"{issue_id[:60]!r} is no number of an issue of GitHub")
    return issue_id


def _key_line(key: str) -> str:
    return f"<!-- {key} -->"


def _key_in(body: str) -> str:
    """The key on the last line of an issue that we made; whoever copies it there keeps an issue from us, no more."""
    seen = _MADE.fullmatch(body.replace("\r\n", "\n").rstrip().rpartition("\n")[2])
    return seen[1] if seen else ""


def _issue(found: Mapping[str, Any]) -> Issue:
    number = found.get("number")
    if not isinstance(number, int) or isinstance(number, bool):
        raise TrackerError("unreadable", "GitHub answered with an issue that has no number")
    listed = found.get("labels")
    named = (
        each.get("name") if isinstance(each, dict) else each for each in (listed if isinstance(listed, list) else ())
    )
    labels = tuple(each for each in named if isinstance(each, str))
    urgent = next((int(seen[1]) for seen in map(_PRIORITY.fullmatch, labels) if seen), 2)
    return Issue(
        id=str(number),
        title=_text(found, "title"),
        description=_text(found, "body"),
        status="closed" if found.get("state") == "closed" else "open",
        priority=urgent,
        labels=labels,
        created_at=_text(found, "created_at"),
        updated_at=_text(found, "updated_at"),
        url=_text(found, "html_url"),
        trusted=found.get("author_association") in INSIDERS,
        key=_key_in(_text(found, "body")),
    )


def _text(found: Mapping[str, Any], name: str) -> str:
    value = found.get(name)
    return value if isinstance(value, str) else ""
