"""Captures, workorders and candidates: what is said of them, and their JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from medbay.core.intake.records import Candidate, Capture, ContextSnapshot, RunRecord, Workorder
from medbay.core.intake.workorder import pause_reason
from medbay.core.model import Question
from medbay.views import moments
from medbay.views.text import clean

R = TypeVar("R")


def page_as_json(
    name: str, rows: Sequence[R], as_json: Callable[[R], dict[str, Any]], *, counts: dict[str, int], more: str | None
) -> dict[str, Any]:
    """Return one page of a list as data: its rows, how many match, and the cursor of the next page."""
    return {name: [as_json(each) for each in rows], "total": sum(counts.values()), "counts": counts, "next": more}


def capture_as_json(each: Capture) -> dict[str, Any]:
    """Return one capture as data."""
    return {
        "id": each.id,
        "text": each.text,
        "status": each.status,
        "tries": each.tries,
        "workorder": each.workorder or None,
        "reason": each.reason or None,
        "created_at": moments.iso(each.created_at),
        "created_by": each.created_by,
        "since": moments.iso(each.since),
    }


def capture_in_full(each: Capture, workorders: Sequence[str], candidates: Sequence[Candidate]) -> dict[str, Any]:
    """Return one capture with the workorders it was in and the candidates made of it."""
    made = [{"id": one.id, "title": one.title, "status": one.status, "task": one.task_id or None} for one in candidates]
    return {**capture_as_json(each), "workorders": list(workorders), "candidates": made}


def candidate_as_json(each: Candidate) -> dict[str, Any]:
    """Return one candidate as data."""
    return {
        "id": each.id,
        "title": each.title,
        "description": each.description,
        "acceptance_criteria": list(each.acceptance_criteria),
        "captures": list(each.captures),
        "confidence": each.confidence,
        "status": each.status,
        "workorder": each.workorder,
        "task": each.task_id or None,
        "reason": each.reason or None,
        "created_at": moments.iso(each.created_at),
        "since": moments.iso(each.since),
    }


def origin_as_json(each: Candidate) -> dict[str, Any]:
    """Return what a task was promoted from, as data."""
    return {"id": each.id, "workorder": each.workorder, "captures": list(each.captures)}


def origin(each: Candidate) -> str:
    """Return what a task was promoted from, in words."""
    return f"promoted from {each.id}, captured as {', '.join(map(clean, each.captures))}"


def workorder_as_json(each: Workorder) -> dict[str, Any]:
    """Return one workorder as data."""
    return {
        "id": each.id,
        "type": each.type,
        "status": each.status,
        "agent": each.agent,
        "budget_ms": each.budget_ms,
        "branch_name": each.branch_name,
        "event": each.event_id,
        "snapshot": each.snapshot_id,
        "task": each.task_id,
        "reason": each.reason or None,
        "created_at": moments.iso(each.created_at),
        "since": moments.iso(each.since),
    }


def workorder_in_full(
    each: Workorder,
    *,
    snapshot: ContextSnapshot | None,
    captures: Sequence[Capture],
    candidates: Sequence[Candidate],
    record: RunRecord | None,
    question: Question | None,
) -> dict[str, Any]:
    """Return everything about one workorder as data."""
    return {
        **workorder_as_json(each),
        "snapshot": snapshot_as_json(snapshot) if snapshot is not None else None,
        "captures": [one.id for one in captures],
        "bundle": each.bundle,
        "run_record": {"gate_result": record.gate_result, "gate_reason": record.gate_reason} if record else None,
        "pause_state": pause_as_json(question) if question is not None else None,
        "candidates": [candidate_as_json(one) for one in candidates],
    }


def snapshot_as_json(each: ContextSnapshot) -> dict[str, Any]:
    """Return what an agent was shown, as data."""
    return {
        "id": each.id,
        "objective_id": each.objective_id,
        "repo_commit_sha": each.repo_commit_sha,
        "full_prompt_text": each.full_prompt_text,
        "related_refs": list(each.related_refs),
        "created_at": moments.iso(each.created_at),
    }


def pause_as_json(asked: Question) -> dict[str, Any]:
    """Return a pause state: its reason, the next actions in their order, and the question to answer."""
    return {
        "reason": pause_reason(asked),
        "actions": [option.label for option in asked.options],
        "question": asked.id,
        "status": asked.status,
    }
