"""GitHub, Linear and Jira on loopback, as far as Medbay asks them: shapes, paging and errors are the vendors' own.

Each keeps its issues in a `Board`, on which tests act as people do. Faults are planted by path, once or for good.
"""

from __future__ import annotations

import base64
import json
import re
import socket
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

OURSELVES = "medbay-bot"
PAGE_MAX = 4  # entries of a page, however many are asked for: lists are always paged
TOKEN = "imitated-token-0123456789"
ASSOCIATIONS = ("OWNER", "NONE")


@dataclass
class Note:
    """A comment of an issue."""

    id: str
    author: str
    body: str


@dataclass
class Entry:
    """An issue on the board."""

    number: int
    title: str
    body: str = ""
    labels: list[str] = field(default_factory=list)
    closed: str = ""  # how
    notes: list[Note] = field(default_factory=list)
    association: str = "OWNER"
    pull_request: bool = False
    author: str = "a-person"

    @property
    def at(self) -> str:
        """When it was made."""
        return f"2026-01-01T00:{self.number // 60:02d}:{self.number % 60:02d}Z"


@dataclass
class Fault:
    """What an API does wrong: for requests whose method and path match, so many times."""

    match: str
    status: int = 0  # 0: the connection is cut, -1: no answer comes
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = None
    times: int = 1_000_000


class Board:
    """The issues of one imitation, and what people do with them."""

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix
        self.entries: list[Entry] = []
        self.faults: list[Fault] = []
        self.requests: list[tuple[str, str, Any]] = []
        self.tokens: list[str] = []
        self.known_labels: dict[str, str] = {}
        self.lock = threading.RLock()
        self.released = threading.Event()

    def add(self, title: str, *labels: str, body: str = "", insider: bool = True, pull_request: bool = False) -> str:
        """A person writes an issue; its id."""
        with self.lock:
            made = Entry(len(self.entries) + 1, title, body, list(labels), association=ASSOCIATIONS[not insider])
            made.pull_request = pull_request
            self.entries.append(made)
        return f"{self.prefix}{made.number}"

    def entry(self, issue_id: str) -> Entry:
        """An issue by its id."""
        return self.entries[int(issue_id.removeprefix(self.prefix)) - 1]

    def comment(self, issue_id: str, body: str, author: str = "a-person") -> Note:
        """Somebody comments on an issue."""
        entry = self.entry(issue_id)
        with self.lock:
            made = Note(f"{entry.number}{len(entry.notes) + 1:03d}", author, body)
            entry.notes.append(made)
        return made

    def said(self, issue_id: str) -> list[str]:
        """What we commented on an issue."""
        return [each.body for each in self.entry(issue_id).notes if each.author == OURSELVES]

    def labels(self, issue_id: str) -> list[str]:
        """The labels of an issue."""
        return self.entry(issue_id).labels

    def is_open(self, issue_id: str) -> bool:
        """Whether an issue is open."""
        return not self.entry(issue_id).closed

    def fail(self, match: str, status: int, *, body: Any = None, times: Any = 1_000_000, **headers: str) -> None:
        """Let requests go wrong whose method and path match."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.faults.append(Fault(match, status, named, body, times))

    def asked(self, match: str) -> list[tuple[str, str, Any]]:
        """The requests whose method and path match."""
        return [each for each in self.requests if re.search(match, f"{each[0]} {each[1]}")]

    def fault_for(self, asked: str) -> Fault | None:
        """The fault that a request meets, which is used up by it."""
        with self.lock:
            for each in self.faults:
                if each.times > 0 and re.search(each.match, asked):
                    each.times -= 1
                    return each
        return None


@dataclass
class Reply:
    """What an imitation answers."""

    status: int
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


Answers = Callable[[Board, str, str, dict[str, str], Any, str], Reply]


def github(board: Board, method: str, path: str, query: dict[str, str], body: Any, base: str) -> Reply:
    """`/user` and `/repos/acme/shop/issues...`."""
    if (method, path) == ("GET", "/user"):
        return Reply(200, {"login": OURSELVES, "id": 1, "type": "User"})
    found = re.fullmatch(r"/repos/acme/shop/issues(?:/(\d+|comments))?(?:/(\w+))?(?:/([^/]+))?", path)
    if found is None:
        return _github_missing()
    number, part, name = found.groups()
    if number == "comments":
        return _github_comment(board, method, part or "", body)
    if number is None:
        return _github_issues(board, method, query, body, base)
    if not 1 <= int(number) <= len(board.entries):
        return _github_missing()
    entry = board.entries[int(number) - 1]
    if part == "comments":
        if method == "POST":
            return Reply(201, _github_note(board.comment(str(number), body["body"], OURSELVES)))
        return github_page([_github_note(each) for each in entry.notes], query, f"{base}{path}")
    if part == "labels":
        if method == "POST":
            entry.labels += [each for each in body["labels"] if each not in entry.labels]
        elif urllib.parse.unquote(name or "") in entry.labels:
            entry.labels.remove(urllib.parse.unquote(name or ""))
        else:
            return Reply(404, {"message": "Label does not exist", "status": "404"})
        return Reply(200, [_github_label(each) for each in entry.labels])
    if method == "PATCH":
        if body.get("state") not in (None, "open", "closed") or body.get("state_reason") not in (
            "completed",
            "not_planned",
        ):
            return Reply(422, {"message": "Validation Failed", "errors": [{"code": "invalid", "field": "state"}]})
        entry.closed = body["state_reason"] if body["state"] == "closed" else ""
    return Reply(200, _github_issue(entry))


def _github_issues(board: Board, method: str, query: dict[str, str], body: Any, base: str) -> Reply:
    if method == "POST":
        if not str(body.get("title") or "").strip():
            return Reply(422, {"message": "Validation Failed", "errors": [{"code": "missing_field", "field": "title"}]})
        made = board.add(body["title"], *body.get("labels", ()), body=body.get("body") or "")
        board.entry(made).author = OURSELVES
        return Reply(201, _github_issue(board.entry(made)))
    wanted = [each for each in query.get("labels", "").split(",") if each]
    state = query.get("state", "open")
    entries = [each for each in board.entries if state == "all" or bool(each.closed) == (state == "closed")]
    entries = [each for each in entries if all(name in each.labels for name in wanted)]
    entries.sort(key=lambda each: each.number, reverse=query.get("direction", "desc") == "desc")
    return github_page([_github_issue(each) for each in entries], query, f"{base}/repositories/7/issues")


def _github_comment(board: Board, method: str, comment_id: str, body: Any) -> Reply:
    for entry in board.entries:
        for each in entry.notes:
            if each.id == comment_id and method == "PATCH":
                if each.author != OURSELVES:
                    return Reply(403, {"message": "Must have admin rights to Repository."})
                each.body = body["body"]
                return Reply(200, _github_note(each))
    return _github_missing()


def github_page(entries: list[Any], query: dict[str, str], url: str) -> Reply:
    """Link headers as GitHub has them; the host and path in them may differ from what was asked."""
    page, size = int(query.get("page", "1")), min(PAGE_MAX, int(query.get("per_page", "30")))
    rest = {**query, "page": str(page + 1)}
    link = f'<{url}?{urllib.parse.urlencode(rest)}>; rel="next", <{url}?page=99>; rel="last"'
    more = page * size < len(entries)
    return Reply(200, entries[(page - 1) * size : page * size], {"Link": link} if more else {})


def _github_issue(entry: Entry) -> dict[str, Any]:
    url = f"https://github.com/acme/shop/issues/{entry.number}"
    made = {
        "id": 1000 + entry.number,
        "node_id": f"I_{entry.number}",
        "number": entry.number,
        "html_url": url,
        "title": entry.title,
        "body": entry.body or None,
        "state": "closed" if entry.closed else "open",
        "state_reason": entry.closed or None,
        "locked": False,
        "user": {"login": entry.author, "type": "User"},
        "labels": [_github_label(each) for each in entry.labels],
        "comments": len(entry.notes),
        "created_at": entry.at,
        "updated_at": entry.at,
        "author_association": entry.association,
    }
    return made | ({"pull_request": {"url": url}} if entry.pull_request else {})


def _github_label(name: str) -> dict[str, Any]:
    return {"id": abs(hash(name)) % 10**9, "name": name, "color": "ededed", "default": False, "description": None}


def _github_note(note: Note) -> dict[str, Any]:
    user = {"login": note.author, "type": "User"}
    return {"id": int(note.id), "body": note.body, "user": user, "author_association": "NONE", "created_at": ""}


def _github_missing() -> Reply:
    url = "https://docs.github.com/rest/issues/issues#get-an-issue"
    return Reply(404, {"message": "Not Found", "documentation_url": url, "status": "404"})


def jira(board: Board, method: str, path: str, query: dict[str, str], body: Any, base: str) -> Reply:
    """`/rest/api/2` of Jira Cloud: searches by token."""
    return _jira(board, method, path, query, body, by_token=True)


def jira_server(board: Board, method: str, path: str, query: dict[str, str], body: Any, base: str) -> Reply:
    """`/rest/api/2` of a server of one's own: searches by offset alone."""
    return _jira(board, method, path, query, body, by_token=False)


def _jira(board: Board, method: str, path: str, query: dict[str, str], body: Any, *, by_token: bool) -> Reply:
    path = path.removeprefix("/rest/api/2")
    if path == "/myself":
        return Reply(200, {"accountId": OURSELVES, "displayName": "Medbay"} if by_token else {"key": OURSELVES})
    if path in ("/search/jql", "/search"):
        if (path == "/search/jql") != by_token:
            return Reply(404, {"errorMessages": ["dead link"], "errors": {}})
        return _jira_search(board, query, by_token=by_token)
    if path == "/issue":
        return _jira_make(board, body)
    found = re.fullmatch(r"/issue/(APP-(\d+))(?:/(\w+))?(?:/(\w+))?", path)
    if found is None or not 1 <= int(found[2]) <= len(board.entries):
        said = "Issue does not exist or you do not have permission to see it."
        return Reply(404, {"errorMessages": [said], "errors": {}})
    entry, part, name = board.entry(found[1]), found[3], found[4]
    match (method, part):
        case ("GET", None):
            return Reply(200, _jira_issue(entry, by_token=by_token))
        case ("PUT", None):
            for each in body["update"]["labels"]:
                if "add" in each and " " in each["add"]:
                    return Reply(400, {"errorMessages": [], "errors": {"labels": "The label can't contain spaces."}})
                entry.labels += [each["add"]] if "add" in each and each["add"] not in entry.labels else []
                entry.labels = [label for label in entry.labels if label != each.get("remove")]
            return Reply(204)
        case (_, "comment"):
            return _jira_comment(board, entry, method, name or "", query, body, by_token=by_token)
        case ("GET", "transitions"):
            return Reply(200, {"expand": "transitions", "transitions": _JIRA_TRANSITIONS})
        case ("POST", "transitions"):
            if body["transition"]["id"] not in [each["id"] for each in _JIRA_TRANSITIONS]:
                return Reply(400, {"errorMessages": ["Transition id is not valid."], "errors": {}})
            entry.closed = "done" if body["transition"]["id"] == "31" else ""
            return Reply(204)
    return Reply(405, {"errorMessages": ["Method Not Allowed"], "errors": {}})


_JIRA_TRANSITIONS = [
    {"id": "11", "name": "Begin", "to": {"name": "In Progress", "statusCategory": {"id": 4, "key": "indeterminate"}}},
    {"id": "31", "name": "Finish", "to": {"name": "Done", "statusCategory": {"id": 3, "key": "done"}}},
]


def _jira_search(board: Board, query: dict[str, str], *, by_token: bool) -> Reply:
    jql = query["jql"]
    if not jql.startswith('project = "APP"'):
        return Reply(400, {"errorMessages": ["The value does not exist for the field 'project'."], "errors": {}})
    label = re.search(r'labels = "((?:[^"\\]|\\.)*)"', jql)
    wanted = label[1].replace('\\"', '"').replace("\\\\", "\\") if label else None
    entries = [each for each in board.entries if "statusCategory != Done" not in jql or not each.closed]
    entries = [each for each in entries if wanted is None or wanted in each.labels]
    start = int(query.get("nextPageToken" if by_token else "startAt") or "0")
    shown = [_jira_issue(each, by_token=by_token, some=True) for each in entries[start : start + PAGE_MAX]]
    if not by_token:
        return Reply(200, {"startAt": start, "maxResults": PAGE_MAX, "total": len(entries), "issues": shown})
    last = start + PAGE_MAX >= len(entries)
    return Reply(200, {"issues": shown, "isLast": last} | ({} if last else {"nextPageToken": str(start + PAGE_MAX)}))


def _jira_make(board: Board, body: Any) -> Reply:
    fields = body["fields"]
    if "\n" in fields["summary"] or not fields["summary"].strip() or len(fields["summary"]) > 255:
        return Reply(400, {"errorMessages": [], "errors": {"summary": "The summary is invalid."}})
    if fields["issuetype"]["name"] != "Task" or any(" " in each for each in fields["labels"]):
        return Reply(400, {"errorMessages": [], "errors": {"issuetype": "Specify a valid issue type"}})
    made = board.add(fields["summary"], *fields["labels"], body=fields["description"])
    return Reply(201, {"id": "10001", "key": made, "self": f"https://jira.test/rest/api/2/issue/{made}"})


def _jira_comment(
    board: Board, entry: Entry, method: str, name: str, query: dict[str, str], body: Any, *, by_token: bool
) -> Reply:
    if method == "POST":
        return Reply(201, _jira_note(board.comment(f"APP-{entry.number}", body["body"], OURSELVES), by_token=by_token))
    if method == "PUT":
        for each in entry.notes:
            if each.id == name:
                each.body = body["body"]
                return Reply(200, _jira_note(each, by_token=by_token))
        return Reply(404, {"errorMessages": [f"Can not find a comment for the id: {name}."], "errors": {}})
    start = int(query.get("startAt", "0"))
    shown = [_jira_note(each, by_token=by_token) for each in entry.notes[start : start + PAGE_MAX]]
    return Reply(200, {"startAt": start, "maxResults": PAGE_MAX, "total": len(entry.notes), "comments": shown})


def _jira_issue(entry: Entry, *, by_token: bool, some: bool = False) -> dict[str, Any]:
    notes = [_jira_note(each, by_token=by_token) for each in (entry.notes[:PAGE_MAX] if some else entry.notes)]
    status = {"name": "Done", "statusCategory": {"key": "done"}}
    return {
        "id": str(10_000 + entry.number),
        "key": f"APP-{entry.number}",
        "self": f"https://jira.test/rest/api/2/issue/{10_000 + entry.number}",
        "fields": {
            "summary": entry.title,
            "description": entry.body or None,
            "labels": entry.labels,
            "priority": {"name": "High", "id": "2"},
            "status": status if entry.closed else {"name": "To Do", "statusCategory": {"key": "new"}},
            "created": entry.at.replace("Z", ".000+0000"),
            "updated": entry.at.replace("Z", ".000+0000"),
            "comment": {"comments": notes, "maxResults": len(notes), "total": len(entry.notes), "startAt": 0},
        },
    }


def _jira_note(note: Note, *, by_token: bool) -> dict[str, Any]:
    author = {"accountId": note.author} if by_token else {"key": note.author, "name": note.author}
    return {"id": note.id, "author": author, "body": note.body, "created": "2026-01-01T00:00:00.000+0000"}


def linear(board: Board, method: str, path: str, query: dict[str, str], body: Any, base: str) -> Reply:
    """`/graphql`, by the name of the operation."""
    found = re.search(r"(?:query|mutation) (\w+)", body["query"])
    given = body["variables"]
    match found and found[1]:
        case "Open":
            return _linear_issues(board, given)
        case "Read":
            number = given["id"].removeprefix("ENG-")
            if not number.isdigit() or not 1 <= int(number) <= len(board.entries):
                return _linear_error("Entity not found: Issue", "INVALID_INPUT", status=200)
            return Reply(200, {"data": {"issue": _linear_issue(board, board.entry(given["id"]), given["ours"])}})
        case "Find":
            part = given["filter"]["description"]["contains"]
            seen = [{"identifier": f"ENG-{each.number}"} for each in board.entries if part in each.body][:1]
            return Reply(200, {"data": {"issues": {"nodes": seen}}})
        case "Team":
            states = [{"id": f"s-{kind}", "type": kind, "position": at} for at, kind in enumerate(_LINEAR_STATES)]
            nodes = [{"id": "team-1", "states": {"nodes": states}}] if given["key"] == "ENG" else []
            return Reply(200, {"data": {"teams": {"nodes": nodes}}})
        case "Labels":
            known = [{"id": key, "name": name, "team": {"id": "team-1"}} for name, key in board.known_labels.items()]
            elsewhere = [{"id": f"other-{name}", "name": name, "team": {"id": "team-2"}} for name in given["names"]]
            nodes = [*elsewhere, *(each for each in known if each["name"] in given["names"])]
            return Reply(200, {"data": {"issueLabels": {"nodes": nodes}}})
        case "MakeLabel":
            made = _linear_label(board, given["input"]["name"])
            return Reply(200, {"data": {"issueLabelCreate": {"success": True, "issueLabel": {"id": made}}}})
    return _linear_change(board, str(found and found[1]), given)


_LINEAR_STATES = ("triage", "backlog", "unstarted", "started", "completed", "canceled")


def _linear_change(board: Board, operation: str, given: dict[str, Any]) -> Reply:
    names = {key: name for name, key in board.known_labels.items()}
    match operation:
        case "Make":
            entry = given["input"]
            labels = [names[key] for key in entry["labelIds"]]
            made = board.add(entry["title"], *labels, body=entry["description"])
            return Reply(200, {"data": {"issueCreate": {"success": True, "issue": {"identifier": made}}}})
        case "Change":
            changed, entry = board.entry("ENG-" + given["id"].removeprefix("uuid-")), given["input"]
            if {*entry.get("addedLabelIds", ()), *entry.get("removedLabelIds", ())} - {*names}:
                return _linear_error("Entity not found: IssueLabel", "INVALID_INPUT", status=200)
            changed.labels += [names[key] for key in entry.get("addedLabelIds", ())]
            gone = [names[key] for key in entry.get("removedLabelIds", ())]
            changed.labels = [each for each in changed.labels if each not in gone]
            if "stateId" in entry:
                kind = entry["stateId"].removeprefix("s-")
                changed.closed = kind if kind in ("completed", "canceled") else ""
            return Reply(200, {"data": {"issueUpdate": {"success": True}}})
        case "Write":
            target = "ENG-" + given["input"]["issueId"].removeprefix("uuid-")
            board.comment(target, given["input"]["body"], OURSELVES)
            return Reply(200, {"data": {"commentCreate": {"success": True}}})
        case "Edit":
            for entry in board.entries:
                for each in entry.notes:
                    if each.id == given["id"]:
                        each.body = given["input"]["body"]
                        return Reply(200, {"data": {"commentUpdate": {"success": True}}})
            return _linear_error("Entity not found: Comment", "INVALID_INPUT", status=200)
    return _linear_error(f"Unknown operation named {operation}", "GRAPHQL_VALIDATION_FAILED", status=400)


def _linear_issues(board: Board, given: dict[str, Any]) -> Reply:
    label = given["filter"].get("labels", {}).get("name", {}).get("eq")
    closed = given["filter"]["state"]["type"]["nin"]
    entries = [each for each in reversed(board.entries) if each.closed not in closed]
    entries = [each for each in entries if label is None or label in each.labels]
    start, size = int(given["after"] or 0), min(PAGE_MAX, given["first"])
    nodes = [_linear_issue(board, each, given["ours"]) for each in entries[start : start + size]]
    more = start + size < len(entries)
    info = {"hasNextPage": more, "endCursor": str(start + size) if nodes else None}
    return Reply(200, {"data": {"issues": {"nodes": nodes, "pageInfo": info}}})


def _linear_issue(board: Board, entry: Entry, ours: dict[str, Any]) -> dict[str, Any]:
    begin = ours["body"]["startsWith"]
    own = [each for each in entry.notes if each.author == OURSELVES and each.body.startswith(begin)]
    return {
        "id": f"uuid-{entry.number}",
        "identifier": f"ENG-{entry.number}",
        "title": entry.title,
        "description": entry.body or None,
        "priority": 2,
        "url": f"https://linear.app/acme/issue/ENG-{entry.number}",
        "createdAt": entry.at,
        "updatedAt": entry.at,
        "archivedAt": None,
        "state": {"type": entry.closed or "unstarted"},
        "labels": {"nodes": [{"id": _linear_label(board, each), "name": each} for each in entry.labels]},
        "comments": {"nodes": [{"id": each.id, "body": each.body} for each in own][:2]},
    }


def _linear_label(board: Board, name: str) -> str:
    return board.known_labels.setdefault(name, f"label-{len(board.known_labels) + 1}")


def _linear_error(message: str, code: str, *, status: int) -> Reply:
    extensions = {"code": code, "type": code.lower(), "userPresentableMessage": message}
    return Reply(status, {"errors": [{"message": message, "extensions": extensions}], "data": None})


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    board: Board
    answers: Answers


class _UnixServer(_Server):
    address_family = socket.AF_UNIX

    def server_bind(self) -> None:
        self.socket.bind(self.server_address)
        self.server_name, self.server_port = "localhost", 0


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def _serve(self) -> None:
        board, parts = self.server.board, urllib.parse.urlsplit(self.path)
        size = int(self.headers.get("Content-Length") or 0)
        chunked = self.headers.get("Transfer-Encoding") == "chunked"
        body = json.loads(_unchunked(self.rfile) if chunked else self.rfile.read(size)) if size or chunked else None
        query = dict(urllib.parse.parse_qsl(parts.query))
        with board.lock:
            board.requests.append((self.command, parts.path, body))
            board.tokens.append(self.headers.get("Authorization", ""))
        named = re.search(r"(?:query|mutation) (\w+)", body["query"])[1] if body and "query" in body else parts.path  # type: ignore[index]
        fault = board.fault_for(f"{self.command} {named}")
        if fault is not None and fault.status <= 0:
            if fault.status < 0:
                board.released.wait(60)
            self.close_connection = True
            return
        if fault is not None:
            self._reply(Reply(fault.status, fault.body, fault.headers))
        elif not _knows(self.headers.get("Authorization", "")):
            self._reply(Reply(401, {"message": "Bad credentials", "status": "401"}))
        else:
            base = f"http://{self.headers.get('Host')}"
            with board.lock:
                self._reply(self.server.answers(board, self.command, parts.path, query, body, base))

    def _reply(self, reply: Reply) -> None:
        data = b"" if reply.body is None else reply.body if isinstance(reply.body, bytes) else _json(reply.body)
        self.send_response(reply.status)
        for name, value in {"Content-Type": "application/json; charset=utf-8", **reply.headers}.items():
            self.send_header(name, value)
        if reply.status != 204:
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _serve  # noqa: N815 - as the library calls them

    def address_string(self) -> str:
        """A Unix socket has none."""
        return "local"

    def log_message(self, *args: Any) -> None:
        """Nothing is printed."""


def _knows(given: str) -> bool:
    basic = base64.b64encode(f"bot@example.org:{TOKEN}".encode()).decode()
    return given in (f"Bearer {TOKEN}", f"token {TOKEN}", f"Basic {basic}")


def _json(body: Any) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode()


def _unchunked(stream: Any) -> bytes:
    found = b""
    while size := int(stream.readline().strip() or b"0", 16):
        found += stream.read(size)
        stream.readline()
    stream.readline()
    return found


PREFIXES = {"github": "", "linear": "ENG-", "jira": "APP-", "jira_server": "APP-"}
SERVED: dict[str, Answers] = {"github": github, "linear": linear, "jira": jira, "jira_server": jira_server}


@contextmanager
def imitation(kind: str, unix: str = "", *, answers: Answers | None = None) -> Iterator[tuple[Board, str]]:
    """An imitation that runs, and its address; `answers`: one that knows more than issues."""
    server = _UnixServer(unix, _Handler) if unix else _Server(("127.0.0.1", 0), _Handler)  # type: ignore[arg-type]
    server.board, server.answers = Board(PREFIXES[kind]), answers or SERVED[kind]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server.board, f"http://127.0.0.1:{server.server_port}"
    finally:
        server.board.released.set()
        server.shutdown()
        server.server_close()
        thread.join()


def in_an_hour() -> str:
    """The epoch in an hour, as a rate limit names it."""
    return str(int(time.time()) + 3600)
