"""Stories in words and as JSON. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from medbay.core.budget import MILLION
from medbay.core.durations import iso
from medbay.core.model import Question
from medbay.core.workflow import budget
from medbay.core.workflow.phase import StoryCase
from medbay.core.workflow.records import PhaseRun, RunPart, Story, StoryDecision
from medbay.core.workflow.workflow import Workflow
from medbay.views.text import clean, cut, wrap

_DEEPER: Final = 4  # columns that the rest of a broken line is moved in


def as_json(story: Story, directory: str) -> dict[str, Any]:
    """One story as a list shows it."""
    return {
        "id": story.id,
        "title": story.title,
        "status": story.status,
        "directory": directory,
        "workflow": story.workflow,
        "priority": story.priority,
        "depends_on": list(story.depends_on),
        "since": iso(story.since),
        "reason": story.reason,
        "driven": story.driven,
        "blocked_from": story.blocked_from or None,
        "split_of": story.split_of or None,
        "parts": list(story.parts),
    }


def in_full(
    story: Story,
    workflow: Workflow,
    runs: Sequence[PhaseRun],
    decisions: Sequence[StoryDecision],
    asked: Sequence[Question],
    *,
    held_by: Sequence[str],
    artifacts: Sequence[str],
) -> dict[str, Any]:
    """Everything about one story."""
    open_run = next((each for each in runs if each.is_open), None)
    return {
        **as_json(story, directory_of(story, workflow)),
        "description": story.description,
        "phase": open_run.phase if open_run is not None else None,
        "criteria": list(story.criteria),
        "evidence": [
            {
                "criterion": each.criterion,
                "shows": each.shows,
                "path": each.path,
                "phase": each.phase,
                "hash": each.hash,
            }
            for each in story.evidence
        ],
        "waits_for": list(held_by),
        "review_rounds": story.rounds,
        "budgets": budgets(story, workflow, runs),
        "phases": [run_as_json(each) for each in runs],
        "decisions": [decision_as_json(each) for each in decisions],
        "questions": [
            {"id": each.id, "need": each.need, "why": each.why, "options": [option.label for option in each.options]}
            for each in asked
        ],
        "artifacts": list(artifacts),
        "merged": story.merged,
        "git": git_as_json(story),
        "created_at": iso(story.created_at),
        "ended_at": iso(story.ended_at) if story.ended_at is not None else None,
    }


def git_as_json(story: Story) -> dict[str, Any] | None:
    """The branch of a story and what became of it; None where its roles work in the project itself."""
    git = story.git
    if not git.branch:
        return None
    return {
        "branch": git.branch,
        "base": git.base or None,
        "worktree": git.worktree,
        "merge_commit": git.merge_commit or None,
        "pull_request": git.pull_request or None,
        "conflict": git.conflict or None,
        "revert_branch": git.revert_branch or None,
        "revert_commit": git.revert_commit or None,
    }


def git_lines(git: dict[str, Any], merged: bool) -> list[str]:
    """The same for a terminal."""
    how = "kept"
    if git["revert_commit"]:
        how = f"reverted in {git['base']} by {git['revert_commit'][:12]}"
    elif merged:
        how = f"merged into {git['base']} as {(git['merge_commit'] or '')[:12]}"
    elif git["pull_request"]:
        how = git["pull_request"]
    elif git["conflict"]:
        how = git["conflict"].splitlines()[0]
    said = [f"  branch {clean(git['branch'])}: {clean(how)}", f"  worktree {clean(git['worktree'])}"]
    if git["revert_branch"] and not git["revert_commit"]:
        said.append(f"  its revert is prepared on {clean(git['revert_branch'])}")
    return said


def directory_of(story: Story, workflow: Workflow) -> str:
    """The directory of its status, below the root."""
    return workflow.machine.places.get(story.status, "")


def budgets(story: Story, workflow: Workflow, runs: Sequence[PhaseRun]) -> list[dict[str, Any]]:
    """How much of each budget is used."""
    made = []
    for phase in workflow.phases:
        names = budget.group_phases(workflow, phase)
        used = sum(each.tokens for each in runs if each.phase in names)
        state = budget.state_of(story, workflow, phase, used)
        if state is not None and state.group == phase.name:
            made.append(
                {
                    "phase": phase.name,
                    "used": used,
                    "warning": state.warning,
                    "limit": state.limit,
                    "level": state.level or None,
                    "enforcement": story.enforcement,
                }
            )
    return made


def run_as_json(run: PhaseRun) -> dict[str, Any]:
    """One run of a phase."""
    return {
        "run": run.number,
        "phase": run.phase,
        "status": run.status,
        "verdict": run.verdict or None,
        "error_type": run.error_type or None,
        "summary": run.summary,
        "command": run.command,
        "started_at": iso(run.started_at),
        "ended_at": iso(run.ended_at) if run.ended_at is not None else None,
        "duration_ms": run.ended_at - run.started_at if run.ended_at is not None else None,
        "tokens_input": run.tokens_in,
        "tokens_output": run.tokens_out,
        "workers": [_part(each) for each in run.parts],
    }


def _part(part: RunPart) -> dict[str, Any]:
    return {
        "role": part.role,
        "task": part.task_id,
        "status": part.status or None,
        "verdict": part.verdict or None,
        "summary": part.summary,
        "required": part.required,
        "attempts": part.attempts,
        "tokens": part.tokens_in + part.tokens_out,
        "agent": part.agent or None,
        "model": part.model or None,
        "session": part.session or None,
        "tool_calls": part.tool_calls,
        "cost": part.cost / MILLION if part.cost else None,
    }


def decision_as_json(decision: StoryDecision) -> dict[str, Any]:
    """One decision."""
    return {
        "question": decision.question,
        "options": list(decision.options),
        "kind": decision.kind,
        "why": decision.why,
        "phase": decision.phase,
        "answer": decision.answer or None,
        "answered_by": decision.answered_by or None,
        "question_id": decision.question_id or None,
    }


def lines(found: dict[str, Any], width: int | None = None) -> list[str]:
    """One story for a terminal of a width; without one, nothing is broken."""
    said = _lines(found)
    if width is None:
        return said
    return [part for line in said for part in _folded(line, width)]


def _folded(line: str, width: int) -> list[str]:
    """A line in lines that fit; what goes on stands below what it belongs to."""
    body = line.lstrip(" ")
    depth = len(line) - len(body)
    first, *rest = wrap(body, width - depth, below=width - depth - _DEEPER)
    return [" " * depth + first, *(" " * (depth + _DEEPER) + each for each in rest)]


def _lines(found: dict[str, Any]) -> list[str]:
    said = [f"{found['id']}  {found['status']}  {clean(found['title'])}"]
    if found["reason"]:
        said.append(f"  {clean(found['reason'])}")
    said += git_lines(found["git"], found["merged"]) if found["git"] else []
    said += [f"  waits for {', '.join(found['waits_for'])}"] if found["waits_for"] else []
    said += [f"  {number}. {clean(text)}" for number, text in enumerate(found["criteria"], start=1)]
    for each in found["phases"]:
        came_to = each["verdict"] or each["status"]  # an error is no verdict of a role
        said.append(f"  {each['run']:>3}  {each['phase']:<10} {came_to:<8} {cut(clean(each['summary']), 90)}".rstrip())
    for each in found["budgets"]:
        if each["level"]:
            said.append(f"  budget of {each['phase']}: {each['used']} of {each['limit']} tokens ({each['level']})")
    for each in found["decisions"]:
        answer = f"{clean(each['answer'])} ({each['answered_by']})" if each["answer"] else "open"
        said.append(f"  decided: {clean(each['question'])} -> {answer}  [{each['kind']}]")
    said += [f"  asks: {clean(each['need'])}  (medbay answer {each['id']})" for each in found["questions"]]
    return said


def explanation(case: StoryCase, held_by: Sequence[str], asked: Sequence[Question]) -> list[str]:
    """Why a story is where it is, and what happens next, in sentences."""
    story, run = case.story, case.run
    said = [f"{story.id} is {story.status}: {clean(story.reason) or 'it was created'}."]
    if story.status in case.workflow.machine.terminal:
        return [*said, "It has ended."]
    if run is not None:
        said.append(f"Its phase {run.phase} runs (run {run.number}, {run.status.lower()}).")
        said += [f"  {task.id} is {task.status}: {clean(task.reason)}".rstrip(": ") for task in case.tasks]
    said += [f"It waits for {each}, which is not completed." for each in held_by]
    said += [f"It waits for an answer: {clean(each.need)} (medbay answer {each.id})." for each in asked]
    phase = case.workflow.next_phase(story.status, case.runs[-1].phase if case.runs else "")
    if run is None and not held_by and not asked and phase is not None:
        how = "starts by itself" if story.driven else f"starts with medbay story run {story.id}"
        said.append(f"Next is {phase.name}, which {how}.")
    machine = case.workflow.machine
    open_ways = [move for move in machine.moves if move.source == story.status]
    ways = [move.target for move in open_ways if not move.guard or story.permits(move.guard, move.target)]
    said.append(f"From {story.status} it may become {', '.join(ways)}.")
    return said
