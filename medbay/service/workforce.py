"""Who works on a task that runs no command: an agent by its profile, or a person."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from medbay.core import agent
from medbay.core.agent import Profile
from medbay.core.budget import MILLION
from medbay.core.holds.resources import provider_of
from medbay.core.people import question
from medbay.errors import UsageError

_COST_MAX: Final = 1_000_000_000
_OF_AGENTS: Final = ("max_tokens", "max_cost", "model", "worktree", "setup", "copies", "on_pass")
_NOT_A_PERSONS: Final = ("cron", "every_ms", "checks", "at", "timeout_ms", "max_iterations")

OF_PERSON: Final[dict[str, Any]] = {"command": (), "runner": question.RUNNER}


def of_agent(named: Any, agents: Mapping[str, Profile]) -> dict[str, Any]:
    """The runner of an agent that is known; of several, the first begins and the others go on where it cannot."""
    words = named.split(",") if isinstance(named, str) else named
    if not isinstance(words, list | tuple) or not words or not all(isinstance(each, str) for each in words):
        raise UsageError(f"agent is the name of an agent, or several, not {named!r}", hint="claude, or claude,codex")
    found = [agent.find(agents, each.strip()) for each in dict.fromkeys(words)]
    several = tuple((each.name, each.resources) for each in found) if len(found) > 1 else ()
    return {"command": (), "runner": agent.runner_of(found[0].name), "agents": several}


def with_account(fields: Mapping[str, Any], work: Mapping[str, Any], agents: Mapping[str, Profile]) -> dict[str, Any]:
    """Fields and work together; an agent's account is needed too, unless another one of that provider is named."""
    made = {**fields, **work}
    profile = agents.get(agent.profile_of(str(work.get("runner", ""))))
    if profile is not None:
        named = tuple(fields.get("resources", ()))
        taken = {provider_of(each) for each in named}
        made["resources"] = named + tuple(each for each in profile.resources if provider_of(each) not in taken)
    return made


def refuse_what_does_not_fit(fields: Mapping[str, Any], work: Mapping[str, Any]) -> None:
    """What means something for agents or for processes only."""
    runner = work["runner"]
    for name in _OF_AGENTS:
        if name in fields and not agent.profile_of(runner):
            raise UsageError(f"{name} goes with agent", hint="--agent NAME")
    for name in _NOT_A_PERSONS:
        if runner == question.RUNNER and fields.get(name):
            raise UsageError(f"{name.removesuffix('_ms')} means nothing for a person's task", hint="leave it out")


def cost(value: Any) -> int:
    """An amount of money, in millionths of the currency."""
    try:
        amount = Decimal(str(value)) if not isinstance(value, bool) else Decimal("NaN")
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or not 0 < amount <= _COST_MAX:
        raise UsageError(f"max_cost is an amount above 0 and up to {_COST_MAX}, not {value!r}", hint="for example 2.50")
    return max(1, int(amount * MILLION))
