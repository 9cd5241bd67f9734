"""What simulated work does: how long each attempt takes, how it ends, and what it prints when it fails."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from medbay.core.outcome import Failed, Outcome, Output, Requeued, Succeeded
from medbay.env import Random, seeded
from medbay.sim.plan import MINUTE, SECOND, Plan

PROGRAM: Final = "sim"
NEVER_MS: Final = 1 << 50
SERVICES: Final = ("db", "api")
AGENT: Final = "agent:sim"
ELSEWHERE: Final = "cluster"  # the name of the second place
PROVIDER: Final = "anthropic"  # a service whose failures are limits of an account


@dataclass(frozen=True, slots=True)
class Ending:
    """One way to fail. `text` is what a program of that kind prints."""

    text: str
    exit_code: int | None = 1
    signal: int | None = None
    memory: bool = False
    names_s: tuple[int, ...] = ()  # times after which it says to try again


ENDINGS: Final[Mapping[str, Ending]] = {
    "network": Ending("Error: connect ECONNREFUSED 127.0.0.1:5432"),
    "test": Ending("FAILED tests/test_a.py::test_sum - AssertionError: 1 != 2"),
    "code": Ending('app.ts(45,12): error TS2304: Cannot find name "foo"', exit_code=2),
    "limit": Ending("HTTP 429 Too Many Requests\nRetry-After: {after}", names_s=(30, 120, 3600, 40_000)),
    "limit_unnamed": Ending("HTTP 429 Too Many Requests"),
    "held": Ending(
        "anthropic API error: HTTP 429 Too Many Requests\nRetry-After: {after}", names_s=(30, 600, 9_000, 40_000)
    ),
    "held_unnamed": Ending("anthropic API error: HTTP 429 Too Many Requests"),
    "spent": Ending("anthropic: insufficient_quota, your credit balance is too low"),
    "missing": Ending("bash: foo: command not found", exit_code=127),
    "auth": Ending("HTTP 401 Unauthorized"),
    "disk": Ending("OSError: [Errno 28] No space left on device"),
    "module": Ending("ModuleNotFoundError: No module named 'yaml'"),
    "lock": Ending("E: Could not get lock /var/lib/dpkg/lock-frontend"),
    "odd": Ending("it did not work", exit_code=3),
    "silent": Ending("", exit_code=1),
    "signal": Ending("", exit_code=None, signal=11),
    "memory": Ending("", exit_code=None, signal=9, memory=True),
    "again": Ending("not now", exit_code=75),
    "again_named": Ending("busy\nRetry-After: {after}", exit_code=75, names_s=(60, 900)),
}
MUTEXES: Final = ("database", "deploy", "disk")
FAILURES: Final = (*ENDINGS, "spawn", "hang")  # no binary at all; never ends by itself
HOPELESS: Final = ("test", "code", "missing", "auth", "module", "odd", "silent", "signal", "memory", "hang")
# A lock is tried once a minute, for days; an account whose limit always names a time is probed for ever.
STUBBORN: Final = tuple(kind for kind in FAILURES if kind not in ("lock", "held"))
_TRIAGES: Final = (*("success",) * 12, "odd", "silent", "signal", "hang", "held", "kill")
ANSWERS: Final = tuple(
    json.dumps({"root_cause": "simulated", "confidence": 0.7, **verdict})
    for verdict in (
        {"verdict": "NOOP", "why": "it passes"},
        {"verdict": "ADJUST", "adjust": {"guidance": "try the other door"}},
        {"verdict": "ADJUST", "adjust": {"guidance": "later", "retry_delay": "3m", "fresh_session": True}},
        {"verdict": "FILE_FIX", "fix": {"title": "mend it", "description": "the door"}},
        {"verdict": "PAUSE", "why": "it does harm"},
        {"verdict": "RECOMMEND_CONFIG", "suggestion": "more memory"},
        {"verdict": "ESCALATE", "why": "a person knows", "look_at": "the door"},
        {"verdict": "SPEC_REFRESH", "unclear": "which door"},
        {
            "verdict": "SPLIT",
            "parts": [{"title": "one", "description": "half"}, {"title": "two", "description": "rest"}],
        },
        {"verdict": "COMPLETE", "why": "done"},
        {"verdict": "NOOP", "task": "somebody-else"},
    )
) + ("", "no idea", "VERDICT=NOOP\nROOT_CAUSE: x", "ACTION: adjust_parameters|DETAIL: use the other door")
_MIXED: Final = (
    *("good", "good", "heals", "heals", "heals", "flaky", "service", "service", "provider", "poison", "killer"),
)
_MOSTLY_SERVICES: Final = (*("service",) * 12, "good", "heals", "flaky", "poison")


@dataclass(frozen=True, slots=True)
class Fate:
    """What one attempt will do without interference."""

    kind: str  # "success", "kill" (its engine), or one of FAILURES
    after_ms: int
    named_s: int | None = None
    resists: bool = False  # ignores SIGTERM
    answer: str = ""  # what a triage prints

    def outcome(self, log_path: str) -> Outcome:
        """How its end looks to the runner."""
        if self.kind in ("success", "kill"):
            said = {"answer": self.answer} if self.answer else None
            return Succeeded(output=Output(log_path=log_path, result=said))
        how = ENDINGS[self.kind]
        text = how.text.format(after=self.named_s)
        output = Output(tail=text, total_bytes=len(text), log_path=log_path)
        if how.exit_code == 75:
            return Requeued(asked=True, why="exit 75", output=output, exit_code=75)
        return Failed(output=output, exit_code=how.exit_code, signal=how.signal, memory_limit_hit=how.memory)


class Work:
    """Decides the fate of every attempt, from the task's command, the seed and the state of the services."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.healed = False  # the liveness phase: services are up, no engine is killed, flaky work succeeds
        self._outages = {service: _outages(plan, service) for service in (*SERVICES, PROVIDER)}

    def draw_command(self, rng: Random) -> tuple[str, ...]:
        """A behaviour for a new task, as the command it will have."""
        kind = rng.choice(_MOSTLY_SERVICES if self._plan.busy else _MIXED)
        match kind:
            case "heals":
                return (PROGRAM, kind, str(rng.randint(1, 6)), rng.choice(FAILURES))
            case "poison":
                return (PROGRAM, kind, rng.choice(STUBBORN if self._plan.stubborn else HOPELESS))
            case "service":
                failure = "network" if self._plan.busy else rng.choice(("network", "limit", "limit_unnamed"))
                return (PROGRAM, kind, rng.choice(SERVICES), failure)
            case "provider":
                return (PROGRAM, "service", PROVIDER, rng.choice(("held", "held", "held_unnamed", "spent")))
            case "killer" if rng.random() < 0.5:
                return (PROGRAM, "good")
            case _:
                return (PROGRAM, kind)

    def given_to(self, command: tuple[str, ...], number: int) -> tuple[str, tuple[str, ...]]:
        """Who works on a new task, by how many there were before it, and at what: some is too much for an agent."""
        rng = seeded(f"{self._plan.seed}/agents/{number}")
        if not self._plan.agents or rng.random() < 0.3:
            return "shell", command
        return AGENT, (PROGRAM, "poison", rng.choice(("test", "code"))) if rng.random() < 0.3 else command

    def mutex_of(self, number: int) -> str:
        """The mutex of a new task, by how many there were before it; most have none."""
        rng = seeded(f"{self._plan.seed}/mutexes/{number}")
        return rng.choice(MUTEXES) if self._plan.mutexes and rng.random() < 0.5 else ""

    def place_of(self, number: int) -> str:
        """Where a new task runs, by how many there were before it."""
        rng = seeded(f"{self._plan.seed}/places/{number}")
        return ELSEWHERE if self._plan.places and rng.random() < 0.6 else ""

    def short_of(self, host: str, at_ms: int) -> str:
        """What a machine lacks at a moment: now and then, for ten minutes, CPU."""
        if not self._plan.loaded or self.healed:
            return ""
        return "CPU" if seeded(f"{self._plan.seed}/load/{host}/{at_ms // (10 * MINUTE)}").random() < 0.3 else ""

    def draw_resources(self, command: tuple[str, ...], rng: Random) -> tuple[str, ...]:
        """What a new task says of the accounts it uses: nothing, the provider, or one of its accounts."""
        if PROVIDER not in command and rng.random() < 0.9:
            return ()
        drawn = rng.choice(((), (f"provider:{PROVIDER}",), (f"provider:{PROVIDER}/work",), (f"provider:{PROVIDER}",)))
        # A limit that always names another time, on an account: held and probed for ever, by the rules (see STUBBORN).
        return () if command[1:] == ("poison", "limit") else drawn

    def fate(self, command: tuple[str, ...], task_id: str, number: int, at_ms: int) -> Fate:
        """What this attempt does; the same every time it is asked."""
        rng = seeded(f"{self._plan.seed}/run/{task_id}/{number}")
        after_ms = _duration(rng)
        kind = self._kind(command, number, rng, at_ms + after_ms)
        names = ENDINGS[kind].names_s if kind in ENDINGS else ()
        return Fate(
            kind,
            NEVER_MS if kind == "hang" else after_ms,
            named_s=rng.choice(names) if names else None,
            resists=rng.random() < 0.2,
        )

    def triage_fate(self, task_id: str, number: int, asked: str) -> Fate:
        """What a triage does: mostly a verdict, of any kind; sometimes rubbish, a failure, or nothing at all."""
        rng = seeded(f"{self._plan.seed}/triage/{task_id}/{number}")
        kind = rng.choice(_TRIAGES) if not self.healed else "success"
        answer = rng.choice(ANSWERS) if kind == "success" else ""
        if answer and '"SPLIT"' in asked and rng.random() < 0.5:  # where it may be split it often is
            answer = _split_into(rng.randint(2, 4))
        return Fate(kind, NEVER_MS if kind == "hang" else _duration(rng), answer=answer)

    def _kind(self, command: tuple[str, ...], number: int, rng: Random, ends_ms: int) -> str:
        match command[1:]:
            case ("heals", count, failure):
                return failure if number <= int(count) else "success"
            case ("poison", failure):
                return failure
            case ("service", service, failure) if not self.healed:
                return failure if self._is_down(service, ends_ms) else "success"
            case ("flaky",) if not self.healed:
                return rng.choice(FAILURES) if rng.random() < 0.6 else "success"
            case ("killer",) if not self.healed:
                return "kill" if rng.random() < 0.7 else "success"
            case _:
                return "success"

    def _is_down(self, service: str, at_ms: int) -> bool:
        return any(begin <= at_ms < end for begin, end in self._outages[service])


def _split_into(number: int) -> str:
    parts = [{"title": f"part {at}", "description": f"step {at}"} for at in range(1, number + 1)]
    return json.dumps({"root_cause": "too much at once", "confidence": 0.9, "verdict": "SPLIT", "parts": parts})


def _duration(rng: Random) -> int:
    longest = rng.choice((SECOND, SECOND, 30 * SECOND, 10 * MINUTE))
    return rng.randint(20, longest)


def _outages(plan: Plan, service: str) -> tuple[tuple[int, int], ...]:
    rng = seeded(f"{plan.seed}/outages/{service}")
    found, at = [], 0
    while at < plan.safety_ms:
        begin = at + round(rng.expovariate(1 / plan.outage_gap_ms))
        at = begin + round(rng.expovariate(1 / plan.outage_ms)) + SECOND
        found.append((begin, at))
    return tuple(found)
