"""A phase of a story from its start to its verdict. Each step is one decision.

Its parts are tasks that the story owns. They wait until the folder and the context of the run are made; the end of the
last one is the end of the run, and the verdict moves the story by the table of its workflow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from medbay.core.decision import (
    NOTHING,
    Added,
    Decision,
    Draft,
    QuestionJoined,
    RetryClosed,
    WorkingSet,
    Write,
    together,
)
from medbay.core.holds import breaker as breakers
from medbay.core.holds.breaker import Breaker
from medbay.core.holds.incident import changed_breaker
from medbay.core.model import Question, Retry, Task
from medbay.core.policy import phases
from medbay.core.workflow import answer as answers
from medbay.core.workflow import budget, question, verdict
from medbay.core.workflow.answer import RoleAnswer, WantedDecision
from medbay.core.workflow.budget import Spent
from medbay.core.workflow.records import (
    OWNER,
    PRESET,
    SETUP,
    PartStatus,
    PhaseRun,
    RunChanged,
    RunPart,
    Story,
    StoryDecision,
    StoryGit,
    StoryRules,
)
from medbay.core.workflow.workflow import Phase, Workflow

ACTOR: Final = "story"
FAIL: Final = "FAIL"  # as a verdict: judged, and refused; a run that ends FAIL without it was never judged
ERRORS_ALLOWED: Final = 2  # gates that could not answer in a row, then a person is asked
_LADDER: Final = frozenset(
    """
    task:retry_scheduled task:recovery_action task:retry_exhausted task:blocked task:escalated question:asked
    task:permanently_blocked
    """.split()
)


class StoryCase(Struct, frozen=True, kw_only=True):
    """A story with all that rules about it need, as the service found it."""

    story: Story
    workflow: Workflow
    run: PhaseRun | None = None  # the open one
    runs: tuple[PhaseRun, ...] = ()  # those that ended, in their order
    decisions: tuple[StoryDecision, ...] = ()
    tasks: tuple[Task, ...] = ()  # of the open run
    preferences: Mapping[str, str] = field(default_factory=dict)  # what was decided before, by scope
    dependents: tuple[Story, ...] = ()  # unfinished stories that depend on it
    taken: frozenset[str] = frozenset()  # ids of stories that begin like its own
    breakers: tuple[Breaker, ...] = ()  # of its phases, those that are open
    spent: Mapping[str, Spent] = field(default_factory=dict)  # what attempts of its tasks used that brought no answer


class PhaseWorker(Struct, frozen=True, kw_only=True):
    """How a role works, by the configuration."""

    role: str
    phase: str = ""
    runner: str = "shell"
    command: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    timeout_ms: int | None = None
    required: bool = False
    fallback: tuple[str, ...] = ()


def draft_of(case: StoryCase, now: int, *, actor: str = ACTOR) -> Draft[Story]:
    """A draft of the story that moves by the table of its workflow; what changes in it concerns its folder."""
    draft = Draft(case.story, now, actor=actor, machine=case.workflow.machine)
    draft.set(files_due=True)
    return draft


# The start


def start(
    case: StoryCase,
    phase: Phase,
    workers: Sequence[PhaseWorker],
    rules: StoryRules,
    now: int,
    *,
    actor: str,
    command: str,
    queue: str,
) -> Decision:
    """Start a run: its tasks wait for their setup, and the story is what it is called while the phase runs."""
    story = draft_of(case, now, actor=actor)
    number = case.story.runs + 1
    owner = replace(case.story, queue=queue)
    tasks = [_task(owner, phase, each, number, at, now) for at, each in enumerate(workers, start=1)]
    parts = tuple(
        RunPart(
            role=each.role,
            task_id=task.id,
            phase=each.phase if each.phase != phase.name else "",
            required=each.required,
            fallback=each.fallback,
        )
        for each, task in zip(workers, tasks, strict=True)
    )
    run = PhaseRun(
        story_id=case.story.id,
        number=number,
        phase=phase.name,
        command=command,
        started_at=now,
        parts=parts,
        rules=rules,
    )
    status = case.story.status
    if phase.running and status != phase.running and not _stays(case, status, phase.running, rules):
        story.move(phase.running, f"{phase.name} starts")
    story.set(run=number, runs=number, queue=queue, git=replace(case.story.git, landing=0))
    story.emit("phase:started", phase=phase.name, run=number, tasks=[each.id for each in tasks])
    added, events = [], []
    for each in tasks:
        own = Draft(each, now, actor=actor)
        own.emit("task:created", title=each.title, queue=each.queue, priority=each.priority)
        added.append(Added(own.change()))
        events += own.events
    made = story.decision(RunChanged(before=None, after=run), *added)
    return made.plus(events=events)


def _stays(case: StoryCase, source: str, target: str, rules: StoryRules) -> bool:
    """Whether a run that a person forced leaves the status alone: the table has no such move."""
    return rules.forced and (source, target) not in case.workflow.machine.steps


def _task(story: Story, phase: Phase, worker: PhaseWorker, number: int, at: int, now: int) -> Task:
    """The task of one part; what it is told comes with its setup."""
    own = phase if not worker.phase or worker.phase == phase.name else None
    words = (
        [*own.verdicts, "PASS", "FAIL", "ERROR"] if own is not None and not own.workers else ["PASS", "FAIL", "ERROR"]
    )
    env = (
        ("MEDBAY_STORY", story.id),
        ("MEDBAY_PHASE", worker.phase or phase.name),
        (answers.VERDICTS, ",".join(dict.fromkeys(words))),
    )
    return Task(
        id=f".{story.id}-{number}-{at}",
        title=f"{story.id} {phase.name}: {worker.role}",
        runner=worker.runner,
        command=worker.command,
        cwd=story.project,
        env=env,
        timeout_ms=worker.timeout_ms,
        priority=story.priority,
        queue=story.queue,
        tags=(f"story:{story.id}",),
        policy=PRESET,
        resources=worker.resources,
        advice="takes",
        owner_kind=OWNER,
        owner_id=story.id,
        role=worker.role,
        position=at,
        worktree="no",
        takes_input=True,
        waits_for=SETUP,
        created_at=now,
        created_by=ACTOR,
        since=now,
    )


def set_up(
    case: StoryCase,
    context: Mapping[str, Any],
    told: Mapping[str, str],
    folder: str,
    now: int,
    *,
    git: StoryGit | None = None,
) -> Decision:
    """The folder and the context are made: from now on its tasks may be claimed. `told` are the prompts by role.

    `git` is where they work, if that is not the project itself.
    """
    run = case.run
    assert run is not None
    made = []
    for task in case.tasks:
        if task.waits_for != SETUP:
            continue
        draft = Draft(task, now, actor=ACTOR)
        env = (*(each for each in task.env if each[0] != "MEDBAY_STORY_DIR"), ("MEDBAY_STORY_DIR", folder))
        draft.set(waits_for=None, env=env, description=told.get(task.role, ""))
        draft.set(cwd=git.directory if git is not None else case.story.project)
        made.append(draft.decision())
    after = replace(run, status="RUNNING", prepared_at=now, context=context)
    if git is not None and git != case.story.git:
        story = Draft(case.story, now, actor=ACTOR, machine=case.workflow.machine)
        story.set(git=git)
        made.append(story.decision())
    return together(Decision(writes=(RunChanged(before=run, after=after),)), *made)


def refuse(case: StoryCase, why: str, now: int, *, verdict: Literal["FAIL", "ERROR"]) -> Decision:
    """What a phase needs is missing after it was started: it ends without having run, and says what is missing.

    FAIL is a gate's answer to what nothing shows, and moves the story; with ERROR nothing was judged.
    """
    run = case.run
    assert run is not None
    made = []
    for task in case.tasks:
        if not task.finished:
            draft = Draft(task, now, actor=ACTOR)
            draft.set(waits_for=None)
            draft.move("cancelled", why[:500])
            draft.emit("task:cancelled", by=ACTOR)
            made.append(draft.decision())
    ended = replace(run, status="FAIL", verdict=verdict, error_type="PRECONDITION_FAILED", summary=why)
    return together(_end(case, ended, now), *made)


# The end of a part


def part_succeeded(draft: Draft[Task], case: StoryCase, answer: str | None) -> Decision:
    """A role answered: its verdict is kept, and the last part ends the run."""
    part = _part(draft, case)
    if part is None:
        return NOTHING
    found = msgspec.json.decode(answer or "", type=RoleAnswer)  # as `answer.delivered` left it
    status: PartStatus = "FAIL" if found.verdict == "FAIL" else "ERROR" if found.verdict == "ERROR" else "PASS"
    tokens_in, tokens_out = found.spent
    ended = replace(
        part,
        status=status,
        verdict=found.verdict,
        summary=found.summary,
        result=msgspec.to_builtins(found),
        model=found.model,
        ended_at=draft.now,
        tokens_in=part.tokens_in + tokens_in,
        tokens_out=part.tokens_out + tokens_out,
        tool_calls=part.tool_calls + found.calls,
        attempts=draft.before.attempts,
        error_type="",
    )
    return _took(draft, case, ended)


def part_failed(draft: Draft[Task], case: StoryCase, followed: Decision, charged: bool) -> Decision:
    """An attempt failed: tried again as decided, or the part has ended; a person's question stays a question."""
    part = _part(draft, case)
    if part is None or not charged or draft.task.status != "blocked" or draft.task.block_kind != "exhausted":
        return followed
    kind = draft.task.last_category
    error = next((each.name for each in phases.ERRORS if each.kind == kind), phases.OTHER)
    if kind.startswith("timeout"):
        error = phases.TIMEOUT
    draft.events[:] = [each for each in draft.events if each.name not in _LADDER]
    kept = followed.without(Retry).without(Question).without(QuestionJoined)
    draft.set(block_kind=None, due_at=None, wants_triage=False)
    if error == phases.SERVICE_DOWN and part.fallback and draft.task.command != part.fallback:
        draft.set(runner="shell", command=part.fallback, resources=(), streak=0, charged=0)
        draft.move("pending", "the fallback of its phase takes over")
        draft.emit("task:recovery_action", action="fallback", why=f"{error}: {draft.task.last_summary}")
        return replace(together(Decision(), kept), work=followed.work)
    draft.move("cancelled", f"its phase ends: {error}")
    draft.emit("task:cancelled", by=ACTOR)
    status: PartStatus = "TIMEOUT" if error == phases.TIMEOUT else "ERROR"
    summary = draft.task.last_summary
    ended = replace(
        part, status=status, summary=summary, error_type=error, ended_at=draft.now, attempts=draft.before.attempts
    )
    return replace(together(_took(draft, case, ended), kept), work=followed.work)


def part_cancelled(draft: Draft[Task], case: StoryCase) -> Decision:
    """A part was stopped: by a person, or because another failed."""
    part = _part(draft, case)
    if part is None:
        return NOTHING
    return _took(draft, case, replace(part, status="STOPPED", summary="stopped", ended_at=draft.now))


def part_broke(case: StoryCase, draft: Draft[Task], work: WorkingSet, why: str) -> Decision:
    """A rule of ours broke on its end: the part is an error, and the story does not wait for ever."""
    draft.move("failed", why[:500])
    draft.move("cancelled", "an error of our own")
    part = _part(draft, case)
    made = NOTHING
    if part is not None:
        made = _took(draft, case, replace(part, status="ERROR", summary=why[:2_000], ended_at=draft.now))
    return replace(together(Decision(), made), work=work)


def _part(draft: Draft[Task], case: StoryCase) -> RunPart | None:
    """The part of the open run that this task is, with what it used; None where it is of another time."""
    parts = case.run.parts if case.run is not None else ()
    found = next((each for each in parts if each.task_id == draft.before.id and not each.status), None)
    return found and _with_spent(case, found)


def _with_spent(case: StoryCase, part: RunPart) -> RunPart:
    """A part with what its attempts without an answer used: those tokens count too."""
    tokens_in, tokens_out = case.spent.get(part.task_id, (0, 0))
    return replace(part, tokens_in=tokens_in, tokens_out=tokens_out)


def _took(draft: Draft[Task], case: StoryCase, ended: RunPart) -> Decision:
    """One part has ended; with the last one the run has."""
    run = case.run
    assert run is not None
    parts = tuple(ended if each.task_id == ended.task_id else each for each in run.parts)
    stopped: list[Decision] = []
    if run.rules.fail_fast and ended.status in ("FAIL", "ERROR"):
        parts, stopped = _stop_others(case, parts, draft.now)
    after = replace(run, parts=parts)
    if any(not each.status for each in parts):
        return together(Decision(writes=(RunChanged(before=run, after=after),)), *stopped)
    phase = case.workflow.phase(run.phase)
    assert phase is not None
    return together(_end(case, verdict.judged(phase, after), draft.now), *stopped)


def _stop_others(case: StoryCase, parts: tuple[RunPart, ...], now: int) -> tuple[tuple[RunPart, ...], list[Decision]]:
    """The first failure stops the others: what runs is asked to end, what waits is cancelled at once."""
    waiting = {each.task_id for each in parts if not each.status}
    made, gone = [], set()
    for task in case.tasks:
        if task.id not in waiting or task.finished:
            continue
        draft = Draft(task, now, actor=ACTOR)
        if task.live is not None:
            draft.set(cancel_requested=True)
            draft.emit("task:cancel_requested", by=ACTOR)
            made.append(draft.decision())
            continue
        gone.add(task.id)
        draft.set(waits_for=None, due_at=None, block_kind=None)
        draft.move("cancelled", "another part failed first")
        draft.emit("task:cancelled", by=ACTOR)
        made.append(draft.decision(RetryClosed(task.id, "cancelled")))
    stopped = (
        replace(_with_spent(case, each), status="STOPPED", summary="stopped", ended_at=now)
        if each.task_id in gone
        else each
        for each in parts
    )
    return tuple(stopped), made


# The end of a run


def _end(case: StoryCase, ended: PhaseRun, now: int) -> Decision:
    """A run has its verdict: the story moves by the table, is blocked where a person has to look, or stays."""
    story = draft_of(case, now)
    phase = case.workflow.phase(ended.phase)
    assert phase is not None
    used = ended.tokens + sum(
        each.tokens for each in case.runs if each.phase in budget.group_phases(case.workflow, phase)
    )
    state = budget.state_of(case.story, case.workflow, phase, used)
    gate = budget.acts(case.story, state)
    if gate == "hard_gate" and ended.status == "PASS":
        assert state is not None
        why = f"{state.used} tokens, and the budget of {state.group} ends at {state.limit}"
        ended = replace(ended, status="FAIL", verdict="", error_type="BUDGET_EXCEEDED", summary=why)
    run = replace(ended, ended_at=now)
    writes: list[Write] = [RunChanged(before=case.run, after=run)]
    story.set(run=0)
    story.emit("phase:ended", phase=run.phase, run=run.number, status=run.status, verdict=run.verdict, why=run.summary)
    _tell_budget(story, state)
    more = _passed(story, case, run) if run.status == "PASS" else NOTHING
    if not _lands(story, case, phase, run):
        _move(story, case, phase, run)
    writes += _decide(story, case, run)
    asked, opened = _stops(story, case, phase, run, state, gate)
    return together(story.decision(*writes, asked), more, opened)


def _tell_budget(story: Draft[Story], state: budget.BudgetState | None) -> None:
    """At the warning and at the limit every level says so."""
    if state is not None and state.level:
        name = "budget:exceeded" if state.level == "limit" else "budget:warning"
        said = {"used": state.used, "warning": state.warning, "limit": state.limit}
        story.emit(name, phase=state.group, enforcement=story.before.enforcement, **said)


def _lands(story: Draft[Story], case: StoryCase, phase: Phase, run: PhaseRun) -> bool:
    """Whether its work is merged first: it moves when that is done. A fail of what was merged calls for its revert."""
    git = case.story.git
    if run.status == "PASS" and phase.merges and git.branch and run.rules.on_pass != "keep":
        story.set(git=replace(git, landing=run.number))
        return True
    if run.verdict == FAIL and case.story.merged and git.merge_commit and (phase.merges or not run.rules.forced):
        story.set(git=replace(git, reverting="due"))
    return False


def _move(story: Draft[Story], case: StoryCase, phase: Phase, run: PhaseRun) -> None:
    """Where the verdict leads, and where the phase that ran beside it leads from there."""
    step(story, case, phase, run.verdict, run.summary, run.rules)
    other = case.workflow.phase(phase.beside) if phase.beside else None
    theirs = [each for each in run.parts if each.phase]
    if other is None or run.status != "PASS" or not theirs:
        return
    word = next((each.verdict or each.status for each in theirs if each.status != "PASS"), "PASS")
    if other.running and story.record.status in other.starts:
        story.move(other.running, f"{other.name} ran beside {phase.name}")
    step(story, case, other, word, "; ".join(each.summary for each in theirs if each.summary), run.rules)


def step(story: Draft[Story], case: StoryCase, phase: Phase, word: str, why: str, rules: StoryRules) -> None:
    """Move a story to where a verdict of a phase leads, if anywhere."""
    target, status = phase.verdicts.get(word), story.record.status
    if target is None or target == status or _stays(case, status, target, rules):
        return
    story.move(target, f"{phase.name}: {word}" + (f": {why}"[:300] if why else ""))
    if target == case.workflow.elaborated:
        story.set(elaborated=True, rounds=0)


def _passed(story: Draft[Story], case: StoryCase, run: PhaseRun) -> Decision:
    """What a pass brings besides its move: criteria that were written, the parts of a split."""
    said = msgspec.convert(run.result, RoleAnswer) if run.result else None
    if said is None:
        return NOTHING
    if said.criteria:
        story.set(criteria=said.criteria)
    if said.description:
        story.set(description=said.description)
    phase = case.workflow.phase(run.phase)
    assert phase is not None
    if not said.parts or phase.verdicts.get(run.verdict) not in case.workflow.machine.terminal:
        return NOTHING
    return _split(story, case, said)


def _split(story: Draft[Story], case: StoryCase, said: RoleAnswer) -> Decision:
    """The parts start where a story that is written stands; what depended on the whole depends on all of them."""
    whole, made, number = case.story, [], 0
    for each in said.parts:
        number += 1
        while f"{whole.id}-{number}" in case.taken:
            number += 1
        part = Story(
            id=f"{whole.id}-{number}",
            title=each.title,
            description=each.description,
            workflow=whole.workflow,
            definition=whole.definition,
            criteria=each.criteria,
            priority=whole.priority,
            depends_on=whole.depends_on,
            enforcement=whole.enforcement,
            multiplier=whole.multiplier,
            root=whole.root,
            project=whole.project,
            has_review=whole.has_review,
            driven=whole.driven,
            queue=whole.queue,
            split_of=whole.id,
            created_at=story.now,
            created_by=ACTOR,
            status="generated",
            since=story.now,
            reason=f"a part of {whole.id}",
        )
        made.append(part)
    ids = tuple(each.id for each in made)
    story.set(parts=ids)
    moved = []
    for other in case.dependents:
        mine = Draft(other, story.now, actor=ACTOR)
        kept = [each for each in other.depends_on if each != whole.id]
        mine.set(depends_on=(*kept, *ids), files_due=True)
        moved.append(mine.decision())
    added = tuple(Added(Draft(each, story.now, actor=ACTOR).change()) for each in made)
    return together(Decision(writes=added), *moved)


def _decide(story: Draft[Story], case: StoryCase, run: PhaseRun) -> list[Write]:
    """What the run wants decided: small things by preference or default, the others by a person."""
    writes: list[Write] = []
    number = len(case.decisions)
    for part in run.parts:
        for each in msgspec.convert(part.result.get("decisions", ()), tuple[WantedDecision, ...]):
            number += 1
            kind, why = question.classify(each)
            made = StoryDecision(
                story_id=case.story.id,
                number=number,
                phase=part.phase or run.phase,
                question=each.question,
                options=each.options,
                kind=kind,
                why=why,
                at=story.now,
            )
            if kind in question.DECIDED_HERE:
                chosen, by = question.decided(each, case.preferences)
                writes.append(replace(made, answer=chosen, answered_by=by))
                continue
            asked = story.ask(question.ask_decision(story.record, made, story.now))
            story.set(waiting=True)
            writes += [replace(made, question_id=asked.id), asked]
    return writes


def _stops(
    story: Draft[Story], case: StoryCase, phase: Phase, run: PhaseRun, state: budget.BudgetState | None, gate: str
) -> tuple[Question | None, Decision]:
    """Whether a person has to look before it goes on: then it is blocked, why is asked, and a breaker may open."""
    if story.record.status in case.workflow.machine.terminal or run.status == "CANCELLED":
        return None, NOTHING
    if gate and state is not None:
        used = f"{state.used} of {state.limit} tokens of {state.group} are used"
        way = "let it use more, once" if gate == "soft_gate" else "give it a bigger budget: go on without this limit"
        return block(story, f"its token budget is used up: {used}", f"{gate}: {used}", go_on=way), NOTHING
    if phase.counts_rounds and run.verdict == FAIL:
        rounds = case.story.rounds + 1
        story.set(rounds=rounds)
        most = run.rules.max_rounds + case.story.rounds_granted
        if rounds >= most:
            why = f"{rounds} rounds of {phase.name} failed, and {most} are allowed: {run.summary}"
            need = f"its review rounds are used up: {run.summary}"
            return block(story, need, why, go_on="allow one more round"), NOTHING
        return None, NOTHING
    return _breaks(story, case, phase, run) if run.status != "PASS" else (None, NOTHING)


def _breaks(story: Draft[Story], case: StoryCase, phase: Phase, run: PhaseRun) -> tuple[Question | None, Decision]:
    """The breaker of a phase: failures of one type in a row, or a service that stays away."""
    alike = 1 + failures_alike(case, run)
    most = ERRORS_ALLOWED if phase.workers and run.status == "ERROR" else run.rules.breaks_at
    away = run.error_type == phases.SERVICE_DOWN
    if alike < most and not away:
        return None, NOTHING
    kind = run.error_type or run.verdict
    why = f"{phase.name} ended {run.status} ({kind}) {alike} times in a row" if not away else f"{kind}: {run.summary}"
    need = f"find out why {phase.name} fails: {run.summary or kind}"
    asked = block(story, need, why, go_on="looked into it: try again", evidence=run.summary)
    opened = breakers.open_phase(case.story.id, phase.name, story.now, why=asked.why, question_id=asked.id)
    return asked, changed_breaker(None, opened)


def breakers_closed(case: StoryCase, now: int, *, actor: str) -> Decision:
    """A person lets its phases be tried again."""
    why = f"closed by {actor}"
    return together(*(changed_breaker(each, breakers.close(each, now, why)) for each in case.breakers))


def failures_alike(case: StoryCase, run: PhaseRun) -> int:
    """How many runs of this phase right before this one ended the same way, since a person said go on."""
    count = 0
    for each in reversed(case.runs):
        if each.phase != run.phase or each.status == "CANCELLED":
            continue
        if each.number <= case.story.forgiven or (each.status, each.error_type) != (run.status, run.error_type):
            break
        count += 1
    return count


def block(story: Draft[Story], need: str, why: str, *, go_on: str, evidence: str = "") -> Question:
    """Block a story and ask a person about it."""
    before = story.record
    story.set(blocked_from=before.status)
    story.move("blocked", why[:500])
    return story.ask(question.ask_blocked(before, need, why, story.now, go_on=go_on, evidence=evidence))
