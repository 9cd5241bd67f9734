"""The fast track: a story with few criteria may skip the audit of its elaboration, by rule or by a person's word."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from medbay.core.decision import Decision
from medbay.core.workflow import question
from medbay.core.workflow.phase import ACTOR, StoryCase, draft_of
from medbay.core.workflow.records import PhaseRun, RunChanged, StoryDecision
from medbay.core.workflow.workflow import Phase

BELOW: Final = 3  # criteria
QUESTION: Final = f"Skip the audit of a story with fewer than {BELOW} criteria?"
AUDIT: Final = "audit it"
SKIP: Final = "fast track"
OPTIONS: Final = (AUDIT, SKIP)
ASK: Final = "ask"
NEVER: Final = "never"


def applies(case: StoryCase, phase: Phase, setting: str) -> bool:
    """Whether a story that is to be audited next is small enough to go without it."""
    settles = bool(case.workflow.elaborated) and phase.verdicts.get("PASS") == case.workflow.elaborated
    return setting != NEVER and settles and 0 < len(case.story.criteria) < BELOW


def chosen(case: StoryCase, setting: str) -> StoryDecision | None:
    """What was decided for this story, else by the setting, else by what a person said before; None: nobody did."""
    made = next((each for each in case.decisions if each.question == QUESTION and each.answered_by), None)
    if made is not None:
        return made
    answer, by = case.preferences.get(question.scope_of(QUESTION), ""), "preference"
    if setting != ASK:
        answer, by = SKIP, "configuration"
    if answer not in OPTIONS:
        return None
    return StoryDecision(story_id=case.story.id, number=0, phase="", question=QUESTION, answer=answer, answered_by=by)


def ask(case: StoryCase, phase: Phase, now: int) -> Decision:
    """Ask a person once; the story waits for the answer."""
    draft = draft_of(case, now)
    made = _decision(case, phase, now)
    asked = draft.ask(question.ask_decision(draft.record, made, now))
    draft.set(waiting=True)
    return draft.decision(replace(made, question_id=asked.id), asked)


def audit(case: StoryCase, phase: Phase, decided: StoryDecision, now: int) -> Decision:
    """It is audited: what was decided is kept with the story, where it is not yet."""
    if decided.number:
        return Decision()
    made = replace(_decision(case, phase, now), answer=decided.answer, answered_by=decided.answered_by)
    return Decision(writes=(made,))


def skip(case: StoryCase, phase: Phase, decided: StoryDecision, now: int) -> Decision:
    """It needs no audit: it passes its elaboration by rule, and the run says so."""
    why = f"fast track: fewer than {BELOW} criteria"
    draft = draft_of(case, now, actor=ACTOR)
    number = case.story.runs + 1
    run = PhaseRun(
        story_id=case.story.id,
        number=number,
        phase=phase.name,
        command=SKIP,
        status="PASS",
        verdict="PASS",
        summary=why,
        started_at=now,
        ended_at=now,
        completed_at=now,
    )
    if phase.running:
        draft.move(phase.running, why)
    draft.move(phase.verdicts["PASS"], why)
    draft.set(runs=number, elaborated=True, rounds=0, fast=True)
    draft.emit("phase:ended", phase=phase.name, run=number, status="PASS", verdict="PASS", why=why)
    kept = audit(case, phase, decided, now)
    return draft.decision(RunChanged(before=None, after=run), *kept.writes)


def _decision(case: StoryCase, phase: Phase, now: int) -> StoryDecision:
    return StoryDecision(
        story_id=case.story.id,
        number=len(case.decisions) + 1,
        phase=phase.name,
        question=QUESTION,
        options=OPTIONS,
        kind="reversible",
        why="the setting fast_track",
        at=now,
    )
