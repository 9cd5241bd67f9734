"""The agency breaker: triage agents and evaluators that fail again and again are not asked for a while."""

from __future__ import annotations

from typing import Final, Literal

from msgspec.structs import replace

from medbay.core.decision import WorkingSet
from medbay.core.holds import breaker
from medbay.core.holds.breaker import Breaker
from medbay.core.holds.incident import Fed, save

KEY: Final = "agency"
_EVER_MS: Final = 1 << 52  # failures in a row, however far apart

Lets = Literal["all", "one", "none"]


def lets(state: Breaker | None) -> Lets:
    """How many triages may start now; half open it lets one through at a time."""
    if state is None or state.state == "closed":
        return "all"
    return "one" if state.state == "half_open" and state.canary_task is None else "none"


def sent(state: Breaker, triage_id: str) -> Breaker:
    """The one that is let through; however long it takes, its end says how it went."""
    return replace(state, canary_task=triage_id, canary_number=1, probe_at=None)


def ran(work: WorkingSet, known: Breaker | None, now: int, *, well: bool, by: str, why: str, failures: int) -> Fed:
    """A triage or an evaluation ended, well or badly; `known` is the breaker as it is stored, closed or not."""
    before = work.breakers.get(KEY) or work.counted.get(KEY) or known
    if before is not None and before.state != "closed":
        if before.canary_task != by:  # begun before it opened
            return Fed(work=work)
        after = breaker.canary_lived(before, now) if well else breaker.canary_met_it(before, now, named=None, why=why)
        return save(work, before, after)
    if well:
        if before is None or not before.data.get("times"):
            return Fed(work=work)
        after = replace(before, data={**before.data, "times": []})
    else:
        after = breaker.strike(before, KEY, "agency", now, why=why, failures=failures, window_ms=_EVER_MS)
    fed = save(work, before, after)
    stored = replace(after, version=(before.version if before else 0) + 1)
    return replace(fed, work=replace(fed.work, counted={**work.counted, KEY: stored}))


def gone(work: WorkingSet, known: Breaker | None, now: int, *, by: str) -> Fed:
    """A triage ended without saying anything of the agent: where it was the one let through, the next one may."""
    before = work.breakers.get(KEY) or known
    if before is None or before.state == "closed" or before.canary_task != by:
        return Fed(work=work)
    return save(work, before, breaker.send_canary(before, None, now))
