"""Other ways to retry, as data, and a plain queue that follows one: so many slots, one schedule, no breakers.

They are told everything that happens and understand as much of it as their makers built in: most of them nothing.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from medbay.core.diagnosis import Diagnosis
from medbay.core.policy.presets import LADDER
from medbay.core.policy.replay import Played
from medbay.env import Random, seeded
from medbay.sim.fleets import NIGHT_MS, SLOTS, Fleet, Job
from medbay.sim.plan import DAY, HOUR, MINUTE, SECOND

EVERY: Final = "every failure"


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """How long before each retry, and how many there are."""

    first_ms: int = 0
    multiplier: float = 1.0
    cap_ms: int = DAY
    listed_ms: tuple[int, ...] = ()  # instead of the three above; the last one repeats
    retries: int | None = None  # None: for ever
    full_jitter: bool = False  # anything between nothing and the wait

    def before(self, retry: int, rng: Random) -> int | None:
        """The wait before this retry, counted from 1; None when there is none."""
        if self.retries is not None and retry > self.retries:
            return None
        if self.listed_ms:
            wait = self.listed_ms[min(retry, len(self.listed_ms)) - 1]
        else:
            wait = round(min(self.cap_ms, self.first_ms * self.multiplier ** min(retry - 1, 60)))
        return rng.randint(0, wait) if self.full_jitter else wait


@dataclass(frozen=True, slots=True, kw_only=True)
class Rival:
    """A way to retry: by the class or category of a failure, else for every failure the same."""

    name: str
    source: str
    waits: Mapping[str, Waits]

    def waits_for(self, found: Diagnosis) -> Waits:
        """What it does about this failure."""
        return self.waits.get(found.kind) or self.waits.get(found.category) or self.waits[EVERY]


_NONE = Waits(retries=0)
RIVALS: Final[Sequence[Rival]] = (
    Rival(
        name="celery",
        source="Celery: autoretry_for with the defaults max_retries=3, default_retry_delay=180",
        waits={EVERY: Waits(first_ms=180 * SECOND, retries=3)},
    ),
    Rival(
        name="celery backoff",
        source="Celery: retry_backoff=True, that is 1s doubling to retry_backoff_max=600, full jitter, max_retries=3",
        waits={EVERY: Waits(first_ms=SECOND, multiplier=2, cap_ms=600 * SECOND, retries=3, full_jitter=True)},
    ),
    Rival(
        name="temporal",
        source="Temporal, activities: 1s, coefficient 2, at most 100 times that, unlimited attempts",
        waits={EVERY: Waits(first_ms=SECOND, multiplier=2, cap_ms=100 * SECOND)},
    ),
    Rival(
        name="airflow",
        source="Airflow: default_task_retries=0",
        waits={EVERY: _NONE},
    ),
    Rival(
        name="airflow retries=3",
        source="Airflow: retries=3 with the default retry_delay of 5 minutes",
        waits={EVERY: Waits(first_ms=5 * MINUTE, retries=3)},
    ),
    Rival(
        name="old cooldown",
        source="an older schedule: 60s doubling to 10 minutes, 5 retries, whatever failed",
        waits={EVERY: Waits(first_ms=MINUTE, multiplier=2, cap_ms=10 * MINUTE, retries=5)},
    ),
    Rival(
        name="old ladder",
        source="the lists of the ladder alone: every failure counts, the fourth goes to a person",
        waits={name: Waits(listed_ms=each.delays_ms, retries=3) for name, each in LADDER.items()},
    ),
    Rival(
        name="old tiers",
        source="30m, 2h, then a person; what is not understood at once",
        waits={"unknown": _NONE, EVERY: Waits(listed_ms=(30 * MINUTE, 2 * HOUR), retries=2)},
    ),
    Rival(
        name="old recurring",
        source="a period of one minute doubling to 24 hours, for ever",
        waits={EVERY: Waits(first_ms=2 * MINUTE, multiplier=2, cap_ms=DAY)},
    ),
    Rival(
        name="old phase",
        source="a service that is down 3 times from 5s to 60s, a start that failed once after 2s, nothing else",
        waits={
            "transient": Waits(first_ms=5 * SECOND, multiplier=2, cap_ms=60 * SECOND, retries=3),
            "transient/spawn": Waits(first_ms=2 * SECOND, retries=1),
            EVERY: _NONE,
        },
    ),
)


@dataclass(slots=True)
class _Task:
    job: Job
    failures: int = 0


def play(rival: Rival, fleet: Fleet, seed: int, diagnosed: Mapping[str, Diagnosis]) -> tuple[dict[str, Played], int]:
    """A night of a fleet under a plain queue; whatever is given up is a person's matter, each by itself."""
    ready = [(job.arrives_ms, number, _Task(job)) for number, job in enumerate(fleet.jobs.values())]
    heapq.heapify(ready)
    free = [0] * SLOTS  # when each slot is free
    played: dict[str, Played] = {}
    while ready:
        at, number, task = heapq.heappop(ready)
        start = max(at, heapq.heappop(free))
        job = task.job
        if start >= NIGHT_MS:
            heapq.heappush(free, start)
            played[job.id] = Played(end="open", wasted=task.failures, tokens=task.failures * job.group.tokens)
            continue
        fate = fleet.fate(job.command, job.id, task.failures + 1, start)
        ended = start + fate.after_ms
        heapq.heappush(free, ended)
        if fate.kind == "success":
            tokens = task.failures * job.group.tokens
            lasted = ended - job.arrives_ms
            played[job.id] = Played(end="healed", wasted=task.failures, tokens=tokens, heal_ms=lasted)
            continue
        task.failures += 1
        rng = seeded(f"{rival.name}/{seed}/{job.id}/{task.failures}")
        wait = rival.waits_for(diagnosed[fate.kind]).before(task.failures, rng)
        if wait is None:
            tokens = task.failures * job.group.tokens
            played[job.id] = Played(end="blocked", wasted=task.failures, tokens=tokens, person=job.id)
        else:
            heapq.heappush(ready, (ended + wait, number, task))
    return played, sum(each.person is not None for each in played.values())
