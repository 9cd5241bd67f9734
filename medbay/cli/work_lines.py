"""What an attempt of a task does (its command, an agent, a person, a triage), and what that came to. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from medbay.cli import times
from medbay.config import Config
from medbay.core.agent import profile_of
from medbay.core.durations import from_iso
from medbay.core.model import Task
from medbay.core.people import question
from medbay.core.triage.cycle import RUNNER as TRIAGE


def runs(task: Task, config: Config, subject: str | None) -> str:
    """`runs ./pull.sh`, `runs agent helper: my-agent {prompt_file}`: one line for `show`."""
    return "done by a person" if question.is_persons(task) else f"runs {work(task, config, subject)}"


def work(task: Task, config: Config, subject: str | None) -> str:
    """The same for programs, without the verb."""
    if question.is_persons(task):
        return "person"
    if name := profile_of(task.runner):
        known = config.agents.get(name)
        return f"agent {name}" + (f": {' '.join(known.command)}" if known else ", which is not configured here")
    if task.runner == TRIAGE:
        return f"the triage agent {_triage_agent(config)} on {subject}"
    return task.command if isinstance(task.command, str) else " ".join(task.command)


def came_to(detail: Mapping[str, Any], now_ms: int) -> list[tuple[str, str]]:
    """Its result, and the last answer that a person gave."""
    said = [("result", json.dumps(detail["result"], ensure_ascii=False))] if detail["result"] is not None else []
    answered = [each for each in detail["questions"] if each["status"] == "answered"]
    if answered and not detail["question"]:
        newest = answered[-1]
        ago = times.ago(from_iso(newest["answered_at"]), now_ms)
        said.append(("answered", f"{newest['answer']}, by {newest['answered_by']} {ago}"))
    return said


def _triage_agent(config: Config) -> str:
    chosen = config.triage
    return " ".join(chosen.command) if chosen.agent == "command" else chosen.agent
