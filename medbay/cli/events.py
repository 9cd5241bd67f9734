"""`medbay events`: what happened, in order, resumable by sequence number."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Final

import click

from medbay.cli.completion import task_ids
from medbay.cli.output import DIM, Screen, fields, flush, note, say, screen, to_json
from medbay.cli.session import Session, json_option, pass_session
from medbay.views import event as view
from medbay.views import moments
from medbay.views.text import cut, pad

if TYPE_CHECKING:
    from medbay.bay import Bay
    from medbay.core.model import Event

_AT_A_TIME: Final = 1_000
_ON_A_SCREEN: Final = 50
_BEFORE_FOLLOWING: Final = 10
_LOOK_EVERY_S: Final = 0.2


@click.command()
@click.option("-f", "--follow", is_flag=True, help="Go on as they come.")
@click.option("--since", type=click.IntRange(min=0), metavar="SEQ", help="Those after this sequence number.")
@click.option("--task", "task_id", metavar="ID", shell_complete=task_ids, help="Only of this task.")
@json_option
@pass_session
def command(session: Session, follow: bool, since: int | None, task_id: str | None) -> None:
    """Print events, one per line. Without --since: all of them; on a terminal, or with -f, the newest.

    \b
    Examples:
      medbay events --since 120 --json
      medbay events -f --task m2xa
    """
    bay = session.bay()
    shown = screen()
    if task_id is not None:
        task_id = bay.get(task_id).id
    at = _beginning(bay, since, task_id, follow=follow, short=shown.terminal and not session.json)
    if at > 0 and since is None and shown.terminal:
        note("the newest events; --since 0 shows them all")
    while True:
        found = bay.events(at, limit=_AT_A_TIME, task_id=task_id)
        for event in found:
            _print(event, shown, as_json=session.json)
            at = event.seq
        if len(found) == _AT_A_TIME:
            continue
        if not follow:
            return
        flush()
        time.sleep(_LOOK_EVERY_S)


def _beginning(bay: Bay, since: int | None, task_id: str | None, *, follow: bool, short: bool) -> int:
    """Which number to begin after."""
    if since is not None:
        return since
    if task_id is not None or not (follow or short):
        return 0
    return max(0, bay.last_seq() - (_BEFORE_FOLLOWING if follow else _ON_A_SCREEN))


def _print(event: Event, shown: Screen, *, as_json: bool) -> None:
    if as_json:
        say(to_json(view.as_json(event)))
        return
    if not shown.terminal:
        data = json.dumps(event.data, ensure_ascii=False, default=str)
        fields(event.seq, moments.iso(event.at), event.name, event.task_id, event.attempt, data)
        return
    moment = moments.local(event.at).strftime("%H:%M:%S")
    who = (event.task_id or "") + (f" #{event.attempt}" if event.attempt is not None else "")
    head = f"{event.seq:>6}  {moment}  {pad(event.name, 22)}  {pad(who, 9)}  "
    say(shown.plain(head + shown.paint(cut(view.data_words(event.data), max(10, shown.width - len(head))), DIM)))
