"""`medbay help`: one command in detail, or every command by section."""

from __future__ import annotations

import click

from medbay.cli.commands import TABLE
from medbay.cli.complaint import unknown
from medbay.cli.output import say


@click.command()
@click.argument("words", nargs=-1, metavar="[COMMAND]...")
@click.option("--all", "everything", is_flag=True, help="List every command by section.")
@click.pass_context
def command(ctx: click.Context, words: tuple[str, ...], everything: bool) -> None:
    """Explain a command, or list every command.

    \b
    Examples:
      medbay help add
      medbay help breaker open
      medbay help --all
    """
    root = ctx.find_root()
    if everything:
        say(_all_commands(root))
        return
    say(_found(root, words).get_help())


def _all_commands(root: click.Context) -> str:
    formatter = root.make_formatter()
    for section in dict.fromkeys(entry.section for entry in TABLE):
        with formatter.section(section):
            formatter.write_dl([(entry.name.ljust(11), entry.help) for entry in TABLE if entry.section == section])
    return formatter.getvalue().strip("\n")


def _found(root: click.Context, words: tuple[str, ...]) -> click.Context:
    """The context of the command that is named; its help has its whole name in the first line."""
    at = root
    for word in words:
        group = at.command
        if not isinstance(group, click.Group):
            raise unknown("command", f"{at.info_name} {word}", (), otherwise=f"medbay help {at.info_name}")
        below = group.resolve_command(at, [word])[1] if at is root else group.get_command(at, word)
        if below is None:
            names = group.list_commands(at)
            raise unknown("command", word, names, otherwise=f"there are {', '.join(names)}")
        at = click.Context(below, info_name=word, parent=at)
    return at
