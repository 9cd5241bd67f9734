"""What reviews and gates refused, kept for the role that has to do better: its next prompt begins with it."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from medbay.core.diagnosis.fingerprint import fingerprint, wording
from medbay.core.untrusted import line
from medbay.core.workflow.records import PhaseRun
from medbay.core.workflow.workflow import Workflow

TEXT_MAX: Final = 300
PER_RUN_MAX: Final = 10


class Learning(Struct, frozen=True, kw_only=True):
    """One thing that was refused, or that a role wants to be remembered; `count` is how often."""

    role: str  # who is told
    text: str
    digest: str  # the same for texts in the same words
    story_id: str
    phase: str
    count: int = 1
    last_seen: int = 0


def learned_from(run: PhaseRun, workflow: Workflow) -> tuple[Learning, ...]:
    """What the end of a run teaches: the role that goes on from a refusal is told what was refused."""
    found = [(part.role, str(text)) for part in run.parts for text in part.result.get("learnings") or ()]
    role = _goes_on(run, workflow) if run.status == "FAIL" else ""
    if role:
        refused = [part for part in run.parts if part.status == "FAIL" and part.summary]
        several = len(run.parts) > 1
        found += [(role, f"{part.role}: {part.summary}" if several else part.summary) for part in refused]
    made = (_learning(role, text, run) for role, text in found if line(text, TEXT_MAX))
    return tuple({(each.role, each.digest): each for each in made}.values())[:PER_RUN_MAX]


def _goes_on(run: PhaseRun, workflow: Workflow) -> str:
    """The role of the phase that a verdict leads to."""
    phase = workflow.phase(run.phase)
    target = phase.verdicts.get(run.verdict) if phase is not None else None
    after = workflow.next_phase(target) if target else None
    return after.roles[0] if after is not None and after.roles else ""


def _learning(role: str, text: str, run: PhaseRun) -> Learning:
    said = line(text, TEXT_MAX)
    return Learning(
        role=role, text=said, digest=fingerprint("learning", (wording(said),)), story_id=run.story_id, phase=run.phase
    )
