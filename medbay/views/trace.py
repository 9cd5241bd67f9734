"""The trace of a task: TRACE.jsonl, one line per start and end of a phase and an agent, and METRICS.yaml, the totals.

A plain task has one phase, `task`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from medbay.core.agent import ToolUse
from medbay.core.model import Attempt, Task
from medbay.views import moments

PHASE: Final = "task"


def lines(
    task: Task, attempts: Sequence[Attempt], tools: Mapping[int, Sequence[ToolUse]] | None = None
) -> list[dict[str, Any]]:
    """Return the lines of TRACE.jsonl, in order of time; `tools` are the calls of each attempt by its number."""
    made: list[dict[str, Any]] = []
    if attempts:
        start = attempts[0].started_at
        made.append({"event": "phase_start", "timestamp": moments.iso(start), "phase": PHASE, "storyId": task.id})
    for each in attempts:
        agent = each.agent or task.runner
        spawn = {"event": "agent_spawn", "timestamp": moments.iso(each.started_at), "agent": agent}
        made.append({**spawn, "model": each.model or task.model or None})
        until = max(each.started_at, each.ended_at if each.ended_at is not None else each.started_at)
        for used in (tools or {}).get(each.number, ()):
            at = min(max(used.at, each.started_at), until)
            call = {"event": "tool_call", "timestamp": moments.iso(at), "tool": used.tool}
            made.append({**call, "path": used.path})
        if each.ended_at is not None:
            made.append(
                {
                    "event": "agent_complete",
                    "timestamp": moments.iso(each.ended_at),
                    "agent": agent,
                    "tokensInput": each.tokens_in or 0,
                    "tokensOutput": each.tokens_out or 0,
                    "durationMs": each.ended_at - each.started_at,
                }
            )
    if attempts and task.finished:
        ended = task.ended_at if task.ended_at is not None else task.since
        last = {"event": "phase_complete", "timestamp": moments.iso(ended), "phase": PHASE, "status": task.status}
        made.append({**last, "durationMs": max(0, ended - attempts[0].started_at)})
    return made


def metrics(task: Task, attempts: Sequence[Attempt]) -> str:
    """Return METRICS.yaml."""
    tokens_in, tokens_out = (sum(getattr(each, name) or 0 for each in attempts) for name in ("tokens_in", "tokens_out"))
    started = attempts[0].started_at if attempts else None
    worked_ms = sum(each.ended_at - each.started_at for each in attempts if each.ended_at is not None)
    calls = sum(each.tool_calls or 0 for each in attempts)
    rows = (
        ("story_id", task.id),
        ("started_at", moments.iso(started)),
        ("completed_at", moments.iso(task.ended_at)),
        ("status", task.status),
    )
    totals = (
        ("tokens", sum(each.tokens or 0 for each in attempts) or tokens_in + tokens_out),
        ("duration_ms", worked_ms),
        ("agent_spawns", len(attempts)),
        ("tool_calls", calls),
    )
    phase = (
        ("name", PHASE),
        ("status", task.status),
        ("duration_ms", worked_ms),
        ("tokens_input", tokens_in),
        ("tokens_output", tokens_out),
        ("agent_spawns", len(attempts)),
        ("tool_calls", calls),
    )
    text = "".join(f"{name}: {json.dumps(value)}\n" for name, value in rows)
    text += "totals:\n" + "".join(f"  {name}: {value}\n" for name, value in totals)
    first, *rest = (f"{name}: {json.dumps(value)}\n" for name, value in phase)
    return text + f"phases:\n  - {first}" + "".join(f"    {line}" for line in rest)
