"""What an answer does. Each option of a question has an effect, and each effect on a kind of owner is a row here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from msgspec.structs import replace

from medbay.core import owners
from medbay.core.attempt import guidance
from medbay.core.decision import NOTHING, Decision, Draft, QuestionClosed, together
from medbay.core.holds import breaker
from medbay.core.holds.breaker import Breaker
from medbay.core.holds.incident import changed_breaker
from medbay.core.intake import workorder
from medbay.core.intake.workorder import IntakeCase
from medbay.core.model import Event, Option, Question, Task
from medbay.core.owners import Owned
from medbay.core.people import question as person
from medbay.core.people.commands import close, decided, is_sole, on_cancel_command, release
from medbay.core.people.question import ANSWER, GRANTED_BY_A_RELEASE
from medbay.core.schedule import recurring
from medbay.core.workflow import landing, story
from medbay.core.workflow import question as stories
from medbay.core.workflow.phase import StoryCase
from medbay.core.workflow.records import StoryDecision
from medbay.errors import NotAllowed, UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a person said to a question: the option, and the words that come with it."""

    question: Question
    option: Option
    words: str = ""  # a note, or the free text where the question takes one
    actor: str
    now: int
    attempts: int = GRANTED_BY_A_RELEASE

    @property
    def said(self) -> str:
        """The answer as it is recorded."""
        return f"{self.option.label}: {self.words}" if self.words else self.option.label


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedTask:
    """A task that waits for an answer, with what the effects need to know around it."""

    task: Task
    dependents: tuple[Task, ...] = ()
    unmet: int = 0
    owner: Owned = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedStory:
    """A story that waits for an answer, with what else is asked about it."""

    case: StoryCase
    questions: tuple[Question, ...] = ()
    decision: StoryDecision | None = None
    others: bool = False  # whether another decision stays open


def on_answer(answer: Answer, kind: str, owner: Any) -> Decision:
    """Apply an answer to one owner of a kind; the last task that waits for it closes the question."""
    return EFFECTS[kind, answer.option.effect](answer, owner)


def on_noted(answer: Answer) -> Decision:
    """A question that nothing waits for is answered: that it was is all that follows."""
    asked = answer.question.id
    closed = QuestionClosed(question_id=asked, task_id="", whole=True, by=answer.actor, answer=answer.said)
    event = Event(name="question:answered", data={"question": asked, "by": answer.actor, "answer": answer.said})
    return Decision(writes=(closed,), events=(event,))


# The effects on a task


def _cancel(answer: Answer, asked: AskedTask) -> Decision:
    """End the task for good."""
    if asked.task.finished:
        return _noted(answer, _draft(answer, asked), asked.task)
    return on_cancel_command(
        asked.task,
        answer.now,
        actor=answer.actor,
        dependents=asked.dependents,
        question=_last(answer.question, asked.task),
        owner=asked.owner,
    )


def _done(answer: Answer, asked: AskedTask) -> Decision:
    """A person did what was theirs to do; the words are the result."""
    task, draft = asked.task, Draft(asked.task, answer.now, actor=answer.actor)
    if task.finished:
        return _noted(answer, _draft(answer, asked), task)
    if not person.is_persons(task):
        raise NotAllowed(f"{task.id} is not a person's task", hint="only its own end completes it")
    last = _last(answer.question, task)
    draft.set(block_kind=None, due_at=None)
    draft.move("completed", "a person did it", result=answer.words)
    draft.emit("task:completed", by=draft.actor)
    closed = close(draft, last, answer=f"done: {answer.words}" if answer.words else "done", whole=is_sole(last))
    spec = answer.words if answer.words.strip() else None
    others = owners.succeeded(draft, asked.owner, asked.dependents, spec=spec)
    return together(draft.decision(closed), others)


def _pause(answer: Answer, asked: AskedTask) -> Decision:
    """Out of the way until it is resumed."""
    draft = _draft(answer, asked)
    if not asked.task.finished:
        draft.set(paused=True)
        draft.emit("task:paused", by=answer.actor)
    return _go_on(answer, draft, asked)


def _retry(answer: Answer, asked: AskedTask) -> Decision:
    """Go on, with what the person said."""
    task, draft = asked.task, _draft(answer, asked)
    if task.paused and task.status != "blocked":  # it was paused when this was asked
        draft.set(paused=False)
        draft.emit("task:resumed", by=answer.actor)
        if task.recurs and task.status in ("pending", "failed"):
            recurring.resume(draft, "paused")
    return _go_on(answer, draft, asked)


def _answer(answer: Answer, asked: AskedTask) -> Decision:
    """What an agent asked is answered: its session goes on with these words."""
    task = asked.task
    if not answer.words:
        raise UsageError(
            f"{task.id} asks for words: {answer.question.need}", hint=f"medbay answer {task.id} 'YOUR WORDS'"
        )
    draft = Draft(task, answer.now, actor=answer.actor)
    given = guidance.person_answers(answer.question.evidence, answer.words, next_attempt=task.attempts + 1)
    draft.set(guidance=guidance.keep(task.guidance, given))
    return _go_on(answer, draft, asked)


def _wait(answer: Answer, asked: AskedTask) -> Decision:
    """Nothing changes but that it was answered."""
    return _noted(answer, _draft(answer, asked), asked.task)


def _draft(answer: Answer, asked: AskedTask) -> Draft[Task]:
    """The task with the words of the answer as guidance for its next attempt."""
    task, draft = asked.task, Draft(asked.task, answer.now, actor=answer.actor)
    if answer.words:
        against, failed = (task.last_fingerprint, task.last_summary) if task.streak else ("", "")
        given = guidance.person_says(answer.words, next_attempt=task.attempts + 1, fingerprint=against, failed=failed)
        draft.set(guidance=guidance.keep(task.guidance, given))
    return draft


def _go_on(answer: Answer, draft: Draft[Task], asked: AskedTask) -> Decision:
    task = asked.task
    runs = task.recurs and task.status != "blocked"  # by its own schedule, which the question did not stop
    if task.finished or task.live is not None or runs:
        return _noted(answer, draft, task)
    last, said = _last(answer.question, task), answer.said
    return release(draft, f"answered: {said}", attempts=answer.attempts, question=last, unmet=asked.unmet, answer=said)


def _noted(answer: Answer, draft: Draft[Task], task: Task) -> Decision:
    last = _last(answer.question, task)
    return decided(draft, close(draft, last, answer=answer.said, whole=is_sole(last)))


def _last(question: Question, task: Task) -> Question:
    """The question as the last task that waits for it sees it: no other is left."""
    return replace(question, task_ids=question.task_ids[-1:]) if task.id == question.task_ids[-1] else question


# The effects on what is held


def _try_one(answer: Answer, mine: Breaker) -> Decision:
    """One task goes ahead now."""
    return together(changed_breaker(mine, breaker.answered(mine, answer.now, at_once=True)), on_noted(answer))


def _keep_waiting(answer: Answer, mine: Breaker) -> Decision:
    """One task goes ahead from time to time."""
    return together(changed_breaker(mine, breaker.answered(mine, answer.now, at_once=False)), on_noted(answer))


def _look_after(answer: Answer, mine: Breaker) -> Decision:
    """The question that an account was held for is answered: it is looked after at once."""
    return changed_breaker(mine, replace(mine, probe_at=answer.now)) if mine.spent else NOTHING


# The effects on a workorder


def _acknowledge(answer: Answer, case: IntakeCase) -> Decision:
    """Nothing changes but that it was answered."""
    return on_noted(answer)


def _run_again(answer: Answer, case: IntakeCase) -> Decision:
    """Its captures are triaged again at once."""
    return together(on_noted(answer), workorder.on_run_again(case, answer.now, actor=answer.actor))


def _discard_all(answer: Answer, case: IntakeCase) -> Decision:
    """What it left is discarded."""
    return together(on_noted(answer), workorder.on_discard_all(case, answer.now, actor=answer.actor))


# The effects on a story


def _go_on_with_story(answer: Answer, asked: AskedStory) -> Decision:
    """It goes back to where it was blocked from, and on."""
    if asked.case.story.status != "blocked":
        return on_noted(answer)
    return story.on_release(
        asked.case, answer.now, actor=answer.actor, asked=asked.questions, said=f"answered: {answer.said}"
    )


def _cancel_story(answer: Answer, asked: AskedStory) -> Decision:
    """End the story for good."""
    return story.on_cancel(
        asked.case, answer.now, actor=answer.actor, asked=asked.questions, why=f"answered: {answer.said}"
    )


def _leave_story(answer: Answer, asked: AskedStory) -> Decision:
    """Nothing changes but that it was answered."""
    return on_noted(answer)


def _keep_branch(answer: Answer, asked: AskedStory) -> Decision:
    """It is completed, and its branch waits for a person."""
    return landing.on_kept(asked.case, answer.now, actor=answer.actor, asked=asked.questions)


def _revert_story(answer: Answer, asked: AskedStory) -> Decision:
    """Its merge is undone."""
    return landing.on_revert(asked.case, answer.question, answer.now, actor=answer.actor, agreed=True)


def _leave_merged(answer: Answer, asked: AskedStory) -> Decision:
    """Its branch is left as it is."""
    return landing.on_revert(asked.case, answer.question, answer.now, actor=answer.actor, agreed=False)


def _decide(answer: Answer, asked: AskedStory) -> Decision:
    """What a phase wanted decided is decided: by the option, or by a person's own words."""
    assert asked.decision is not None
    asked_for, chosen = answer.question, answer.option.label
    about, now = (asked.case, asked.decision, asked_for), answer.now
    return story.on_decided(*about, chosen, asked.others, now, actor=answer.actor, said=answer.said)


_Effect = Callable[[Answer, Any], Decision]
EFFECTS: Final[Mapping[tuple[str, str], _Effect]] = {
    ("task", "retry"): _retry,
    ("task", "cancel"): _cancel,
    ("task", "pause"): _pause,
    ("task", "wait"): _wait,
    ("task", ANSWER): _answer,
    ("task", "done"): _done,
    ("incident", "retry"): _try_one,
    ("incident", "wait"): _keep_waiting,
    ("hold", "retry"): _look_after,
    ("hold", "cancel"): _look_after,
    ("hold", "pause"): _look_after,
    ("workorder", "note"): _acknowledge,
    ("workorder", "retry"): _run_again,
    ("workorder", "discard"): _discard_all,
    ("story", stories.GO_ON): _go_on_with_story,
    ("story", stories.CANCEL): _cancel_story,
    ("story", stories.WAIT): _leave_story,
    ("story", stories.DECIDE): _decide,
    ("story", stories.KEEP): _keep_branch,
    ("story", stories.REVERT): _revert_story,
    ("story", stories.LEAVE): _leave_merged,
}
