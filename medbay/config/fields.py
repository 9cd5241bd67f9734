"""The settings in force as records: one field for each key, whose default is the default of the key."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal

from msgspec import structs

from medbay.core import delivery
from medbay.core.agent import Profile
from medbay.core.budget import Budget, RoleBudget
from medbay.core.cluster import Cluster
from medbay.core.delivery import Channel
from medbay.core.holds.breaker import Limits
from medbay.core.policy.presets import LADDER, MAX_RETRIES_TOTAL, RESCUE_THRESHOLD, TRIAGE_TIMEOUT_MS, Recurring, Rungs
from medbay.core.tracker.source import TrackerSource
from medbay.core.workspace import OnPass

if TYPE_CHECKING:
    from medbay.config.key import Setting

_LEASE_SQLITE_MS: Final = 30_000
_LEASE_POSTGRES_MS: Final = 120_000
_HOUR_MS: Final = 3_600_000


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
    fallback_after_ms: int = 30 * 60_000
    load_aware: bool = False
    assess: Literal["off", "warn", "ask"] = "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class TriageConfig:
    """Which agent judges a failure that retries did not heal."""

    agent: str = "rules"
    command: tuple[str, ...] = ()
    model: str = ""
    timeout_ms: int = TRIAGE_TIMEOUT_MS
    max_tokens: int | None = None
    max_cost: int | None = None  # in millionths
    fix_agent: str = ""
    evaluate: str | bool | None = None  # the command that scores failed attempts; True: the agent of triage
    rescue_threshold: float = RESCUE_THRESHOLD


@dataclass(frozen=True, slots=True, kw_only=True)
class BeadsConfig:
    """Issues of Beads as a source of work."""

    dispatch: bool = False
    path: str = ""
    agent: str = ""
    run: str = ""
    checks: tuple[str, ...] = ()
    poll_ms: int = 30_000


@dataclass(frozen=True, slots=True, kw_only=True)
class IntakeConfig:
    """How captures become candidates."""

    agent: str = "rules"
    command: tuple[str, ...] = ()
    batch: int = 20
    budget_ms: int = 300_000
    max_tries: int = 3
    promote_above: float = 0.0  # 0: never


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryConfig:
    """Where stories are, and how their phases are judged."""

    root: str = "stories"
    roles: str = "roles"
    workflows: str = "workflows"
    commit: bool = False  # the folders themselves, by us
    worktree: bool = True
    setup: str = ""  # a command line that prepares a new worktree
    copy: tuple[str, ...] = ()  # files of the main tree that git does not know
    on_pass: OnPass = "keep"
    on_fail: Literal["ask", "revert"] = "ask"
    fast_track: Literal["ask", "never", "always"] = "ask"
    max_review_rounds: int = 3
    worker_timeout_ms: int = 300_000
    phase_timeout_ms: int = _HOUR_MS
    partial_pass_threshold: float = 1.0
    fail_fast: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleConfig:
    """Who does the work of a role: `[roles.NAME]`."""

    name: str
    agent: str = ""
    command: tuple[str, ...] = ()
    timeout_ms: int | None = None
    fallback: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelClasses:
    """Which model of a provider each class is: `[models.NAME]`."""

    name: str
    small: str = ""
    medium: str = ""
    large: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerConfig:
    """How processes are started."""

    secrets: tuple[str, ...] = ()  # globs of variables that processes do not get
    redact: tuple[re.Pattern[str], ...] = ()  # what is redacted from logs in addition to what looks like a secret
    shell: str | None = None  # of new tasks; None: bash with pipefail where it is there, else sh
    stall_ms: int = 0  # of commands and functions; 0: never
    agent_stall_ms: int = 600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class WebConfig:
    """Where the page listens, and what opens it."""

    enabled: bool = True  # with `medbay up`
    host: str = "127.0.0.1"
    port: int = 8484
    token: str = "auto"
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LogConfig:
    """What the daemon says of itself."""

    level: str = "info"
    json: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportConfig:
    """When the report is sent, and through which channel."""

    at: int | None = None  # in minutes of the day
    zone: tzinfo | None = None  # None: of the machine
    channel: str = ""  # empty: every one with an address
    since_ms: int = 24 * _HOUR_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepConfig:
    """How long the daemon keeps what is finished; 0: for ever."""

    history_ms: int = 90 * 24 * _HOUR_MS
    logs_ms: int = 90 * 24 * _HOUR_MS
    logs_mb: int = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class OtelConfig:
    """Where spans are sent to."""

    endpoint: str = ""  # empty: nowhere
    service: str = "medbay"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigFile:
    """The file that settings were read from, as it was at that moment."""

    path: Path
    text: str
    owner: int  # the user it belongs to
    shown: str  # the path as short as it can be said from here


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueConfig:
    """A queue whose tasks have only so many slots, on all engines together, or run at a place of their own."""

    name: str
    slots: int | None = None
    place: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GitConfig:
    """Where agents work on repositories."""

    worktrees: str = ""  # the directory of all worktrees; empty: below the state of this user
    keep_ms: int = 7 * 24 * _HOUR_MS  # how long an unused worktree is kept
    pr_wait_ms: int = _HOUR_MS // 2
    pr_watch_ms: int = 14 * 24 * _HOUR_MS
    pr_poll_ms: int = 5 * 60_000
    max_pr_rounds: int = 3


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
    budgets: Mapping[str, RoleBudget] = field(default_factory=dict)
    runner: RunnerConfig = field(default_factory=RunnerConfig)
    git: GitConfig = field(default_factory=GitConfig)
    web: WebConfig = WebConfig()
    log: LogConfig = LogConfig()
    report: ReportConfig = ReportConfig()
    keep: KeepConfig = KeepConfig()
    otel: OtelConfig = OtelConfig()
    agents: Mapping[str, Profile] = field(default_factory=dict)
    models: Mapping[str, ModelClasses] = field(default_factory=dict)
    notify: Mapping[str, Channel] = field(default_factory=dict)
    queues: Mapping[str, QueueConfig] = field(default_factory=dict)
    places: Mapping[str, Cluster] = field(default_factory=dict)
    beads: BeadsConfig = field(default_factory=BeadsConfig)
    trackers: Mapping[str, TrackerSource] = field(default_factory=dict)
    intake: IntakeConfig = field(default_factory=IntakeConfig)
    story: StoryConfig = field(default_factory=StoryConfig)
    roles: Mapping[str, RoleConfig] = field(default_factory=dict)
    folder: Path | None = None  # where the file is
    file: ConfigFile | None = field(default=None, repr=False, compare=False)
    given: Mapping[str, Setting] = field(default_factory=dict, repr=False, compare=False)

    def source(self, path: str) -> str:
        """Where a value came from: `default`, `medbay.toml:12`, `environment MEDBAY_...` or `flag`."""
        return self.given[path].source if path in self.given else DEFAULT

    @property
    def spending(self) -> Budget:
        """What may be spent: by all, and by each role."""
        return structs.replace(self.budget, roles=self.budgets)

    @property
    def triage_limits(self) -> tuple[int | None, int | None]:
        """Tokens and money that one triage may use: as [triage] says, else as the budget of its role does."""
        own, role = self.triage, self.budgets.get("triage", RoleBudget(name="triage"))
        tokens, cost = own.max_tokens, own.max_cost
        return role.max_tokens if tokens is None else tokens, role.max_cost if cost is None else cost

    @property
    def queue_slots(self) -> Mapping[str, int]:
        """How many tasks of each limited queue may run at once."""
        return {each.name: each.slots for each in self.queues.values() if each.slots} if self.queues else {}

    @property
    def dispatching(self) -> tuple[str, ...]:
        """The trackers whose issues `medbay up` takes up."""
        own = ("beads",) if self.beads.dispatch else ()
        return (*own, *(each.name for each in self.trackers.values() if each.dispatch))

    def in_file(self, path: str) -> bool:
        """Whether the file says what is in force."""
        return path in self.given and self.given[path].document is not None

    def located(self, command: tuple[str, ...]) -> tuple[str, ...]:
        """Return a command whose program, if its path is relative, starts at the directory of the file."""
        relative = bool(command) and "/" in command[0] and not os.path.isabs(command[0])
        if not relative or self.folder is None:
            return command
        return (os.path.abspath(self.folder / command[0]), *command[1:])


NAMED_PARTS: Final[Mapping[str, tuple[type[Any], Callable[..., Any]]]] = MappingProxyType(
    {
        "agents": (Profile, Profile),
        "budgets": (RoleBudget, RoleBudget),
        "models": (ModelClasses, ModelClasses),
        "notify": (Channel, delivery.channel),
        "queues": (QueueConfig, QueueConfig),
        "places": (Cluster, Cluster),
        "roles": (RoleConfig, RoleConfig),
        "trackers": (TrackerSource, TrackerSource),
    }
)
"""What a table with a name of its own becomes, and what makes it, by its section."""


DEFAULT: Final = "default"
DEFAULTS: Final = Config()
