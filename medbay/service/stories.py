"""Stories in the store: loading what rules about them need, and applying what was decided."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from msgspec.structs import replace

from medbay.core import agent
from medbay.core.decision import Decision
from medbay.core.holds.breaker import Breaker, phase_key
from medbay.core.model import Attempt, Question, Task
from medbay.core.outcome import Outcome, Succeeded
from medbay.core.people.answer import AskedStory
from medbay.core.workflow import budget, phase, question, story, workflow
from medbay.core.workflow.phase import PhaseWorker, StoryCase
from medbay.core.workflow.records import PartAttempt, PhaseRun, RunPart, Story, StoryDecision, StoryRules
from medbay.core.workflow.workflow import Phase, Workflow
from medbay.errors import NotAllowed, NotFound, StaleClaim, UsageError
from medbay.store import attempts, breakers, questions, stories, tasks
from medbay.store.apply import apply
from medbay.store.database import Tx

ATTEMPTS_MAX: Final = 100  # of one part that are counted
LEASE_MS: Final = 30_000
LOOK_MS: Final = 3_000  # how often a story whose phase runs is looked at
PREFERENCES_MAX: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryDetail:
    """Everything about one story."""

    story: Story
    workflow: Workflow
    runs: tuple[PhaseRun, ...]
    decisions: tuple[StoryDecision, ...] = ()
    questions: tuple[Question, ...] = ()
    held_by: tuple[str, ...] = ()
    tasks: tuple[Task, ...] = field(default=())


def resolve(tx: Tx, given: str) -> Story:
    """The story a person means: its id, or any beginning of it that only it has."""
    given = given.strip()
    found = stories.ids_like(tx, given) if given else []
    if not found or (len(found) > 1 and found[0] != given):
        if found:
            raise UsageError(f'"{given}" could be {found[0]} or {found[1]}', hint="type one more letter")
        raise NotFound(f'there is no story "{given}"', hint="medbay story list shows them")
    made = stories.get(tx, found[0])
    assert made is not None
    return made


def exists(tx: Tx, given: str) -> bool:
    """Whether a story has exactly this id."""
    return given in stories.ids_like(tx, given)


def workflow_of(tx: Tx, key: str) -> Workflow:
    """A workflow as it was kept when a story began with it."""
    text = stories.workflow_text(tx, key)
    assert text is not None
    return _read(text)


def workflows_of(tx: Tx, found: Iterable[Story]) -> dict[str, Workflow]:
    """The workflows that stories began with, by their hash."""
    return {key: workflow_of(tx, key) for key in sorted({each.definition for each in found})}


def to_conduct(tx: Tx, *, looked_at: Mapping[str, int]) -> list[Story]:
    """The stories for which something may be to be done now.

    Those that only wait are left out, however many they are. One whose phase runs is looked at now and then.
    """
    found = stories.conducted(tx)
    workflows, setups = workflows_of(tx, found), stories.setups(tx)
    known = stories.statuses(tx, {name for each in found for name in each.depends_on})

    def is_due(each: Story) -> bool:
        if each.files_due or each.id in setups:
            return True
        if each.run:
            return tx.now - looked_at.get(each.id, 0) >= LOOK_MS
        return _may_start(each) and not story.held_by(each, workflows[each.definition], known)

    return [each for each in found if is_due(each)]


def cases(tx: Tx, found: Sequence[Story]) -> list[StoryCase]:
    """Stories with their runs and decisions, of many in one look: what their folders are written from."""
    ids = [each.id for each in found]
    known, decided = workflows_of(tx, found), stories.decisions_of(tx, ids)
    runs = stories.runs_of(tx, ids)
    return [
        StoryCase(
            story=each,
            workflow=known[each.definition],
            run=next((run for run in runs[each.id] if run.is_open), None),
            runs=tuple(run for run in runs[each.id] if not run.is_open),
            decisions=decided[each.id],
        )
        for each in found
    ]


@lru_cache(maxsize=64)
def _read(text: str) -> Workflow:
    return workflow.read(json.loads(text))


def case_of(tx: Tx, story_id: str) -> StoryCase | None:
    """A story with all that rules about it need. Its tasks are taken before it: locks have one order."""
    numbers = stories.ids_like(tx, story_id)
    if story_id not in numbers:
        return None
    runs = stories.runs(tx, story_id)
    open_run = next((each for each in runs if each.is_open), None)
    ids = [each.task_id for each in open_run.parts] if open_run is not None else []
    tasks.lock(tx, ids)
    own = [each for each in (tasks.get(tx, one) for one in ids) if each is not None]
    found = stories.get(tx, story_id)
    assert found is not None
    known = questions.every(tx, PREFERENCES_MAX)
    return StoryCase(
        story=found,
        workflow=workflow_of(tx, found.definition),
        run=open_run if open_run is None else stories.run(tx, story_id, open_run.number),
        runs=tuple(each for each in runs if not each.is_open),
        decisions=stories.decisions(tx, story_id),
        tasks=tuple(own),
        preferences={each.scope: each.answer for each in known if each.scope.startswith(question.PREFERENCE)},
        dependents=_dependents(tx, found),
        taken=frozenset(stories.ids_like(tx, f"{story_id}-", 1_000)),
        breakers=_open_breakers(tx, found),
        spent=attempts.spent(tx, ids),
    )


def case_at_end(tx: Tx, task: Task, outcome: Outcome) -> StoryCase | None:
    """The case of the story of a task whose attempt ends like this: one that brings no answer has used something."""
    found = case_of(tx, task.owner_id)
    if found is None or isinstance(outcome, Succeeded):
        return found
    before, now = found.spent.get(task.id, (0, 0)), budget.spent_by(outcome)
    return replace(found, spent={**found.spent, task.id: (before[0] + now[0], before[1] + now[1])})


def _open_breakers(tx: Tx, found: Story) -> tuple[Breaker, ...]:
    """The breakers that its phases opened; they are open only while it is blocked."""
    if found.status != story.BLOCKED:
        return ()
    keys = [phase_key(found.id, each.name) for each in workflow_of(tx, found.definition).phases]
    return tuple(each for key in keys if (each := breakers.get(tx, key)) is not None and each.state != "closed")


def _dependents(tx: Tx, found: Story) -> tuple[Story, ...]:
    """The unfinished stories that depend on one."""
    return tuple(each for each in stories.depending_on(tx, found.id) if each.ended_at is None)


def create(tx: Tx, new: Story, definition: tuple[str, str], *, actor: str) -> Story:
    """Add a story; one that is there already is refused, and so are dependencies that do not exist or go round."""
    key, text = definition
    if exists(tx, new.id):
        raise NotAllowed(f"there is a story {new.id} already", hint=f"another id, or medbay story show {new.id}")
    refuse_dependencies(tx, new.id, new.depends_on)
    stories.save_workflow(tx, key, new.workflow, text)
    apply(tx, story.created(new, tx.now, actor=actor))
    return resolve(tx, new.id)


def refuse_dependencies(tx: Tx, story_id: str, depends_on: Sequence[str]) -> None:
    """Raise for a dependency that does not exist, or that goes round."""
    for each in depends_on:
        if each == story_id:
            raise UsageError(f"{story_id} cannot depend on itself", hint="name another story")
        if not exists(tx, each):
            raise NotFound(f'there is no story "{each}" to depend on', hint="medbay story list shows them")
    seen, left = [story_id], list(depends_on)
    while left:
        other = left.pop()
        found = stories.get(tx, other)
        if other == story_id:
            raise UsageError(f"{story_id} would depend on itself, by way of {seen[-1]}", hint="take one of them away")
        if found is not None and other not in seen:
            seen.append(other)
            left += found.depends_on


def decide(tx: Tx, given: str, rule: Callable[[StoryCase, Sequence[Question]], Decision]) -> Story:
    """Apply what a rule says about a story, with the questions that are open about it."""
    found = loaded(tx, given)
    apply(tx, rule(found, open_questions(tx, found.story.id)))
    return resolve(tx, found.story.id)


def loaded(tx: Tx, given: str) -> StoryCase:
    """The case of the story a person means."""
    found = case_of(tx, resolve(tx, given).id)
    assert found is not None
    return found


def as_it_was(tx: Tx, story_id: str, version: int) -> StoryCase:
    """The case of a story that nobody has moved since it was read; StaleClaim where another process was faster."""
    found = loaded(tx, story_id)
    if found.story.version != version:
        why = "Phase in progress" if found.run is not None else f"{story_id} moved meanwhile"
        raise StaleClaim(why, hint=f"another process was faster; medbay story show {story_id}")
    return found


def open_questions(tx: Tx, story_id: str) -> list[Question]:
    """The open questions about a story."""
    found = (questions.get(tx, each) for each in stories.open_question_ids(tx, story_id))
    return [each for each in found if each is not None]


def detail(tx: Tx, given: str) -> StoryDetail:
    """Everything about one story."""
    found = resolve(tx, given)
    made = workflow_of(tx, found.definition)
    runs = stories.runs(tx, found.id)
    open_run = next((each for each in runs if each.is_open), None)
    ids = [each.task_id for each in open_run.parts] if open_run is not None else []
    asked = open_questions(tx, found.id)
    theirs = (questions.get(tx, each) for each in stories.open_task_question_ids(tx, ids))
    asked += [each for each in theirs if each is not None and each.id not in {one.id for one in asked}]
    held = story.held_by(found, made, stories.statuses(tx, found.depends_on))
    own = (tasks.get(tx, each) for each in ids)
    return StoryDetail(
        story=found,
        workflow=made,
        runs=runs,
        decisions=stories.decisions(tx, found.id),
        questions=tuple(asked),
        held_by=tuple(held),
        tasks=tuple(each for each in own if each is not None),
    )


# Phases


def start(
    tx: Tx,
    before: Story,
    phase_name: str,
    workers: Sequence[PhaseWorker],
    rules: StoryRules,
    *,
    actor: str,
    command: str,
    queue: str,
) -> PhaseRun:
    """Start a run of a phase of a story as it was read; its tasks wait for their setup."""
    found = as_it_was(tx, before.id, before.version)
    wanted = found.workflow.phase(phase_name)
    assert wanted is not None
    apply(tx, phase.start(found, wanted, workers, rules, tx.now, actor=actor, command=command, queue=queue))
    made = stories.run(tx, found.story.id, found.story.runs + 1)
    assert made is not None
    return made


def next_phase(found: StoryCase) -> Phase | None:
    """The phase that goes on from where a story stands."""
    last = found.runs[-1].phase if found.runs else ""
    return found.workflow.next_phase(found.story.status, last)


def is_moving(tx: Tx, queues: Sequence[str]) -> bool:
    """Whether a story of these queues goes on by itself: a phase is to be set up, or the next one to be started."""
    for each in stories.conducted(tx):
        if each.queue not in queues:
            continue
        run = stories.run(tx, each.id, each.run) if each.run else None
        if run is not None:
            if run.status == "SETUP":
                return True
            continue
        if each.files_due or _starts_next(tx, each):
            return True
    return False


def _starts_next(tx: Tx, found: Story) -> bool:
    made = workflow_of(tx, found.definition)
    return _may_start(found) and not story.held_by(found, made, stories.statuses(tx, found.depends_on))


def _may_start(found: Story) -> bool:
    """Whether a story goes on by itself, unless another holds it back."""
    stays = found.waiting or found.status in (story.BLOCKED, found.until) or found.ended_at is not None
    return found.driven and not stays


def context_of(tx: Tx, task: Task) -> Mapping[str, Any]:
    """What a task of a run is handed: the context of its run, as its role sees it."""
    found = stories.get(tx, task.owner_id)
    run = stories.run(tx, task.owner_id, found.run) if found is not None else None
    if run is None:
        return {}
    told = dict(run.context)
    instructions = told.pop("instructions", {})
    return {**told, "role": task.role, "instructions": instructions.get(task.role, "")}


def counted(tx: Tx, run: PhaseRun) -> PhaseRun:
    """A run with what its attempts cost, as they were recorded."""
    return replace(run, parts=tuple(_counted(tx, each) for each in run.parts))


def _counted(tx: Tx, part: RunPart) -> RunPart:
    tried = attempts.of_task(tx, part.task_id, ATTEMPTS_MAX)
    if not tried:
        return part
    newest = tried[-1]
    known = sum(sum(_used(each)) for each in tried)
    total = part.tokens_in + part.tokens_out
    told = part if total > known or (total == known and newest.tokens_in is None) else None
    results = attempts.results(tx, part.task_id)
    spans = [_span(each, results.get(each.number)) for each in tried]
    if told is not None:  # what a command says of itself, less what it said in earlier attempts
        before = [sum(column) for column in zip((0, 0), *map(_used, tried[:-1]), strict=True)]
        left = (max(0, told.tokens_in - before[0]), max(0, told.tokens_out - before[1]))
        spans[-1] = replace(spans[-1], tokens_in=left[0], tokens_out=left[1])
    return replace(
        part,
        attempts=len(tried),
        started_at=tried[0].started_at,
        ended_at=newest.ended_at or part.ended_at,
        agent=newest.agent,
        model=newest.model or part.model,
        session=newest.session,
        cost=_sum(tried, "cost"),
        tokens_in=told.tokens_in if told else sum(_used(each)[0] for each in tried),
        tokens_out=told.tokens_out if told else sum(_used(each)[1] for each in tried),
        tool_calls=max(part.tool_calls, _sum(tried, "tool_calls")),
        tried=tuple(spans),
    )


def _span(each: Attempt, result: Mapping[str, Any] | None) -> PartAttempt:
    return PartAttempt(
        started_at=each.started_at,
        ended_at=each.ended_at,
        model=each.model,
        tokens_in=_used(each)[0],
        tokens_out=_used(each)[1],
        tools=agent.tools_used(result),
    )


def _used(each: Attempt) -> budget.Spent:
    """Tokens in and out; a command that does not tell them apart says how many."""
    return (each.tokens or 0) if each.tokens_in is None else each.tokens_in, each.tokens_out or 0


def _sum(tried: Sequence[Attempt], name: str) -> int:
    return sum(getattr(each, name) or 0 for each in tried)


# Answers


def asked_about(tx: Tx, asked: Question) -> AskedStory:
    """A story that a question is about, with what the effects of an answer need."""
    assert asked.owner is not None
    found = case_of(tx, asked.owner.id)
    assert found is not None
    made = stories.decision_of(tx, asked.id)
    others = any(not each.answered_by and each.question_id != asked.id for each in found.decisions)
    return AskedStory(case=found, questions=tuple(open_questions(tx, found.story.id)), decision=made, others=others)


def remember(tx: Tx, asked: AskedStory, words: str, *, actor: str) -> None:
    """Keep what a person decided for the next story that asks the same."""
    if asked.decision is not None:
        questions.save(tx, question.remembered(asked.decision, words, by=actor, now=tx.now))


def newest_question(tx: Tx, given: str) -> str | None:
    """The oldest open question about a story, or about the phase of it that runs; None where there is none."""
    if not exists(tx, given):
        return None
    found = detail(tx, given).questions
    return found[0].id if found else None
