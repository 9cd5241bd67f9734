"""`medbay policy simulate`: synthetic fleets under the policy in force, another one, and the defaults of others."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from medbay.cli import score_table
from medbay.cli.output import BOLD, note, print_json, say, screen
from medbay.cli.session import Session, json_option, pass_session
from medbay.errors import NotFound, UsageError

if TYPE_CHECKING:
    from medbay.sim.comparison import ComparedFleet, Ours

OURS: Final = "medbay"
TOTAL: Final = "all"


@click.command("simulate")
@click.option("--scenario", metavar="NAME", help="One fleet only; all of them if not said.")
@click.option(
    "--seeds", type=click.IntRange(1, 1000), default=5, show_default=True, metavar="N", help="Nights of each."
)
@click.option("--policy", "file", metavar="FILE", help="A medbay.toml with another policy, beside the one in force.")
@json_option
@pass_session
def command(session: Session, scenario: str | None, seeds: int, file: str | None) -> None:
    """Run synthetic fleets through a night of trouble, under the policy in force, another one, and those of others.

    \b
    Examples:
      medbay policy simulate
      medbay policy simulate --scenario outage --policy patient.toml
    """
    from medbay.sim import comparison
    from medbay.sim.fleets import SCENARIOS

    if scenario is not None and scenario not in SCENARIOS:
        raise UsageError(f'there is no scenario "{scenario}"', hint=f"choose one of: {', '.join(SCENARIOS)}")
    chosen = [SCENARIOS[scenario]] if scenario is not None else list(SCENARIOS.values())
    results = comparison.compare(chosen, range(1, seeds + 1), _ours(session, file))
    if len(chosen) > 1:
        results[TOTAL] = comparison.total(results)
    stories = {each.name: f"{each.story} ({each.source})" for each in chosen}
    if session.json:
        print_json({"seeds": seeds, "scenarios": [_as_json(name, stories, each) for name, each in results.items()]})
        return
    for name, each in results.items():
        _print(name, stories.get(name, "every fleet; times are those of the slowest"), each)
    note("medbay ran in the real engine on virtual time, the others in a plain queue with the same slots and fates")
    note("right: healed, or with a person where nothing could heal it; times are from ready to done")


def _ours(session: Session, file: str | None) -> Mapping[str, Ours]:
    """The policy in force here (without a store: the shipped one), and the one of a file."""
    import os

    from medbay import app
    from medbay.config import load as configuration
    from medbay.sim.comparison import Ours

    try:
        config = session.place().config
    except NotFound:
        config = configuration.load(None, os.environ, {})
    found = {OURS: Ours(policy=app.policy_of(config), limits=config.limits)}
    if file is not None:
        other = configuration.load(Path(file), {}, {})
        found[file] = Ours(policy=app.policy_of(other), limits=other.limits)
    return found


def _print(name: str, story: str, results: Mapping[str, ComparedFleet]) -> None:
    shown = screen()
    if shown.terminal:
        say(shown.paint(name, BOLD) + shown.plain(f"  {story}"))
    scores = {each: result.score for each, result in results.items()}
    right = {each: str(result.right) for each, result in results.items()}
    score_table.print_scores(scores, within="" if shown.terminal else name, more=("right", right))


def _as_json(name: str, stories: Mapping[str, str], results: Mapping[str, ComparedFleet]) -> dict[str, object]:
    from medbay.sim.comparison import beats

    ours = results[OURS]
    rows = [
        {
            **score_table.as_json(each, result.score),
            "right": result.right,
            "beaten": None if each == OURS else beats(ours, result),
        }
        for each, result in results.items()
    ]
    return {"scenario": name, "story": stories.get(name, ""), "policies": rows}
