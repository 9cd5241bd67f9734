"""The scenarios by their letters, each on the databases it is measured on. One result is one JSON line."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from bench import backlog, cold, crash, throughput, workers
from bench.ground import STORES, Ground, settings

Result = dict[str, Any]
SQLITE = ("sqlite",)


@dataclass(frozen=True, slots=True)
class Scenario:
    """What it is, where it runs, and what measures it: (ground, store, runs, count)."""

    what: str
    stores: tuple[str, ...]
    measure: Callable[[Ground, str, int, int], Result]


def _throughput(letter: str) -> Callable[[Ground, str, int, int], Result]:
    return lambda ground, store, runs, count: throughput.measure(
        letter, partial(ground.site, store), runs=runs, count=count
    )


def _backlog(size: int) -> Callable[[Ground, str, int, int], Result]:
    return lambda ground, store, runs, count: backlog.measure(ground, store, count=size)


SCENARIOS: dict[str, Scenario] = {
    "A": Scenario("a durable function that does nothing", STORES, _throughput("A")),
    "B": Scenario("a function that fails twice and then succeeds, without delays", STORES, _throughput("B")),
    "C": Scenario("/bin/true, its output and exit code recorded", STORES, _throughput("C")),
    "D": Scenario("100,000 future tasks, 1,000 due", SQLITE, _backlog(0)),
    "D1M": Scenario("a million future tasks, 1,000 due", SQLITE, _backlog(1_000_000)),
    "E": Scenario(
        "kill -9 in the middle",
        SQLITE,
        lambda ground, store, runs, count: crash.measure(ground, store, runs=runs, count=count),
    ),
    "F": Scenario(
        "cold start and an idle daemon", SQLITE, lambda ground, store, runs, count: cold.measure(ground, store)
    ),
    "W": Scenario(
        "two engines against one, tasks that sleep 20 ms",
        ("postgres",),
        lambda ground, store, runs, count: workers.measure(ground, runs=runs, count=count),
    ),
}


def run(ground: Ground, letters: Sequence[str], stores: Sequence[str], *, runs: int, count: int) -> Iterator[Result]:
    """Measure one after the other; each result as it comes."""
    for letter in letters:
        for store in SCENARIOS[letter].stores:
            if store in stores:
                yield measure(ground, letter, store, runs=runs, count=count)


def measure(ground: Ground, letter: str, store: str, *, runs: int, count: int = 0) -> Result:
    """One scenario on one database."""
    load = round(os.getloadavg()[0], 1)
    head = {"peer": f"medbay-{store}", "scenario": letter, "store": store, "load1": load, "settings": settings(store)}
    try:
        return head | SCENARIOS[letter].measure(ground, store, runs, count)
    except throughput.Troubled as error:
        return head | {"failed": str(error)}
