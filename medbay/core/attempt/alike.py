"""Tasks and ends of attempts that differ in nothing the rules look at: what is decided about one holds for the next.

Hundreds of tasks that end within one moment are mostly of a few kinds. Two ends are alike where all that the rules are
given is the same but for what they only pass on: which task it is, what it is called, when it began, where its log is.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from medbay.core import budget
from medbay.core.attempt.ending import Ended
from medbay.core.attempt.knowledge import Seen, Tried
from medbay.core.budget import Budget
from medbay.core.decision import AttemptEnd, Change, Decision, RetryClosed, WorkingSet
from medbay.core.model import PYTHON, SHELL, Retry, Task
from medbay.core.outcome import Failed, Output, Succeeded
from medbay.core.people.question import failing_scope

_RUNNERS: Final = frozenset({SHELL, PYTHON})
_REPEATED: Final = frozenset({Change, AttemptEnd, Retry, RetryClosed, Seen, Tried})
_VALUE: Final = frozenset({"value"})  # what a function returned, which no rule reads


def stands_alone(task: Task) -> bool:
    """Whether its steps concern no other task, and rules look at nothing of it that is its own."""
    return task.runner in _RUNNERS and not task.owner_kind and not task.recurs and not task.canary


def is_plain(ended: Ended, by: Budget) -> bool:
    """Whether this end can concern no other task, and nothing is looked up for it that another end may change."""
    task, outcome = ended.task, ended.outcome
    ours = stands_alone(task) and not ended.attempt.canary
    if not ours or not isinstance(outcome, Succeeded | Failed) or ended.policy.adaptive:
        return False
    alone = ended.owner is None and not ended.dependents
    return alone and not budget.concerns(task, by) and budget.usage_of(outcome) is None


def is_repeatable(made: Decision, now: int, work: WorkingSet) -> bool:
    """Whether a decision about a plain end says nothing that only fits its own task.

    Nothing that tasks share was changed, nobody is asked, and no delay was spread by the id of the task.
    """
    if made.work is not work or any(type(write) not in _REPEATED for write in made.writes):
        return False
    return all(retry.due_at == now for retry in made.all(Retry))


def is_alike(ended: Ended, other: Ended, now: int, work: WorkingSet) -> bool:
    """Whether what was decided about the plain `other` in the same working set is what the rules say of this end."""
    if ended.task.attempts != other.task.attempts or type(ended.outcome) is not type(other.outcome):  # most are not
        return False
    return failing_scope(ended.task.id) not in work.questions and _as_if(ended, other, now) == other


def _as_if(ended: Ended, other: Ended, now: int) -> Ended:
    """The same end with what the other one has where the rules do not look."""
    task, attempt, outcome = other.task, other.attempt, ended.outcome
    output = _output_as_if(outcome.output, other.outcome.output, values=isinstance(outcome, Succeeded))
    return replace(
        ended,
        task=task_as_if(ended.task, task, now),
        attempt=replace(
            ended.attempt, task_id=attempt.task_id, started_at=attempt.started_at, log_path=attempt.log_path
        ),
        outcome=replace(outcome, output=output),
        around=replace(ended.around, ran_ms=other.around.ran_ms),  # asked only of agents
    )


def task_as_if(task: Task, other: Task, now: int) -> Task:
    """A task with what the other one has where the rules do not look."""
    # That a state begins now is no change where it began this very moment: such tasks are only like each other.
    moved = task.since != now != other.since
    return replace(
        task,
        id=other.id,
        title=other.title,
        command=other.command,
        key=other.key,
        created_at=other.created_at,
        since=other.since if moved else task.since,
        ready_at=other.ready_at,
    )


def _output_as_if(output: Output, other: Output, *, values: bool) -> Output:
    """An output with the other one's path; of a success, with its value as well."""
    both = values and _is_value(output) and _is_value(other)
    return replace(output, log_path=other.log_path, result=other.result if both else output.result)


def _is_value(output: Output) -> bool:
    return output.result is not None and output.result.keys() == _VALUE
