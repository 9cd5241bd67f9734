"""Everything the rules of triage read, loaded by the service beforehand."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from medbay.core.diagnosis.record import Diagnosis
from medbay.core.model import Question, Task, Triage
from medbay.core.policy.backoff import DAY_MS
from medbay.core.policy.policy import Policy
from medbay.core.policy.presets import TRIAGE_TIMEOUT_MS


class Means(Struct, frozen=True, kw_only=True):
    """What the configuration gives triage to work with."""

    agent: str = "rules"  # or "command"
    command: tuple[str, ...] = ()
    timeout_ms: int = TRIAGE_TIMEOUT_MS
    max_tokens: int | None = None
    max_cost: int | None = None
    fix_agent: str = ""  # profile that works on fixes; empty: a person
    spec_agent: str = ""  # profile of role `spec`; empty: a person
    profiles: tuple[str, ...] = ()  # every configured agent
    models: tuple[str, ...] = ()
    accounts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # profile -> the resources it works on
    blocked_timeout_ms: int = DAY_MS  # after which an unfinished review lets its task go on
    evaluate: tuple[str, ...] | str | None = None  # the evaluator's command
    rescue_threshold: float = 0.8

    @property
    def free(self) -> bool:
        """Whether asking the agent costs nothing: there is no model behind it."""
        return self.agent == "rules"


class TriageCase(Struct, frozen=True, kw_only=True):
    """One triage that ended, and the state its verdict meets."""

    task: Task  # the failing task as it is now
    triage: Triage
    diagnosis: Diagnosis | None = None  # of the attempt that was judged
    acts: tuple[str, ...] = ()  # names of the events about the task since the triage started
    policy: Policy
    means: Means = field(default_factory=Means)
    after: tuple[str, ...] = ()  # what it comes after itself
    dependents: tuple[Task, ...] = ()  # what comes directly after it
    question: Question | None = None  # what the task waits for already
    review: Task | None = None  # the open specification review of the task
    descendants: int = 0  # how many parts its family has
    depth: int = 0  # how many fixes or splits lie between it and what a person added
    new_ids: tuple[str, ...] = ()  # free ids for what a verdict creates
    scopes: Mapping[str, str] = field(default_factory=dict)  # scope -> open question, as in the working set
