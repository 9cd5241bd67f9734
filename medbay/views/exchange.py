"""A task as a line of an export, under the names of `medbay add`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from medbay.core.model import PYTHON, Task
from medbay.views import moments, work


def as_line(task: Task, after: Sequence[str]) -> dict[str, Any]:
    """Return one task as a line; `after` is what it still waits for, and what is empty is left out."""
    never_ran = task.status == "pending" and task.attempts == 0
    line: dict[str, Any] = {
        "id": task.id,
        "status": task.status,
        "title": task.title,
        **_work(task),
        "description": task.description,
        "spec": task.spec,
        "cwd": task.cwd,
        "env": dict(task.env),
        "env_file": task.env_file,
        "env_from": list(task.env_from),
        "timeout": _duration(task.timeout_ms),
        "memory": task.memory_bytes,
        "cpu_time": _duration(task.cpu_ms),
        "stall": _duration(task.stall_ms),
        "shell": task.shell,
        "takes_advice": work.ADVISED[task.advice],
        "priority": task.priority,
        "queue": task.queue,
        "tag": list(task.tags),
        "policy": task.policy,
        "provider": [each.removeprefix("provider:") for each in task.resources],
        "mutex": task.mutex,
        "place": task.place,
        "expect_by": task.expect_by,
        **_checks(task),
        **_schedule(task),
        **work.agent_limits(task),
        "after": list(after),
        "at": moments.iso(task.due_at) if never_ran else None,
        "key": task.key,
    }
    return {name: value for name, value in line.items() if value not in (None, "", [], {})}


def _schedule(task: Task) -> dict[str, Any]:
    """When it recurs; a task of a loop says which, and its place in it."""
    if task.loop:
        said = {
            "of": task.loop,
            "place": task.position,
            "delay": _duration(task.every_ms),
            "max_iterations": task.max_iterations,
            "max_failure_restarts": task.max_failure_restarts,
        }
        return {"loop": {name: value for name, value in said.items() if value is not None}}
    if not task.recurs:
        return {}
    return {
        "cron": task.cron,
        "zone": task.zone,
        "every": _duration(task.every_ms),
        "catch_up": task.catch_up,
        "max_iterations": task.max_iterations,
    }


def _checks(task: Task) -> dict[str, Any]:
    """What has to hold of its result."""
    if not task.checks:
        return {}
    words = [(work.words(each.command), each) for each in task.checks]
    return {
        "check": [command for command, each in words if not each.required],
        "required_check": [command for command, each in words if each.required],
        "check_timeout": _duration(task.check_timeout_ms),
        "fail_fast": task.fail_fast or None,
        "check_threshold": task.threshold if task.threshold != 1.0 else None,
    }


def _work(task: Task) -> dict[str, Any]:
    """What it runs: a command, or a call of a Python function."""
    if task.runner == PYTHON:
        called = work.call_as_json(task)
        return {**called, "isolated": called["isolated"] or None}
    if others := work.worker_as_json(task):
        return others
    return {"run": work.words(task.command)}


def _duration(ms: int | None) -> str | None:
    return None if ms is None else f"{ms}ms"
