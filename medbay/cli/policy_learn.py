"""`medbay policy learn`: which delays the recorded retries speak for, and why; nothing is changed by looking."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from medbay.cli.output import BOLD, fields, note, print_json, say, screen
from medbay.cli.session import Session, json_option, pass_session
from medbay.cli.table import aligned
from medbay.cli.text import clean, cut
from medbay.core.durations import format_duration

if TYPE_CHECKING:
    from medbay.core.policy.learning import Band, Choice, Learned
    from medbay.core.policy.policy import Policy


@click.command("learn")
@json_option
@pass_session
def command(session: Session) -> None:
    """Show which delays would be learned from the retries so far, and from what.

    With `adaptive = true` in [policy] they are used; without it this only looks.

    \b
    Example:
      medbay policy learn
    """
    bay = session.bay()
    found = [(each, _choices(each, bay.policy)) for each in bay.learned()]
    if session.json:
        print_json({"adaptive": bay.policy.adaptive, "classes": [_as_json(*each) for each in found]})
        return
    if screen().terminal:
        _for_people(found)
    else:
        _for_programs(found)
    if not found:
        note("no retry has ended yet: there is nothing to learn from")
    elif bay.policy.adaptive:
        note("adaptive delays are on: new retries wait as chosen here")
    else:
        note("adaptive delays are off: nothing here is used until adaptive = true stands in [policy]")


def _choices(learned: Learned, policy: Policy) -> list[Choice]:
    from medbay.core.policy import learning
    from medbay.core.policy.policy import schedule_of

    return [learning.choose(learned, scheduled) for scheduled in schedule_of(learned.kind, policy)]


def _for_people(found: list[tuple[Learned, list[Choice]]]) -> None:
    shown = screen()
    for learned, choices in found:
        say(shown.paint(clean(learned.kind), BOLD) + shown.plain(f"   {_history(learned)}"))
        if not learned.enough:
            say(shown.plain(cut(f"  as scheduled: {choices[0].why}", shown.width)))
            continue
        bands = [(f"waited {_span(band)}", f"{band.tries} tried", _share(band)) for band in learned.bands]
        rows = [(_told(choice), clean(choice.why)) for choice in choices]
        for line in (*aligned(bands, indent=2), *aligned(rows, indent=2)):
            say(shown.plain(cut(line, shown.width)))


def _for_programs(found: list[tuple[Learned, list[Choice]]]) -> None:
    for learned, choices in found:
        fields("class", learned.kind, learned.tries, learned.well, "enough" if learned.enough else "too few")
        for band in learned.bands:
            spread = (band.low_ms / 1000, band.high_ms / 1000, band.tries, band.well, f"{band.share:.3f}")
            fields("waited", learned.kind, *spread)
        for choice in choices:
            fields("delay", learned.kind, choice.scheduled_ms / 1000, choice.delay_ms / 1000, choice.why)


def _history(learned: Learned) -> str:
    share = f" ({learned.well / learned.tries:.0%})"
    return f"{learned.tries} {'retry' if learned.tries == 1 else 'retries'}, {learned.well} ended well{share}"


def _span(band: Band) -> str:
    low, high = format_duration(band.low_ms), format_duration(band.high_ms)
    return low if low == high else f"{low} to {high}"


def _share(band: Band) -> str:
    """How many ended well; where neighbours were pooled, what is believed instead."""
    said = f"{band.well / band.tries:.0%} ended well"
    if not band.decides:
        return f"{said}, too few to decide anything"
    pooled = abs(band.share - band.well / band.tries) >= 0.005
    return said + (f", taken as {band.share:.0%}" if pooled else "")


def _told(choice: Choice) -> str:
    scheduled = format_duration(choice.scheduled_ms)
    return f"{scheduled} → {format_duration(choice.delay_ms)}" if choice.differs else f"{scheduled} stays"


def _as_json(learned: Learned, choices: list[Choice]) -> dict[str, Any]:
    return {
        "class": learned.kind,
        "retries": learned.tries,
        "ended_well": learned.well,
        "enough": learned.enough,
        "bands": [
            {
                "from_s": band.low_ms / 1000,
                "to_s": band.high_ms / 1000,
                "typical_s": band.typical_ms / 1000,
                "tried": band.tries,
                "ended_well": band.well,
                "share": round(band.share, 3),
                "decides": band.decides,
            }
            for band in learned.bands
        ],
        "delays": [
            {
                "scheduled_s": choice.scheduled_ms / 1000,
                "chosen_s": choice.delay_ms / 1000,
                "differs": choice.differs,
                "why": choice.why,
            }
            for choice in choices
        ],
    }
