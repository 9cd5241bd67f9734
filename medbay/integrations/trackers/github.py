"""GitHub: its REST API with a token, or the same requests through the program `gh`, which is logged in already."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import urllib.parse
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from medbay.core.redaction import redact
from medbay.core.tracker import comment
from medbay.core.tracker.issue import Issue, checked_id, workflow_of
from medbay.core.tracker.source import TrackerSource
from medbay.core.untrusted import line
from medbay.integrations.trackers.labelled import RemoteIssue, RemoteListing
from medbay.integrations.trackers.protocol import TrackerError, TrackerFault
from medbay.integrations.trackers.transport import (
    ApiAnswer,
    HttpTransport,
    Query,
    Transport,
    fine,
    needed_token,
    safe_url,
    token_of,
)

PROGRAM: Final = "gh"
URL: Final = "https://api.github.com"
PAGE: Final = 100
COMMENT_PAGES_MAX: Final = 10
KEY_PAGES_MAX: Final = 3  # of the newest issues, in which one that we made a moment ago is looked for
INSIDERS: Final = frozenset({"OWNER", "MEMBER", "COLLABORATOR"})
_VERSION: Final = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
_PROJECT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100}")
_NEXT: Final = re.compile(r'<([^<>]*)>;[^,]*\brel="next"')
_PRIORITY: Final = re.compile(r"(?:priority[:/ -]*)?p([0-4])", re.IGNORECASE)
_MADE: Final = re.compile(r"<!-- (\S{1,200}) -->")
_SHOWN: Final = 300


def open_api(source: TrackerSource, environ: Mapping[str, str]) -> GitHub:
    """The repository of a source; raises TrackerError where it cannot be asked at all."""
    if not _PROJECT.fullmatch(source.project) or source.project.endswith(("/.", "/..")):
        hint = f'project = "owner/repository" in [trackers.{source.name}]'
        raise TrackerError("refused", f"{source.name}: {source.project!r} is no repository of GitHub", hint=hint)
    return GitHub(source, _transport(source, environ))


def _transport(source: TrackerSource, environ: Mapping[str, str]) -> Transport:
    url, timeout_s = safe_url(source, URL), source.timeout_ms / 1000
    if source.via == "gh" or (source.via == "auto" and not token_of(source, environ)):
        program = shutil.which(PROGRAM, path=environ.get("PATH"))
        if program is not None:
            return GhTransport(program, _host(url), timeout_s)
        if source.via == "gh":
            raise TrackerError("missing", f"{source.name}: {PROGRAM} is not on the PATH", hint="install GitHub's gh")
    token = needed_token(source, environ)
    return HttpTransport(url, {**_VERSION, "Authorization": f"Bearer {token}"}, timeout_s, token)


def _host(url: str) -> str:
    host = urllib.parse.urlsplit(url).hostname or ""
    return host.removeprefix("api.")


@dataclass(frozen=True, slots=True)
class GhTransport:
    """Requests by `gh api`: argument lists without a shell, the body on its standard input, a time limit."""

    program: str
    host: str
    timeout_s: float

    def send(self, method: str, path: str, *, query: Query | None = None, body: Any = None) -> ApiAnswer:
        """Send one request; what gh prints is status, headers and body as they came."""
        asked = f"gh api {method} {path}"
        target = path + (f"?{urllib.parse.urlencode(query)}" if query else "")
        words = [self.program, "api", "--include", f"--method={method}", f"--hostname={self.host}"]
        words += [f"--header={name}: {value}" for name, value in _VERSION.items()]
        words += ["--input=-"] if body is not None else []
        data = json.dumps(body, ensure_ascii=False).encode() if body is not None else b""
        code, out, err = self._run([*words, "--", target], data, asked)
        head, found, rest = out.replace(b"\r\n\r\n", b"\n\r\n", 1).partition(b"\n\r\n")
        status = re.match(rb"HTTP/[\d.]+ (\d{3})\b", head)
        if status is None:
            raise _complaint(asked, code, err.decode("utf-8", "replace"))
        lines = head.decode("utf-8", "replace").splitlines()[1:]
        headers = {name.strip().lower(): value.strip() for name, _, value in (each.partition(":") for each in lines)}
        return ApiAnswer(int(status[1]), headers, rest if found else b"")

    def _run(self, words: Sequence[str], data: bytes, asked: str) -> tuple[int, bytes, bytes]:
        env = {**os.environ, "GH_PROMPT_DISABLED": "1", "NO_COLOR": "1", "GH_NO_UPDATE_NOTIFIER": "1"}
        env |= {"CLICOLOR_FORCE": "0", "GH_PAGER": "cat"}
        env.pop("GH_DEBUG", None)
        pipe = subprocess.PIPE
        try:
            running = subprocess.Popen(words, env=env, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True)
        except OSError as error:
            raise TrackerError("missing", f"{asked}: {error.strerror}", hint="install GitHub's gh") from None
        try:
            out, err = running.communicate(data, timeout=self.timeout_s)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)
            running.communicate()
            raise TrackerError("unreachable", f"{asked}: no answer after {self.timeout_s:g}s") from None
        return running.returncode, out, err


def _complaint(asked: str, code: int, said: str) -> TrackerError:
    """What gh says where no answer came: it is not logged in, or nothing could be reached."""
    words = redact(line(said, _SHOWN)) or "it said nothing"
    login = code == 4 or "gh auth login" in said or "GH_TOKEN" in said
    hint = "gh auth login, or a token in GITHUB_TOKEN" if login else ""
    kind: TrackerFault = "unauthorized" if login else "unreachable"
    return TrackerError(kind, f"{asked}: exit {code}: {words}", output=said, hint=hint)


@dataclass(slots=True)
class GitHub:
    """The issues of one repository."""

    source: TrackerSource
    transport: Transport
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
            entries, following = self._page("issues", query)
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
        found = self._ask("GET", f"issues/{_number(issue_id)}")
        if not isinstance(found, dict) or "pull_request" in found:
            raise TrackerError("not_found", f"{self.name}: there is no issue {issue_id}")
        comment_id, text = self._own_comment(issue_id)
        return RemoteIssue(issue=_issue(found), comment_id=comment_id, comment=text)

    def find(self, key: str) -> str:
        """The newest issues are looked through: it was made a moment ago, or not at all."""
        query: Query = [("state", "all"), ("sort", "created"), ("direction", "desc"), ("per_page", str(PAGE))]
        for _ in range(KEY_PAGES_MAX):
            entries, query = self._page("issues", query)
            for each in entries:
                if _key_in(_text(each, "body")) == key and self._wrote(each):
                    return str(each.get("number"))
            if not query:
                break
        return ""

    def make(self, title: str, description: str, *, like: Issue, labels: Sequence[str], key: str) -> str:
        """Make an issue whose last line is its key."""
        body = {"title": title, "body": f"{description}\n\n{_key_line(key)}", "labels": list(labels)}
        found = self._ask("POST", "issues", body=body)
        return _issue(found if isinstance(found, dict) else {}).id

    def write_comment(self, remote: RemoteIssue, text: str) -> None:
        """Edit our comment; one that a person deleted is written again."""
        number = _number(remote.issue.id)
        if remote.comment_id:
            try:
                self._ask("PATCH", f"issues/comments/{remote.comment_id}", body={"body": text})
                return
            except TrackerError as error:
                if error.kind != "not_found":
                    raise
        self._ask("POST", f"issues/{number}/comments", body={"body": text})

    def change_labels(self, remote: RemoteIssue, *, add: Sequence[str] = (), remove: Sequence[str] = ()) -> None:
        """A label that is not known yet is made by adding it."""
        number = _number(remote.issue.id)
        if add:
            self._ask("POST", f"issues/{number}/labels", body={"labels": list(add)})
        for each in remove:
            try:
                self._ask("DELETE", f"issues/{number}/labels/{urllib.parse.quote(each, safe='')}")
            except TrackerError as error:
                if error.kind != "not_found":
                    raise

    def finish(self, remote: RemoteIssue, *, completed: bool) -> None:
        """Close it."""
        body = {"state": "closed", "state_reason": "completed" if completed else "not_planned"}
        self._ask("PATCH", f"issues/{_number(remote.issue.id)}", body=body)

    def _with_comment(self, issue: Issue, entry: Mapping[str, Any]) -> RemoteIssue:
        """Comments cost a request for each issue: only those that may be worked on have one of ours."""
        may_have = entry.get("comments") and (workflow_of(issue) or comment.PERSON_LABEL in issue.labels)
        comment_id, text = self._own_comment(issue.id) if may_have else ("", "")
        return RemoteIssue(issue=issue, comment_id=comment_id, comment=text)

    def _own_comment(self, issue_id: str) -> tuple[str, str]:
        query: Query = [("per_page", str(PAGE))]
        for _ in range(COMMENT_PAGES_MAX):
            entries, query = self._page(f"issues/{_number(issue_id)}/comments", query)
            for each in entries:
                text = str(each.get("body") or "")
                if comment.is_ours(text) and self._wrote(each):
                    return str(each.get("id")), text
            if not query:
                break
        return "", ""

    def _wrote(self, entry: Mapping[str, Any]) -> bool:
        """Whether a comment or issue is of the account whose token this is: anybody may write what ours look like."""
        user = entry.get("user")
        user = user if isinstance(user, dict) else {}
        if self._login is None:
            try:
                answer = fine(self.transport.send("GET", "user"), "GET user").json("GET user")
                self._login = str(answer.get("login") or "") if isinstance(answer, dict) else ""
            except TrackerError as error:
                if error.kind not in ("refused", "not_found"):  # the token of an app is no user's
                    raise
                self._login = ""
        return user.get("login") == self._login if self._login else user.get("type") == "Bot"

    def _page(self, path: str, query: Query) -> tuple[list[Mapping[str, Any]], Query]:
        """The entries of a page, and the query of the next one; the host in its link is never asked."""
        where = f"repos/{self.source.project}/{path}"
        answer = fine(self.transport.send("GET", where, query=query), f"GET {where}")
        entries = answer.json(f"GET {where}")
        if not isinstance(entries, list):
            raise TrackerError("unreadable", f"GET {where}: no list came back")
        link = _NEXT.search(answer.headers.get("link", ""))
        following = urllib.parse.parse_qsl(urllib.parse.urlsplit(link[1]).query) if link else []
        return [each if isinstance(each, dict) else {} for each in entries], following

    def _ask(self, method: str, path: str, *, body: Any = None) -> Any:
        where = f"repos/{self.source.project}/{path}"
        answer = fine(self.transport.send(method, where, body=body), f"{method} {where}")
        return answer.json(f"{method} {where}") if answer.body.strip() else None


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
