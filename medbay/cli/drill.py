"""`medbay drill`: the promises, tried on this machine: what was promised, what was seen, PASS or FAIL."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from medbay.cli.output import note, print_json, say
from medbay.cli.session import Session, json_option, pass_session

FAILED = 1


@click.command()
@click.option("--only", multiple=True, metavar="NAME", help="Only this trial (repeatable).")
@json_option
@pass_session
def command(session: Session, only: tuple[str, ...]) -> int:
    """Let things go wrong on purpose, through the real commands, and see whether the promises hold.

    A refused port, a rate limit, a full disk, a hang, a memory limit, an outage, kill -9, a clock that jumps, a
    task that kills its engine, two daemons. Offline, in stores of its own, within two minutes; nothing is left behind.
    Exits 1 when a promise did not hold.

    \b
    Examples:
      medbay drill
      medbay drill --only "kill -9" --json
    """
    from medbay.drill import course

    verdicts = []
    for each in course.run(only, began=lambda name: note(f"{name} ...")):
        verdicts.append(each)
        if not session.json:
            say(f"{each.result}  {each.name}: {each.promised}")
            if each.seen:
                say(f"      seen: {each.seen}")
            if each.why:
                say(f"      {'why' if each.result == 'FAIL' else 'not tried'}: {each.why}")
    counts = {word: sum(each.result == word.upper() for each in verdicts) for word in ("pass", "fail", "skip")}
    if session.json:
        print_json({"lines": [_as_json(each) for each in verdicts], **counts})
    else:
        say(", ".join(f"{number} {word.upper()}" for word, number in counts.items() if number))
    return FAILED if counts["fail"] else 0


def _as_json(each: Any) -> dict[str, Any]:
    return {**asdict(each), "why": each.why or None, "seen": each.seen or None}
