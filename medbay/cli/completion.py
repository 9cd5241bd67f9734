"""`medbay completion`: the script a shell needs, and what it is offered: commands, options, the ids of tasks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import click
from click.shell_completion import CompletionItem

from medbay.cli.output import note, say

_HOW = {
    "bash": 'eval "$(medbay completion bash)"   in ~/.bashrc',
    "zsh": 'eval "$(medbay completion zsh)"   in ~/.zshrc',
    "fish": "medbay completion fish > ~/.config/fish/completions/medbay.fish",
}


@click.command()
@click.argument("shell", type=click.Choice(list(_HOW)))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the completion script for bash, zsh or fish.

    \b
    Example:
      eval "$(medbay completion bash)"
    """
    from click.shell_completion import get_completion_class

    made = get_completion_class(shell)
    assert made is not None
    say(made(ctx.find_root().command, {}, "medbay", "_MEDBAY_COMPLETE").source())
    note(f"to use it: {_HOW[shell]}")


OFFERED: Final = 50


def task_ids(ctx: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Ids that begin like this, what needs a person first. Whatever goes wrong, a shell is offered nothing."""
    try:
        return _found(_store(ctx), begun, already=ctx.params.get(parameter.name or "") or ())
    except Exception:
        return []


def _found(store: str | None, begun: str, already: tuple[str, ...]) -> list[CompletionItem]:
    from medbay.bay import open_bay
    from medbay.store.tasks import TaskFilter
    from medbay.views.text import clean

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
