"""Agents by profile: data that says how one is started without a terminal, on whose account, with which model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final

from msgspec import Struct

from medbay.core.diagnosis.facts import NO_DIRECTORY
from medbay.core.diagnosis.record import Diagnosis
from medbay.core.holds.breaker import Breaker
from medbay.core.holds.resources import PROVIDER
from medbay.core.model import Attempt, Task
from medbay.core.outcome import Failed, Outcome, Output, OverBudget, Succeeded
from medbay.core.policy.policy import category_acted_on
from medbay.core.workspace import OnPass, WorkspaceMeans
from medbay.errors import UsageError

RUNNER: Final = "agent"
_AGENTS: Final = f"{RUNNER}:"
SPEC_ROLE: Final = "spec"  # the profile that reviews specifications
PROMPT_FILE: Final = "{prompt_file}"
MODEL: Final = "{model}"
PLACEHOLDERS: Final = (PROMPT_FILE, MODEL)  # of a command of one's own
ASKED: Final = "asked"  # unknown/asked: it cannot go on without an answer
CLASSES: Final = ("small", "medium", "large")  # of models; which one each is depends on the provider
CUSTOM: Final = "custom"  # the preset of a command of one's own
NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
FIRST_WORD_MS: Final = 10_000
_ONLY_A_CHANGE: Final = ("code_error", "test_failure")
_NO_USE_TWICE: Final = frozenset({"malformed_output", "max_turns", "loop", "refused", "no_evidence"})
_PLACEHOLDER: Final = re.compile(r"\{[a-z_]+\}")
TOOLS: Final = "tools"  # what a result holds the calls of tools under, beside the facts of the agent
TOOLS_KEPT: Final = 200  # calls of one attempt that are kept one by one; all are counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One agent as it is configured: `[agents.NAME]`."""

    name: str
    preset: str = ""  # an agent that is known by name; how it is started and read is data of its own
    command: tuple[str, ...] = ()  # or a command of one's own
    program: str = ""  # what is started in place of the preset's own word
    role: str = ""
    provider: str = ""  # NAME or NAME/ACCOUNT
    model: str = ""
    worktree: bool = True
    setup: str = ""
    copy: tuple[str, ...] = ()
    on_pass: OnPass = "keep"
    evidence: bool = True
    sandbox: str = ""
    hosts: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()  # the tools it may use, in place of the preset's
    max_turns: int | None = None

    @property
    def workspace(self) -> WorkspaceMeans:
        """How it wants its directory."""
        return WorkspaceMeans(**{name: getattr(self, name) for name in WorkspaceMeans.__struct_fields__})

    @property
    def resources(self) -> tuple[str, ...]:
        """The resources of its tasks: the account it works on."""
        return (PROVIDER + self.provider,) if self.provider else ()


# What each role works with: one table for agents, phases and triage.
_CLASS_OF_ROLE: Final[Mapping[str, str]] = {
    **dict.fromkeys(("pm", "qa", "dev", "gate", "spec"), "medium"),
    **dict.fromkeys(("reviewer", "triage", "evaluation"), "small"),
    "critical": "large",
    "review": "medium",  # of a specification, by the role `spec`
}


def class_of(role: str) -> str:
    """The class of model a role works with; empty where the profile decides."""
    return "small" if role.startswith("review-") else _CLASS_OF_ROLE.get(role, "")


def next_classes(task: Task) -> tuple[str, ...]:
    """The classes of models one below and one above that of a task; none where it names a model itself."""
    present = task.model or class_of(task.role) or "medium"
    if present not in CLASSES:
        return ()
    at = CLASSES.index(present)
    return (*CLASSES[max(0, at - 1) : at], *CLASSES[at + 1 : at + 2])


def runner_of(name: str) -> str:
    """The runner of a task that this profile works on."""
    return f"{RUNNER}:{name}"


def profile_of(runner: str) -> str:
    """The name of the profile a task is worked on by; empty when it is no agent's."""
    kind, _, name = runner.partition(":")
    return name if kind == RUNNER else ""


def is_agents(task: Task) -> bool:
    """Whether an agent works on it."""
    return task.runner.startswith(_AGENTS) and task.runner != _AGENTS


def needs_change(task: Task, found: Diagnosis) -> bool:
    """Whether the same attempt once more would be no use: an agent's work that only a change can help."""
    category = category_acted_on(found)
    return is_agents(task) and (category in _ONLY_A_CHANGE or found.subcategory in _NO_USE_TWICE)


def never_got_to_work(task: Task, outcome: Outcome, ran_ms: int | None) -> bool:
    """Whether a failure is its runner's: it could not be started, or an agent was gone before its first word.

    A directory that is not there is the task's own: with another one the same runner works.
    """
    if not isinstance(outcome, Failed):
        return False
    if outcome.spawn_error or not is_agents(task) or ran_ms is None or ran_ms >= FIRST_WORD_MS:
        return bool(outcome.spawn_error) and not outcome.spawn_error.startswith(NO_DIRECTORY)
    stopped_by_us = outcome.memory_limit_hit or outcome.cpu_limit_hit or outcome.log_limit_hit
    told = (outcome.output.result or {}).get("agent")
    silent = outcome.output.total_bytes == 0 or (isinstance(told, Mapping) and not told.get("records"))
    return not stopped_by_us and (outcome.signal is not None or silent)


def find(profiles: Mapping[str, Profile], name: str) -> Profile:
    """The profile of this name; raises UsageError when there is none."""
    if name in profiles:
        return profiles[name]
    if not name:
        raise UsageError("the name of an agent is empty", hint="medbay agents lists them")
    near = get_close_matches(name, list(profiles), n=1)
    hint = f'did you mean "{near[0]}"?' if near else f"[agents.{name}] in medbay.toml makes one"
    raise UsageError(f'there is no agent "{name}"', hint=hint)


def next_agent(task: Task) -> tuple[str, tuple[str, ...]] | None:
    """The agent that may go on with a task where the present one cannot, with its needs; None for the last."""
    names = [name for name, _ in task.agents]
    at = names.index(profile_of(task.runner)) + 1 if profile_of(task.runner) in names else len(names)
    return task.agents[at] if at < len(names) else None


def outwaits(task: Task, hold: Breaker, now: int, patience_ms: int) -> bool:
    """Whether another agent takes a task, because the account of its own is held for longer than it may wait."""
    if next_agent(task) is None or task.recurs or task.canary or hold.key not in task.resources:
        return False
    return lasts(hold, now, patience_ms)


def lasts(hold: Breaker, now: int, patience_ms: int) -> bool:
    """Whether an account is held for longer than a task may wait."""
    held_ms = now - hold.opened_at if hold.until is None else hold.until - now  # without a named end: so far
    return hold.state != "closed" and (hold.only_a_person_ends or held_ms > patience_ms)


def asks_a_person(task: Task, outcome: Outcome, found: Diagnosis) -> str:
    """Why a failure of an agent is a person's matter at once: more of the same would only cost; else empty."""
    if not is_agents(task):
        return ""
    if isinstance(outcome, OverBudget):
        return f"{outcome.why}: give it more (medbay edit {task.id} --max-tokens, --max-cost), or make it smaller"
    again = task.streak > 0 and task.last_category == found.kind
    if found.subcategory == "context_window" and again:
        return "its context window was exceeded again in a fresh session: split the task"
    return ""


def agent_facts(output: Output) -> tuple[str, str, int, int, int] | None:
    """Session, model, tokens in and out, and calls of tools, as the runner of an agent reports them."""
    told = (output.result or {}).get("agent")
    if not isinstance(told, Mapping):
        return None
    numbers = (int(told.get(name) or 0) for name in ("tokens_in", "tokens_out", "calls"))
    tokens_in, tokens_out, calls = numbers
    return str(told.get("session") or ""), str(told.get("model") or ""), tokens_in, tokens_out, calls


class ToolUse(Struct, frozen=True, kw_only=True):
    """One call of a tool: which, on what, and when."""

    tool: str
    path: str = ""
    at: int = 0


def tools_used(result: Mapping[str, Any] | None) -> tuple[ToolUse, ...]:
    """The calls of tools of an attempt, as its runner reports them; one that cannot be read is left out."""
    told = (result or {}).get(TOOLS)
    found = []
    for each in told if isinstance(told, Sequence) and not isinstance(told, str) else ():
        if isinstance(each, Mapping) and isinstance(at := each.get("at"), int):
            found.append(ToolUse(tool=str(each.get("tool")), path=str(each.get("path") or ""), at=at))
    return tuple(found)


def history_of(task: Task, outcome: Outcome) -> Mapping[str, Any]:
    """What the transition that ends an attempt of an agent says of it: who, in which session, what went wrong."""
    session, model, tokens_in, tokens_out, calls = agent_facts(outcome.output) or ("", "", 0, 0, 0)
    result = outcome.output.result or {}
    error = None if isinstance(outcome, Succeeded) else result.get("summary")
    usage = result.get("usage")
    cost = usage.get("cost") if isinstance(usage, Mapping) else None
    numbers = {"tokens_in": tokens_in, "tokens_out": tokens_out, "tool_calls": calls, "cost": cost}
    metadata = {"model": model or None, **numbers}
    return {"agent": profile_of(task.runner), "session_id": session or None, "error": error, "metadata": metadata}


def session_to_resume(task: Task, before: Attempt | None, *, host: str) -> str:
    """The session that the next attempt goes on with; empty for a fresh one.

    Only on the host that has it, with the same agent, and where the failure says so; what was interrupted goes on.
    """
    if before is None or task.fresh_session or before.host != host or before.agent != profile_of(task.runner):
        return ""
    session = before.session or before.resumes
    if before.outcome in ("timed_out", "stalled"):
        return session if before.tool_calls else ""  # there was progress
    if before.diagnosis is not None:
        return session if before.diagnosis.session == "resume" else ""
    return session if before.outcome in ("lost", "requeued") else ""


def with_role(profiles: Iterable[Profile], role: str) -> str:
    """The name of the first profile that has this role; empty when none has."""
    return next((each.name for each in profiles if each.role == role), "")


def unknown_placeholder(word: str) -> str:
    """The first placeholder of a command's word that means nothing; empty when all are known."""
    return next((each for each in _PLACEHOLDER.findall(word) if each not in PLACEHOLDERS), "")


def filled(command: Sequence[str], values: Mapping[str, str]) -> tuple[str, ...]:
    """The command of one run, by placeholder. Without a value its word is left out, with the option before it."""
    words: list[str] = []
    for word in command:
        found = _PLACEHOLDER.findall(word)
        if any(not values.get(each) for each in found):
            if not word.startswith("-") and words and words[-1].startswith("-"):
                words.pop()
            continue
        words.append(_PLACEHOLDER.sub(lambda each: values[each[0]], word))
    return tuple(words)
