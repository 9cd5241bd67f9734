"""A double of `bd` 1.0.5: the calls of its contract, with the same answers, exit codes and complaints.

State is one JSON file below `.beads`, under a lock. Options that the contract lacks are refused as the real one does. A
test makes it fail or hang by a line in `.beads/faults` (`update demo-1 exit 1`, `list hang 30`, `close * garbage`).
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

Issue = dict[str, Any]

ORDER = (
    "id title description design acceptance_criteria notes spec_id status priority issue_type assignee owner "
    "created_at created_by updated_at started_at closed_at close_reason closed_by_session due_at defer_until "
    "external_ref metadata labels dependencies comments dependency_type dependent_count_show dependency_count "
    "dependent_count comment_count parent depth parent_id edge_from_parent truncated blocked_by_count blocked_by"
).split()
STATUSES = ("open", "in_progress", "blocked", "deferred", "closed", "pinned", "hooked")
TYPES = ("bug", "feature", "task", "epic", "chore", "decision")
BLOCKING = ("blocks", "conditional-blocks", "waits-for")
GLYPHS = {"open": "○", "in_progress": "◐", "blocked": "●", "closed": "✓", "deferred": "❄"}
LEGEND = "Status: ○ open  ◐ in_progress  ● blocked  ✓ closed  ❄ deferred"
GLOBAL_VALUES = {"--actor", "--db", "-C", "--directory", "--dolt-auto-commit"}
GLOBAL_FLAGS = {"--json", "-q", "--quiet", "--readonly", "--sandbox", "--ignore-schema-skew", "-v", "--verbose"}
SHORT = {
    "create": {"-d": "--description", "-t": "--type", "-p": "--priority", "-l": "--labels", "-a": "--assignee"},
    "update": {"-d": "--description", "-t": "--type", "-p": "--priority", "-a": "--assignee"},
    "list": {
        "-s": "--status",
        "-l": "--label",
        "-n": "--limit",
        "-t": "--type",
        "-p": "--priority",
        "-a": "--assignee",
    },
    "close": {"-r": "--reason", "-m": "--reason", "--resolution": "--reason", "--comment": "--reason"},
    "dep": {"-t": "--type", "--blocked-by": "--depends-on"},
}
VALUES = {
    "create": "--description --body-file --type --priority --labels --assignee --notes --external-ref --metadata "
    "--deps --parent --due --defer --acceptance --id --title --design",
    "list": "--status --label --label-any --limit --type --priority --assignee --metadata-field --has-metadata-key "
    "--title-contains --notes-contains --parent --created-after --updated-after --sort --id",
    "show": "",
    "update": "--status --title --description --design --acceptance --notes --append-notes --priority --assignee "
    "--type --add-label --remove-label --set-labels --set-metadata --unset-metadata --metadata --external-ref --defer "
    "--due --parent",
    "close": "--reason --reason-file --session",
    "reopen": "--reason",
    "ready": "--limit --label --sort",
    "init": "--prefix --role",
    "dep": "--type --depends-on --direction --file",
}
FLAGS = {
    "create": "--stdin --silent --dry-run",
    "list": "--all --no-assignee",
    "show": "--include-dependents --include-comments",
    "update": "--claim",
    "close": "--force --suggest-next --continue --claim-next",
    "ready": "--claim --unassigned --include-deferred",
    "init": "--non-interactive --skip-agents --skip-hooks --quiet --stealth",
    "delete": "--force",
    "comment": "--stdin --file",
}
REPEATED = {"--label", "--label-any", "--metadata-field", "--add-label", "--remove-label", "--set-metadata", "--labels"}


class Fatal(Exception):
    """A complaint that ends the call: `where` it goes, as JSON or as plain text."""

    def __init__(self, text: str, where: str = "plain") -> None:
        super().__init__(text)
        self.text = text
        self.where = where


class Call:
    """One call: its command, words and options."""

    def __init__(self, argv: list[str]) -> None:
        self.options: dict[str, Any] = {}
        self.words: list[str] = []
        self.command = ""
        rest = iter(argv)
        for word in rest:
            if word.startswith("-") and word != "-" and len(word) > 1:
                self._option(word, rest)
            elif not self.command:
                self.command = word
                if word not in COMMANDS:
                    raise Fatal(f'Error: unknown command "{word}" for "bd"\n\nRun \'bd --help\' for usage.')
            else:
                self.words.append(word)

    def _option(self, word: str, rest: Iterator[str]) -> None:
        name, equals, value = word.partition("=")
        name = SHORT.get(self.command, {}).get(name, name)
        if name in GLOBAL_FLAGS or name in FLAGS.get(self.command, "").split():
            self.options[name] = True
            return
        if name not in GLOBAL_VALUES and name not in VALUES.get(self.command, "").split():
            raise Fatal(f"Error: unknown flag: {name}\nUsage:\n  bd {self.command} [flags]\n")
        if not equals:
            value = next(rest, "")
        if name in REPEATED:
            self.options.setdefault(name, []).extend(value.split(",") if "label" in name else [value])
        else:
            self.options[name] = value

    def get(self, name: str, default: Any = None) -> Any:
        """The value of an option."""
        return self.options.get(name, default)

    @property
    def json(self) -> bool:
        """Whether JSON is asked for."""
        return bool(self.get("--json"))

    @property
    def actor(self) -> str:
        """Who calls."""
        return str(self.get("--actor") or os.environ.get("BEADS_ACTOR") or "tester")


class Workspace:
    """The issues below one `.beads`."""

    def __init__(self, folder: Path, state: dict[str, Any]) -> None:
        self.folder = folder
        self.state = state

    @property
    def issues(self) -> dict[str, Issue]:
        """Every issue by its id."""
        found: dict[str, Issue] = self.state["issues"]
        return found

    def find(self, name: str) -> Issue | None:
        """An issue by its id, or by the end of it."""
        if name in self.issues:
            return self.issues[name]
        return next((each for each in self.issues.values() if each["id"].partition("-")[2] == name and name), None)

    def edges(self, issue_id: str, *, up: bool = False) -> list[dict[str, Any]]:
        """What an issue depends on, or what depends on it."""
        mine = "depends_on_id" if up else "issue_id"
        return [edge for edge in self.state["edges"] if edge[mine] == issue_id]

    def blockers(self, issue_id: str) -> list[str]:
        """The open issues that block one."""
        own = [edge["depends_on_id"] for edge in self.edges(issue_id) if edge["type"] in BLOCKING]
        return [each for each in own if each in self.issues and self.issues[each]["status"] != "closed"]

    def sorted(self) -> list[Issue]:
        """By priority, then the newest."""
        return sorted(self.issues.values(), key=lambda each: (each["priority"], -each["_number"]))

    def is_ready(self, issue: Issue, call: Call) -> bool:
        """Whether work on it may begin."""
        if issue["status"] != "open" or self.blockers(issue["id"]):
            return False
        wanted = call.get("--label", [])
        return set(wanted) <= set(issue.get("labels", [])) and not (call.get("--unassigned") and issue.get("assignee"))


def now() -> str:
    """The time as a later read prints it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def plain(issue: Issue) -> Issue:
    """An issue as it is printed: in the order of the real one, empty fields left out."""
    always = ("id", "title", "status", "priority", "created_at", "updated_at")
    found = {
        name: issue[name] for name in ORDER if name in issue and (name in always or issue[name] not in ("", [], {}))
    }
    if "metadata" in found:
        found["metadata"] = dict(sorted(found["metadata"].items(), key=lambda each: (len(each[0]), each[0])))
    return found


def listed(space: Workspace, issue: Issue) -> Issue:
    """An issue of a list: with raw edges, the counts of what blocks, and its parent."""
    edges = space.edges(issue["id"])
    made = plain(issue)
    if edges:
        made["dependencies"] = edges
    made["dependency_count"] = sum(edge["type"] in BLOCKING for edge in edges)
    made["dependent_count"] = sum(edge["type"] in BLOCKING for edge in space.edges(issue["id"], up=True))
    made["comment_count"] = len(issue.get("_comments", []))
    if parents := [edge["depends_on_id"] for edge in edges if edge["type"] == "parent-child"]:
        made["parent"] = parents[0]
    return made


def shown(space: Workspace, issue: Issue, call: Call) -> Issue:
    """An issue in full."""
    own, up = space.edges(issue["id"]), space.edges(issue["id"], up=True)
    made = plain(issue)
    if own:
        made["dependencies"] = [related(space, edge["depends_on_id"], edge) for edge in own]
    if call.get("--include-dependents") and up:
        zero = {"created_at": "0001-01-01T00:00:00Z", "updated_at": "0001-01-01T00:00:00Z"}
        keep = ("id", "title", "status", "priority", "issue_type")
        made["dependents"] = [
            {name: space.issues[edge["issue_id"]][name] for name in keep} | zero | {"dependency_type": edge["type"]}
            for edge in sorted(up, key=lambda each: space.issues[each["issue_id"]]["priority"])
        ]
    if call.get("--include-comments") and issue.get("_comments"):
        made["comments"] = issue["_comments"]
    made["dependent_count"], made["dependency_count"] = len(up), len(own)
    made["comment_count"] = len(issue.get("_comments", []))
    return made


def related(space: Workspace, issue_id: str, edge: dict[str, Any]) -> Issue:
    """An issue at the other end of an edge."""
    return {**plain(space.issues[issue_id]), "dependency_type": edge["type"]}


def emit(payload: Any, *, error: bool = False, stream: Any = None) -> None:
    """Print JSON in the framing that is asked for."""
    if os.environ.get("BD_JSON_ENVELOPE") == "1":
        payload = {"data": payload, "schema_version": 1}
    elif isinstance(payload, dict):
        payload = {"schema_version": 1, **payload}
        payload = json.loads(json.dumps(payload, sort_keys=True))
    print(json.dumps(payload, indent=2, ensure_ascii=False), file=stream or sys.stdout)


def create(space: Workspace, call: Call) -> None:
    """Make an issue."""
    if not call.words and call.get("--title") is None:
        raise Fatal("title required (or use --file to create from markdown)", "stderr")
    title = call.get("--title") or (call.words[0] if call.words else "")
    priority = priority_of(call.get("--priority", "2"))
    if not title:
        raise Fatal("validation failed for issue : title is required", "stderr")
    if call.get("--type", "task") not in TYPES:
        raise Fatal(f"validation failed for issue : invalid issue type: {call.get('--type')}", "stderr")
    parent = space.find(call.get("--parent")) if call.get("--parent") else None
    prefix, wanted = space.state["prefix"], call.get("--id")
    if wanted and not wanted.startswith(f"{prefix}-"):
        raise Fatal(
            f"prefix mismatch: database uses '{prefix}-' but ID '{wanted}' doesn't match (use --force to override)",
            "stderr",
        )
    made: Issue = {
        "id": wanted or new_id(space, parent),
        "title": title,
        "description": sys.stdin.read() if call.get("--stdin") else call.get("--description", ""),
        "acceptance_criteria": call.get("--acceptance", ""),
        "design": call.get("--design", ""),
        "notes": call.get("--notes", ""),
        "status": "deferred" if call.get("--defer") else "open",
        "priority": priority,
        "issue_type": call.get("--type", "task"),
        "assignee": call.get("--assignee", ""),
        "owner": "t@example.com",
        "created_at": now(),
        "created_by": call.actor,
        "updated_at": now(),
        "external_ref": call.get("--external-ref", ""),
        "metadata": json.loads(call.get("--metadata", "{}")),
        "labels": sorted({*call.get("--labels", []), *(parent or {}).get("labels", [])}),
        "_number": space.state["count"],
    }
    space.state["count"] += 1
    space.issues[made["id"]] = made
    for each in filter(None, call.get("--deps", "").split(",")):
        kind, _, other = each.rpartition(":")
        add_edge(space, made["id"], other, kind or "blocks", call)
    if parent is not None:
        add_edge(space, made["id"], parent["id"], "parent-child", call)
    if call.get("--silent"):
        print(made["id"])
    elif call.json:
        stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f000Z")
        emit({**plain(made), "created_at": stamp, "updated_at": stamp})
    else:
        print(f"✓ Created issue: {made['id']}\n  Title: {title}")


def priority_of(text: str) -> int:
    """A priority as people write it."""
    number = text.removeprefix("P")
    if number not in "0 1 2 3 4".split():
        raise Fatal(f'invalid priority "{text}" (expected 0-4 or P0-P4, not words like high/medium/low)', "stderr")
    return int(number)


def new_id(space: Workspace, parent: Issue | None) -> str:
    """The next id: of a child behind its parent's."""
    if parent is not None:
        children = sum(each.startswith(parent["id"] + ".") for each in space.issues)
        return f"{parent['id']}.{children + 1}"
    number, digits = space.state["count"] * 7919 + 1296, "0123456789abcdefghijklmnopqrstuvwxyz"
    text = ""
    while number:
        number, rest = divmod(number, 36)
        text = digits[rest] + text
    return f"{space.state['prefix']}-{text}"


def add_edge(space: Workspace, issue: str, on: str, kind: str, call: Call) -> None:
    """Let one issue depend on another."""
    edge = {"issue_id": issue, "depends_on_id": on, "type": kind}
    space.state["edges"].append({**edge, "created_at": now(), "created_by": call.actor, "metadata": "{}"})


def list_(space: Workspace, call: Call) -> None:
    """Print issues by filter."""
    found = [each for each in space.sorted() if matches(each, call)]
    limit = int(call.get("--limit", 50))
    kept = found[:limit] if limit else found
    if call.json:
        emit([listed(space, each) for each in kept])
        if len(kept) < len(found):
            hidden = f"Showing {len(kept)} issues; more results matched but were hidden by --limit."
            print(f"\n{hidden} Use --limit 0 for all, or --limit N to raise the cap.", file=sys.stderr)
        return
    below = {edge["issue_id"] for each in kept for edge in space.edges(each["id"]) if edge["type"] == "parent-child"}
    for each in kept:
        if each["id"] not in below:
            print(line_of(each))
            for edge in space.edges(each["id"], up=True):
                if edge["type"] == "parent-child":
                    print(f"└── {line_of(space.issues[edge['issue_id']])}")
    doing = sum(each["status"] == "in_progress" for each in kept)
    opened = sum(each["status"] == "open" for each in kept)
    print(f"\n{'-' * 80}\nTotal: {len(kept)} issues ({opened} open, {doing} in progress)\n\n{LEGEND}")


def line_of(issue: Issue) -> str:
    """One issue for people."""
    kind = "" if issue["issue_type"] == "task" else f" [{issue['issue_type']}]"
    return f"{GLYPHS[issue['status']]} {issue['id']} ● P{issue['priority']}{kind} {issue['title']}"


def matches(issue: Issue, call: Call) -> bool:
    """Whether an issue passes the filters of a list."""
    statuses = call.get("--status")
    if statuses:
        if issue["status"] not in statuses.split(","):
            return False
    elif issue["status"] == "closed" and not call.get("--all"):
        return False
    labels, metadata = set(issue.get("labels", [])), issue.get("metadata", {})
    fields = [each.partition("=") for each in call.get("--metadata-field", [])]
    return all(
        (
            set(call.get("--label", [])) <= labels,
            not call.get("--label-any") or bool(labels & set(call.get("--label-any"))),
            all(str(metadata.get(name)) == value for name, _, value in fields),
            call.get("--has-metadata-key") is None or call.get("--has-metadata-key") in metadata,
            call.get("--notes-contains", "").lower() in issue.get("notes", "").lower(),
            call.get("--title-contains", "").lower() in issue["title"].lower(),
            not call.get("--id") or issue["id"] in call.get("--id").split(","),
            call.get("--type") is None or issue["issue_type"] == call.get("--type"),
            call.get("--assignee") is None or issue.get("assignee") == call.get("--assignee"),
        )
    )


def show(space: Workspace, call: Call) -> int:
    """Print issues in full."""
    found = []
    for name in call.words:
        issue = space.find(name)
        if issue is None:
            print(f'Error fetching {name}: no issue found matching "{name}"', file=sys.stderr)
        else:
            found.append(shown(space, issue, call))
    if not found:
        if call.json:
            emit({"error": "no issues found matching the provided IDs"})
        return 1
    if call.json:
        emit(found)
    else:
        for each in found:
            print(line_of(each))
    return 0


def update(space: Workspace, call: Call) -> int:
    """Change issues."""
    if call.get("--status") is not None and call.get("--status") not in STATUSES:
        raise Fatal(
            f'invalid status "{call.get("--status")}" (built-in: {", ".join(STATUSES)}; or configure custom statuses '
            "via 'bd config set status.custom')",
            "stdout",
        )
    if call.get("--notes") is not None and call.get("--append-notes") is not None:
        raise Fatal("cannot specify both --notes and --append-notes", "stdout")
    if not set(call.options) - GLOBAL_FLAGS - GLOBAL_VALUES:
        print("No updates specified")
        return 0
    changed, failed = [], 0
    for name in call.words:
        issue = space.find(name)
        if issue is None:
            print(f'Error resolving {name}: no issue found matching "{name}"', file=sys.stderr)
            failed = 1
        elif not call.get("--claim") or claim(issue, call):
            change(space, issue, call)
            changed.append(plain(issue))
        else:
            failed = 1
    if changed and call.json:
        emit(changed)
    elif changed:
        print(f"✓ Updated issue: {', '.join(each['id'] for each in changed)}")
    return 1 if failed and not changed else 0


def claim(issue: Issue, call: Call) -> bool:
    """Take an issue, if it is free or one's own."""
    owner = issue.get("assignee")
    if owner == call.actor or (issue["status"] == "open" and not owner):
        issue["assignee"] = call.actor
        if issue["status"] == "open":
            issue.update(status="in_progress", started_at=now())
        return True
    why = f"issue already claimed by {owner}" if owner else f"issue not claimable: status {issue['status']}"
    print(f"Error claiming {issue['id']}: {why}", file=sys.stderr)
    return False


def change(space: Workspace, issue: Issue, call: Call) -> None:
    """Apply the options of an update."""
    plainly = {
        "--title": "title",
        "--description": "description",
        "--design": "design",
        "--acceptance": "acceptance_criteria",
        "--notes": "notes",
        "--assignee": "assignee",
        "--type": "issue_type",
        "--external-ref": "external_ref",
    }
    for option, name in plainly.items():
        if call.get(option) is not None:
            issue[name] = call.get(option)
    if call.get("--append-notes") is not None:
        issue["notes"] = "\n".join(filter(None, (issue.get("notes"), call.get("--append-notes"))))
    if call.get("--priority") is not None:
        issue["priority"] = priority_of(call.get("--priority"))
    if call.get("--status") is not None:
        set_status(issue, call.get("--status"))
    if call.get("--defer"):
        until = datetime.now(UTC) + timedelta(hours=1)
        issue.update(status="deferred", defer_until=until.strftime("%Y-%m-%dT%H:%M:%SZ"))
        issue.pop("closed_at", None)
        issue.pop("close_reason", None)
    labels = set(issue.get("labels", [])) | set(call.get("--add-label", []))
    issue["labels"] = sorted(labels - set(call.get("--remove-label", [])))
    metadata = issue.setdefault("metadata", {})
    for each in call.get("--set-metadata", []):
        name, _, value = each.partition("=")
        metadata[name] = int(value) if value.isdigit() else value
    metadata.update(json.loads(call.get("--metadata", "{}")))
    issue["updated_at"] = now()


def set_status(issue: Issue, status: str) -> None:
    """Move an issue."""
    issue["status"] = status
    if status == "in_progress":
        issue.setdefault("started_at", now())
    if status == "closed":
        issue["closed_at"] = now()


def note(space: Workspace, call: Call) -> None:
    """Append to the notes."""
    issue = needed(space, call.words[0])
    issue["notes"] = "\n".join(filter(None, (issue.get("notes"), " ".join(call.words[1:]))))
    issue["updated_at"] = now()
    emit(plain(issue))


def comment(space: Workspace, call: Call) -> None:
    """Add a comment."""
    issue = needed(space, call.words[0])
    number = sum(len(each.get("_comments", [])) for each in space.issues.values())
    made = {
        "id": f"01a1e0a2-91ae-745f-9a80-{number:012x}",
        "issue_id": issue["id"],
        "author": call.actor,
        "text": " ".join(call.words[1:]),
        "created_at": now(),
    }
    issue.setdefault("_comments", []).append(made)
    emit(made)


def comments(space: Workspace, call: Call) -> None:
    """Print comments."""
    emit(needed(space, call.words[0]).get("_comments", []))


def needed(space: Workspace, name: str) -> Issue:
    """An issue that has to be there."""
    issue = space.find(name)
    if issue is None:
        raise Fatal(f'resolving ID {name}: no issue found matching "{name}"', "stdout")
    return issue


def dep(space: Workspace, call: Call) -> None:
    """What depends on what."""
    action, *names = call.words
    if action == "cycles":
        emit([])
        return
    issue = needed(space, names[0])["id"]
    if action in ("add", "remove"):
        other = needed(space, names[1] if len(names) > 1 else call.get("--depends-on"))["id"]
        (connect if action == "add" else disconnect)(space, issue, other, call)
    elif action == "list":
        up = call.get("--direction") == "up"
        ends = [(edge["issue_id" if up else "depends_on_id"], edge) for edge in space.edges(issue, up=up)]
        ends.sort(key=lambda each: (space.issues[each[0]]["priority"], -space.issues[each[0]]["_number"]))
        emit([related(space, each, edge) for each, edge in ends])
    else:
        root = {**plain(space.issues[issue]), "depth": 0, "parent_id": "", "truncated": False}
        below = [
            {
                **plain(space.issues[edge["depends_on_id"]]),
                "depth": 1,
                "parent_id": issue,
                "edge_from_parent": edge["type"],
                "truncated": False,
            }
            for edge in space.edges(issue)
        ]
        emit([root, *below])


def connect(space: Workspace, issue: str, other: str, call: Call) -> None:
    """Add an edge, unless it closes a circle."""
    if issue == other:
        raise Fatal(f"cannot add self-dependency: {issue} cannot depend on itself", "stdout")
    seen, ahead = set(), [other]
    while ahead:
        here = ahead.pop()
        seen.add(here)
        ahead += [edge["depends_on_id"] for edge in space.edges(here) if edge["depends_on_id"] not in seen]
    if issue in seen:
        raise Fatal("adding dependency would create a cycle", "stdout")
    kind = call.get("--type", "blocks")
    add_edge(space, issue, other, kind, call)
    space.issues[issue]["updated_at"] = now()
    emit({"status": "added", "issue_id": issue, "depends_on_id": other, "type": kind})


def disconnect(space: Workspace, issue: str, other: str, call: Call) -> None:
    """Take an edge away."""
    space.state["edges"] = [
        edge for edge in space.state["edges"] if (edge["issue_id"], edge["depends_on_id"]) != (issue, other)
    ]
    emit({"status": "removed", "issue_id": issue, "depends_on_id": other})


def ready(space: Workspace, call: Call) -> None:
    """What work may begin on."""
    found = [each for each in space.sorted() if space.is_ready(each, call)][: int(call.get("--limit", 100))]
    if call.get("--claim"):
        found = found[:1]
        for each in found:
            claim(each, call)
            each["updated_at"] = now()
    if call.json:
        emit([listed(space, each) for each in found])
        return
    for each in found:
        print(line_of(each))
    print(f"\n{'-' * 80}\nReady: {len(found)} issues with no active blockers\n\n{LEGEND}")


def blocked(space: Workspace, call: Call) -> None:
    """What waits for others."""
    held = [(each, space.blockers(each["id"])) for each in space.sorted() if each["status"] != "closed"]
    emit([{**plain(each), "blocked_by_count": len(by), "blocked_by": by} for each, by in held if by])


def close(space: Workspace, call: Call) -> int:
    """Close issues."""
    issues = [needed(space, name) for name in call.words]
    closed = []
    for issue in issues:
        by = space.blockers(issue["id"])
        if by and not call.get("--force"):
            told = f"blocked by open issues [{' '.join(by)}] (use --force to override)"
            print(f"cannot close {issue['id']}: {told}", file=sys.stderr)
            continue
        set_status(issue, "closed")
        issue.update(close_reason=call.get("--reason", "Closed"), updated_at=now())
        closed.append(plain(issue))
    if closed and call.json:
        emit(closed)
    for each in closed if not call.json else ():
        print(f"✓ Closed {each['id']} — {each['title']}: {each['close_reason']}")
    return 0 if closed else 1


def reopen(space: Workspace, call: Call) -> None:
    """Open closed issues again."""
    opened = []
    for name in call.words:
        issue = needed(space, name)
        if issue["status"] != "closed":
            print(f"{issue['id']} is already open", file=sys.stderr)
            continue
        issue.update(status="open", updated_at=now())
        issue.pop("closed_at", None)
        issue.pop("close_reason", None)
        opened.append(plain(issue))
    if opened:
        emit(opened)


def search(space: Workspace, call: Call) -> None:
    """Find open issues by a word."""
    word = call.words[0].lower()
    found = [each for each in space.sorted() if each["status"] != "closed" and word in each["title"].lower()]
    emit([listed(space, each) for each in found])


def stats(space: Workspace, call: Call) -> None:
    """Numbers."""
    count = {status: sum(each["status"] == status for each in space.issues.values()) for status in STATUSES}
    emit(
        {
            "summary": {
                "total_issues": len(space.issues),
                "open_issues": count["open"],
                "in_progress_issues": count["in_progress"],
                "closed_issues": count["closed"],
                "blocked_issues": sum(bool(space.blockers(each)) for each in space.issues),
                "deferred_issues": count["deferred"],
                "ready_issues": sum(space.is_ready(each, call) for each in space.issues.values()),
                "pinned_issues": count["pinned"],
                "epics_eligible_for_closure": 0,
                "average_lead_time_hours": 0,
            }
        }
    )


def label(space: Workspace, call: Call) -> None:
    """Labels of an issue."""
    action, name, *words = call.words
    issue = needed(space, name)
    if action == "list":
        emit(issue.get("labels", []))
        return
    labels = set(issue.get("labels", []))
    labels = labels | set(words) if action == "add" else labels - set(words)
    issue["labels"] = sorted(labels)
    status = "added" if action == "add" else "removed"
    emit([{"issue_id": issue["id"], "label": each, "status": status} for each in words])


def delete(space: Workspace, call: Call) -> None:
    """Take an issue away."""
    name = needed(space, call.words[0])["id"]
    kept = [edge for edge in space.state["edges"] if name not in (edge["issue_id"], edge["depends_on_id"])]
    removed = len(space.state["edges"]) - len(kept)
    space.state["edges"] = kept
    del space.issues[name]
    emit({"deleted": name, "dependencies_removed": removed, "references_updated": 0})


def export(space: Workspace, call: Call) -> None:
    """Every issue as a line."""
    for each in space.sorted():
        made = listed(space, each)
        counts = {name: made.pop(name) for name in ("dependency_count", "dependent_count", "comment_count")}
        made.pop("parent", None)
        if each.get("_comments"):
            made["comments"] = each["_comments"]
        print(json.dumps({"_type": "issue", **made, **counts}, separators=(",", ":"), ensure_ascii=False))


def information(space: Workspace, call: Call) -> None:
    """What is known of the workspace."""
    folder = space.folder
    match call.command:
        case "count":
            emit({"count": len(space.issues)})
        case "where":
            database = f"{folder}/embeddeddolt"
            emit({"path": str(folder), "database_path": database, "prefix": space.state["prefix"]})
        case "ping":
            emit({"status": "ok", "total_ms": 29, "query_ms": 29, "resolve_ms": 0, "store_ms": 0})
        case "config":
            emit({"key": call.words[1], "value": space.state["prefix"]})
        case "info":
            print("\nBeads Database Information\n===========================")
            print(f"Database: {folder}/embeddeddolt\nMode: direct\n\nIssue Count: {len(space.issues)}\n")
            print("⚠️  Git hooks not installed (5 missing)\n   Run: bd hooks install\n")
        case "version" if call.json:
            emit({"build": "dev", "version": "1.0.5"})
        case _:
            print("bd version 1.0.5 (dev)")


def init(call: Call) -> int:
    """Make a workspace here."""
    folder = Path.cwd() / ".beads"
    if (folder / "double.json").exists():
        prefix = call.get("--prefix")
        print(
            f"Error: \n⚠ Found existing Dolt database: {folder}/embeddeddolt/{prefix}\n\n"
            "This workspace is already initialized.\n\nTo use the existing database:\n"
            "  Just run bd commands normally (e.g., bd list)\n\n"
            "If the database is genuinely corrupt and unrecoverable:\n"
            "  bd export > issue-export.jsonl        # Export issue records first\n"
            f"  bd init --reinit-local --prefix {prefix}    # Then reinitialize\n\nAborting.\n",
            file=sys.stderr,
        )
        return 1
    folder.mkdir(exist_ok=True)
    state = {"prefix": call.get("--prefix", "bd"), "count": 0, "issues": {}, "edges": []}
    (folder / "double.json").write_text(json.dumps(state), encoding="utf-8")
    return 0


def faults(space: Workspace, call: Call) -> None:
    """Do what a test planted for this call: fail, hang, or print what is no JSON."""
    planted = space.folder / "faults"
    rows = planted.read_text(encoding="utf-8").splitlines() if planted.exists() else []
    for row in filter(None, rows):
        command, issue, kind, *more = row.split()
        if command == call.command and issue in ("*", *call.words):
            if kind == "hang":
                time.sleep(float(more[0]))
            elif kind == "garbage":
                print("{not json")
                raise SystemExit(0)
            else:
                print("Error: dolt: connection refused", file=sys.stderr)
                raise SystemExit(int(more[0]) if more else 1)


COMMANDS: dict[str, Callable[[Workspace, Call], int | None]] = {
    "create": create,
    "list": list_,
    "show": show,
    "update": update,
    "note": note,
    "comment": comment,
    "comments": comments,
    "dep": dep,
    "ready": ready,
    "blocked": blocked,
    "close": close,
    "reopen": reopen,
    "search": search,
    "stats": stats,
    "label": label,
    "delete": delete,
    "export": export,
    **dict.fromkeys(("count", "where", "ping", "config", "info", "version"), information),
    "init": lambda _, call: init(call),
}


@contextmanager
def opened(start: Path) -> Iterator[Workspace]:
    """The workspace that is meant, locked while it is used."""
    named = os.environ.get("BEADS_DIR")
    folders = [Path(named)] if named else [each / ".beads" for each in (start, *start.parents)]
    folder = next((each for each in folders if (each / "double.json").exists()), None)
    if folder is None:
        raise Fatal(
            "Error: no beads database found\nHint: run 'bd where' to inspect the resolved workspace, or 'bd init' to "
            "create a new database\n      or set BEADS_DIR to point to your .beads directory"
        )
    with open(folder / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        path = folder / "double.json"
        space = Workspace(folder, json.loads(path.read_text(encoding="utf-8")))
        yield space
        path.write_text(json.dumps(space.state), encoding="utf-8")


def main(argv: list[str]) -> int:
    """One call; its exit code."""
    try:
        call = Call(argv)
        if call.command == "init":
            return init(call)
        with opened(Path(call.get("-C") or call.get("--directory") or Path.cwd()).resolve()) as space:
            with open(space.folder / "calls", "a", encoding="utf-8") as log:
                log.write(json.dumps(argv) + "\n")
            faults(space, call)
            return COMMANDS[call.command](space, call) or 0
    except Fatal as error:
        as_json = "--json" in argv and error.where != "plain"
        if as_json:
            emit({"error": error.text}, stream=sys.stderr if error.where == "stderr" else sys.stdout)
        else:
            print(error.text, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
