"""`medbay completion`: the script a shell needs, and what it offers: commands, options, ids, and words of the store.

Whatever goes wrong, a shell is offered nothing: an error would end up in the line that is being typed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from click.shell_completion import CompletionItem

from medbay.cli.output import note, say

if TYPE_CHECKING:
    from medbay.bay import Bay

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
_EXAMINED: Final = 1_000  # tasks whose tags are offered
_STATUSES: Final = "pending in_progress pending_verification failed blocked completed cancelled".split()


def task_ids(ctx: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Ids that begin like this, what needs a person first."""
    already = ctx.params.get(parameter.name or "") or ()
    return _from_store(ctx, lambda bay: _tasks(bay, begun, already=already))


def statuses(ctx: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """The words for a status; after a comma the next one."""
    before, comma, last = begun.rpartition(",")
    return _items((before + comma + each for each in _STATUSES if each.startswith(last)), begun)


def tags(ctx: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """The tags of the tasks."""
    from medbay.store.tasks import TaskFilter

    wanted = TaskFilter(limit=_EXAMINED)
    return _from_store(
        ctx, lambda bay: _items(sorted({tag for task in bay.select(wanted) for tag in task.tags}), begun)
    )


def agents(ctx: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """The agents that the configuration names."""
    return _from_store(ctx, lambda bay: _items(sorted(bay.profiles), begun))


def categories(ctx: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """The categories of a failure; after the slash their subcategories."""
    from medbay.core.diagnosis import CATEGORIES
    from medbay.core.diagnosis.consequences import CONSEQUENCES

    return _items((sorted(CONSEQUENCES) if "/" in begun else CATEGORIES), begun)


def answers(ctx: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """The options of the question that is being answered."""

    def found(bay: Bay) -> list[CompletionItem]:
        given = str(ctx.params.get("task_id") or "")
        names = {given, *bay.ids_like(given, 2)}
        asked = next(each for each in bay.inbox() if each.id == given or names & set(each.task_ids))
        offers = [CompletionItem(str(at), help=option.label) for at, option in enumerate(asked.options, 1)]
        return [each for each in offers if each.value.startswith(begun)]

    return _from_store(ctx, found)


def _from_store(ctx: click.Context, find: Callable[[Bay], list[CompletionItem]]) -> list[CompletionItem]:
    try:
        from medbay.bay import open_bay

        with open_bay(_store(ctx), cwd=Path(os.getcwd()), create=False) as bay:
            return find(bay)
    except Exception:
        return []


def _items(words: Iterable[str], begun: str) -> list[CompletionItem]:
    return [CompletionItem(each) for each in words if each.startswith(begun)][:OFFERED]


def _tasks(bay: Bay, begun: str, already: tuple[str, ...]) -> list[CompletionItem]:
    from medbay.store.tasks import TaskFilter
    from medbay.views.text import clean

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
