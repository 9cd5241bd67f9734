"""`medbay policy replay`: what another policy would have done with the failures that are recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from medbay.cli import score_table
from medbay.cli.output import note, print_json
from medbay.cli.session import Session, json_option, pass_session
from medbay.core.durations import parse_duration
from medbay.errors import NotFound, UsageError

IN_FORCE: Final = "in force"
MODEL: Final = (
    "An attempt is assumed to fail until the moment one succeeded, and to succeed from then on.",
    "What a person ended is assumed to last until a person is asked.",
    "Free slots, breakers and learned delays are left out.",
)


@click.command("replay")
@click.option("--policy", "file", metavar="FILE", help="A medbay.toml with the other policy.")
@click.option("--since", default="30d", show_default=True, metavar="D", help="How far back.")
@json_option
@pass_session
def command(session: Session, file: str | None, since: str) -> None:
    """Replay the recorded failures: as they went, under the policy in force, and under another.

    \b
    Examples:
      medbay policy replay --policy patient.toml
      medbay policy replay --since 7d
    """
    from medbay import app
    from medbay.config import load as configuration

    since_ms = parse_duration(since)
    if since_ms == 0:
        raise UsageError("--since 0s leaves nothing to replay", hint="write it like 30d")
    if file is not None and not Path(file).exists():
        raise NotFound(f"there is no file {file}", hint="name a medbay.toml")
    bay = session.bay()
    policies = {IN_FORCE: bay.policy}
    if file is not None:
        policies[file] = app.policy_of(configuration.load(Path(file), {}, {}))
    scores = bay.replay(policies, since_ms=since_ms)
    guessed = {name: each.guessed for name, each in scores.items()}
    if session.json:
        rows = [{**score_table.as_json(name, each), "attempts_guessed": each.guessed} for name, each in scores.items()]
        print_json({"since": since, "assumed": list(MODEL), "policies": rows})
        return
    score_table.print_scores(scores)
    for line in MODEL:
        note(line)
    if any(guessed.values()):
        told = ", ".join(f"{name} {count}" for name, count in guessed.items() if count)
        note(f"attempts that only this assumption decides: {told}")
