"""What an agent is told: the words of a task, what was learnt of it, and what its earlier attempts did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from medbay.core import workspace
from medbay.core.agent import profile_of, session_to_resume
from medbay.core.attempt import guidance, prompt
from medbay.core.attempt.prompt import Earlier
from medbay.core.model import Task, changed
from medbay.core.redaction import Redaction
from medbay.core.workflow import prompt as roles
from medbay.core.workflow.records import OWNER
from medbay.service import calls, stories
from medbay.store import attempts, tasks
from medbay.store.database import Tx

EARLIER_MAX: Final = 3  # attempts whose last words are told
WORDS_MAX: Final = 1_200


class Briefing(Struct, frozen=True, kw_only=True):
    """What the next attempt of an agent goes on with and is told of those before it."""

    resumes: str = ""
    session_tokens: tuple[int, int] = (0, 0)
    earlier: tuple[Earlier, ...] = ()


NOTHING: Final = Briefing()


def brief(tx: Tx, task: Task, *, host: str) -> Briefing:
    """What there is to go on with; nothing for the first attempt, and for what no agent works on."""
    if not task.attempts or not profile_of(task.runner):
        return NOTHING
    before = attempts.of_task(tx, task.id, EARLIER_MAX)
    resumes = session_to_resume(task, before[-1] if before else None, host=host)
    used = attempts.tokens_of_session(tx, task.id, resumes) if resumes else (0, 0)
    told = []
    for each in before if not resumes else ():  # in its own session it knows what it did
        output = attempts.output(tx, task.id, each.number)
        if output is not None and each.iteration == task.iteration:
            work = workspace.seen(output.result)
            words = output.tail.strip()[-WORDS_MAX:]
            told.append(Earlier(each.number, each.outcome or "", words, workspace.diff_stat(work) if work else ""))
    return Briefing(resumes=resumes, session_tokens=used, earlier=tuple(told))


def inputs(tx: Tx, task: Task) -> Sequence[Mapping[str, Any]] | Mapping[str, Any]:
    """Title, status and result of the tasks it comes after, in the order of their ids; of a phase, its context."""
    if task.owner_kind == OWNER:
        return stories.context_of(tx, task)
    told = []
    for other_id, status in tasks.comes_after(tx, task.id):
        other = tasks.get(tx, other_id)
        title = other.title if other is not None else ""
        result = calls.result_of(tx, other) if other is not None else None
        told.append({"id": other_id, "title": title, "status": status, "result": result})
    return tuple(told)


def of_next(tx: Tx, task: Task, *, host: str, redaction: Redaction) -> str:
    """The prompt of the next attempt, as its runner will get it on this host."""
    known = brief(tx, task, host=host)
    number = task.attempts + 1
    said = guidance.render(task.guidance, attempt=number)
    return make(task, number, said, resumes=bool(known.resumes), earlier=known.earlier, redaction=redaction)


def make(
    task: Task, number: int, said: str, *, resumes: bool, earlier: tuple[Earlier, ...], redaction: Redaction
) -> str:
    """The prompt; a specification that is reviewed is another task's, and goes without its secrets."""
    if task.role == "review":
        task = changed(task, spec=redaction.knowing(dict(task.env)).text(task.spec))
    result = roles.answer_wanted(task) if task.owner_kind == OWNER else ""
    return prompt.make(task, attempt=number, guidance=said, resumes=resumes, earlier=earlier, result=result)
