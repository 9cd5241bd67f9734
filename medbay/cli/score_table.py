"""The table by which policies are compared: for people, for programs, as data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from medbay.cli.output import BOLD, fields, say, screen
from medbay.cli.table import aligned
from medbay.cli.text import clean, cut
from medbay.core.durations import format_duration

if TYPE_CHECKING:
    from medbay.core.policy.replay import PolicyScore

_HEAD: Final = ("policy", "tasks", "healed", "blocked", "open", "wasted", "tokens", "median", "p95", "people")


def print_scores(
    scores: Mapping[str, PolicyScore], *, within: str = "", more: tuple[str, Mapping[str, str]] = ("", {})
) -> None:
    """A line per policy; with a head where people read it. `more` is a last column by policy."""
    shown = screen()
    rows = [(name, *cells(each), *((more[1][name],) if more[0] else ())) for name, each in scores.items()]
    if not shown.terminal:
        for row in rows:
            fields(*((within,) if within else ()), *row)
        return
    head, *lines = aligned([(*_HEAD, *((more[0],) if more[0] else ())), *((clean(row[0]), *row[1:]) for row in rows)])
    say(shown.paint(cut(head, shown.width), BOLD))
    for line in lines:
        say(shown.plain(cut(line, shown.width)))


def cells(each: PolicyScore) -> tuple[str, ...]:
    """The figures of one policy; a time is from the first failure to success."""
    counted = (each.tasks, each.healed, each.blocked, each.open, each.wasted)
    tokens = f"{each.tokens:,}" if each.tokens else "-"
    return (*map(str, counted), tokens, _time(each.median_ms), _time(each.p95_ms), str(each.people))


def as_json(name: str, each: PolicyScore) -> dict[str, Any]:
    """The same as data."""
    return {
        "policy": name,
        "tasks": each.tasks,
        "healed": each.healed,
        "blocked": each.blocked,
        "open": each.open,
        "attempts_wasted": each.wasted,
        "tokens_wasted": each.tokens,
        "median_heal_s": None if each.median_ms is None else each.median_ms / 1000,
        "p95_heal_s": None if each.p95_ms is None else each.p95_ms / 1000,
        "people_called": each.people,
    }


def _time(ms: int | None) -> str:
    return "-" if ms is None else format_duration(ms)
