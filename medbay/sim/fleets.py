"""Synthetic fleets as data: what fails in them, for how long, and where those durations come from.

Every run of a task has the same fate under every policy: it depends on the seed, the task, the number of the attempt
and the moment, never on who asks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from medbay.core.triage import rules_agent
from medbay.env import seeded
from medbay.sim.plan import HOUR, SECOND
from medbay.sim.scripts import ENDINGS, PROGRAM, PROVIDER, Fate

Range = tuple[float, float]  # of seconds, drawn evenly
NIGHT_MS: Final = 24 * HOUR
SLOTS: Final = 8
TRIAGE_TAKES_MS: Final = 200


@dataclass(frozen=True, slots=True)
class Down:
    """One outage or limit for all of them: what is called then fails. Limits name the time of their end."""

    how: str  # of `scripts.ENDINGS`
    begins_s: Range
    lasts_s: Range


@dataclass(frozen=True, slots=True)
class Chance:
    """Each run fails with the task's own chance, whenever it is tried."""

    how: str
    share: Range


@dataclass(frozen=True, slots=True)
class Hopeless:
    """It never succeeds until a person acts."""

    hows: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Tasks of one kind."""

    name: str
    tasks: int
    trouble: Down | Chance | Hopeless
    runs_s: Range  # a run that succeeds
    fails_s: Range  # a run until it fails
    tokens: int = 0  # that a failed run has used


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A fleet, and over how long its tasks arrive."""

    name: str
    story: str
    source: str  # where the durations come from
    arrives_s: float
    groups: tuple[Group, ...]


_BLIP = Down("network", (60, 300), (60, 120))
_OUTAGE = Down("network", (300, 900), (25 * 60, 3 * 3600))
_LIMIT = Down("held", (600, 1800), (3600, 5 * 3600))
_THROTTLED = Down("limit_unnamed", (60, 300), (60, 900))
_FLAKY = Chance("test", (0.05, 0.5))
_POISON = Hopeless(("code", "test", "auth", "missing"))

_FINE = Group(name="fine", tasks=40, trouble=Chance("test", (0, 0)), runs_s=(60, 300), fails_s=(1, 1))
_JOBS = Group(name="jobs", tasks=60, trouble=_BLIP, runs_s=(5, 60), fails_s=(1, 10))
_TESTS = Group(name="tests", tasks=60, trouble=_FLAKY, runs_s=(60, 300), fails_s=(30, 240))
_BROKEN = Group(name="broken", tasks=20, trouble=_POISON, runs_s=(60, 300), fails_s=(20, 240), tokens=60_000)
_AGENTS = Group(name="agents", tasks=60, trouble=_LIMIT, runs_s=(300, 1200), fails_s=(5, 40), tokens=15_000)

SCENARIOS: Final[Mapping[str, Scenario]] = {
    each.name: each
    for each in (
        Scenario(
            name="blip",
            story="a database fails over while short jobs use it",
            source="Amazon RDS: a failover of a Multi-AZ instance typically takes 60 to 120 seconds",
            arrives_s=600,
            groups=(_JOBS,),
        ),
        Scenario(
            name="outage",
            story="a service that every job needs is down for half an hour to three hours",
            source="public incident reports of large clouds: most last between half an hour and a few hours",
            arrives_s=3600,
            groups=(Group(name="jobs", tasks=80, trouble=_OUTAGE, runs_s=(10, 120), fails_s=(1, 15)),),
        ),
        Scenario(
            name="limit",
            story="agents meet a usage limit of their account, which says when it ends",
            source="Claude: usage limits of a session reset after five hours; the message names the time",
            arrives_s=3600,
            groups=(_AGENTS,),
        ),
        Scenario(
            name="throttled",
            story="an interface answers 429 for some minutes and names no time",
            source="limits per minute, met again by every task that waits for them",
            arrives_s=600,
            groups=(Group(name="calls", tasks=60, trouble=_THROTTLED, runs_s=(2, 30), fails_s=(1, 3)),),
        ),
        Scenario(
            name="flaky",
            story="tests that fail by chance, whenever they are run: the best wait is none",
            source="Google (2016): 16 % of tests are flaky to some degree; here only those are run",
            arrives_s=1800,
            groups=(_TESTS,),
        ),
        Scenario(
            name="poison",
            story="broken code, refused keys and missing commands among work that is fine",
            source="nothing heals by itself: each has to reach a person, with as little wasted as possible",
            arrives_s=3600,
            groups=(_BROKEN, _FINE),
        ),
        Scenario(
            name="night",
            story="all of it in one night, on the same slots",
            source="the groups of the other scenarios, together",
            arrives_s=2 * 3600,
            groups=(
                Group(name="jobs", tasks=40, trouble=_OUTAGE, runs_s=(10, 120), fails_s=(1, 15)),
                Group(name="agents", tasks=30, trouble=_LIMIT, runs_s=(300, 1200), fails_s=(5, 40), tokens=15_000),
                Group(name="tests", tasks=30, trouble=_FLAKY, runs_s=(60, 300), fails_s=(30, 240)),
                Group(name="broken", tasks=10, trouble=_POISON, runs_s=(60, 300), fails_s=(20, 240), tokens=60_000),
            ),
        ),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One task of a fleet."""

    id: str
    group: Group
    arrives_ms: int
    window: tuple[int, int]  # in which what it needs is down
    share: float  # of its runs that fail by chance
    how: str

    @property
    def healable(self) -> bool:
        """Whether waiting and trying again can succeed."""
        return not isinstance(self.group.trouble, Hopeless)

    @property
    def command(self) -> tuple[str, ...]:
        """What it runs: no two run the same."""
        return (PROGRAM, self.group.name, self.id)

    @property
    def resources(self) -> tuple[str, ...]:
        """The account it says it uses."""
        return (f"provider:{PROVIDER}",) if self.how == "held" else ()


class Fleet:
    """The tasks of one scenario and seed, and the fate of each of their attempts."""

    def __init__(self, scenario: Scenario, seed: int) -> None:
        self._name = f"{scenario.name}/{seed}"
        self.jobs: dict[str, Job] = {}
        for group in scenario.groups:
            for job in _jobs(self._name, group, round(scenario.arrives_s * SECOND)):
                self.jobs[job.id] = job

    def fate(self, command: tuple[str, ...], task_id: str, number: int, at_ms: int) -> Fate:
        """What attempt `number` does when it starts now; the command says whose it is."""
        job = self.jobs[command[2]]
        rng = seeded(f"{self._name}/{job.id}/{number}")
        chance, runs_ms = rng.random(), _drawn(rng.random(), job.group.runs_s)
        fails_ms = _drawn(rng.random(), job.group.fails_s)
        begins, ends = job.window
        fails_at = at_ms + fails_ms
        if not job.healable or chance < job.share or begins <= fails_at < ends:
            named = -(-(ends - fails_at) // SECOND) if ENDINGS[job.how].names_s else None
            return Fate(job.how, fails_ms, named_s=named)
        return Fate("success", runs_ms)

    def triage_fate(self, task_id: str, number: int, asked: str) -> Fate:
        """The agent that is always there, asked in earnest."""
        return Fate("success", TRIAGE_TAKES_MS, answer=json.dumps(rules_agent.judge(json.loads(asked))))


def _jobs(name: str, group: Group, arrives_ms: int) -> list[Job]:
    rng = seeded(f"{name}/{group.name}")
    trouble, window = group.trouble, (0, 0)
    if isinstance(trouble, Down):
        begins = _drawn(rng.random(), trouble.begins_s)
        window = (begins, begins + _drawn(rng.random(), trouble.lasts_s))
    return [
        Job(
            id=f"{group.name}-{number}",
            group=group,
            arrives_ms=round(rng.random() * arrives_ms),
            window=window,
            share=_within(rng.random(), trouble.share) if isinstance(trouble, Chance) else 0.0,
            how=trouble.hows[number % len(trouble.hows)] if isinstance(trouble, Hopeless) else trouble.how,
        )
        for number in range(group.tasks)
    ]


def _drawn(fraction: float, seconds: Range) -> int:
    return max(1, round(_within(fraction, seconds) * SECOND))


def _within(fraction: float, limits: Range) -> float:
    low, high = limits
    return low + (high - low) * fraction
