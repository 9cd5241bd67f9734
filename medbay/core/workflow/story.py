"""What people do with a story: make it, let it go on, block and release it, end it, change its scope, answer for it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from medbay.core.decision import NOTHING, Added, Decision, Draft, RetryClosed, together
from medbay.core.model import TITLE_MAX, Question, Task
from medbay.core.untrusted import line
from medbay.core.workflow import budget
from medbay.core.workflow import phase as phases
from medbay.core.workflow.frontmatter import CRITERION_MAX
from medbay.core.workflow.phase import StoryCase, draft_of
from medbay.core.workflow.question import closed
from medbay.core.workflow.records import ENFORCEMENTS, EvidenceEntry, PhaseRun, RunChanged, Story, StoryDecision
from medbay.core.workflow.workflow import Phase, Workflow
from medbay.errors import NotAllowed, UsageError

ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
CRITERIA_MAX: Final = 200
COMPLETED: Final = "completed"
BLOCKED: Final = "blocked"
RESCOPED: Final = "its scope changed"  # the reason of the moves that lead it back


def checked_id(given: str) -> str:
    """The id of a new story; raises UsageError for one that could not be the name of a folder."""
    if not ID.fullmatch(given):
        raise UsageError(f'"{given}" is no id of a story', hint="letters, digits, - and _, as WISH-001")
    return given


def clean_title(given: str) -> str:
    """A title in one line; raises UsageError for an empty one."""
    title = " ".join("".join(char if char.isprintable() else " " for char in given).split())[:TITLE_MAX]
    if not title:
        raise UsageError("the title is empty", hint="--title says what the story is about")
    return title


def clean_criteria(given: Sequence[str]) -> tuple[str, ...]:
    """Acceptance criteria as story.md has them: each in one line, none empty, none twice."""
    return tuple(dict.fromkeys(words for each in given if (words := line(each, CRITERION_MAX))))[:CRITERIA_MAX]


def created(story: Story, now: int, *, actor: str) -> Decision:
    """A new story."""
    draft = Draft(story, now, actor=actor)
    moved: dict[str, Any] = {"from": "", "to": story.status, "by": actor, "why": "created"}
    draft.emit("story:moved", **moved)
    return Decision(writes=(Added(draft.change()),), events=tuple(draft.events))


def begun(story: Story, now: int) -> Story:
    """A new story as of now."""
    return replace(story, created_at=now, since=now)


def is_complete(case: StoryCase, phase: Phase) -> bool:
    """Whether a phase was done and nothing has been since that it would have to be done again for."""
    if phase.complete_at:
        return case.story.status in (phase.complete_at, *case.workflow.machine.terminal)
    last = next((each for each in reversed(case.runs) if each.phase == phase.name), None)
    return last is not None and last.status == "PASS" and case.story.status not in phase.starts


def has_run(case: StoryCase, phase: Phase) -> bool:
    """Whether a phase was run before."""
    return any(each.phase == phase.name for each in case.runs)


def drive(case: StoryCase, now: int, *, actor: str, queue: str, until: str = "") -> Decision:
    """Let its phases follow each other; in which queue, and until which status."""
    if until and until not in case.workflow.statuses:
        known = ", ".join(case.workflow.statuses)
        raise UsageError(f'"{until}" is no status of {case.workflow.name}', hint=f"one of {known}")
    draft = Draft(case.story, now, actor=actor, machine=case.workflow.machine)
    draft.set(driven=True, until=until, queue=queue)
    return together(draft.decision(), queued(case, queue, now, actor=actor))


def queued(case: StoryCase, queue: str, now: int, *, actor: str) -> Decision:
    """The tasks of its run that wait go into the queue of who drives it; a command that died left them elsewhere."""
    made = []
    for task in case.tasks:
        if not task.finished and task.live is None and task.queue != queue:
            own = Draft(task, now, actor=actor)
            own.set(queue=queue)
            made.append(own.decision())
    return together(*made)


def rest(case: StoryCase, now: int, *, actor: str) -> Decision:
    """Its phases do not follow each other any more."""
    draft = Draft(case.story, now, actor=actor, machine=case.workflow.machine)
    draft.set(driven=False, until="")
    return draft.decision()


def on_block(case: StoryCase, reason: str, now: int, *, actor: str) -> Decision:
    """A person blocks it; a phase that runs is stopped first."""
    _refuse_running(case)
    draft = draft_of(case, now, actor=actor)
    draft.set(blocked_from=case.story.status)
    draft.move("blocked", reason)
    return draft.decision()


def on_release(
    case: StoryCase, now: int, *, actor: str, asked: Sequence[Question], to: str = "", said: str = "unblocked"
) -> Decision:
    """A person lets it go on: back to where it was blocked from, or to another status that the table allows."""
    story = case.story
    if story.status != "blocked":
        raise NotAllowed(f"{story.id} is {story.status}, not blocked", hint=f"medbay story show {story.id}")
    target = to or story.blocked_from
    draft = draft_of(case, now, actor=actor)
    draft.move(target, said)
    draft.set(blocked_from="", forgiven=story.runs, waiting=_still_waits(case, asked))
    landing = story.git.landing if target == story.blocked_from else 0
    draft.set(git=replace(story.git, landing=landing, conflicts=0))
    if case.runs and case.runs[-1].phase in _reviews(case.workflow):
        draft.set(rounds_granted=story.rounds_granted + 1)
    draft.set(confirmed=tuple(dict.fromkeys((*story.confirmed, *_over(case)))))
    closing = [closed(draft, each, said) for each in asked if not _is_decision(case, each)]
    return together(draft.decision(*closing), phases.breakers_closed(case, now, actor=actor))


def _reviews(workflow: Workflow) -> frozenset[str]:
    return frozenset(each.name for each in workflow.phases if each.counts_rounds)


def _over(case: StoryCase) -> list[str]:
    """The budgets whose end stopped it; a person lets it exceed them."""
    if case.story.enforcement not in ("soft_gate", "hard_gate"):
        return []
    found = case.workflow.phase(case.runs[-1].phase) if case.runs else None
    return [case.workflow.budget_of(found)[0]] if found is not None and _is_over(case, found) else []


def _is_over(case: StoryCase, phase: Phase) -> bool:
    names = budget.group_phases(case.workflow, phase)
    used = sum(each.tokens for each in case.runs if each.phase in names)
    return bool(budget.acts(case.story, budget.state_of(case.story, case.workflow, phase, used)))


def _is_decision(case: StoryCase, asked: Question) -> bool:
    return any(each.question_id == asked.id for each in case.decisions)


def _still_waits(case: StoryCase, asked: Sequence[Question]) -> bool:
    return any(_is_decision(case, each) for each in asked)


def on_cancel(case: StoryCase, now: int, *, actor: str, asked: Sequence[Question], why: str) -> Decision:
    """End it for good, with the tasks of the phase that runs; what depends on it is blocked for a person."""
    draft = draft_of(case, now, actor=actor)
    draft.move("cancelled", why)
    draft.set(blocked_from="", driven=False, waiting=False, run=0, git=replace(case.story.git, landing=0))
    closing = [closed(draft, each, "cancelled") for each in asked]
    made, run = [_stopped(each, now, actor) for each in case.tasks if not each.finished], case.run
    if run is not None:
        ended = replace(run, status="CANCELLED", summary="the story was cancelled", ended_at=now)
        draft.emit("phase:ended", phase=run.phase, run=run.number, status="CANCELLED", verdict="", why=ended.summary)
        made.append(Decision(writes=(RunChanged(before=run, after=ended),)))
    left = [_left(case, each, now) for each in case.dependents]
    return together(draft.decision(*closing), *made, *left, phases.breakers_closed(case, now, actor=actor))


def _stopped(task: Task, now: int, actor: str) -> Decision:
    draft = Draft(task, now, actor=actor)
    if task.live is not None:
        draft.set(cancel_requested=True)
        draft.emit("task:cancel_requested", by=actor)
        return draft.decision()
    draft.set(waits_for=None, due_at=None, block_kind=None)
    draft.move("cancelled", "its story was cancelled")
    draft.emit("task:cancelled", by=actor)
    return draft.decision(RetryClosed(task.id, "cancelled"))


def _left(case: StoryCase, other: Story, now: int) -> Decision:
    """A story that depended on one that was cancelled needs a person's word, unless a phase of it runs."""
    if other.run or other.status in ("blocked", *case.workflow.machine.terminal):
        return NOTHING
    draft = Draft(other, now, actor=phases.ACTOR)
    draft.set(files_due=True, depends_on=tuple(each for each in other.depends_on if each != case.story.id))
    why = f"it depends on {case.story.id}, which was cancelled"
    asked = phases.block(draft, f"decide what to do: {why}", why, go_on="go on without it")
    return draft.decision(asked)


def cannot_start(case: StoryCase, phase: str, why: str, now: int) -> Decision:
    """What its next phase needs is missing, and nobody watches: it is blocked, and a person asked."""
    draft = draft_of(case, now)
    asked = phases.block(draft, why, f"PRECONDITION_FAILED: {phase} cannot start", go_on="it is there now: try again")
    return draft.decision(asked)


def on_update(case: StoryCase, status: str, now: int, *, actor: str, asked: Sequence[Question], why: str) -> Decision:
    """A person sets the status; the table says whether that is allowed."""
    if status not in case.workflow.statuses:
        known = ", ".join(case.workflow.statuses)
        raise UsageError(f'"{status}" is no status of {case.workflow.name}', hint=f"one of {known}")
    if status == "cancelled":
        return on_cancel(case, now, actor=actor, asked=asked, why=why)
    _refuse_running(case)
    if case.story.status == "blocked":
        return on_release(case, now, actor=actor, asked=asked, to=status, said=why)
    if status == "blocked":
        return on_block(case, why, now, actor=actor)
    draft = draft_of(case, now, actor=actor)
    draft.move(status, why)
    if status == case.workflow.elaborated:
        draft.set(elaborated=True)
    return draft.decision()


def on_edit(case: StoryCase, changes: Mapping[str, Any], now: int, *, actor: str) -> Decision:
    """Change title, priority, dependencies, budget or criteria; evidence of what is still asked for is kept."""
    draft = draft_of(case, now, actor=actor)
    _edit(draft, changes)
    return draft.decision()


def _edit(draft: Draft[Story], changes: Mapping[str, Any]) -> None:
    wanted = {name: value for name, value in changes.items() if value is not None}
    if wanted.get("enforcement", "warning") not in ENFORCEMENTS:
        raise UsageError(f'"{wanted["enforcement"]}" is no enforcement', hint=f"one of {', '.join(ENFORCEMENTS)}")
    if "title" in wanted:
        wanted["title"] = clean_title(str(wanted["title"]))
    if "criteria" in wanted:
        wanted["criteria"] = clean_criteria(wanted["criteria"])
        wanted["evidence"] = _kept(draft.before, wanted["criteria"])
    draft.set(**wanted)


def on_rescope(
    case: StoryCase, changes: Mapping[str, Any], now: int, *, actor: str, asked: Sequence[Question]
) -> Decision:
    """Change what it is about: what an audit has seen goes back to be audited again.

    The work, its evidence and its sessions stay. It goes by way of blocked, as whatever a person stops does: the table
    has no shortcut. One that nobody has audited yet, and one whose workflow has no audit, stays where it is.
    """
    story = case.story
    if story.status in case.workflow.machine.terminal:
        raise NotAllowed(f"{story.id} is {story.status}: its scope cannot change any more", hint="medbay story new")
    _refuse_running(case)
    draft = draft_of(case, now, actor=actor)
    _edit(draft, changes)
    audit = _audit_of(case.workflow)
    if audit is None or not _was_audited(story, audit):
        return draft.decision()
    if story.status != BLOCKED:
        draft.move(BLOCKED, RESCOPED)
    target = audit.starts[0]
    draft.set(blocked_from=target)
    draft.move(target, RESCOPED)
    draft.set(blocked_from="", elaborated=False, fast=False, rounds=0, rounds_granted=0, forgiven=story.runs)
    draft.set(git=replace(story.git, landing=0))
    closing = [closed(draft, each, RESCOPED) for each in asked if not _is_decision(case, each)]
    return together(draft.decision(*closing), phases.breakers_closed(case, now, actor=actor))


def _audit_of(workflow: Workflow) -> Phase | None:
    """The phase whose pass settles the scope of a story."""
    found = (each for each in workflow.phases if workflow.elaborated in each.verdicts.values())
    return next(found, None) if workflow.elaborated else None


def _was_audited(story: Story, audit: Phase) -> bool:
    """Whether its audit has begun: its scope is settled, or was found wanting."""
    status = story.blocked_from if story.status == BLOCKED else story.status
    return story.elaborated or status in (audit.running, *audit.verdicts.values())


def _kept(story: Story, criteria: tuple[str, ...]) -> tuple[EvidenceEntry, ...]:
    """The evidence of criteria that stay, under their new numbers."""
    at = {text: number for number, text in enumerate(criteria, start=1)}
    kept = []
    for each in story.evidence:
        text = story.criteria[each.criterion - 1] if each.criterion <= len(story.criteria) else ""
        if text in at:
            kept.append(replace(each, criterion=at[text]))
    return tuple(kept)


def on_decided(
    case: StoryCase,
    decision: StoryDecision,
    asked: Question,
    words: str,
    others: bool,
    now: int,
    *,
    actor: str,
    said: str = "",
) -> Decision:
    """A person decided what a phase asked; with the last open one the story goes on. `said` is it with their note."""
    draft = draft_of(case, now, actor=actor)
    draft.set(waiting=others)
    made = replace(decision, answer=words, answered_by=actor, at=now)
    return draft.decision(made, closed(draft, asked, said or words))


def completed(
    case: StoryCase, runs: Sequence[PhaseRun], evidence: Sequence[EvidenceEntry], now: int, *, resolved: bool = False
) -> Decision:
    """What runs left is counted and shown: these are the runs as they are kept, with the story's whole evidence.

    `resolved`: a role has seen to the conflict of its branch.
    """
    before = {each.number: each for each in case.runs}
    writes = [RunChanged(before=before[each.number], after=replace(each, completed_at=now)) for each in runs]
    draft = draft_of(case, now)
    draft.set(evidence=tuple(evidence))
    if resolved:
        draft.set(git=replace(case.story.git, conflict="", came_back=""))
    return draft.decision(*writes)


def with_evidence(story: Story, run: PhaseRun, hashes: Mapping[str, str]) -> Story:
    """The story with what a run showed: the newest entry for a criterion and a path stands."""
    found = {(each.criterion, each.path): each for each in story.evidence}
    for part in run.parts:
        for each in part.result.get("evidence", ()):
            entry = EvidenceEntry(
                criterion=each["criterion"],
                shows=each["shows"],
                path=each["path"],
                phase=part.phase or run.phase,
                hash=hashes.get(each["path"], ""),
            )
            found[entry.criterion, entry.path] = entry
    return replace(story, evidence=tuple(sorted(found.values(), key=lambda each: (each.criterion, each.path))))


def context_of(case: StoryCase, run: PhaseRun, folder: str) -> dict[str, Any]:
    """What the roles of a run are handed: the story, where it stands, what was found and decided before."""
    story = case.story
    last = case.runs[-1] if case.runs else None
    again = any(each.phase == run.phase for each in case.runs)
    return {
        "story": {
            "id": story.id,
            "title": story.title,
            "description": story.description,
            "criteria": list(story.criteria),
            "priority": story.priority,
            "depends_on": list(story.depends_on),
            "status": story.status,
            "workflow": story.workflow,
        },
        "phase": run.phase,
        "run": run.number,
        "directory": folder,
        "stage": "resume" if again else "begin",
        "findings": [
            *(_findings(last) if last is not None and last.status != "PASS" else []),
            *(
                [f"resolve the conflict, whose marks are in the files: {story.git.conflict}"]
                if story.git.conflict
                else []
            ),
            *([story.git.came_back] if story.git.came_back else []),
        ],
        "git": msgspec.to_builtins(story.git),
        "decided": [f"{each.question} -> {each.answer}" for each in case.decisions if each.answered_by],
        "evidence": msgspec.to_builtins(story.evidence),
        "phases": [
            {"phase": each.phase, "run": each.number, "status": each.status, "verdict": each.verdict}
            | {"summary": each.summary, "artifacts": list(each.result.get("artifacts", ()))}
            for each in case.runs
        ],
    }


def _findings(run: PhaseRun) -> list[str]:
    """What was wrong the last time, by whom."""
    found = [f"{each.role}: {each.summary}" for each in run.parts if each.status not in ("PASS", "STOPPED")]
    return found or [f"{run.phase}: {run.summary}"]


def held_by(story: Story, workflow: Workflow, statuses: Mapping[str, str]) -> list[str]:
    """The stories it waits for: past its elaboration those it depends on have to be completed."""
    if workflow.elaborated and not story.elaborated:
        return []
    return [each for each in story.depends_on if statuses.get(each) != COMPLETED]


def _refuse_running(case: StoryCase) -> None:
    if case.run is not None:
        raise NotAllowed("Phase in progress", hint=f"{case.run.phase} of {case.story.id} runs; medbay story show it")
