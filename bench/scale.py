"""An hour of a large fleet on virtual time: what the model of docs/explanation/scale.md predicts, and what was counted.

100,000 tasks that recur every hour on this machine, and 2,000 agents that work all the time at a place elsewhere; one
engine, one SQLite store. A twentieth of the recurring work asks to be tried again, a tenth of the agents fails once.
"""

from __future__ import annotations

import math
import random
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from bench.virtual import CLUSTER, SECOND, Day
from medbay.core.outcome import Failed, Outcome, Output, Requeued, Succeeded
from medbay.env import Ids
from medbay.places.protocol import Launch
from medbay.service import additions, requests
from medbay.store.database import Store
from medbay.store.sqlite import SqliteStore
from tests.worlds import ManualClock

RECURRING = 100_000
AGENTS = 2_000
SMALLER = (20, 5)  # the model's costs are measured on fleets so much smaller
HOUR_S = 3_600
RUNS_S = 3.0  # of a recurring task
AGENT_S = (900.0, 1_500.0)  # least and most, evenly spread
ASKS_AGAIN = 0.05
AGENT_FAILS = 0.1
WAITS = "30s"
SLOTS = 256
BATCH = 10_000
SEED = 23


@dataclass(frozen=True, slots=True, kw_only=True)
class Hour:
    """What came of one."""

    attempts: int
    rounds: int
    most_live: int
    watched: int
    cpu_s: float
    wall_s: float
    bytes: int


def measure(recurring: int = RECURRING, agents: int = AGENTS) -> list[str]:
    """Two small hours tell the costs, the model what they become, and the large hour whether that is so."""
    small, larger = (live_through(recurring // each, agents // each) for each in SMALLER)
    attempts, watched = predicted_attempts(recurring, agents), predicted_watched(agents)
    an_attempt_s, a_look_s = _costs(small, larger)
    cpu_s = an_attempt_s * attempts + a_look_s * watched
    kept = larger.bytes / larger.attempts * attempts
    found = live_through(recurring, agents)
    return [
        f"{recurring:,} hourly tasks and {agents:,} agents for an hour: predicted {attempts:,.0f} attempts,"
        f" counted {found.attempts:,} ({found.attempts / attempts - 1:+.1%})",
        f"live at once: predicted {predicted_live(recurring, agents):,.0f} at most, counted {found.most_live:,}",
        f"looks at one that runs: predicted {watched:,.0f}, counted {found.watched:,};"
        f" {an_attempt_s * 1000:.2f} ms of CPU for an attempt, {a_look_s * 1e6:.1f} us for a look",
        f"processor time: predicted {cpu_s:.0f} s, counted {found.cpu_s:.0f} s in {found.rounds:,} rounds, which is"
        f" {found.cpu_s / found.attempts * 1000:.2f} ms an attempt and {found.cpu_s / HOUR_S:.1%} of one processor",
        f"store: predicted {kept / 1e6:,.0f} MB more, counted {found.bytes / 1e6:,.0f} MB;"
        f" the hour took {found.wall_s:.0f} s",
    ]


def _costs(one: Hour, other: Hour) -> tuple[float, float]:
    """What an attempt costs, and one look at one that runs: what both fleets took, solved for these two."""
    of_all = one.attempts * other.watched - other.attempts * one.watched
    an_attempt_s = (one.cpu_s * other.watched - other.cpu_s * one.watched) / of_all
    return an_attempt_s, (other.cpu_s - an_attempt_s * other.attempts) / other.watched


def predicted_attempts(recurring: int, agents: int) -> float:
    """Each task until it does not ask again; each agent as often as one ends within an hour, and the ones that run."""
    least, most = AGENT_S
    mean, variance = (least + most) / 2, (most - least) ** 2 / 12
    ended = HOUR_S / mean + (variance - mean**2) / (2 * mean**2)  # of one agent slot, which begins empty
    return recurring / (1 - ASKS_AGAIN) + agents * (ended + 1)


def predicted_watched(agents: int) -> float:
    """Every agent is looked at in every round; there is one in each second in which an agent ends."""
    ending = agents / (sum(AGENT_S) / 2)  # a second
    return agents * HOUR_S * (1 - math.exp(-ending))


def predicted_live(recurring: int, agents: int) -> float:
    """All agents, and of what comes due in one minute as much as there are slots."""
    return agents + min(SLOTS, math.ceil(recurring / 60))


def live_through(recurring: int, agents: int) -> Hour:
    """Let an hour pass."""
    chance = random.Random(SEED)
    clock = ManualClock()
    with tempfile.TemporaryDirectory(prefix="medbay-bench-") as name:
        path = Path(name) / "bench.db"
        store = SqliteStore(path, clock, new_store_id="bench", machine_id="bench")
        day = Day(store, clock, lambda launch: _end(launch, chance), slots=SLOTS, there=agents, root=Path(name))
        _add(store, recurring, agents)
        day.start()
        size, began = _size(store), time.perf_counter()
        day.pass_until(clock.wall_ms + HOUR_S * SECOND)
        wall_s = time.perf_counter() - began
        hour = Hour(
            attempts=day.site.started,
            rounds=day.ticks,
            most_live=day.most_live,
            watched=day.watched,
            cpu_s=day.cpu_s,
            wall_s=wall_s,
            bytes=_size(store) - size,
        )
        store.close()
    return hour


def _end(launch: Launch, chance: random.Random) -> tuple[Outcome, float]:
    if launch.place:
        lasts_s = chance.uniform(*AGENT_S)
        if launch.number == 1 and chance.random() < AGENT_FAILS:
            said = f"FAILED tests/test_{launch.task_id}.py::test_sum - AssertionError: assert 3 == 4\n"
            return Failed(output=Output(tail=said, total_bytes=len(said)), exit_code=1), lasts_s
        return Succeeded(output=Output(tail="done\n", total_bytes=5)), lasts_s
    if chance.random() < ASKS_AGAIN:
        return Requeued(asked=True, why="busy", retry_after=WAITS, exit_code=75), RUNS_S
    return Succeeded(output=Output(tail="done\n", total_bytes=5)), RUNS_S


def _add(store: Store, recurring: int, agents: int) -> None:
    """The recurring ones are spread over the minutes; of the agents' tasks there are always enough."""
    lines = [{"title": f"job {each}", "run": "job", "cron": f"{each % 60} * * * *"} for each in range(recurring)]
    lines += [{"title": f"agent {each}", "run": "agent", "place": CLUSTER} for each in range(agents * 6)]
    ids = Ids()
    for start in range(0, len(lines), BATCH):
        with store.write() as tx:
            news = [requests.new_task(line, now=tx.now) for line in lines[start : start + BATCH]]
            additions.add_many(tx, news, ids=ids, actor="bench")


def _size(store: SqliteStore) -> int:
    pages, size = (store._connection.execute(f"PRAGMA {word}").fetchone()[0] for word in ("page_count", "page_size"))
    return int(pages * size)
