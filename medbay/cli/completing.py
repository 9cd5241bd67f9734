"""What a shell is offered while somebody types: the ids of tasks, with their titles."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import click
from click.shell_completion import CompletionItem

OFFERED: Final = 50


def task_ids(ctx: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Ids that begin like this, what needs a person first. Whatever goes wrong, a shell is offered nothing."""
    try:
        return _found(_store(ctx), begun, already=ctx.params.get(parameter.name or "") or ())
    except Exception:
        return []


def _found(store: str | None, begun: str, already: tuple[str, ...]) -> list[CompletionItem]:
    from medbay.bay import open_bay
    from medbay.cli.text import clean
    from medbay.store.tasks import TaskFilter

    with open_bay(store, cwd=Path(os.getcwd()), create=False) as bay:
        if begun:
            found = [bay.get(each) for each in bay.ids_like(begun, OFFERED)]
        else:
            found = bay.select(TaskFilter(only_open=True, order="need", limit=OFFERED))
    return [
        CompletionItem(task.id, help=clean(f"{task.status}  {task.title}")) for task in found if task.id not in already
    ]


def _store(ctx: click.Context) -> str | None:
    """What `--store` said, before or after the name of the command."""
    from medbay.cli.session import Session

    session = ctx.find_object(Session)
    return session.store if session else None
