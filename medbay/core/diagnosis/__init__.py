"""Why a run failed, from its facts and its output. Pure: no IO, no clock, no randomness."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from medbay.core.diagnosis.record import CATEGORIES, Diagnosis, Location, Pattern, RunnerUp

__all__ = ["CATEGORIES", "Diagnosis", "Location", "Pattern", "RunnerUp", "diagnose"]


def diagnose(
    text: str | bytes,
    *,
    now: datetime,
    exit_code: int | None = None,
    signal: int | None = None,
    timed_out: bool = False,
    stalled: bool = False,
    memory_limit_hit: bool = False,
    cpu_limit_hit: bool = False,
    log_limit_hit: bool = False,
    spawn_error: str = "",
    runner: str | None = None,
    result: Mapping[str, object] | None = None,
) -> Diagnosis:
    """Why a run failed. `now` has its zone; `result` is what MEDBAY_RESULT or an exception said."""
    # The rules are loaded when something is first diagnosed: most commands never do.
    from medbay.core.diagnosis import engine

    return engine.diagnose(
        text,
        now=now,
        exit_code=exit_code,
        signal=signal,
        timed_out=timed_out,
        stalled=stalled,
        memory_limit_hit=memory_limit_hit,
        cpu_limit_hit=cpu_limit_hit,
        log_limit_hit=log_limit_hit,
        spawn_error=spawn_error,
        runner=runner,
        result=result,
    )
