"""A month of work that never happened: the real engine over a clock of its own, with jobs that fail as jobs do.

What comes out is an ordinary store: nightly jobs, agents, outages, limits, questions that people answered hours later.
The page is looked at on it, and its figures are measured on many copies of it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.virtual import Attempt
from medbay.app import StoreLocation
from medbay.bay import Bay
from medbay.core.outcome import Failed, Outcome, Output, Succeeded
from medbay.core.policy.policy import Policy
from medbay.engine.round import Engine
from medbay.places.protocol import Identity, Launch
from medbay.service import waking
from tests.worlds import ManualClock, World

SECOND: Final = 1_000
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR
SLOTS: Final = 6
STEP_MAX: Final = 20 * MINUTE
WATCHED: Final = 12 * HOUR  # the imitated engine counts as alive for so long after the month

# What a job prints when it fails, and how likely the next attempt fails the same way.
NETWORK: Final = ("curl: (6) Could not resolve host: rates.example.org\nfetch of page 41 failed", 0.35)
LIMIT: Final = ("HTTP 429 Too Many Requests\nRetry-After: 120\npage 17 of 60", 0.3)
SERVICE: Final = ("upstream answered 503 Service Unavailable\ngiving up after 3 tries", 0.45)
TESTS: Final = (
    "tests/test_login.py::test_expiry FAILED\nAssertionError: assert 59 == 60\n=== 1 failed, 41 passed in 12.2s ===",
    0.6,
)
MEMORY: Final = ("java.lang.OutOfMemoryError: Java heap space\n\tat com.example.Rank.sort(Rank.java:88)", 0.7)
MISSING: Final = ("./render.sh: line 4: pandoc: command not found", 1.0)
TOKEN: Final = ("remote: refusing to allow a token without the scope `workflow`\nerror: failed to push some refs", 1.0)
CODE: Final = (
    "Traceback (most recent call last):\n  File \"export.py\", line 88, in main\nKeyError: 'currency'",
    0.9,
)
DISK: Final = ("pg_dump: error: could not write to file: No space left on device", 0.8)


@dataclass(frozen=True, slots=True)
class Job:
    """Work of one kind: how long it takes, how often its first attempt fails, and how."""

    title: str
    minutes: float
    fails: float = 0.0
    failure: tuple[str, float] = NETWORK
    tags: tuple[str, ...] = ()
    cron: str = ""
    agent: str = ""
    zone: str = ""


RECURRING: Final = (
    Job("nightly pull of rates", 7, 0.3, NETWORK, ("nightly",), cron="0 3 * * *", zone="America/New_York"),
    Job("backup of the database", 14, 0.08, DISK, ("nightly", "backup"), cron="30 2 * * *"),
    Job("hourly metrics export", 2, 0.07, SERVICE, ("metrics",), cron="5 * * * *"),
    Job("refresh of the search index", 22, 0.12, MEMORY, ("nightly",), cron="15 4 * * 1-5"),
    Job("report to the board", 3, 0.2, LIMIT, ("weekly",), cron="0 7 * * 1"),
)
ONCE: Final = (
    Job("refactor the login", 24, 0.4, TESTS, ("auth",), agent="claude"),
    Job("translate the handbook", 31, 0.2, LIMIT, ("docs",), agent="claude"),
    Job("write tests for billing", 18, 0.35, TESTS, ("billing",), agent="codex"),
    Job("pull customers of a region", 5, 0.35, NETWORK, ("import",)),
    Job("import of prices", 9, 0.25, SERVICE, ("import", "prices")),
    Job("resize pictures", 4, 0.05, MEMORY, ("media",)),
    Job("export of the ledger", 6, 0.1, CODE, ("billing",)),
    Job("render the manual", 2, 0.06, MISSING, ("docs",)),
    Job("deploy the docs", 3, 0.08, TOKEN, ("docs", "deploy")),
    Job("train the ranking", 55, 0.2, MEMORY, ("ml",)),
)
PLACES: Final = ("Europe", "Asia", "Oceania", "Africa", "the north", "the south")


class LoggedAttempt(Attempt):
    """One that has written its log when it ends."""

    def __init__(self, outcome: Outcome, ends_s: float, path: Path, log: str) -> None:
        super().__init__(outcome, ends_s)
        self.identity = Identity(pid=4242, pid_start=1, group=4242)
        self._path, self._log = path, log

    def poll(self, monotonic_s: float) -> Outcome | None:
        """How it ended, once it has."""
        ended = super().poll(monotonic_s)
        if ended is not None:
            self._path.write_text(self._log, encoding="utf-8")
        return ended


class Runner:
    """Runs the jobs: it writes their logs, and draws how each attempt ends."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self.jobs: dict[str, Job] = {}
        self.away = False  # a provider everybody needs

    def start(self, launch: Launch, monotonic_s: float) -> LoggedAttempt:
        """Decide now how it will end, and when."""
        rng, job = self._rng, self.jobs[launch.task_id]
        text, again = job.failure
        failing = rng.random() < (job.fails if launch.number == 1 else again)
        if self.away and job.agent:
            failing, text = True, "API Error: 529 overloaded_error: Overloaded"
        minutes = job.minutes * rng.uniform(0.4, 1.8) * (rng.uniform(0.1, 0.9) if failing else 1)
        lines = [f"{job.title}: step {step} of 40 done" for step in range(1, 41)]
        log = "\n".join(lines[: rng.randrange(3, 39)] + [text] if failing else [*lines, "done"]) + "\n"
        path = Path(launch.log_path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines[:3]) + "\n", encoding="utf-8")  # so far; the rest when it has ended
        result = {"usage": {"tokens": rng.randrange(8_000, 90_000), "cost": round(rng.uniform(0.04, 0.9), 3)}}
        output = Output(tail=log, total_bytes=len(log), log_path=launch.log_path, result=result if job.agent else None)
        outcome = Failed(output=output, exit_code=1) if failing else Succeeded(output=output)
        return LoggedAttempt(outcome, monotonic_s + minutes * 60, path, log)


class Month:
    """A store while its month passes."""

    def __init__(self, place: StoreLocation, *, until: int, days: int, seed: int = 7) -> None:
        self.rng = random.Random(seed)
        self.until = until
        self.clock = ManualClock()
        self.clock.wall_ms = until - days * DAY
        self.bay = Bay(place, clock=self.clock, actor="person:ada")
        self.runner = Runner(self.rng)
        self._world = World(self.bay.store, self.clock, policy=Policy(), root=place.folder)
        runners = dict.fromkeys(("shell", "agent"), self.runner)
        self.engine: Engine = self._world.engine(slots=SLOTS, runners=runners, lease_ms=4 * STEP_MAX)
        self._later: list[tuple[int, int, Callable[[], object]]] = []
        self._numbers: Iterator[int] = iter(range(1_000_000))

    def at(self, when: int, act: Callable[[], object]) -> None:
        """Let something happen at a moment."""
        self._later.append((when, next(self._numbers), act))
        self._later.sort(key=lambda each: each[:2])

    def add(self, job: Job, title: str, **options: object) -> str:
        """Add the work of one job."""
        work = {"agent": job.agent} if job.agent else {"run": title}
        task = self.bay.add(title, tag=list(job.tags), **work, **options)  # type: ignore[arg-type]
        self.runner.jobs[task.id] = job
        return task.id

    def run(self) -> None:
        """Let the month pass."""
        self.engine.start()
        while self.clock.wall_ms < self.until:
            due = [each for each in self._later if each[0] <= self.clock.wall_ms]
            del self._later[: len(due)]
            for _, _, act in due:
                act()
            self.engine.lease.beat(self.bay.store)
            self.engine.tick()
            self._pass()

    def _pass(self) -> None:
        """Go on to the next moment at which something happens; what an engine looks for every second is not there."""
        ends = [each.running.deadline_s() for each in self.engine.live.values()]
        left = min([STEP_MAX, *(round((end - self.clock.seconds) * 1000) for end in ends if end is not None)])
        with self.bay.store.read() as tx:
            due = waking.next_at(tx)
        left = max(SECOND, left if due is None else min(left, due - self.clock.wall_ms))
        if self._later:
            left = min(left, max(SECOND, self._later[0][0] - self.clock.wall_ms))
        self.clock.advance(min(left, STEP_MAX, self.until - self.clock.wall_ms))


def pass_month(place: StoreLocation, *, until: int, days: int = 30, per_day: int = 9, seed: int = 7) -> None:
    """Fill a new store with so many days of work that end at a moment."""
    month = Month(place, until=until, days=days, seed=seed)
    try:
        _plan(month, days, per_day)
        month.run()
        with month.bay.store.write() as tx:
            tx.execute("UPDATE worker SET lease_until = ? WHERE stopped_at IS NULL", (until + WATCHED,))
    finally:
        month.bay.close()


def _plan(month: Month, days: int, per_day: int) -> None:
    begin, rng = month.until - days * DAY, month.rng
    for job in RECURRING:
        month.add(job, job.title, cron=job.cron, **({"zone": job.zone} if job.zone else {}))
    for day in range(days):
        for _ in range(per_day):
            when = begin + day * DAY + round(rng.triangular(0, DAY, 0.6 * DAY))
            job = rng.choice(ONCE)
            month.at(when, lambda job=job: month.add(job, f"{job.title}, {rng.choice(PLACES)}"))  # type: ignore[misc]
        for hour in (9, 14, 20):
            month.at(begin + day * DAY + hour * HOUR, lambda: _answer(month))
    for fraction in (0.3, 0.62, 0.985):
        outage = begin + round(days * DAY * fraction)
        month.at(outage, lambda: setattr(month.runner, "away", True))
        month.at(outage + 2 * HOUR, lambda: setattr(month.runner, "away", False))
    _plan_end(month)


def _plan_end(month: Month) -> None:
    """The last hours have something of everything, and room is left: not every slot is taken."""
    until = month.until
    for minutes, job, title in (
        (190, ONCE[8], "deploy the docs"),
        (150, ONCE[7], "render the manual for print"),
        (34, ONCE[0], "refactor the login, step 2"),
        (21, ONCE[9], "train the ranking on the new prices"),
    ):
        sure = Job(job.title, 55, 1.0 if minutes > 100 else 0.0, job.failure, job.tags, agent=job.agent)
        month.at(until - minutes * MINUTE, lambda job=sure, title=title: month.add(job, title))  # type: ignore[misc]
    chain = Job("release 4.2", 50, tags=("release",))

    def release() -> None:
        built = month.add(chain, "build release 4.2")
        checked = month.add(chain, "check release 4.2", after=[built])
        for name in ("Debian", "macOS", "Windows"):
            month.add(chain, f"publish release 4.2 for {name}", after=[checked])

    month.at(until - 12 * MINUTE, release)
    limited = Job("import of prices", 1, 1.0, LIMIT, ("import", "prices"))
    month.at(until - 4 * MINUTE, lambda: month.add(limited, "import of prices, Asia"))
    month.at(until - 3 * MINUTE, lambda: month.bay.open_breaker("anthropic", why="usage limit", until=until + 2 * HOUR))


def _answer(month: Month) -> None:
    """Somebody looks at the inbox and answers most of it."""
    for question in month.bay.inbox():
        if month.rng.random() < 0.8:
            month.bay.actor = f"person:{month.rng.choice(('ada', 'grace', 'linus'))}"
            month.bay.answer(question.id, "default")
    month.bay.actor = "person:ada"
