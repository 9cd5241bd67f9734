"""`medbay mcp`: the same operations for agents and other clients, over the Model Context Protocol."""

from __future__ import annotations

from pathlib import Path

import click

from medbay.cli.output import note, print_json, say
from medbay.cli.session import Session, json_option, pass_session, refuse_inside_attempts
from medbay.errors import UsageError


@click.group(invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Serve Medbay's tools over stdio: add, list, show, log, explain, report, ask, note.

    A client starts it. Inside an attempt it talks to the engine with the attempt's token and sees its own task and
    what it creates; elsewhere it does what you may do.

    \b
    Examples:
      medbay mcp
      medbay mcp install claude
    """
    if ctx.invoked_subcommand is None:
        try:
            from medbay.mcp.server import serve
        except ImportError:
            raise UsageError("the SDK of the protocol is missing", hint="pip install 'medbay[mcp]'") from None
        session = ctx.ensure_object(Session)
        serve(session.store)


@command.command()
@click.argument("client", type=click.Choice(["claude", "codex"]))
@click.option("--user", "everywhere", is_flag=True, help="For all projects of this user, where the client has both.")
@json_option
@pass_session
def install(session: Session, client: str, everywhere: bool) -> None:
    """Write the server into the client's own configuration, beside everything that is there already.

    \b
    Example:
      medbay mcp install claude
    """
    from medbay.mcp import install as installing

    refuse_inside_attempts("medbay mcp install")
    path = installing.install(client, project=Path.cwd(), home=Path.home(), everywhere=everywhere)
    if session.json:
        print_json({"client": client, "path": str(path)})
        return
    say(str(path))
    note(f"{client} starts medbay mcp from now on")
