"""What a person is asked when nothing else can help: the need, the options with a default, what each will do."""

from __future__ import annotations

from typing import Final

from medbay.core.diagnosis.record import Diagnosis
from medbay.core.lifecycles import BlockKind
from medbay.core.model import Option, Question, Task
from medbay.errors import UsageError

EVIDENCE_MAX: Final = 2_000
GRANTED_BY_A_RELEASE: Final = 2

CANCEL: Final = Option("cancel the task", "cancel", "ends it for good; what comes after it is blocked")
PAUSE: Final = Option("leave it for later", "pause", "takes it out of the way, paused, until somebody resumes it")


def _retry(task: Task, label: str) -> Option:
    if task.recurs and not task.loop:
        return Option(label, "retry", f"its schedule goes on; medbay retry {task.id} runs it now")
    return Option(label, "retry", f"starts it again now, with {GRANTED_BY_A_RELEASE} more attempts")


def ask(
    task: Task,
    *,
    kind: BlockKind,
    why: str,
    now: int,
    diagnosis: Diagnosis | None = None,
    scope: str | None = None,
) -> Question:
    """The question for a task that is blocked for a person."""
    need, first = _need(task, kind, why, diagnosis)
    return Question(
        id=f"q-{task.id}-{task.questions + 1}",
        need=need,
        why=why,
        evidence=diagnosis.pattern.excerpt[:EVIDENCE_MAX] if diagnosis else "",
        options=(first, PAUSE, CANCEL),
        default=1,
        scope=scope,
        task_ids=(task.id,),
        asked_at=now,
    )


def scope_of(diagnosis: Diagnosis) -> str:
    """Tasks stopped by the same thing wait for the same answer: one question per fingerprint and resource."""
    return f"{diagnosis.fingerprint}|{diagnosis.provider or ''}"


def choose(question: Question, answer: str) -> Option:
    """The option a person means: its number, `default`, or the word of its effect."""
    answer = answer.strip().lower()
    if answer in ("", "default"):
        return question.options[question.default - 1]
    if answer.isdecimal() and 1 <= int(answer) <= len(question.options):
        return question.options[int(answer) - 1]
    for option in question.options:
        if answer == option.effect:
            return option
    known = ", ".join(f"{number} {option.label}" for number, option in enumerate(question.options, start=1))
    raise UsageError(f'"{answer}" is not an option of {question.id}', hint=f"choose one of: {known}")


def _need(task: Task, kind: BlockKind, why: str, diagnosis: Diagnosis | None) -> tuple[str, Option]:
    """What has to be done, in one line, and the answer that says it was."""
    if kind == "dependency":
        return f"{task.title}: decide what to do, {why}", _retry(task, "run it all the same")
    if diagnosis is None:
        return f"{task.title}: look into it, {why}", _retry(task, "looked into it, retry")
    if diagnosis.retryable:
        return f"{task.title}: {diagnosis.suggested_fix or diagnosis.summary}", _retry(task, "fixed, retry")
    fix = diagnosis.suggested_fix or "find out what is missing"
    return f"{task.title}: {fix}", _retry(task, "done, retry")
