"""What an attempt of a task does: its command, a call, an agent, a person, a triage; and what that came to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from medbay.core.agent import Profile, profile_of
from medbay.core.budget import MILLION
from medbay.core.model import ISOLATED, PYTHON, Task
from medbay.core.people import question
from medbay.core.policy.policy import Policy
from medbay.core.snapshot import TaskDetail
from medbay.core.triage.cycle import RUNNER as TRIAGE
from medbay.views import glyphs, moments

ASKED_AT: Final = 4  # the rung of the ladder at which a person is asked
ADVISED: Final[Mapping[str, bool | None]] = {"": None, "takes": True, "none": False}


def may_take(task: Task, policy: Policy, *, attempts: int | None = None, wait_ms: int | None = None) -> str:
    """Return the first line of `run`: how often it is tried and how long that may wait, and what ends it sooner."""
    tries = min(attempts or ASKED_AT, ASKED_AT, policy.max_retries_total + 1)
    waits = [
        sum(each.delays_ms[min(n, len(each.delays_ms) - 1)] for n in range(tries - 1)) for each in policy.rungs.values()
    ]
    wait = min(max(waits), wait_ms) if wait_ms is not None else max(waits)
    outage = "" if attempts or wait_ms is not None else "; an outage is waited out for up to 3d"
    within = f"{number_of(tries, 'attempt')}, up to {moments.short(wait)} between them" if tries > 1 else "1 attempt"
    sooner = "" if attempts and wait_ms is not None else " (--attempts N, --max-wait D; Ctrl-C gives up)"
    return f"{glyphs.READY} {task.id}: at most {within}{outage}{sooner}"


def number_of(count: int, what: str) -> str:
    """Return how many of something: `1 attempt`, `3 attempts`."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def runs(found: TaskDetail, agents: Mapping[str, Profile], triage_agent: str) -> str:
    """Return one line for `show`: `runs ./pull.sh`, `runs agent helper: my-agent {prompt_file}`."""
    return "done by a person" if question.is_persons(found.task) else f"runs {work(found, agents, triage_agent)}"


def work(found: TaskDetail, agents: Mapping[str, Profile], triage_agent: str) -> str:
    """Return the same for programs, without the verb."""
    task = found.task
    if question.is_persons(task):
        return "person"
    if name := profile_of(task.runner):
        known = agents.get(name)
        if known is None:
            return f"agent {name}, which is not configured here"
        return f"agent {name}" + (f": {' '.join(known.command)}" if known.command else "")
    if task.runner == TRIAGE:
        return f"the triage agent {triage_agent} on {found.subject}"
    return task.command if isinstance(task.command, str) else " ".join(task.command)


def about(found: TaskDetail) -> str:
    """Return what a person wrote about the task, in one paragraph; empty where nothing was written."""
    return " ".join(found.task.description.split())


def came_to(found: TaskDetail) -> list[tuple[str, str]]:
    """Return its result and the last answer that a person gave, each under its label."""
    said = [("result", json.dumps(found.result, ensure_ascii=False))] if found.result is not None else []
    answered = [each for each in found.questions if each.status == "answered"]
    if answered and found.question is None:
        newest = answered[-1]
        ago = moments.ago(newest.answered_at or found.now, found.now)
        said.append(("answered", f"{newest.answer}, by {newest.answered_by} {ago}"))
    return said


def run_as_json(task: Task) -> list[str] | str | None:
    """Return the command of a task; None where it calls a function, or an agent or a person works on it."""
    return None if task.runner == PYTHON or worker_as_json(task) else words(task.command)


def call_as_json(task: Task) -> dict[str, Any]:
    """Return what a task calls; nulls for a task that calls nothing."""
    if task.runner != PYTHON or isinstance(task.command, str):
        return {"python": None, "args": None, "isolated": None}
    target, arguments, *more = task.command
    return {"python": target, "args": json.loads(arguments), "isolated": ISOLATED in more}


def worker_as_json(task: Task) -> dict[str, Any]:
    """Return the agent or the person that works on it, under the names of `medbay add`; empty for a process."""
    if name := profile_of(task.runner):
        several = {"agents": [each for each, _ in task.agents]} if task.agents else {}
        return {"agent": name, **several, **({"model": task.model} if task.model else {})}
    return {"person": True} if question.is_persons(task) else {}


def workspace_as_json(task: Task) -> dict[str, Any]:
    """Return what the task itself says of its worktree, under the names of `medbay add`; None: its profile decides."""
    return {
        "worktree": {"yes": True, "no": False}.get(task.worktree),
        "setup": task.setup or None,
        "copy": list(task.copies) or None,
        "on_pass": task.on_pass or None,
    }


def agent_limits(task: Task) -> dict[str, Any]:
    """Return its agent and what an attempt may use up, as people write it."""
    return {
        "agent": profile_of(task.runner) or None,
        "agents": [each for each, _ in task.agents],
        "model": task.model or None,
        "max_tokens": task.max_tokens,
        "max_cost": None if task.max_cost is None else task.max_cost / MILLION,
        **workspace_as_json(task),
    }


def words(command: tuple[str, ...] | str) -> list[str] | str:
    """Return a command as JSON has it: a list of words, or one line for a shell."""
    return list(command) if isinstance(command, tuple) else command
