"""`medbay serve`: the page and the API alone, on any store. `medbay web token`: who may open them."""

from __future__ import annotations

from dataclasses import replace

import click

from medbay.cli.output import fields, flush, note, print_json, say, screen
from medbay.cli.session import Session, json_option, pass_session, refuse_inside_attempts
from medbay.errors import UsageError


@click.command()
@click.option("--host", metavar="ADDRESS", help="Listen here instead of [web] host.")
@click.option("--port", type=click.IntRange(0, 65535), metavar="N", help="On this port instead of [web] port; 0: any.")
@click.option("--child", is_flag=True, hidden=True)
@pass_session
def command(session: Session, host: str | None, port: int | None, child: bool) -> None:
    """Serve the dashboard and the API of a store until stopped; work is done by `medbay up`, here or elsewhere.

    The link that is printed opens the page: it is for you alone.

    \b
    Examples:
      medbay serve
      medbay serve --store postgresql://db.example/medbay --port 9000
    """
    refuse_inside_attempts("medbay serve")
    from medbay.web.server import serve

    if host is not None and not host.strip():
        raise UsageError("the host is empty", hint="name an address like 127.0.0.1, or 0.0.0.0 for every one")
    place = session.place()
    web = place.config.web
    web = replace(web, host=host if host is not None else web.host, port=port if port is not None else web.port)
    place = replace(place, config=replace(place.config, web=web))

    def ready(link: str) -> None:
        say(f"the page: {link}   (Ctrl-C stops it)" if screen().terminal else link)
        flush()

    serve(place, ready=ready, child=child)


@click.group()
def web() -> None:
    """Say who may open the page: one token for each person, so that "who answered" is true."""


@web.group()
def token() -> None:
    """Add, list and remove the tokens of people."""


@token.command("add")
@click.argument("name", metavar="NAME")
@json_option
@pass_session
def add(session: Session, name: str) -> None:
    """Make a token for a person and print it: it is not shown again. An earlier one of theirs ends.

    \b
    Example:
      medbay web token add alice
    """
    refuse_inside_attempts("medbay web token")
    made = session.bay().tokens.add(name)
    if session.json:
        print_json({"name": name, "token": made})
        return
    say(made)
    note(f"for {name} alone: they open the page with #token={made} behind its address")


@token.command("list")
@json_option
@pass_session
def listed(session: Session) -> None:
    """List whose tokens there are."""
    from medbay.views import moments

    found = session.bay().tokens.every()
    if session.json:
        print_json([{"name": name, "added_at": moments.iso(at), "added_by": by} for name, at, by in found])
        return
    for name, at, by in found:
        fields(name, moments.iso(at), by)
    if not found:
        note("only the owner of this store has a token; medbay web token add NAME makes one")


@token.command("remove")
@click.argument("name", metavar="NAME")
@pass_session
def remove(session: Session, name: str) -> None:
    """Let a person's token open nothing any more."""
    refuse_inside_attempts("medbay web token")
    session.bay().tokens.remove(name)
    say(f"the token of {name} opens nothing any more")
