"""Agents: which there are and what they cost today, one cheap call that shows one works, and what one is told."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from msgspec import Struct

from medbay import app
from medbay.core import agent
from medbay.core.agent import Profile
from medbay.core.spending import AgentUse
from medbay.engine.identity import this_host
from medbay.errors import NotAllowed
from medbay.runners.agent import presence
from medbay.runners.agent.presence import AgentCall, Presence
from medbay.runners.agent.profiles import preset_of
from medbay.service import prompts, tasks
from medbay.store import spending

if TYPE_CHECKING:
    from medbay.bay import Bay


class KnownAgent(Struct, frozen=True, kw_only=True):
    """One agent with what there is of it here, and what it did."""

    profile: Profile
    title: str
    configured: bool
    presence: Presence
    use: AgentUse


class Agents:
    """The agents of one store."""

    def __init__(self, bay: Bay) -> None:
        self._bay = bay

    def known(self) -> list[KnownAgent]:
        """Every agent that is configured or known by name, those that are installed first."""
        bay, budget = self._bay, self._bay.place.config.budget
        with bay.store.read() as tx:
            used = spending.by_agent(tx, budget.day_of(tx.now))
        found = []
        for name, profile in bay.profiles.items():
            found.append(
                KnownAgent(
                    profile=profile,
                    title=preset_of(profile).title,
                    configured=name in bay.place.config.agents,
                    presence=presence.look(profile, os.environ),
                    use=used.get(name, AgentUse(agent=name)),
                )
            )
        return sorted(found, key=lambda each: (not each.presence.path, each.profile.name))

    def look(self, name: str) -> Presence:
        """What there is of one here, without a call; raises UsageError when there is no such agent."""
        return presence.look(agent.find(self._bay.profiles, name), os.environ)

    def check(self, name: str) -> AgentCall:
        """Make one cheap real call; raises UsageError when there is no such agent."""
        return presence.call(agent.find(self._bay.profiles, name), os.environ)

    def prompt(self, task_id: str) -> str:
        """What the next attempt of a task will be told, to the letter; raises NotAllowed for what no agent works on."""
        bay = self._bay
        redaction = app.redaction_of(bay.place.config, os.environ)
        with bay.store.read() as tx:
            task = tasks.resolve(tx, task_id)
            if not agent.is_agents(task):
                raise NotAllowed(f"no agent works on {task.id}", hint=f"medbay show {task.id} says what runs")
            return prompts.of_next(tx, task, host=this_host().name, redaction=redaction)
