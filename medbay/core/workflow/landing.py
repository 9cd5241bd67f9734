"""What becomes of the branch of a story: merged or a pull request once its gate passed, reverted once one failed.

A story whose work is to be merged moves when that is done: what is completed is merged. Each step is one decision.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from medbay.core.decision import NOTHING, Decision, Draft
from medbay.core.model import Option, Owner, Question
from medbay.core.untrusted import line
from medbay.core.workflow.phase import StoryCase, block, draft_of, step
from medbay.core.workflow.question import KEEP, LEAVE, REVERT, SHOWN_MAX, closed
from medbay.core.workflow.records import OWNER, PhaseRun, Story
from medbay.core.workflow.workflow import Phase
from medbay.core.workspace import Landed
from medbay.errors import NotAllowed

REBASES: Final = 1  # how often a role resolves a conflict before a person is asked


def landed(case: StoryCase, found: Landed, now: int) -> Decision:
    """The branch of a story whose gate passed: the story moves, goes back to its developer, or a person is asked."""
    git = case.story.git
    run, phase = _landing(case)
    draft = draft_of(case, now)
    if found.how in ("merged", "pr"):
        done = replace(git, landing=0, conflict="", conflicts=0, reverting="", revert_branch="", revert_commit="")
        done = replace(done, came_back="")
        commit, url = found.commit or git.merge_commit, found.url or git.pull_request
        draft.set(merged=found.how == "merged", git=replace(done, merge_commit=commit, pull_request=url))
        step(draft, case, phase, run.verdict, found.words, run.rules)
        return draft.decision()
    if found.how == "refused" and _goes_back(case, phase):
        back = replace(git, landing=0, came_back=found.words[:SHOWN_MAX], pull_request=found.url or git.pull_request)
        draft.set(git=back)
        step(draft, case, phase, "FAIL", line(found.words, 200), run.rules)
        return draft.decision()
    if found.how == "conflict":
        draft.set(git=replace(git, conflict=found.words[:SHOWN_MAX], conflicts=git.conflicts + 1))
        if git.conflicts < REBASES and _goes_back(case, phase):
            draft.set(git=replace(draft.record.git, landing=0))
            step(draft, case, phase, "FAIL", line(found.words, 200), run.rules)
            return draft.decision()
    return _ask_about(draft, case, found)


def waits(case: StoryCase, found: Landed, now: int) -> Decision:
    """Its pull request is there, and what its checks say is waited for."""
    draft = draft_of(case, now)
    draft.set(git=replace(case.story.git, pull_request=found.url))
    return draft.decision() if found.url != case.story.git.pull_request else NOTHING


def _landing(case: StoryCase) -> tuple[PhaseRun, Phase]:
    """The run whose pass is landed, and its phase."""
    run = next(each for each in case.runs if each.number == case.story.git.landing)
    phase = case.workflow.phase(run.phase)
    assert phase is not None
    return run, phase


def _goes_back(case: StoryCase, phase: Phase) -> bool:
    """Whether the table has a way from here for work that is not done."""
    target = phase.verdicts.get("FAIL", "")
    return (case.story.status, target) in case.workflow.machine.steps


def _ask_about(draft: Draft[Story], case: StoryCase, found: Landed) -> Decision:
    """A person is asked; an unfinished story waits for the answer."""
    git = replace(draft.record.git, pull_request=found.url or draft.record.git.pull_request)
    draft.set(git=git)
    need = f"see to its branch: {line(found.words, 250)}"
    if case.story.status in case.workflow.machine.terminal:
        draft.set(git=replace(git, landing=0))
        leave = Option("leave it on its branch", LEAVE, "medbay story finish merges it later")
        return draft.decision(_ask(draft, need, found.words, found.words, leave))
    asked = block(draft, need, line(found.words, 500), go_on="it is seen to: try again", evidence=found.words)
    keep = Option("complete it, and keep the branch", KEEP, "medbay story finish merges it later")
    again, wait, cancel = asked.options
    return draft.decision(replace(asked, options=(again, keep, wait, cancel)))


def on_kept(case: StoryCase, now: int, *, actor: str, asked: Sequence[Question]) -> Decision:
    """A person leaves the work on its branch: the pass of the gate counts without a merge."""
    if not case.story.git.landing or case.story.status != "blocked":
        raise NotAllowed(f"{case.story.id} is {case.story.status}", hint=f"medbay story show {case.story.id}")
    run, phase = _landing(case)
    draft = draft_of(case, now, actor=actor)
    draft.move(case.story.blocked_from, "its branch is kept")
    draft.set(blocked_from="", git=replace(case.story.git, landing=0, conflict="", conflicts=0))
    step(draft, case, phase, run.verdict, f"kept on {case.story.git.branch}", run.rules)
    return draft.decision(*(closed(draft, each, "kept") for each in asked))


def finished(case: StoryCase, found: Landed | None, now: int, *, actor: str) -> Decision:
    """A person finished it: merged as this says, or without a branch there was nothing to merge."""
    draft = draft_of(case, now, actor=actor)
    commit = found.commit if found is not None else ""
    draft.set(merged=True, git=replace(case.story.git, merge_commit=commit, conflict="", conflicts=0))
    return draft.decision()


# The revert


def revert_prepared(
    case: StoryCase, branch: str, stat: str, now: int, *, problem: str = "", agreed: bool = False
) -> Decision:
    """The revert of its merge is on a branch: merged next where that is agreed, else a person is asked."""
    draft, git = draft_of(case, now), case.story.git
    if agreed and not problem:
        draft.set(git=replace(git, reverting="agreed", revert_branch=branch))
        return draft.decision()
    draft.set(git=replace(git, reverting="asked", revert_branch=branch))
    why = f"its gate failed after it was merged as {git.merge_commit[:12]}"
    way = Option(f"revert it: merge {branch}", REVERT, f"{branch} is merged into {git.base}")
    if problem:
        why, stat = f"{why}, and the revert failed: {line(problem, 200)}", problem
        way = Option("try the revert again", REVERT, "it is prepared again, and merged")
    leave = Option("leave it merged", LEAVE, "the work stays where it is")
    return draft.decision(_ask(draft, "decide whether its merge is reverted", why, stat, way, leave))


def on_revert(case: StoryCase, asked: Question, now: int, *, actor: str, agreed: bool) -> Decision:
    """A person says whether the merge is reverted."""
    draft, git = draft_of(case, now, actor=actor), case.story.git
    draft.set(git=replace(git, reverting="agreed" if agreed else ""))
    return draft.decision(closed(draft, asked, "revert it" if agreed else "leave it merged"))


def reverted(case: StoryCase, found: Landed, now: int) -> Decision:
    """The revert reached the branch it was merged into: it is merged no more."""
    if found.how != "merged":
        return revert_prepared(case, case.story.git.revert_branch, "", now, problem=found.words)
    draft = draft_of(case, now)
    draft.set(merged=False, git=replace(case.story.git, reverting="", revert_commit=found.commit))
    return draft.decision()


def _ask(draft: Draft[Story], need: str, why: str, evidence: str, *options: Option) -> Question:
    """Ask a person about a story that is not blocked by it."""
    story = draft.record
    asked = Question(
        id=f"q-{story.id}-{story.questions + 1}",
        need=f"{line(story.title, 100)}: {line(need, 300)}",
        why=line(why, 500),
        evidence=evidence[:SHOWN_MAX],
        options=options,
        default=1,
        owner=Owner(OWNER, story.id),
        asked_at=draft.now,
    )
    return draft.ask(asked)
