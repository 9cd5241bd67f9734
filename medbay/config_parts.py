"""The sections of a configuration as frozen values; made by `medbay.config`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from medbay.core.policy.presets import Rungs

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
