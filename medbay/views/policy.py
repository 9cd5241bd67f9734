"""What a policy does, would do or has learned: scores, forecasts and learned delays, in words and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from medbay.core.durations import format_duration
from medbay.core.policy.forecast import Forecast
from medbay.core.policy.learning import Band, Choice, Learned
from medbay.core.policy.replay import PolicyScore
from medbay.views import moments

SCORE_HEAD: Final = ("policy", "tasks", "healed", "blocked", "open", "wasted", "tokens", "median", "p95", "people")


def score_cells(each: PolicyScore) -> tuple[str, ...]:
    """Return the figures of one policy; a time is from the first failure to success."""
    counted = (each.tasks, each.healed, each.blocked, each.open, each.wasted)
    tokens = f"{each.tokens:,}" if each.tokens else "-"
    return (*map(str, counted), tokens, _time(each.median_ms), _time(each.p95_ms), str(each.people))


def score_as_json(name: str, each: PolicyScore) -> dict[str, Any]:
    """Return the score of one policy as data."""
    return {
        "policy": name,
        "tasks": each.tasks,
        "healed": each.healed,
        "blocked": each.blocked,
        "open": each.open,
        "attempts_wasted": each.wasted,
        "tokens_wasted": each.tokens,
        "median_heal_s": moments.seconds(each.median_ms),
        "p95_heal_s": moments.seconds(each.p95_ms),
        "people_called": each.people,
    }


def forecast_as_json(each: Forecast) -> dict[str, Any]:
    """Return one decision to come as data, as `policy dry-run` prints it."""
    step = each.step
    return {
        "attempt": each.attempt,
        "at": moments.iso(each.at),
        "action": step.action,
        "why": step.why,
        "delay_s": moments.seconds(step.delay_ms),
        "due_at": moments.iso(step.due_at),
        "block_kind": step.block_kind,
        "guidance": step.guidance.text if step.guidance else None,
    }


def decision(each: Forecast, now_ms: int) -> str:
    """Return one decision to come in words."""
    step = each.step
    if step.due_at is None:
        return f"{step.action.replace('_', ' ')} (blocked · {step.block_kind})"
    wait = format_duration(step.due_at - each.at)
    return f"{step.action.replace('_', ' ')} after {wait}, {moments.clock(step.due_at, now_ms)}"


def learned_as_json(learned: Learned, choices: Sequence[Choice]) -> dict[str, Any]:
    """Return what was learned of one class of failures as data."""
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


def record(learned: Learned) -> str:
    """Return how many retries there were, and how many succeeded."""
    share = f" ({learned.well / learned.tries:.0%})"
    return f"{learned.tries} {'retry' if learned.tries == 1 else 'retries'}, {learned.well} succeeded{share}"


def span(band: Band) -> str:
    """Return the waits of a band: `1s to 5s`."""
    low, high = format_duration(band.low_ms), format_duration(band.high_ms)
    return low if low == high else f"{low} to {high}"


def share(band: Band) -> str:
    """Return how many succeeded; where neighbours were pooled, what is believed instead."""
    said = f"{band.well / band.tries:.0%} succeeded"
    if not band.decides:
        return f"{said}, too few to decide anything"
    pooled = abs(band.share - band.well / band.tries) >= 0.005
    return said + (f", taken as {band.share:.0%}" if pooled else "")


def delay(choice: Choice) -> str:
    """Return a scheduled delay and what was learned instead: `1m → 30s`, `1m stays`."""
    scheduled = format_duration(choice.scheduled_ms)
    return f"{scheduled} → {format_duration(choice.delay_ms)}" if choice.differs else f"{scheduled} stays"


def _time(ms: int | None) -> str:
    return "-" if ms is None else format_duration(ms)
