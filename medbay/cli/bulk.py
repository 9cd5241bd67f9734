"""Acting on all tasks that match: who it is done to is said first, and in the end everybody is accounted for."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import click

from medbay.cli.filters import chosen as filter_of
from medbay.cli.output import fields, note, print_json, say, screen
from medbay.cli.session import Session, refuse_inside_attempts
from medbay.cli.text import clean, cut
from medbay.errors import UsageError

if TYPE_CHECKING:
    from medbay.bay import Bay
    from medbay.service.bulk import Bulk
    from medbay.service.tasks import Action

LISTED: Final = 20
ASKED_FROM: Final = 21  # so many cancelled at once have to be meant
_DONE: Final = {
    "pause": "paused",
    "resume": "resumed",
    "cancel": "cancelled",
    "retry": "retried",
    "unblock": "unblocked",
}


def many(session: Session, action: Action, ids: tuple[str, ...], given: dict[str, Any], attempts: int = 2) -> bool:
    """Whether it was done to what the options choose; False when tasks are named one by one."""
    dry_run, yes = given.pop("dry_run"), given.pop("yes", False)
    refuse_inside_attempts(f"medbay {action}")
    wanted = filter_of(given)
    if ids and wanted.narrows:
        raise UsageError("ids and a filter were both given", hint="leave one of them out")
    if not ids and not wanted.narrows:
        raise UsageError("no task is named", hint=f"medbay {action} ID, or --status, --tag, --queue, --text")
    if ids and not dry_run:
        return False
    bay = session.bay()
    meant = [bay.get(each).id for each in dict.fromkeys(ids)] if ids else wanted
    found = bay.act_on(action, meant, attempts=attempts, dry_run=True)
    if not dry_run:
        found = _meant(bay, found, attempts=attempts, yes=yes)
    _tell(session, found)
    return True


def _meant(bay: Bay, found: Bulk, *, attempts: int, yes: bool) -> Bulk:
    """Do it to those it was said it would be done to; many are cancelled only when somebody means it."""
    number = len(found.done)
    if found.action == "cancel" and number >= ASKED_FROM and not yes:
        if not sys.stdin.isatty():
            raise UsageError(f"this would cancel {number} tasks for good", hint="--yes does it, --dry-run lists them")
        typed = click.prompt(
            f"this cancels {number} tasks for good; type {number} to go on", err=True, default="", show_default=False
        )
        if typed.strip() != str(number):
            raise UsageError("nothing was cancelled", hint=f"type {number} to go on, or --dry-run lists them")
    acted = bay.act_on(found.action, found.done, attempts=attempts)
    return replace(acted, skipped=(*found.skipped, *acted.skipped))


def _tell(session: Session, found: Bulk) -> None:
    if session.json:
        print_json(
            {
                "action": found.action,
                "dry_run": found.dry_run,
                "matched": len(found.done) + len(found.skipped),
                "done": list(found.done),
                "skipped": [{"id": task_id, "why": why} for task_id, why in found.skipped],
            }
        )
        return
    if screen().terminal:
        for line in _listed(session.bay(), found) if found.dry_run else ():
            say(line)
        say(screen().plain(summary(found)))
        return
    word = f"would {found.action}" if found.dry_run else _DONE[found.action]
    for task_id in found.done:
        fields(task_id, word)
    for task_id, why in found.skipped:
        fields(task_id, "skipped", why)
    note(summary(found))


def _listed(bay: Bay, found: Bulk) -> list[str]:
    """Who it would be done to, as far as a screen holds them."""
    shown, ids = screen(), found.done[:LISTED]
    lines = [cut(f"{each}  {clean(bay.get(each).title)}", shown.width - 1) for each in ids]
    more = len(found.done) - len(ids)
    return [shown.plain(line) for line in lines] + ([f"and {more} more"] if more else [])


def summary(found: Bulk) -> str:
    """One line that adds up: `would retry 12 of 15 (3 are running: skipped)`."""
    matched = len(found.done) + len(found.skipped)
    if not matched:
        return "nothing matches"
    word = f"would {found.action}" if found.dry_run else _DONE[found.action]
    reasons = Counter(why for _, why in found.skipped)
    ordered = sorted(reasons.items(), key=lambda each: (-each[1], each[0]))
    why = ", ".join(f"{number} {'is' if number == 1 else 'are'} {reason}" for reason, number in ordered)
    return f"{word} {len(found.done)} of {matched} ({why}: skipped)" if why else f"{word} {len(found.done)}"
