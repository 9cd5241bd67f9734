"""`medbay cache`: what is kept of the context of prompts, in three tiers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from medbay.cli.output import fields, note, print_json, say, screen
from medbay.cli.session import Session, json_option, pass_session, refuse_inside_attempts
from medbay.cli.table import aligned
from medbay.views import moments
from medbay.views.text import clean

if TYPE_CHECKING:
    from medbay.integrations.context_cache import ContextCache


@click.group()
def command() -> None:
    """Show or clear the context that is kept for prompts: static for 24h, domain for 4h, session for 30m."""


@command.command("show")
@json_option
@pass_session
def show(session: Session) -> None:
    """Show what is kept: tier, name, size, how long it still lasts, how often it was used.

    \b
    Example:
      medbay cache show
    """
    from medbay.env import SystemClock

    found, now = _cache(session).entries(), SystemClock().now_ms()
    if session.json:
        print_json(
            [
                {
                    "tier": each.tier,
                    "name": each.name,
                    "hash": each.hash,
                    "size": each.size,
                    "hits": each.hits,
                    "made_at": moments.iso(each.made_at),
                    "lasts_until": moments.iso(each.lasts_until()),
                    "expired": each.lasts_until() <= now,
                }
                for each in found
            ]
        )
        return
    rows = []
    for each in found:
        left = each.lasts_until() - now
        lasts = f"{moments.short(left)} left" if left > 0 else "expired"
        row = (each.tier, f"{each.size} B", lasts, f"{each.hits} hits", each.hash[:12], clean(each.name))
        rows.append(row)
        if not screen().terminal:
            fields(*row)
    for line in aligned(rows) if screen().terminal else ():
        say(line)
    if not found:
        note("nothing is kept; the phases of stories fill it")


@command.command("clear")
@click.argument("tier", required=False, type=click.Choice(["static", "domain", "session"]))
@json_option
@pass_session
def clear(session: Session, tier: str | None) -> None:
    """Remove one TIER, or everything; it is made again when it is needed.

    \b
    Example:
      medbay cache clear session
    """
    refuse_inside_attempts("medbay cache clear")
    gone = _cache(session).clear(tier)  # type: ignore[arg-type]
    if session.json:
        print_json({"removed": gone})
    else:
        say(f"{gone} {'entry' if gone == 1 else 'entries'} removed")


def _cache(session: Session) -> ContextCache:
    from medbay.integrations.context_cache import ContextCache

    return ContextCache(session.place().folder / "cache")
