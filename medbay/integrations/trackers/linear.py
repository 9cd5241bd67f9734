"""Linear through its GraphQL API."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from medbay.core.redaction import redact
from medbay.core.tracker import comment
from medbay.core.tracker.issue import Issue, checked_id
from medbay.core.tracker.source import TrackerSource
from medbay.core.untrusted import line, parsed
from medbay.integrations.trackers.labelled import RemoteIssue, RemoteListing
from medbay.integrations.trackers.protocol import TrackerError, TrackerFault
from medbay.integrations.trackers.transport import (
    ApiAnswer,
    HttpTransport,
    Transport,
    fine,
    needed_token,
    safe_url,
    wait_of,
)

URL: Final = "https://api.linear.app/graphql"
PAGE: Final = 50
CLOSED: Final = ("completed", "canceled", "duplicate")
PRIORITIES: Final = {1: 0, 2: 1, 0: 2, 3: 2, 4: 3}  # ours by Linear's, where 0 is none
THEIRS: Final = (1, 2, 3, 4, 4)
OURS: Final = {"body": {"startsWith": comment.HEAD}, "user": {"isMe": {"eq": True}}}
_TEAM: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,20}")
_ID: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,20}-[0-9]{1,12}")
_MADE: Final = re.compile(r"Made by (\S{1,200})\.")
_SHOWN: Final = 300

FACTS: Final = """
fragment Facts on Issue {
  id identifier title description priority url createdAt updatedAt archivedAt
  state { type }
  labels(first: 30) { nodes { id name } }
  comments(first: 2, filter: $ours) { nodes { id body } }
}
"""
LIST: Final = (
    """
query Open($filter: IssueFilter, $ours: CommentFilter, $first: Int!, $after: String) {
  issues(filter: $filter, first: $first, after: $after) {
    nodes { ...Facts }
    pageInfo { hasNextPage endCursor }
  }
}
"""
    + FACTS
)
READ: Final = (
    """
query Read($id: String!, $ours: CommentFilter) {
  issue(id: $id) { ...Facts }
}
"""
    + FACTS
)
FIND: Final = """
query Find($filter: IssueFilter) {
  issues(filter: $filter, first: 1, includeArchived: true) { nodes { identifier } }
}
"""
TEAM: Final = """
query Team($key: String!) {
  teams(filter: {key: {eq: $key}}, first: 1) { nodes { id states(first: 50) { nodes { id type position } } } }
}
"""
LABELS: Final = """
query Labels($names: [String!]) {
  issueLabels(filter: {name: {in: $names}}, first: 100) { nodes { id name team { id } } }
}
"""
MAKE_LABEL: Final = """
mutation MakeLabel($input: IssueLabelCreateInput!) {
  issueLabelCreate(input: $input) { success issueLabel { id } }
}
"""
MAKE: Final = """
mutation Make($input: IssueCreateInput!) {
  issueCreate(input: $input) { success issue { identifier } }
}
"""
CHANGE: Final = """
mutation Change($id: String!, $input: IssueUpdateInput!) {
  issueUpdate(id: $id, input: $input) { success }
}
"""
WRITE: Final = """
mutation Write($input: CommentCreateInput!) {
  commentCreate(input: $input) { success }
}
"""
EDIT: Final = """
mutation Edit($id: String!, $input: CommentUpdateInput!) {
  commentUpdate(id: $id, input: $input) { success }
}
"""
DOCUMENTS: Final = (LIST, READ, FIND, TEAM, LABELS, MAKE_LABEL, MAKE, CHANGE, WRITE, EDIT)


def open_api(source: TrackerSource, environ: Mapping[str, str]) -> Linear:
    """The team of a source; raises TrackerError where it cannot be asked at all."""
    if not _TEAM.fullmatch(source.project):
        hint = f'project = "ENG" in [trackers.{source.name}]'
        raise TrackerError("refused", f"{source.name}: {source.project!r} is no key of a team of Linear", hint=hint)
    url, token = safe_url(source, URL), needed_token(source, environ)
    own = token if token.startswith("lin_api_") else f"Bearer {token}"  # a person's key stands alone
    return Linear(source, HttpTransport(url, {"Authorization": own}, source.timeout_ms / 1000, token))


@dataclass(slots=True)
class Linear:
    """The issues of one team."""

    source: TrackerSource
    transport: Transport
    fence: str = comment.MARKDOWN
    _team: Mapping[str, Any] | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """The name of the source."""
        return self.source.name

    def listed(self) -> RemoteListing:
        """The open issues, the newest first."""
        wanted: dict[str, Any] = {"team": {"key": {"eq": self.source.project}}, "state": {"type": {"nin": [*CLOSED]}}}
        wanted |= {"labels": {"name": {"eq": self.source.label}}} if self.source.label else {}
        found: list[RemoteIssue] = []
        unreadable: list[str] = []
        after = None
        while True:
            page = self._ask(LIST, filter=wanted, ours=OURS, first=PAGE, after=after).get("issues")
            for each in _nodes(page):
                try:
                    found.append(_remote(each))
                except TrackerError as error:
                    unreadable.append(str(error))
            info = page.get("pageInfo") if isinstance(page, dict) else None
            info = info if isinstance(info, dict) else {}
            after = info.get("endCursor") if info.get("hasNextPage") else None
            if after is None:
                return RemoteListing(issues=tuple(found), unreadable=tuple(unreadable))
            if len(found) + len(unreadable) >= self.source.limit:
                left = f"{self.name}: only the {len(found)} newest open issues were read; label narrows the list"
                return RemoteListing(issues=tuple(found), unreadable=tuple(unreadable), left_out=left)

    def fetch(self, issue_id: str) -> RemoteIssue:
        """One issue."""
        checked_id(issue_id)
        if not _ID.fullmatch(issue_id):
            raise TrackerError("not_found", f"{issue_id[:60]!r} is no id of an issue of Linear")
        found = self._ask(READ, id=issue_id, ours=OURS).get("issue")
        if not isinstance(found, dict) or found.get("identifier") != issue_id:
            raise TrackerError("not_found", f"{self.name}: there is no issue {issue_id}")
        return _remote(found)

    def find(self, key: str) -> str:
        """By the last line of its description."""
        found = self._ask(FIND, filter={"description": {"contains": _key_line(key)}}).get("issues")
        return next((str(each.get("identifier")) for each in _nodes(found)), "")

    def make(self, title: str, description: str, *, like: Issue, labels: Sequence[str], key: str) -> str:
        """Make an issue whose last line is its key."""
        entry = {
            "teamId": str(self._own_team().get("id")),
            "title": title,
            "description": f"{description}\n\n{_key_line(key)}",
            "priority": THEIRS[like.priority],
            "labelIds": self._label_ids(labels),
        }
        found = self._ask(MAKE, input=entry).get("issueCreate")
        issue = found.get("issue") if isinstance(found, dict) else None
        made = issue.get("identifier") if isinstance(issue, dict) else None
        if not isinstance(made, str):
            raise TrackerError("unreadable", "Linear answered without the id of the new issue")
        return made

    def write_comment(self, remote: RemoteIssue, text: str) -> None:
        """Edit our comment; one that a person deleted is written again."""
        if remote.comment_id:
            try:
                self._ask(EDIT, id=remote.comment_id, input={"body": text})
                return
            except TrackerError as error:
                if error.kind != "not_found":
                    raise
        self._ask(WRITE, input={"issueId": remote.handle, "body": text})

    def change_labels(self, remote: RemoteIssue, *, add: Sequence[str] = (), remove: Sequence[str] = ()) -> None:
        """By their ids; a label that is not known yet is made, one that is to be removed is not."""
        entry: dict[str, Any] = {}
        if added := self._label_ids(add):
            entry["addedLabelIds"] = added
        if removed := self._label_ids(remove, make=False):
            entry["removedLabelIds"] = removed
        if entry:
            self._ask(CHANGE, id=remote.handle, input=entry)

    def finish(self, remote: RemoteIssue, *, completed: bool) -> None:
        """Move it to the team's first state of that type."""
        kind = "completed" if completed else "canceled"
        states = [each for each in _nodes(self._own_team().get("states")) if each.get("type") == kind]
        if not states:
            raise TrackerError("refused", f"{self.name}: the team has no state of the type {kind}")
        first = min(states, key=lambda each: (float(each.get("position") or 0), str(each.get("id"))))
        self._ask(CHANGE, id=remote.handle, input={"stateId": str(first.get("id"))})

    def _own_team(self) -> Mapping[str, Any]:
        if self._team is None:
            found = _nodes(self._ask(TEAM, key=self.source.project).get("teams"))
            if not found:
                raise TrackerError("not_found", f"{self.name}: there is no team {self.source.project}")
            self._team = found[0]
        return self._team

    def _label_ids(self, names: Sequence[str], *, make: bool = True) -> list[str]:
        """The ids of labels of the team, or of the whole workspace; other teams may have the same names."""
        if not names:
            return []
        team = str(self._own_team().get("id"))
        known: dict[str, str] = {}
        for each in _nodes(self._ask(LABELS, names=[*names]).get("issueLabels")):
            owner = each.get("team")
            if owner is None or (isinstance(owner, dict) and owner.get("id") == team):
                known[str(each.get("name"))] = str(each.get("id"))
        for name in names if make else ():
            if name not in known:
                made = self._ask(MAKE_LABEL, input={"name": name, "teamId": team}).get("issueLabelCreate")
                label = made.get("issueLabel") if isinstance(made, dict) else None
                known[name] = str(label.get("id")) if isinstance(label, dict) else ""
        return [known[name] for name in names if known.get(name)]

    def _ask(self, document: str, **variables: Any) -> Mapping[str, Any]:
        asked = "Linear " + document.split("(", maxsplit=1)[0].rsplit(maxsplit=1)[-1]
        body = {"query": document, "variables": variables}
        answer = self.transport.send("POST", "", body=body)
        raise_complaint(answer, asked)
        found = fine(answer, asked).json(asked)
        data = found.get("data") if isinstance(found, dict) else None
        if not isinstance(data, dict):
            raise TrackerError("unreadable", f"{asked}: it answered without data")
        for each in data.values():
            if isinstance(each, dict) and each.get("success") is False:
                raise TrackerError("refused", f"{asked}: it was not done")
        return data


_FAULTS: Final[Mapping[str, TrackerFault]] = {
    "RATELIMITED": "limited",
    "AUTHENTICATION_ERROR": "unauthorized",
    "FORBIDDEN": "refused",
    "INTERNAL_SERVER_ERROR": "unreachable",
}


def raise_complaint(answer: ApiAnswer, asked: str) -> None:
    """Raise what the errors of an answer say: they come with any status, a limit with 400."""
    try:
        found = parsed(answer.body)
    except ValueError:
        return
    errors = found.get("errors") if isinstance(found, dict) else None
    first = errors[0] if isinstance(errors, list) and errors and isinstance(errors[0], dict) else None
    if first is None:
        return
    extensions = first.get("extensions")
    extensions = extensions if isinstance(extensions, dict) else {}
    said = str(extensions.get("userPresentableMessage") or first.get("message") or "it said nothing")
    code = str(extensions.get("code") or extensions.get("type") or "").upper().replace(" ", "_")
    kind = _FAULTS.get(code, "unauthorized" if answer.status == 401 else "refused")
    if str(first.get("message") or "").startswith("Entity not found"):
        kind = "not_found"
    wait_s = wait_of(answer.headers) if kind in ("limited", "unreachable") else None
    retry = f"\nRetry-After: {round(wait_s)}" if wait_s is not None else ""
    words = redact(line(said, _SHOWN))
    hint = "the token is not accepted: is it expired, and may it see this team?" if kind == "unauthorized" else ""
    output = f"HTTP {answer.status} {code}: {words}{retry}"
    raise TrackerError(kind, f"{asked}: {words}", output=output, wait_s=wait_s, hint=hint)


def _remote(found: Mapping[str, Any]) -> RemoteIssue:
    own = next(iter(_nodes(found.get("comments"))), {})
    handle = found.get("id")
    return RemoteIssue(
        issue=_issue(found),
        handle=handle if isinstance(handle, str) else "",
        comment_id=str(own.get("id") or ""),
        comment=str(own.get("body") or ""),
    )


def _key_line(key: str) -> str:
    return f"Made by {key}."


def _key_in(description: str) -> str:
    seen = _MADE.fullmatch(description.rstrip().rpartition("\n")[2])
    return seen[1] if seen else ""


def _nodes(found: Any) -> list[Mapping[str, Any]]:
    nodes = found.get("nodes") if isinstance(found, dict) else None
    return [each for each in nodes if isinstance(each, dict)] if isinstance(nodes, list) else []


def _issue(found: Mapping[str, Any]) -> Issue:
    identifier, priority, state = found.get("identifier"), found.get("priority"), found.get("state")
    if not isinstance(identifier, str) or not _ID.fullmatch(identifier):
        raise TrackerError("unreadable", "Linear answered with an issue that has no id")
    kind = state.get("type") if isinstance(state, dict) else ""
    closed = kind in CLOSED or bool(found.get("archivedAt"))
    return Issue(
        id=identifier,
        title=_text(found, "title"),
        description=_text(found, "description"),
        status="closed" if closed else "open",
        priority=PRIORITIES.get(int(priority), 2) if isinstance(priority, int | float) else 2,
        labels=tuple(str(each.get("name")) for each in _nodes(found.get("labels"))),
        created_at=_text(found, "createdAt"),
        updated_at=_text(found, "updatedAt"),
        url=_text(found, "url"),
        key=_key_in(_text(found, "description")),
    )


def _text(found: Mapping[str, Any], name: str) -> str:
    value = found.get(name)
    return value if isinstance(value, str) else ""
