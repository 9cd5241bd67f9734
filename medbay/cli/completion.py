"""`medbay completion`: the script a shell needs to complete commands and options."""

from __future__ import annotations

import click

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
