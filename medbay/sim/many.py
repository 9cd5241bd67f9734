"""Many seeds: run, summed up, and described in words or as JSON. The exit code says whether every promise held."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from medbay.env import SystemClock
from medbay.sim.plan import DAY, draw
from medbay.sim.world import OpenStore, Report, World

DEFAULT_SEEDS: Final = 20
EXIT_BROKEN: Final = 1


@dataclass(slots=True)
class Summary:
    """What a number of worlds came to."""

    seeds: int = 0
    tasks: int = 0
    attempts: int = 0
    crashes: int = 0
    virtual_ms: int = 0
    task_days: float = 0.0
    seconds: float = 0.0
    failures: tuple[int, ...] = ()
    faults: Counter[str] = field(default_factory=Counter)  # of second places

    def add(self, report: Report) -> None:
        """Count one more world."""
        self.seeds += 1
        self.tasks += report.tasks
        self.attempts += report.attempts
        self.crashes += report.crashes
        self.virtual_ms += report.virtual_ms
        self.task_days += report.tasks * report.virtual_ms / DAY
        self.faults.update(report.faults)
        if report.broken is not None:
            self.failures += (report.seed,)

    def facts(self) -> dict[str, Any]:
        """The figures, for programs."""
        seconds = max(self.seconds, 0.001)
        return {
            "seeds": self.seeds,
            "tasks": self.tasks,
            "attempts": self.attempts,
            "crashes": self.crashes,
            "virtual_days": round(self.virtual_ms / DAY, 1),
            "seconds": round(self.seconds, 1),
            "attempts_per_second": round(self.attempts / seconds),
            "task_days_per_second": round(self.task_days / seconds, 1),
            "faults_elsewhere": dict(sorted(self.faults.items())),
            "failures": list(self.failures),
        }


def run_seed(
    seed: int,
    *,
    days: float | None = None,
    tasks: int | None = None,
    places: bool = True,
    open_store: OpenStore | None = None,
) -> Report:
    """One world, from nothing to its end; on a store in memory, unless another is given."""
    return World(draw(seed, days=days, tasks=tasks, places=places), open_store).run()


def simulate(
    seeds: Iterable[int],
    *,
    days: float | None = None,
    tasks: int | None = None,
    jobs: int = 1,
    as_json: bool = False,
    say: Callable[[str], None] = print,
) -> int:
    """Run the seeds, print what broke and the figures; the exit code."""
    clock = SystemClock()
    began_s = clock.monotonic_s()
    summary = Summary()
    broken = []
    for report in _reports(seeds, partial(run_seed, days=days, tasks=tasks), jobs):
        summary.add(report)
        if report.broken is not None:
            broken.append(report)
            if not as_json:
                say(described(report, days=days, tasks=tasks))
    summary.seconds = clock.monotonic_s() - began_s
    if as_json:
        facts = {**summary.facts(), "broken": [_as_json(report) for report in broken]}
        say(json.dumps(facts, indent=2))
    else:
        say(_in_words(summary))
    return EXIT_BROKEN if summary.failures else 0


def described(report: Report, *, days: float | None = None, tasks: int | None = None) -> str:
    """A broken promise: what, when, what led to it, and how to see it again."""
    again = f"medbay simulate --seed {report.seed}"
    again += f" --days {days:g}" if days is not None else ""
    again += f" --tasks {tasks}" if tasks is not None else ""
    lines = [
        f"seed {report.seed}, step {report.steps}, after {report.virtual_ms / 1000:.3f} s: {report.broken}",
        *report.last_lines,
        f"again: {again}",
    ]
    return "\n".join(lines) + "\n"


def _reports(seeds: Iterable[int], run: Callable[[int], Report], jobs: int) -> Iterator[Report]:
    if jobs <= 1:
        yield from map(run, seeds)
        return
    with ProcessPoolExecutor(max_workers=jobs) as pool:
        yield from pool.map(run, seeds)


def _in_words(summary: Summary) -> str:
    facts = summary.facts()
    held = f"{len(summary.failures)} broke a promise: {', '.join(map(str, summary.failures))}"
    return (
        f"{facts['seeds']} seeds, {facts['tasks']} tasks, {facts['attempts']} attempts, {facts['crashes']} crashes, "
        f"{facts['virtual_days']} virtual days in {facts['seconds']} s "
        f"({facts['attempts_per_second']} attempts/s, {facts['task_days_per_second']} task-days/s)\n"
        + _faults_in_words(summary)
        + (held if summary.failures else "every promise held")
    )


def _faults_in_words(summary: Summary) -> str:
    """What went wrong at the second places, each with how often; nothing where no world had one."""
    met = ", ".join(f"{name} {number}" for name, number in sorted(summary.faults.items()))
    return f"elsewhere: {met}\n" if met else ""


def _as_json(report: Report) -> dict[str, Any]:
    return {
        "seed": report.seed,
        "step": report.steps,
        "virtual_ms": report.virtual_ms,
        "broken": report.broken,
        "digest": report.digest,
        "last_lines": list(report.last_lines),
    }
