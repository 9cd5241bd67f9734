"""Jira through its REST API, version 2: texts are plain there, on Jira Cloud and on a server of one's own."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from medbay.core.tracker import comment
from medbay.core.tracker.issue import Issue, checked_id
from medbay.core.tracker.source import TrackerSource
from medbay.core.untrusted import line
from medbay.integrations.trackers.labelled import RemoteIssue, RemoteListing
from medbay.integrations.trackers.protocol import TrackerError
from medbay.integrations.trackers.transport import HttpTransport, Query, Transport, fine, needed_token, safe_url

API: Final = "rest/api/2"
PAGE: Final = 100
COMMENT_PAGES_MAX: Final = 10
SUMMARY_MAX: Final = 255
MADE: Final = "medbay:"  # the label of an issue that we made begins so
DONE: Final = "done"  # the key of the category, whatever its statuses are called
PRIORITIES: Final = ("highest", "high", "medium", "low", "lowest")
_FIELDS: Final = "summary,description,labels,priority,status,created,updated,comment"
_PROJECT: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,254}")
_KEY: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,254}-[0-9]{1,18}")


def open_api(source: TrackerSource, environ: Mapping[str, str]) -> Jira:
    """The project of a source; raises TrackerError where it cannot be asked at all."""
    if not _PROJECT.fullmatch(source.project):
        hint = f'project = "APP" in [trackers.{source.name}]'
        raise TrackerError("refused", f"{source.name}: {source.project!r} is no key of a project of Jira", hint=hint)
    url, token = safe_url(source, ""), needed_token(source, environ)
    pair = base64.b64encode(f"{source.user}:{token}".encode()).decode()
    scheme = f"Basic {pair}" if source.user else f"Bearer {token}"
    headers = {"Accept": "application/json", "Authorization": scheme}
    return Jira(source, HttpTransport(url, headers, source.timeout_ms / 1000, token))


@dataclass(slots=True)
class Jira:
    """The issues of one project."""

    source: TrackerSource
    transport: Transport
    fence: str = comment.WIKI
    _self: tuple[str, ...] | None = field(default=None, repr=False)  # whose token it is
    _by_offset: bool = field(default=False, repr=False)  # a server without the search by token

    @property
    def name(self) -> str:
        """The name of the source."""
        return self.source.name

    def listed(self) -> RemoteListing:
        """The open issues, the oldest first."""
        found: list[RemoteIssue] = []
        unreadable: list[str] = []
        labelled = f" AND labels = {_quoted(self.source.label)}" if self.source.label else ""
        jql = f'project = "{self.source.project}" AND statusCategory != Done{labelled} ORDER BY created ASC, key ASC'
        for entries, more in self._pages(jql):
            for each in entries:
                try:
                    found.append(self._remote(each))
                except TrackerError as error:
                    if error.kind != "unreadable":
                        raise
                    unreadable.append(str(error))
            if more and len(found) + len(unreadable) >= self.source.limit:
                left = f"{self.name}: only the {len(found)} oldest open issues were read; label narrows the list"
                return RemoteListing(issues=tuple(found), unreadable=tuple(unreadable), left_out=left)
        return RemoteListing(issues=tuple(found), unreadable=tuple(unreadable))

    def fetch(self, issue_id: str) -> RemoteIssue:
        """One issue; one that was moved has another key now, and is another issue to us."""
        found = self._ask("GET", f"issue/{_key(issue_id)}", query=[("fields", _FIELDS)])
        if not isinstance(found, dict) or found.get("key") != issue_id:
            raise TrackerError("not_found", f"{self.name}: there is no issue {issue_id}")
        return self._remote(found)

    def find(self, key: str) -> str:
        """By the label that has the key."""
        jql = f'project = "{self.source.project}" AND labels = {_quoted(_key_label(key))}'
        for entries, _ in self._pages(jql):
            for each in entries:
                return str(each.get("key"))
        return ""

    def make(self, title: str, description: str, *, like: Issue, labels: Sequence[str], key: str) -> str:
        """Make an issue with a label that has its key."""
        fields = {
            "project": {"key": self.source.project},
            "issuetype": {"name": self.source.issue_type},
            "summary": line(title, SUMMARY_MAX),
            "description": description,
            "labels": [*("-".join(each.split()) for each in labels if not each.startswith(MADE)), _key_label(key)],
        }
        found = self._ask("POST", "issue", body={"fields": fields})
        made = found.get("key") if isinstance(found, dict) else None
        if not isinstance(made, str):
            raise TrackerError("unreadable", "Jira answered without the key of the new issue")
        return made

    def write_comment(self, remote: RemoteIssue, text: str) -> None:
        """Edit our comment; one that a person deleted is written again."""
        path = f"issue/{_key(remote.issue.id)}/comment"
        if remote.comment_id:
            try:
                self._ask("PUT", f"{path}/{remote.comment_id}", body={"body": text})
                return
            except TrackerError as error:
                if error.kind != "not_found":
                    raise
        self._ask("POST", path, body={"body": text})

    def change_labels(self, remote: RemoteIssue, *, add: Sequence[str] = (), remove: Sequence[str] = ()) -> None:
        """Both in one request."""
        changes = [*({"add": each} for each in add), *({"remove": each} for each in remove)]
        self._ask("PUT", f"issue/{_key(remote.issue.id)}", body={"update": {"labels": changes}})

    def finish(self, remote: RemoteIssue, *, completed: bool) -> None:
        """Take the transition to the configured status, else the first to one that counts as done."""
        path = f"issue/{_key(remote.issue.id)}/transitions"
        found = self._ask("GET", path)
        listed = found.get("transitions") if isinstance(found, dict) else None
        known = [each for each in listed or () if isinstance(each, dict)]
        wanted = self.source.done.casefold()
        chosen = next((each for each in known if (_to(each)[0].casefold() == wanted if wanted else _to(each)[1])), None)
        if chosen is None:
            names = ", ".join(filter(None, (_to(each)[0] for each in known))) or "none"
            hint = f'done = "STATUS" in [trackers.{self.name}]'
            said = f"{remote.issue.id} cannot be moved to {self.source.done or 'a status that counts as done'}"
            raise TrackerError("refused", f"{said}; from where it is: {line(names, 200)}", hint=hint)
        self._ask("POST", path, body={"transition": {"id": str(chosen.get("id"))}})

    def _pages(self, jql: str) -> Iterator[tuple[list[Mapping[str, Any]], bool]]:
        """Page by page, and whether there are more: by token, or by offset where a server knows no tokens."""
        token, offset = "", 0
        while True:
            query: Query = [("jql", jql), ("fields", _FIELDS), ("maxResults", str(PAGE))]
            query += [("nextPageToken", token)] if token else [("startAt", str(offset))] if self._by_offset else []
            try:
                found = self._ask("GET", "search" if self._by_offset else "search/jql", query=query)
            except TrackerError as error:
                if error.kind != "not_found" or self._by_offset or token:
                    raise
                self._by_offset = True
                continue
            entries = found.get("issues") if isinstance(found, dict) else None
            if not isinstance(entries, list):
                raise TrackerError("unreadable", f"{self.name}: a search answered without a list of issues")
            offset += len(entries)
            token = str(found.get("nextPageToken") or "")
            total = found.get("total")
            more = bool(entries) and (isinstance(total, int) and offset < total if self._by_offset else bool(token))
            yield [each if isinstance(each, dict) else {} for each in entries], more
            if not more:
                return

    def _remote(self, found: Mapping[str, Any]) -> RemoteIssue:
        issue = _issue(found)
        fields = found.get("fields")
        listed = fields.get("comment") if isinstance(fields, dict) else None
        listed = listed if isinstance(listed, dict) else {}
        first = [each for each in listed.get("comments") or () if isinstance(each, dict)]
        comment_id, text = self._own(first)
        total = listed.get("total")
        if not comment_id and isinstance(total, int) and total > len(first):  # a search shows some of them only
            comment_id, text = self._own_comment(issue.id)
        return RemoteIssue(issue=issue, comment_id=comment_id, comment=text)

    def _own_comment(self, issue_id: str) -> tuple[str, str]:
        offset = 0
        for _ in range(COMMENT_PAGES_MAX):
            query = [("startAt", str(offset)), ("maxResults", str(PAGE))]
            found = self._ask("GET", f"issue/{_key(issue_id)}/comment", query=query)
            listed = found.get("comments") if isinstance(found, dict) else None
            entries = [each for each in listed or () if isinstance(each, dict)]
            own = self._own(entries)
            offset += len(entries)
            if own[0] or not entries or offset >= int(found.get("total") or 0):
                return own
        return "", ""

    def _own(self, entries: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
        for each in entries:
            text = str(each.get("body") or "")
            if comment.is_ours(text) and self._wrote(each):
                return str(each.get("id")), text
        return "", ""

    def _wrote(self, entry: Mapping[str, Any]) -> bool:
        if self._self is None:
            self._self = _names(self._ask("GET", "myself"))
        return bool({*self._self} & {*_names(entry.get("author"))})

    def _ask(self, method: str, path: str, *, query: Query | None = None, body: Any = None) -> Any:
        where = f"{API}/{path}"
        answer = fine(self.transport.send(method, where, query=query, body=body), f"{method} {where}")
        return answer.json(f"{method} {where}") if answer.body.strip() else None


def _names(user: Any) -> tuple[str, ...]:
    """What identifies a user: an account id on Jira Cloud, a key elsewhere."""
    found = user if isinstance(user, dict) else {}
    return tuple(f"{name}:{found[name]}" for name in ("accountId", "key") if found.get(name))


def _to(transition: Mapping[str, Any]) -> tuple[str, bool]:
    """The name of the status that a transition leads to, and whether that counts as done."""
    to = transition.get("to")
    to = to if isinstance(to, dict) else {}
    category = to.get("statusCategory")
    return str(to.get("name") or ""), isinstance(category, dict) and category.get("key") == DONE


def _key(issue_id: str) -> str:
    checked_id(issue_id)
    if not _KEY.fullmatch(issue_id):
        raise TrackerError("not_found", f"{issue_id[:60]!r} is no key of an issue of Jira")
    return issue_id


def _key_label(key: str) -> str:
    return "-".join(key.split())


def _quoted(text: str) -> str:
    """A text in JQL."""
    escaped = line(text, 255).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _issue(found: Mapping[str, Any]) -> Issue:
    key, fields = found.get("key"), found.get("fields")
    if not isinstance(key, str) or not _KEY.fullmatch(key):
        raise TrackerError("unreadable", "Jira answered with an issue that has no key")
    fields = fields if isinstance(fields, dict) else {}
    labels, priority = fields.get("labels"), fields.get("priority")
    called = str(priority.get("name") or "").casefold() if isinstance(priority, dict) else ""
    status = fields.get("status")
    closed = _to({"to": status})[1]
    own = tuple(each for each in labels if isinstance(each, str)) if isinstance(labels, list) else ()
    return Issue(
        id=key,
        title=_text(fields, "summary"),
        description=_text(fields, "description"),
        status="closed" if closed else "open",
        priority=PRIORITIES.index(called) if called in PRIORITIES else 2,
        labels=own,
        key=next((each for each in own if each.startswith(MADE)), ""),
        created_at=_text(fields, "created"),
        updated_at=_text(fields, "updated"),
        url=_text(found, "self"),
    )


def _text(found: Mapping[str, Any], name: str) -> str:
    value = found.get(name)
    return value if isinstance(value, str) else ""
