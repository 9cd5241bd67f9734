"""The words that choose tasks: the same options for `list`, `export` and everything that acts on many at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import click

from medbay.cli.complaint import unknown
from medbay.cli.completion import categories, statuses, tags

if TYPE_CHECKING:
    from medbay.store.tasks import TaskFilter

STATUSES: Final = (
    "pending",
    "in_progress",
    "pending_verification",
    "failed",
    "blocked",
    "completed",
    "cancelled",
)
ENDED: Final = ("completed", "cancelled")
EVERY: Final = 1_000_000  # more tasks than one command handles

_OPTIONS: Final = (
    click.option(
        "--status", multiple=True, metavar="S", shell_complete=statuses, help="Only this status (repeatable, or a,b)."
    ),
    click.option(
        "--tag", multiple=True, metavar="T", shell_complete=tags, help="Only with this tag (repeatable: all of them)."
    ),
    click.option(
        "--not-tag",
        multiple=True,
        metavar="T",
        shell_complete=tags,
        help="Only without this tag (repeatable: none of them).",
    ),
    click.option("--queue", metavar="Q", help="Only of this queue."),
    click.option(
        "--category",
        default="",
        metavar="C",
        shell_complete=categories,
        help="Only with this category of the last failure.",
    ),
    click.option("--warned", is_flag=True, help="Only what succeeded and says in its log that something failed."),
    click.option("--text", default="", metavar="TEXT", help="Only with this text in the title."),
)
NAMES: Final = ("status", "tag", "not_tag", "queue", "category", "warned", "text")


def filter_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Every option that chooses tasks."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def chosen(given: dict[str, Any], *, everything: bool = False) -> TaskFilter:
    """What the options say; without a status they mean what is open, unless everything is wanted."""
    from medbay.store.tasks import TaskFilter

    statuses = _statuses(given["status"])
    return TaskFilter(
        statuses=statuses,
        tags=given["tag"],
        without_tags=given["not_tag"],
        queue=given["queue"],
        category=_category(given["category"]),
        warned=given["warned"],
        text=given["text"],
        only_open=not statuses and not everything,
        limit=EVERY,
    )


def _category(given: str) -> str:
    """The category of a failure, as `patterns list` reads it."""
    from medbay.core.attempt.knowledge import read_kind

    return "/".join(part for part in read_kind(given) if part) if given.strip() else ""


def _statuses(given: tuple[str, ...]) -> tuple[str, ...]:
    names = [name.strip() for each in given for name in each.split(",") if name.strip()]
    for name in names:
        if name not in STATUSES:
            raise unknown("status", name, STATUSES, otherwise=f"there are {', '.join(STATUSES)}")
    return tuple(dict.fromkeys(names))
