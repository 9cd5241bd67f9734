"""The settings: one table. A key is one row here and one field of a `Config`, whose default is the default of the key.

Validation, `medbay init` and the reference page are made from the rows; as a module it prints the tables of the page.
A row becomes a `Key` when it is asked for, so that a start without a configuration costs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from medbay.config.kinds import (
    Kind,
    account,
    agent_command,
    choice,
    command_words,
    duration,
    durations,
    evaluator,
    event_names,
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
from medbay.config.lines import Document
from medbay.core import delivery
from medbay.core.agent import SPEC_ROLE, Profile
from medbay.core.budget import Budget
from medbay.core.delivery import Channel
from medbay.core.holds.breaker import Limits
from medbay.core.policy.presets import LADDER, MAX_RETRIES_TOTAL, RESCUE_THRESHOLD, TRIAGE_TIMEOUT_MS, Recurring, Rungs

NAMED: Final = "NAME"
"""Stands in a section for a name that people choose themselves."""

LATER: Final = frozenset({(name,) for name in "models web beads intake".split()} | {("breakers", "phase")})
"""What is known by name but not built yet."""

BY_VARIABLE: Final = ("store", "engine", "policy", "recurring")
"""The sections whose scalar keys the environment may set."""

_LEASE_SQLITE_MS: Final = 30_000
_LEASE_POSTGRES_MS: Final = 120_000
_HOUR_MS: Final = 3_600_000


# The fields


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreConfig:
    """Where everything is kept."""

    url: str = "sqlite:///.medbay/medbay.db"
    notify: bool = True  # PostgreSQL: whether a commit wakes the others


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineConfig:
    """How work is claimed, run and given back."""

    workers: int = 4
    lease_ms: int | None = None  # None: by the kind of store
    grace_ms: int = 10_000
    crash_budget: int = 3
    blocked_timeout_ms: int = 24 * _HOUR_MS
    slots_for_recovery: float = 0.5

    def lease_for(self, url: str) -> int:
        """The lease in milliseconds on this store: what was set, else 30s on SQLite and 2m on PostgreSQL."""
        if self.lease_ms is not None:
            return self.lease_ms
        return _LEASE_POSTGRES_MS if url.startswith("postgres") else _LEASE_SQLITE_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyConfig:
    """What happens after a failure: the preset, and its rungs by category."""

    preset: str = "ladder"
    ladder: Mapping[str, Rungs] = field(default_factory=lambda: LADDER)
    max_retries_total: int = MAX_RETRIES_TOTAL
    adaptive: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TriageConfig:
    """Who looks at a failure that waiting did not heal."""

    agent: str = "rules"
    command: tuple[str, ...] = ()
    timeout_ms: int = TRIAGE_TIMEOUT_MS
    max_tokens: int | None = None
    max_cost: int | None = None  # in millionths
    fix_agent: str = ""
    evaluate: str | None = None  # the command that looks at failed attempts
    rescue_threshold: float = RESCUE_THRESHOLD


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerConfig:
    """How processes are started."""

    secrets: tuple[str, ...] = ()  # globs of variables that processes do not get
    redact: tuple[re.Pattern[str], ...] = ()  # what is taken out of logs besides what looks like a secret


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """All settings in force. Made by `load` only."""

    store: StoreConfig = field(default_factory=StoreConfig)
    engine: EngineConfig = field(default_factory=EngineConfig)
    policy: PolicyConfig = field(default_factory=PolicyConfig)
    limits: Limits = field(default_factory=Limits)  # of breakers and incidents
    recurring: Recurring = field(default_factory=Recurring)
    triage: TriageConfig = field(default_factory=TriageConfig)
    budget: Budget = field(default_factory=Budget)
    runner: RunnerConfig = field(default_factory=RunnerConfig)
    agents: Mapping[str, Profile] = field(default_factory=dict)
    notify: Mapping[str, Channel] = field(default_factory=dict)
    folder: Path | None = None  # where the file is
    given: Mapping[str, Setting] = field(default_factory=dict, repr=False, compare=False)

    def source(self, path: str) -> str:
        """Where a value came from: `default`, `medbay.toml:12`, `environment MEDBAY_...` or `flag`."""
        return self.given[path].source if path in self.given else DEFAULT

    def in_file(self, path: str) -> bool:
        """Whether the file says what is in force."""
        return path in self.given and self.given[path].document is not None

    def under(self, prefix: str) -> tuple[Setting, ...]:
        """The settings of a section and the sections below it, in the order of the reference."""
        known = dict.fromkeys((*paths(), *self.given))
        wanted = (path for path in known if f"{path}.".startswith(f"{prefix}."))
        return tuple(self.given.get(path) or _by_default(key_at(path)) for path in wanted)


NAMED_PARTS: Final[Mapping[str, tuple[type[Any], Callable[..., Any]]]] = MappingProxyType(
    {"agents": (Profile, Profile), "notify": (Channel, delivery.channel)}
)
"""What a table with a name of its own becomes, and what makes it, by its section."""

DEFAULT: Final = "default"
DEFAULTS: Final = Config()


# What a key is


@dataclass(frozen=True, slots=True)
class Key:
    """One setting: where it stands, what it accepts, what it means."""

    kind_of: Callable[[], Kind]
    doc: str
    path: str = field(kw_only=True)  # `engine.workers`
    at: str = field(default="", kw_only=True)  # the field, where it does not have the name of the key
    default_is: str = field(default="", kw_only=True)  # the default in words, where there is no value
    example: object = field(default=None, kw_only=True)
    needed: bool = field(default=False, kw_only=True)  # one of those in a table with a name of its own has to be there
    hidden: bool = field(default=False, kw_only=True)  # accepted, but in no help: it has one value so far

    @property
    def parts(self) -> tuple[str, ...]:
        """The path of tables in the file; the name that people chose is one part, dots and all."""
        head, _, rest = self.path.partition(".")
        return (head, *rest.rsplit(".", 1)) if head in NAMED_PARTS else tuple(self.path.split("."))

    @property
    def section(self) -> str:
        """`engine`."""
        return self.path.rpartition(".")[0]

    @property
    def name(self) -> str:
        """`workers`."""
        return self.path.rpartition(".")[2]

    @property
    def kind(self) -> Kind:
        """What it accepts."""
        return _kind(self.kind_of)

    @property
    def field_path(self) -> tuple[str, ...]:
        """The way from a `Config` to its value."""
        if self.at:
            return tuple(self.at.split("."))
        *within, name = self.parts
        return (*within, name + self.kind.suffix)

    @property
    def default(self) -> object:
        """The default as it would stand in the file; None where `default_is` explains it."""
        value = _default_at(self.field_path)
        return None if value is None and self.default_is else self.kind.write(value)

    @property
    def default_text(self) -> str:
        """The default in words or as it would stand in the file."""
        return self.default_is or self.kind.show(self.default)

    @property
    def variable(self) -> str:
        """The environment variable that sets it; empty if there is none."""
        if self.section not in BY_VARIABLE or self.kind.from_text is None:
            return ""
        return f"MEDBAY_{self.section}_{self.name}".upper()


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One value in force: as it was written, as it was understood, and where it came from."""

    key: Key
    raw: object = None
    value: Any = None
    origin: str = DEFAULT
    document: Document | None = None  # the file, if it is said there

    @property
    def source(self) -> str:
        """Where it came from, in words."""
        return self.document.place(self.key.parts) if self.document else self.origin

    @property
    def text(self) -> str:
        """The value as it would stand in the file; passwords hidden."""
        return self.key.default_text if self.raw is None else self.key.kind.show(self.raw)


@cache
def key_at(path: str) -> Key:
    """The key that stands at a path; raises KeyError where there is none."""
    head, _, rest = path.partition(".")
    row = f"{head}.{NAMED}.{rest.rpartition('.')[2]}" if head in NAMED_PARTS else path
    return ROWS[row](path=path)


def _by_default(key: Key) -> Setting:
    return Setting(key=key, raw=key.default, value=_default_at(key.field_path))


@cache
def _kind(kind_of: Callable[[], Kind]) -> Kind:
    return kind_of()


def _default_at(path: tuple[str, ...]) -> Any:
    """What a field is by default; None where a name has to be given first."""
    if path[0] in NAMED_PARTS:
        own = next((each for each in fields(NAMED_PARTS[path[0]][0]) if each.name == path[-1]), None)
        return None if own is None or own.default is MISSING else own.default
    value: Any = DEFAULTS
    for name in path:
        value = value[name] if isinstance(value, Mapping) else getattr(value, name)
    return value


# The rows

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
        "notify.NAME": "A channel that is told of events as they happen. One such table for each.",
    }
)

_FROM_1S: Final = partial(duration, low_ms=1_000)
_COUNT: Final = partial(whole, 1, 1000)
_RETRIES: Final = partial(whole, 0, 1000)
_NO_LIMIT: Final = "no limit"
_DELAYS: Final = partial(Key, durations, "The waits before each retry; the last one repeats.")
_MAX_RETRIES: Final = partial(Key, _RETRIES, "How many charged retries the category allows.")

ROWS: Final[Mapping[str, Callable[..., Key]]] = MappingProxyType(
    {
        "store.url": partial(
            Key,
            store_url,
            "The store. A relative SQLite path is looked for upward from the working directory. "
            "`MEDBAY_STORE` sets it as well.",
        ),
        "store.notify": partial(
            Key,
            switch,
            "On PostgreSQL every commit wakes the other engines with NOTIFY. Switched off, they look four times a "
            "second instead; SQLite needs neither.",
        ),
        "engine.workers": partial(Key, _COUNT, "How many attempts run at once."),
        "engine.lease": partial(
            Key,
            _FROM_1S,
            "After this long without a sign of life a worker is taken for dead and its attempts are lost.",
            default_is='"30s" on SQLite, "2m" on PostgreSQL',
            example="30s",
        ),
        "engine.grace": partial(
            Key,
            duration,
            "Between asking a process to stop and ending it; also what another host waits beyond the lease.",
        ),
        "engine.crash_budget": partial(
            Key, _COUNT, "How often a task may take its engine down before a person is asked."
        ),
        "engine.blocked_timeout": partial(
            Key,
            _FROM_1S,
            "A task that waits for something outside, or for a review nobody took, is tried again then.",
        ),
        "engine.slots_for_recovery": partial(
            Key, share, "The share of the slots that retries may take while fresh work is ready."
        ),
        "policy.preset": partial(
            Key,
            partial(choice, "ladder", later=("tiers", "recurring", "phase")),
            "The rules for one-off tasks.",
            hidden=True,
        ),
        "policy.max_retries_total": partial(
            Key, _RETRIES, "Charged retries a task gets over all categories; only a person grants more."
        ),
        "policy.adaptive": partial(
            Key,
            switch,
            "Delays are learned from earlier retries of the same class, within half and four times the schedule's. "
            "`medbay policy learn` shows what would be chosen.",
        ),
        **{
            f"policy.ladder.{category}.{name}": row
            for category in LADDER
            for name, row in (("delays", _DELAYS), ("max_retries", _MAX_RETRIES))
        },
        "recurring.triage_threshold": partial(
            Key, _COUNT, "Failures in a row after which a triage of the task is started."
        ),
        "recurring.triage_cooldown": partial(Key, duration, "How long no second triage of the same task is started."),
        "recurring.failure_backoff_multiplier": partial(
            Key,
            partial(factor, 1, 10),
            "By how much each further failure in a row stretches the wait.",
            at="recurring.multiplier",
        ),
        "recurring.failure_backoff_max_delay": partial(
            Key,
            _FROM_1S,
            "The longest wait after a failure, unless the period itself is longer.",
            at="recurring.cap_ms",
        ),
        "recurring.transient_max_delay": partial(
            Key,
            _FROM_1S,
            "The longest wait after a failure that passes by itself (an outage, a limit without a named time).",
            default_is="the greater of 15m and three periods",
            example="15m",
        ),
        "recurring.ask_after": partial(
            Key,
            duration,
            "After this long of nothing but failures a person is asked, once, while the schedule goes on; 0s: never.",
        ),
        "triage.agent": partial(
            Key,
            partial(choice, "rules", "command", later=("model", "claude")),
            "Who judges: `rules` needs nothing else, `command` is any program: the context as JSON on its standard "
            "input, a verdict on its standard output.",
        ),
        "triage.command": partial(
            Key,
            texts,
            "The program of the agent `command`, as a list of arguments; it runs in the directory of the failing task.",
            example=["./triage.py"],
        ),
        "triage.timeout": partial(
            Key,
            _FROM_1S,
            "How long a triage or an evaluation may take; then a person is asked, or nothing is rescued.",
        ),
        "triage.fix_agent": partial(
            Key, text, "The agent that works on the fixes a triage files; without one they are a person's."
        ),
        "triage.max_tokens": partial(
            Key,
            partial(whole, 1, 10**12),
            "What one triage may use; one that reports more has no say, and a person is asked.",
            default_is=_NO_LIMIT,
            example=50_000,
        ),
        "triage.max_cost": partial(Key, money, "What one triage may cost.", default_is=_NO_LIMIT, example=0.5),
        "triage.evaluate": partial(
            Key,
            evaluator,
            "What looks at the work of a failed attempt before it counts as failed: a command that gets the context as "
            'JSON on its standard input and prints `{"score": 0.9, "why": "..."}`.',
            example="./evaluate.py",
        ),
        "triage.rescue_threshold": partial(Key, share, "From this score on a failed attempt counts as a success."),
        "budget.daily_tokens": partial(
            Key,
            partial(whole, 1, 10**15),
            "Tokens; what does not fit waits for the next day.",
            default_is=_NO_LIMIT,
            example=5_000_000,
        ),
        "budget.daily_cost": partial(
            Key, money, "Money, in the currency that attempts report.", default_is=_NO_LIMIT, example=20.0
        ),
        "budget.zone": partial(Key, zone, "Where midnight is the end of the day."),
        "breakers.agency.failures": partial(
            Key,
            _COUNT,
            "So many triages or evaluations in a row that failed stop new ones.",
            at="limits.agency_failures",
        ),
        "breakers.retry_storm.limit": partial(
            Key,
            partial(whole, 1, 1_000_000),
            "More retries than this due at once are a retry storm.",
            at="limits.storm_retries",
        ),
        "breakers.crash_loop.failures": partial(
            Key,
            _COUNT,
            "So many starts of a runner that failed on one host stop it there.",
            at="limits.crash_failures",
        ),
        "breakers.crash_loop.window": partial(Key, _FROM_1S, "Within this time.", at="limits.crash_window_ms"),
        "incidents.tasks": partial(
            Key,
            partial(whole, 2, 1_000_000),
            "So many different tasks with the same shared cause make an incident.",
            at="limits.incident_tasks",
        ),
        "incidents.window": partial(Key, _FROM_1S, "Within this time of each other.", at="limits.incident_window_ms"),
        "runner.secrets": partial(
            Key,
            texts,
            "Names of environment variables that processes do not get; `*` and `?` stand for any letters.",
            example=["AWS_*", "*_TOKEN"],
        ),
        "runner.redact": partial(
            Key,
            patterns,
            "What is taken out of whatever leaves a log, besides what looks like a secret anyway.",
            example=["ACME-[0-9a-f]{12}"],
        ),
        "agents.NAME.command": partial(
            Key,
            agent_command,
            "How it is started without a terminal: `{prompt_file}` is the file with its prompt, `{model}` the model; "
            "without a model its word and the option before it are left out.",
            default_is="none: it has to be said",
            needed=True,
            example=["my-agent", "--prompt", "{prompt_file}"],
        ),
        "agents.NAME.role": partial(
            Key, partial(choice, "", SPEC_ROLE), 'With "spec" it also reviews specifications that work fails on.'
        ),
        "agents.NAME.provider": partial(Key, account, "Whose limits its tasks share, NAME or NAME/ACCOUNT."),
        "agents.NAME.model": partial(Key, text, "The model it is told to use, unless a task names another."),
        "notify.NAME.command": partial(
            Key,
            command_words,
            "The program that is started for each event, which it gets as JSON on its standard input; it runs in the "
            "directory of this file, without a shell.",
            default_is="none: it has to be said",
            needed=True,
            example=["./notify.sh"],
        ),
        "notify.NAME.on": partial(Key, event_names, "The events it is started for."),
        "notify.NAME.timeout": partial(
            Key, _FROM_1S, "How long it may take; then it and all it started is ended, and it is tried again later."
        ),
        "notify.NAME.heartbeat": partial(
            Key,
            _FROM_1S,
            "Every so often it is also started with the event `heartbeat`, as long as the daemon's loop goes round.",
            default_is="none: never",
            example="5m",
        ),
    }
)


def paths() -> list[str]:
    """Where each key stands that needs no name."""
    return [path for path in ROWS if f".{NAMED}." not in path]


# For people


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
        for key in keys_of(section):
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
        for key in keys_of(section):
            default = key.default_is or f"`{key.default_text}`"
            variable = f"`{key.variable}`" if key.variable else ""
            parts.append(f"| `{key.name}` | {default} | {key.kind.says} | {variable} | {key.doc} |\n")
        parts.append("\n")
    return "".join(parts)


def keys_of(section: str) -> Iterator[Key]:
    """The keys of a section that are told of."""
    own = (key_at(path) for path in ROWS if path.rpartition(".")[0] == section)
    return (key for key in own if not key.hidden)


if __name__ == "__main__":
    print(reference_tables(), end="")
