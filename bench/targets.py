"""What each scenario has to reach: a figure of its own, or so many times the best peer measured beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One row of the table of bars. With `of_best` it is that many times the best peer, or the one that is named."""

    scenario: str
    store: str
    figure: str  # a path of names in the result, between dots
    what: str
    unit: str = ""
    at_least: float | None = None
    at_most: float | None = None
    of_best: float | None = None
    peer: str = ""
    peer_figure: str = ""  # where peers have it, if elsewhere


def _backlog(scenario: str) -> tuple[Target, ...]:
    bars = (
        ("first_due_latency_s", "first of 1,000 due", " s", 0.5),
        ("all_due_done_s", "all of 1,000 due", " s", 2.0),
        ("mem_without_warm.pss_mb", "memory, no warm workers", " MB", 80.0),
        ("idle_cpu_pct", "idle CPU", " %", 0.5),
    )
    return tuple(
        Target(scenario=scenario, store="sqlite", figure=figure, what=what, unit=unit, at_most=most)
        for figure, what, unit, most in bars
    )


def _beside(scenario: str, figure: str, what: str, peer: str, times: float) -> Target:
    return Target(scenario=scenario, store="sqlite", figure=figure, what=what, unit="/s", of_best=times, peer=peer)


SUCCESS_MS, FAILURE_MS = 0.25, 0.6  # of CPU in the engine


def _of_engine() -> tuple[Target, ...]:
    bars = (
        ("A", "engine CPU, a success", SUCCESS_MS),
        ("B", "engine CPU, two failures, done", 2 * FAILURE_MS + SUCCESS_MS),
    )
    return tuple(
        Target(scenario=scenario, store="sqlite", figure="engine_cpu_ms_per_task", what=what, unit=" ms", at_most=most)
        for scenario, what, most in bars
    )


def _on_postgres(scenario: str, figure: str, what: str) -> Target:
    return Target(scenario=scenario, store="postgres", figure=figure, what=what, unit="/s", of_best=1.5)


TARGETS: tuple[Target, ...] = (
    _beside("A", "drain_per_s", "no-op drained", "huey-sqlite", 1.3),
    _beside("A", "enqueue_per_s", "single adds", "huey-sqlite", 0.9),
    Target(scenario="A", store="sqlite", figure="bulk_per_s", what="bulk adds", unit="/s", at_least=20_000),
    _beside("B", "e2e_per_s", "two failures, then done", "huey-sqlite", 1.5),
    _beside("B", "e2e_per_s", "two failures, then done", "huey-redis", 1.1),
    Target(scenario="C", store="sqlite", figure="of_spawn", what="/bin/true, of a bare spawn", at_least=0.85),
    _beside("C", "drain_per_s", "/bin/true drained", "huey-redis", 0.9),
    *_backlog("D"),
    *_backlog("D1M"),
    *_of_engine(),
    Target(scenario="E", store="sqlite", figure="not_done_after_restart", what="lost by kill -9", at_most=0),
    Target(scenario="E", store="sqlite", figure="recorded_done_again", what="done, and done again", at_most=0),
    Target(scenario="F", store="sqlite", figure="help_s", what="--help", unit=" s", at_most=0.1),
    Target(scenario="F", store="sqlite", figure="list_s", what="list, 100,000 tasks", unit=" s", at_most=0.25),
    Target(scenario="F", store="sqlite", figure="idle_daemon.rss_mb", what="idle daemon", unit=" MB", at_most=60),
    _on_postgres("A", "drain_per_s", "no-op drained"),
    _on_postgres("B", "e2e_per_s", "two failures, then done"),
    _on_postgres("C", "drain_per_s", "/bin/true drained"),
    Target(scenario="W", store="postgres", figure="two_of_one", what="two engines, of one", at_least=1.0),
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A target beside what was measured."""

    target: Target
    measured: float | None
    bar: float | None  # None where the peers it is compared with were not measured
    best_peer: str = ""

    @property
    def met(self) -> bool | None:
        """Whether it is; None where nothing can be said."""
        if self.measured is None or self.bar is None:
            return None
        return self.measured <= self.bar if self.target.at_most is not None else self.measured >= self.bar


def value(result: Mapping[str, Any], path: str) -> float | None:
    """A figure of a result: the median where there were several runs."""
    found: Any = result
    for name in path.split("."):
        found = found.get(name) if isinstance(found, Mapping) else None
    if isinstance(found, Mapping):
        found = found.get("median")
    return float(found) if isinstance(found, int | float) else None


def verdicts(ours: Sequence[Mapping[str, Any]], peers: Iterable[Mapping[str, Any]] = ()) -> list[Verdict]:
    """Every target that something was measured for."""
    results = {(each["scenario"], each["store"]): each for each in ours}
    others = list(peers)
    return [
        _judged(target, results[key], others)
        for target in TARGETS
        if (key := (target.scenario, target.store)) in results
    ]


def _judged(target: Target, result: Mapping[str, Any], peers: list[Mapping[str, Any]]) -> Verdict:
    measured = value(result, target.figure)
    if target.of_best is None:
        return Verdict(target, measured, target.at_most if target.at_most is not None else target.at_least)
    rivals = [
        (found, str(each["peer"]))
        for each in peers
        if each["scenario"] == target.scenario
        and each.get("store", "sqlite") == target.store
        and target.peer in ("", each["peer"])
        and (found := value(each, target.peer_figure or target.figure)) is not None
    ]
    if not rivals:
        return Verdict(target, measured, None)
    best, name = max(rivals)
    return Verdict(target, measured, target.of_best * best, name)


def table(found: Iterable[Verdict]) -> list[str]:
    """For people: what, how much, the bar, whether it is met."""
    words = {True: "met", False: "MISSED", None: "-"}
    lines = [f"{'':4}{'store':9}{'what':30}{'measured':>12}  {'bar':24}"]
    for each in found:
        target = each.target
        measured = "-" if each.measured is None else f"{figure(each.measured)}{target.unit}"
        lines.append(
            f"{target.scenario:4}{target.store:9}{target.what:30}{measured:>12}  {bar_words(each):24}{words[each.met]}"
        )
    return lines


def figure(value: float, digits: int = 4) -> str:
    """So many digits, or all before the point: never a power of ten."""
    return f"{value:,.0f}" if value >= 10 ** (digits - 1) else f"{value:.{digits}g}"


def bar_words(verdict: Verdict) -> str:
    """The bar as a person says it."""
    target, bar = verdict.target, verdict.bar
    if target.of_best is not None:
        times = f"{target.of_best:g} x " if target.of_best != 1.0 else ""
        return f">= {times}{verdict.best_peer or target.peer or 'best peer'}" + (
            f" ({bar:,.4g})" if bar is not None else ""
        )
    sign = "<=" if target.at_most is not None else ">="
    return f"{sign} {bar:,g}{target.unit}"
