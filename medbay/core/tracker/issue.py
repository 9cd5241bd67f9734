"""An issue of a tracker, and the workflow that a tag of it may start."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from medbay.errors import UsageError

ID_MAX: Final = 128
_ID: Final = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._#/-]{{0,{ID_MAX - 1}}}")
_TAG: Final = re.compile(r"\{([a-z][a-z0-9_-]{0,63})\}")


class TagWorkflow(Struct, frozen=True):
    """What a tag on an issue starts."""

    name: str
    does: str
    dispatchable: bool = True
    checked: bool = False  # its result counts only when the configured checks pass


TAG_WORKFLOWS: Final = (
    TagWorkflow("implement_close", "run, then close the issue"),
    TagWorkflow("implement_verify_close", "run, check, then close the issue", checked=True),
    TagWorkflow("triage", "judge failed issues; runs by itself, never by a tag", dispatchable=False),
)
BY_TAG: Final = {each.name: each for each in TAG_WORKFLOWS}


class Issue(Struct, frozen=True, kw_only=True):
    """One issue as its tracker has it."""

    id: str
    title: str
    description: str = ""
    acceptance: str = ""
    notes: str = ""
    status: str = "open"
    priority: int = 2
    labels: tuple[str, ...] = ()
    created_at: str = ""
    updated_at: str = ""
    url: str = ""
    trusted: bool = True  # False: anybody may have written its text, so that only labels start work
    key: str = ""  # by which we made it ourselves


class Listing(Struct, frozen=True, kw_only=True):
    """What a tracker listed: its issues, the entries that are none, and what the list leaves out, in words."""

    issues: tuple[Issue, ...] = ()
    unreadable: tuple[str, ...] = ()  # what is wrong with each entry that is no issue
    left_out: str = ""


def checked_id(issue_id: str) -> str:
    """An id that may be handed to a tracker: never blank, never an option, no control characters."""
    if not issue_id.strip():
        raise UsageError("the id of an issue is blank", hint="name the issue")
    if not is_id(issue_id):
        raise UsageError(f"{issue_id[:60]!r} is no id of an issue", hint="letters, digits, dots, dashes: demo-a1b")
    return issue_id


def is_id(text: str) -> bool:
    """Whether a text can be the id of an issue."""
    return _ID.fullmatch(text) is not None and ".." not in text


def workflow_of(issue: Issue) -> TagWorkflow | None:
    """The workflow that an issue asks for: by a label, else by a tag in its title, else in its description."""
    written = (*_tags(issue.title), *_tags(issue.description)) if issue.trusted else ()
    named = (*(each.strip("{}") for each in issue.labels), *written)
    return next((BY_TAG[name] for name in named if name in BY_TAG and BY_TAG[name].dispatchable), None)


def in_order(issues: Iterable[Issue]) -> list[Issue]:
    """The most urgent first, then the oldest."""
    return sorted(issues, key=lambda issue: (issue.priority, issue.created_at, issue.id))


def _tags(text: str) -> list[str]:
    return _TAG.findall(text)
