"""What one setting is: where it stands, what it accepts, what it is when nobody says anything."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from medbay.config.kinds import (
    Kind,
    account,
    agent_command,
    choice,
    duration,
    durations,
    evaluator,
    factor,
    money,
    patterns,
    share,
    shown,
    store_url,
    switch,
    text,
    texts,
    whole,
    zone,
)
from medbay.core.agent import SPEC_ROLE
from medbay.core.durations import write_duration
from medbay.core.holds.breaker import Limits
from medbay.core.policy.presets import LADDER, MAX_RETRIES_TOTAL, RESCUE_THRESHOLD, TRIAGE_TIMEOUT_MS, Recurring, Rungs

# The sections whose scalar keys the environment may set.
_BY_VARIABLE: Final = ("store", "engine", "policy", "recurring")


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One setting. `default` is as it would stand in the file; None means that `default_is` explains it."""

    section: str
    name: str
    kind: Kind
    default: object
    doc: str
    default_is: str = ""
    example: object = None
    hidden: bool = False  # accepted, but in no help: it has one value so far

    @property
    def path(self) -> str:
        """`engine.workers`."""
        return f"{self.section}.{self.name}"

    @property
    def variable(self) -> str:
        """The environment variable that sets it; empty if there is none."""
        if self.section not in _BY_VARIABLE or self.kind.from_text is None:
            return ""
        return f"MEDBAY_{self.section}_{self.name}".upper()

    @property
    def default_text(self) -> str:
        """The default in words or as it would stand in the file."""
        return self.default_is or self.kind.show(self.default)


_LEASE_SQLITE_MS: Final = 30_000
_LEASE_POSTGRES_MS: Final = 120_000


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreConfig:
    """Where everything is kept."""

    url: str
    notify: bool  # PostgreSQL: whether a commit wakes the others


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineConfig:
    """How work is claimed, run and given back."""

    workers: int
    lease_ms: int | None  # None: by the kind of store
    grace_ms: int
    crash_budget: int
    blocked_timeout_ms: int
    slots_for_recovery: float

    def lease_for(self, url: str) -> int:
        """The lease in milliseconds on this store: what was set, else 30s on SQLite and 2m on PostgreSQL."""
        if self.lease_ms is not None:
            return self.lease_ms
        return _LEASE_POSTGRES_MS if url.startswith("postgres") else _LEASE_SQLITE_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyConfig:
    """What happens after a failure: the preset, and its rungs by category."""

    preset: str
    rungs: Mapping[str, Rungs]
    max_retries_total: int
    adaptive: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TriageConfig:
    """Who looks at a failure that waiting did not heal."""

    agent: str
    command: tuple[str, ...]
    timeout_ms: int
    max_tokens: int | None
    max_cost: int | None  # in millionths
    fix_agent: str
    evaluate: str | None  # the command that looks at failed attempts
    rescue_threshold: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerConfig:
    """How processes are started."""

    secrets: tuple[str, ...]  # globs of variables that processes do not get
    redact: tuple[re.Pattern[str], ...]  # what is taken out of logs besides what looks like a secret


LIMITS: Final = Limits()

_RECURRING: Final = Recurring()
LATER: Final = frozenset(tuple(path.split(".")) for path in ("breakers.phase models notify web beads intake").split())
"""What is known by name but not built yet."""


SECTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "store": "Where tasks, attempts and decisions are kept.",
        "engine": "How work is claimed, run and given back.",
        "policy": "What happens after a failure.",
        **{f"policy.ladder.{category}": f"The ladder for failures of the category {category}." for category in LADDER},
        "recurring": "What happens after a failure of a task that recurs: it backs off from its own period.",
        "triage": "Who looks at a failure that waiting did not heal, and what it may cost.",
        "budget": "What all attempts of a day may cost together.",
        "breakers.agency": "Triage agents that fail again and again are left alone for a while.",
        "breakers.retry_storm": "Many retries due at once: told once, and held to their share of the slots.",
        "breakers.crash_loop": "Runners that cannot be started on a host are left alone for a while.",
        "incidents": "The same shared cause on several tasks is treated once.",
        "runner": "How processes are started.",
        "agents.NAME": "An agent that works on tasks: `medbay add TITLE --agent NAME`. One such table for each.",
    }
)

KEYS: Final[tuple[Key, ...]] = (
    Key(
        section="store",
        name="url",
        kind=store_url(),
        default="sqlite:///.medbay/medbay.db",
        doc="The store. A relative SQLite path is looked for upward from the working directory. "
        "`MEDBAY_STORE` sets it as well.",
    ),
    Key(
        section="store",
        name="notify",
        kind=switch(),
        default=True,
        doc="On PostgreSQL every commit wakes the other engines with NOTIFY. Switched off, they look four times a "
        "second instead; SQLite needs neither.",
    ),
    Key(
        section="engine",
        name="workers",
        kind=whole(1, 1000),
        default=4,
        doc="How many attempts run at once.",
    ),
    Key(
        section="engine",
        name="lease",
        kind=duration(low_ms=1_000),
        default=None,
        default_is='"30s" on SQLite, "2m" on PostgreSQL',
        example="30s",
        doc="After this long without a sign of life a worker is taken for dead and its attempts are lost.",
    ),
    Key(
        section="engine",
        name="grace",
        kind=duration(),
        default="10s",
        doc="Between asking a process to stop and ending it; also what another host waits beyond the lease.",
    ),
    Key(
        section="engine",
        name="crash_budget",
        kind=whole(1, 1000),
        default=3,
        doc="How often a task may take its engine down before a person is asked.",
    ),
    Key(
        section="engine",
        name="blocked_timeout",
        kind=duration(low_ms=1_000),
        default="24h",
        doc="A task that waits for something outside, or for a review nobody took, is tried again then.",
    ),
    Key(
        section="engine",
        name="slots_for_recovery",
        kind=share(),
        default=0.5,
        doc="The share of the slots that retries may take while fresh work is ready.",
    ),
    Key(
        section="policy",
        name="preset",
        kind=choice("ladder", later=("tiers", "recurring", "phase")),
        default="ladder",
        doc="The rules for one-off tasks.",
        hidden=True,
    ),
    Key(
        section="policy",
        name="max_retries_total",
        kind=whole(0, 1000),
        default=MAX_RETRIES_TOTAL,
        doc="Charged retries a task gets over all categories; only a person grants more.",
    ),
    Key(
        section="policy",
        name="adaptive",
        kind=switch(),
        default=False,
        doc="Delays are learned from earlier retries of the same class, within half and four times the schedule's. "
        "`medbay policy learn` shows what would be chosen.",
    ),
    *(
        key
        for category, rungs in LADDER.items()
        for key in (
            Key(
                section=f"policy.ladder.{category}",
                name="delays",
                kind=durations(),
                default=[write_duration(delay_ms) for delay_ms in rungs.delays_ms],
                doc="The waits before each retry; the last one repeats.",
            ),
            Key(
                section=f"policy.ladder.{category}",
                name="max_retries",
                kind=whole(0, 1000),
                default=rungs.max_retries,
                doc="How many charged retries the category allows.",
            ),
        )
    ),
    Key(
        section="recurring",
        name="triage_threshold",
        kind=whole(1, 1000),
        default=_RECURRING.triage_threshold,
        doc="Failures in a row after which a triage of the task is started.",
    ),
    Key(
        section="recurring",
        name="triage_cooldown",
        kind=duration(),
        default=write_duration(_RECURRING.triage_cooldown_ms),
        doc="How long no second triage of the same task is started.",
    ),
    Key(
        section="recurring",
        name="failure_backoff_multiplier",
        kind=factor(1, 10),
        default=_RECURRING.multiplier,
        doc="By how much each further failure in a row stretches the wait.",
    ),
    Key(
        section="recurring",
        name="failure_backoff_max_delay",
        kind=duration(low_ms=1_000),
        default=write_duration(_RECURRING.cap_ms),
        doc="The longest wait after a failure, unless the period itself is longer.",
    ),
    Key(
        section="triage",
        name="agent",
        kind=choice("rules", "command", later=("model", "claude")),
        default="rules",
        doc="Who judges: `rules` needs nothing else, `command` is any program: the context as JSON on its standard "
        "input, a verdict on its standard output.",
    ),
    Key(
        section="triage",
        name="command",
        kind=texts(),
        default=[],
        example=["./triage.py"],
        doc="The program of the agent `command`, as a list of arguments; it runs in the directory of the failing task.",
    ),
    Key(
        section="triage",
        name="timeout",
        kind=duration(low_ms=1_000),
        default=write_duration(TRIAGE_TIMEOUT_MS),
        doc="How long a triage or an evaluation may take; then a person is asked, or nothing is rescued.",
    ),
    Key(
        section="triage",
        name="fix_agent",
        kind=text(),
        default="",
        doc="The agent that works on the fixes a triage files; without one they are a person's.",
    ),
    Key(
        section="triage",
        name="max_tokens",
        kind=whole(1, 10**12),
        default=None,
        default_is="no limit",
        example=50_000,
        doc="What one triage may use; one that reports more has no say, and a person is asked.",
    ),
    Key(
        section="triage",
        name="max_cost",
        kind=money(),
        default=None,
        default_is="no limit",
        example=0.5,
        doc="What one triage may cost.",
    ),
    Key(
        section="budget",
        name="daily_tokens",
        kind=whole(1, 10**15),
        default=None,
        default_is="no limit",
        example=5_000_000,
        doc="Tokens; what does not fit waits for the next day.",
    ),
    Key(
        section="budget",
        name="daily_cost",
        kind=money(),
        default=None,
        default_is="no limit",
        example=20.0,
        doc="Money, in the currency that attempts report.",
    ),
    Key(
        section="budget",
        name="zone",
        kind=zone(),
        default="UTC",
        doc="Where midnight is the end of the day.",
    ),
    Key(
        section="triage",
        name="evaluate",
        kind=evaluator(),
        default=False,
        example="./evaluate.py",
        doc="What looks at the work of a failed attempt before it counts as failed: a command that gets the context as "
        'JSON on its standard input and prints `{"score": 0.9, "why": "..."}`.',
    ),
    Key(
        section="triage",
        name="rescue_threshold",
        kind=share(),
        default=RESCUE_THRESHOLD,
        doc="From this score on a failed attempt counts as a success.",
    ),
    Key(
        section="breakers.agency",
        name="failures",
        kind=whole(1, 1000),
        default=LIMITS.agency_failures,
        doc="So many triages or evaluations in a row that failed stop new ones.",
    ),
    Key(
        section="breakers.retry_storm",
        name="limit",
        kind=whole(1, 1_000_000),
        default=LIMITS.storm_retries,
        doc="More retries than this due at once are a retry storm.",
    ),
    Key(
        section="breakers.crash_loop",
        name="failures",
        kind=whole(1, 1000),
        default=LIMITS.crash_failures,
        doc="So many starts of a runner that failed on one host stop it there.",
    ),
    Key(
        section="breakers.crash_loop",
        name="window",
        kind=duration(low_ms=1_000),
        default=write_duration(LIMITS.crash_window_ms),
        doc="Within this time.",
    ),
    Key(
        section="incidents",
        name="tasks",
        kind=whole(2, 1_000_000),
        default=LIMITS.incident_tasks,
        doc="So many different tasks with the same shared cause make an incident.",
    ),
    Key(
        section="incidents",
        name="window",
        kind=duration(low_ms=1_000),
        default=write_duration(LIMITS.incident_window_ms),
        doc="Within this time of each other.",
    ),
    Key(
        section="runner",
        name="secrets",
        kind=texts(),
        default=[],
        example=["AWS_*", "*_TOKEN"],
        doc="Names of environment variables that processes do not get; `*` and `?` stand for any letters.",
    ),
    Key(
        section="runner",
        name="redact",
        kind=patterns(),
        default=[],
        example=["ACME-[0-9a-f]{12}"],
        doc="What is taken out of whatever leaves a log, besides what looks like a secret anyway.",
    ),
)

NAMED: Final = "NAME"
"""Stands in a section for a name that people choose themselves."""

_SPEC_DOC: Final = 'With "spec" it also reviews specifications that work fails on.'
_PROVIDER_DOC: Final = "Whose limits its tasks share, NAME or NAME/ACCOUNT."
_MODEL_DOC: Final = "The model it is told to use, unless a task names another."
AGENT_KEYS: Final[tuple[Key, ...]] = (
    Key(
        section="agents.NAME",
        name="command",
        kind=agent_command(),
        default=None,
        default_is="none: it has to be said",
        example=["my-agent", "--prompt", "{prompt_file}"],
        doc="How it is started without a terminal: `{prompt_file}` is the file with its prompt, `{model}` the model; "
        "without a model its word and the option before it are left out.",
    ),
    Key(section="agents.NAME", name="role", kind=choice("", SPEC_ROLE), default="", doc=_SPEC_DOC),
    Key(section="agents.NAME", name="provider", kind=account(), default="", doc=_PROVIDER_DOC),
    Key(section="agents.NAME", name="model", kind=text(), default="", doc=_MODEL_DOC),
)

BY_PATH: Final[Mapping[tuple[str, ...], Key]] = MappingProxyType({tuple(key.path.split(".")): key for key in KEYS})


def commented_file() -> str:
    """A `medbay.toml` with every setting at its default, commented out."""
    parts = [
        "# Medbay. Every setting is optional; what is commented out is the default.\n",
        "# To change one, uncomment it together with the [section] above it.\n",
        "# Durations: 50ms, 30s, 2m, 8h, 1d, 1h30m. Environment variables and flags come before this file.\n",
    ]
    told: set[str] = set()
    for section, doc in SECTIONS.items():
        parts.append(f"\n# {doc}\n# [{section}]\n")
        for key in _keys_of(section):
            raw = key.default if key.default or key.example is None else key.example
            note = f" Default: {key.default_text}." if raw != key.default else ""
            if key.doc not in told:
                parts.append(f"# {key.doc}{note}\n")
            parts.append(f"# {key.name} = {shown(raw)}\n")
            told.add(key.doc)
    return "".join(parts)


def reference_tables() -> str:
    """The tables of the reference page, one per section."""
    parts = []
    for section, doc in SECTIONS.items():
        parts.append(f"### `[{section}]`\n\n{doc}\n\n")
        parts.append("| key | default | accepted | variable | meaning |\n|---|---|---|---|---|\n")
        for key in _keys_of(section):
            default = key.default_is or f"`{key.default_text}`"
            variable = f"`{key.variable}`" if key.variable else ""
            parts.append(f"| `{key.name}` | {default} | {key.kind.says} | {variable} | {key.doc} |\n")
        parts.append("\n")
    return "".join(parts)


def _keys_of(section: str) -> tuple[Key, ...]:
    return tuple(key for key in (*KEYS, *AGENT_KEYS) if key.section == section and not key.hidden)


if __name__ == "__main__":
    print(reference_tables(), end="")
