"""Plays one scenario on one database, lets the checker look, and says in one line what was done and proved."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from chaos.checker import PROMISES, check, resumed_ms, taken_over_ms, working_again_ms
from chaos.disks import CannotMount, mounted
from chaos.evidence import Evidence, gather
from chaos.scenarios import Scenario, Setting
from chaos.world import FED, GaveUp, World, new_home
from tests.postgres_server import Server

SMALL_DISK: Final = "size=24m"


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """How a scenario went."""

    scenario: str
    database: str
    seed: int
    home: Path
    done: str = ""
    facts: str = ""
    broken: tuple[str, ...] = ()

    def line(self) -> str:
        """One line; with the evidence below it when a promise broke."""
        head = f"{self.database:8} {self.scenario:16} {self.done}"
        if not self.broken:
            return f"{head}; {self.facts}" if self.facts else head
        again = f"again: python -m chaos --scenario {self.scenario} --database {self.database} --seed {self.seed}"
        kept = f"kept: {self.home}"
        return "\n".join([f"{head}: BROKEN", *(f"  {each}" for each in self.broken), f"  {kept}", f"  {again}"])


def play(scenario: Scenario, database: str, *, kills: int, seed: int, fed: int = FED, keep: bool = False) -> Told:
    """One scenario from an empty store to the proof."""
    home = new_home()
    told = Told(scenario=scenario.name, database=database, seed=seed, home=home)
    begun = time.monotonic()
    with ExitStack() as ends:
        server = ends.enter_context(_server()) if database == "postgres" else None
        try:
            (home / ".medbay").mkdir()
            if scenario.small_disk:
                ends.enter_context(mounted(home / ".medbay", SMALL_DISK))
            url = server.url() if server else None
            budget = scenario.crash_budget
            world = World(home, seed=seed, url=url, options=scenario.options, crash_budget=budget, fed=fed)
            ends.callback(world.close)
            done = scenario.play(world, Setting(size=max(1, round(kills * scenario.share)), server=server))
            found = gather(world)
            facts = _facts(found, time.monotonic() - begun)
            told = replace(told, done=done, facts=facts, broken=(*check(found), *scenario.expect(found)))
        except CannotMount as error:
            told = replace(told, done=f"SKIPPED: cannot mount a file system here ({error})")
        except GaveUp as error:
            told = replace(told, done="it went nowhere", broken=(str(error),))
    if not told.broken and not keep:
        shutil.rmtree(home)
    return told


@contextmanager
def _server() -> Iterator[Server]:
    server = Server()
    try:
        yield server
    finally:
        server.stop()


def _facts(found: Evidence, seconds: float) -> str:
    rows = [each for attempts in found.attempts.values() for each in attempts]
    ended = Counter(str(each.outcome) for each in rows)
    outcomes = ", ".join(f"{count} {word}" for word, count in ended.most_common())
    parts = [
        f"{len(found.acknowledged)} tasks acknowledged, {len(rows)} attempts ({outcomes})",
        f"{len(PROMISES)} promises held",
        f"{seconds:.0f} s",
    ]
    if found.kills:
        parts.append(f"a killed daemon was given up after {_spread(taken_over_ms(found))}")
        parts.append(f"the next start after a kill came after {_spread(working_again_ms(found))}")
    parts.append(f"a daemon's first claim after {_spread(resumed_ms(found))}")
    return "; ".join(parts)


def _spread(times_ms: Sequence[int]) -> str:
    if not times_ms:
        return "never"
    ordered = sorted(times_ms)
    middle, most = ordered[len(ordered) // 2], ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
    return f"{middle} ms (99 %: {most}, longest {ordered[-1]}, of {len(ordered)})"
