"""What the folder of a story contains: every file that follows from the records, as text. Same records, same bytes.

The store is the truth. A file that a role may write itself (PROOF.md, ELAB.yaml) is only made where it did not.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from medbay.core.budget import MILLION
from medbay.core.durations import iso
from medbay.core.policy import phases
from medbay.core.untrusted import block, line
from medbay.core.workflow import shapes
from medbay.core.workflow.proof import judged
from medbay.core.workflow.records import PhaseRun, RunPart, Story, StoryDecision
from medbay.core.workflow.shapes import FOLDER
from medbay.core.workflow.workflow import Workflow

OF_ROLES: Final = frozenset({shapes.PROOF, shapes.ELAB})  # theirs to write; ours where they did not
SUMMARY_MAX: Final = 4_000


def files_of(
    story: Story, runs: Sequence[PhaseRun], decisions: Sequence[StoryDecision], workflow: Workflow
) -> dict[str, str]:
    """Every file beside story.md, by its name below the folder of the story."""
    ended = [run for run in runs if run.ended_at is not None]
    made: dict[str, str] = {}
    for phase in workflow.phases:
        own = [run for run in ended if run.phase == phase.name and run.verdict]
        if own and phase.artifact in _MAKERS:
            made[phase.artifact] = _MAKERS[phase.artifact](story, own, decisions)
    if story.evidence:
        made[shapes.EVIDENCE] = _evidence(story)
    if errors := _error_log(story, ended):
        made[shapes.ERROR_LOG] = errors
    if ended:
        made[shapes.TOKEN_LOG] = _token_log(story, ended, workflow)
    if runs:
        made[shapes.TRACE] = "".join(f"{json.dumps(each, ensure_ascii=False)}\n" for each in trace_of(story, runs))
        made[shapes.METRICS] = shapes.render(metrics_of(story, runs))
    return {f"{FOLDER}/{name}": text for name, text in made.items()}


def trace_of(story: Story, runs: Iterable[PhaseRun]) -> list[dict[str, Any]]:
    """The lines of TRACE.jsonl: each phase from its start to its end, with its agents in between, in order of time."""
    made: list[dict[str, Any]] = []
    for run in runs:
        start = {"event": "phase_start", "phase": run.phase, "timestamp": iso(run.started_at), "storyId": story.id}
        spans = sorted((span for part in run.parts for span in _spans(part)), key=lambda span: span[0])
        made += [start, *(each for _, each in spans)]
        if run.ended_at is not None:
            took = max(0, run.ended_at - run.started_at)
            end = {"event": "phase_complete", "phase": run.phase, "status": run.status, "durationMs": took}
            made.append({**end, "timestamp": iso(run.ended_at)})
    return made


def _spans(part: RunPart) -> Iterable[tuple[int, dict[str, Any]]]:
    """When each attempt of one role began and ended, and the tools it used in between."""
    agent = part.role
    for each in part.tried:
        spawned = {"event": "agent_spawn", "agent": agent, "model": each.model or None}
        yield each.started_at, {**spawned, "timestamp": iso(each.started_at)}
        last = each.started_at if each.ended_at is None else each.ended_at
        for used in each.tools:
            at = min(max(used.at, each.started_at), max(last, each.started_at))  # clocks of tools may be off
            yield at, {"event": "tool_call", "tool": used.tool, "path": used.path, "timestamp": iso(at)}
        if each.ended_at is not None:
            done = {"event": "agent_complete", "agent": agent, "tokensInput": each.tokens_in}
            took = max(0, each.ended_at - each.started_at)
            rest = {"tokensOutput": each.tokens_out, "durationMs": took, "timestamp": iso(each.ended_at)}
            yield each.ended_at, {**done, **rest}


def metrics_of(story: Story, runs: Sequence[PhaseRun]) -> shapes.Metrics:
    """The figures of a story, run by run."""
    phases = tuple(
        shapes.PhaseMetrics(
            name=run.phase,
            status=run.status,
            duration_ms=max(0, run.ended_at - run.started_at) if run.ended_at is not None else 0,
            tokens_input=run.tokens_in,
            tokens_output=run.tokens_out,
            agent_spawns=run.agent_spawns,
            tool_calls=run.tool_calls,
        )
        for run in runs
    )
    totals = shapes.MetricsTotals(
        tokens=sum(each.tokens_input + each.tokens_output for each in phases),
        duration_ms=sum(each.duration_ms for each in phases),
        agent_spawns=sum(each.agent_spawns for each in phases),
        tool_calls=sum(each.tool_calls for each in phases),
    )
    return shapes.Metrics(
        story_id=story.id,
        started_at=iso(runs[0].started_at) if runs else None,
        completed_at=iso(story.ended_at) if story.ended_at is not None else None,
        status=story.status,
        totals=totals,
        phases=phases,
    )


def _elaboration(story: Story, runs: Sequence[PhaseRun], decisions: Sequence[StoryDecision]) -> str:
    last = runs[-1]
    findings = last.result.get("findings") or last.result.get("learnings") or ()
    return shapes.render(
        shapes.Elaboration(
            story_id=story.id,
            verdict=last.verdict,
            summary=block(last.summary, SUMMARY_MAX),
            findings=tuple(line(str(each), 2_000) for each in findings),
            elaborated_at=iso(last.ended_at or 0),
        )
    )


def _verification(story: Story, runs: Sequence[PhaseRun], decisions: Sequence[StoryDecision]) -> str:
    last = runs[-1]
    verdict = last.status if last.status in ("PASS", "FAIL") else "ERROR"
    workers = tuple(
        shapes.WorkerAnswer(
            name=part.role.removeprefix("review-"),
            verdict=part.status,
            summary=block(part.summary, SUMMARY_MAX),
            duration_ms=max(0, (part.ended_at or 0) - (part.started_at or 0)) if part.ended_at else 0,
            required=part.required,
        )
        for part in last.parts
        if part.status
    )
    late = [each.name for each in workers if each.verdict == "TIMEOUT"]
    bad = [each.name for each in workers if each.verdict == "FAIL" and verdict == "PASS"]
    warnings = [f"{name} did not answer in time" for name in late] + [f"{name} failed" for name in bad]
    return shapes.render(
        shapes.VerificationFile(
            story_id=story.id,
            verdict=verdict,
            round=min(len(runs), 1_000),
            summary=block(last.summary, SUMMARY_MAX),
            workers=workers,
            warnings=tuple(warnings),
            verified_at=iso(last.ended_at or 0),
        )
    )


def _gate(story: Story, runs: Sequence[PhaseRun], decisions: Sequence[StoryDecision]) -> str:
    last = runs[-1]
    recorded = {each.path: each.hash or None for each in story.evidence}
    return shapes.render(
        shapes.GateDecision(
            story_id=story.id,
            verdict=last.verdict,
            summary=block(last.summary, SUMMARY_MAX),
            criteria=judged(story.criteria, story.evidence, recorded),
            decided_at=iso(last.ended_at or 0),
        )
    )


def _proof(story: Story, runs: Sequence[PhaseRun], decisions: Sequence[StoryDecision]) -> str:
    """PROOF.md: what the work on a story did, run by run, and what shows each criterion."""
    lines = [f"# Proof of {story.id}", "", line(story.title, 200), ""]
    for run in runs:
        lines += [f"## {run.phase}, {iso(run.ended_at or 0)}: {run.verdict}", "", block(run.summary, SUMMARY_MAX), ""]
        lines += [f"- {line(str(each), 500)}" for each in run.result.get("artifacts") or ()]
    lines += ["", "## What shows each criterion", ""]
    for number, text in enumerate(story.criteria, start=1):
        lines.append(f"{number}. {line(text, 500)}")
        own = [each for each in story.evidence if each.criterion == number]
        lines += [f"   - {line(each.shows, 500)} ({line(each.path, 200)}, {each.phase})" for each in own]
        lines += [] if own else ["   - nothing yet"]
    if decisions:
        lines += ["", "## Decisions", ""]
        lines += [f"- {line(each.question, 300)} {line(each.answer or 'open', 200)}" for each in decisions]
    return "\n".join(lines) + "\n"


_MAKERS: Final[Mapping[str, Callable[[Story, Sequence[PhaseRun], Sequence[StoryDecision]], str]]] = {
    shapes.ELAB: _elaboration,
    shapes.VERIFICATION: _verification,
    shapes.GATE: _gate,
    shapes.PROOF: _proof,
}


def _evidence(story: Story) -> str:
    shown = tuple(
        shapes.EvidenceShown(
            criterion=each.criterion, shows=each.shows, path=each.path, phase=each.phase, hash=each.hash
        )
        for each in story.evidence
        if each.hash
    )
    return shapes.render(shapes.EvidenceList(story_id=story.id, evidence=shown))


def _error_log(story: Story, ended: Sequence[PhaseRun]) -> str:
    """ERROR-LOG.yaml once a phase failed so often in a row in the same way; it stays, with what came later.

    A service that stayed away is written down at once: it is not asked again without a person.
    """
    alike: dict[str, tuple[str, int]] = {}  # the last type of each phase, and how often in a row
    full: tuple[str, str] | None = None
    for run in ended:
        if run.status == "CANCELLED":
            continue
        last, count = alike.get(run.phase, ("", 0))
        kind = _error_type(run)
        alike[run.phase] = kind, count + 1 if kind == last else 1
        enough = alike[run.phase][1] >= run.rules.breaks_at or kind == phases.SERVICE_DOWN
        if kind and enough:
            full = run.phase, kind
    if full is None:
        return ""
    errors = tuple(
        shapes.PhaseError(
            phase=run.phase,
            type=full[1],
            message=block(run.summary, SUMMARY_MAX),
            run=min(run.number, 1_000),
            at=iso(run.ended_at or 0),
        )
        for run in ended
        if run.phase == full[0] and _error_type(run) == full[1]
    )
    return shapes.render(shapes.ErrorLog(story_id=story.id, phase=full[0], type=full[1], errors=errors))


def _error_type(run: PhaseRun) -> str:
    """How a run failed: by its type of error, else by its verdict; nothing for a pass."""
    return "" if run.status == "PASS" else run.error_type or run.status


def _token_log(story: Story, ended: Sequence[PhaseRun], workflow: Workflow) -> str:
    """TOKEN-LOG.md: what each run took, and how much of its phase's budget was used by then, over all runs."""
    lines = [
        f"# Tokens of {story.id}",
        "",
        f"Enforcement: {story.enforcement}, multiplier {story.multiplier:g}",
        "",
        "| run | phase | ended | input | output | of the budget | warning | limit | cost |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    used: dict[str, int] = {}
    for run in ended:
        phase = workflow.phase(run.phase)
        group, budget = workflow.budget_of(phase) if phase is not None else (run.phase, None)
        used[group] = used.get(group, 0) + run.tokens
        bounds = (budget.warning, budget.limit) if budget is not None else ()
        shown = [f"{int(each * story.multiplier):,}" for each in bounds] or ["none", "none"]
        cells = (run.number, run.phase, iso(run.ended_at or 0), run.tokens_in, run.tokens_out, used[group])
        cost = f"{run.cost / MILLION:.4f}" if run.cost else ""
        lines.append("| " + " | ".join(map(str, (*cells, *shown, cost))) + " |")
    return "\n".join(lines) + "\n"
