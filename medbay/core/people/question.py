"""What a person is asked when nothing else can help: the need, the options with a default, what each will do."""

from __future__ import annotations

import re
from typing import Final

from medbay.core.decision import Decision, Draft, QuestionSent
from medbay.core.diagnosis.record import SURE_FROM, Diagnosis, doubt
from medbay.core.durations import format_duration
from medbay.core.lifecycles import BlockKind
from medbay.core.model import PERSON, Event, Option, Owner, Question, Task
from medbay.core.untrusted import line
from medbay.errors import UsageError

ANSWER: Final = "answer"  # the effect of words that an agent asked for
_URL: Final = re.compile(r"\bhttps?://(?:[^\s/@]{1,80}@)?([A-Za-z0-9.-]{1,200})")
_LISTED: Final = re.compile(
    r"^[ \t]{0,8}(?:[-*][ \t]{1,3})?(?:\*\*)?\(?(\d{1,2})[.):][ \t]{1,4}(\S.{0,300})$", re.MULTILINE
)
EVIDENCE_MAX: Final = 2_000
NEED_MAX: Final = 300
FREE_TEXT_MAX: Final = 20_000
GRANTED_BY_A_RELEASE: Final = 2
SENT_AGAIN_AFTER_MS: Final = 4 * 3_600_000  # once, then daily
SENT_DAILY_MS: Final = 24 * 3_600_000

CANCEL: Final = Option("cancel the task", "cancel", "ends it for good; what comes after it is blocked")
PAUSE: Final = Option("leave it for later", "pause", "paused until a person resumes it")


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
    owner: Owner | None = None,
) -> Question:
    """The question for a task that is blocked for a person; it is the task's unless another owner is named."""
    need, first = _need(task, kind, why, diagnosis)
    return Question(
        id=f"q-{task.id}-{task.questions + 1}",
        need=need,
        why=f"{why}; {doubted}" if (doubted := doubt(diagnosis) if diagnosis else "") else why,
        evidence=diagnosis.pattern.evidence[:EVIDENCE_MAX] if diagnosis else "",
        options=(first, PAUSE, CANCEL),
        default=1,
        owner=owner or Owner("task", task.id),
        scope=scope,
        task_ids=(task.id,),
        asked_at=now,
    )


def ask_for_agent(task: Task, words: str, now: int, *, agent: str) -> Question:
    """What an agent asks, in its own words: any words are the answer, and its session goes on with them.

    It is its own question: never joined with another's, never answered by default or by what was chosen before.
    """
    return Question(
        id=f"q-{task.id}-{task.questions + 1}",
        need=f"{task.title}: {line(words, NEED_MAX)}",
        why=f"the agent {agent} asks",
        evidence=words[:EVIDENCE_MAX],
        options=(Option("answer", ANSWER, "your words go into its session, and it goes on with them"), PAUSE, CANCEL),
        default=1,
        owner=Owner("task", task.id),
        free_text=True,
        task_ids=(task.id,),
        asked_at=now,
    )


def asks_for_words(question: Question) -> bool:
    """Whether only words are an answer: an agent asked."""
    return bool(question.options) and question.options[0].effect == ANSWER


FAILING: Final = "failing|"
FAILING_TOGETHER: Final = "failing together|"
FULL_DISK: Final = "resource_exhaustion/disk"
_OUTSIDE: Final = frozenset({"transient", "resource_exhaustion"})


def failing_scope(task_id: str) -> str:
    """The scope of the question about a recurring task that does nothing but fail; its next success withdraws it."""
    return FAILING + task_id


def together_scope(kind: str, fingerprint: str) -> str | None:
    """The scope of one question about all recurring tasks that fail for a cause outside of them; None for any other.

    A full disk is one cause, whatever could not be written.
    """
    if kind.partition("/")[0] not in _OUTSIDE:
        return None
    return FAILING_TOGETHER + (kind if kind == FULL_DISK else fingerprint)


def paused_scope(task_id: str) -> str:
    """The scope of the question about a task that a triage paused; `resume` answers it."""
    return f"paused|{task_id}"


def ask_failing(task: Task, now: int, diagnosis: Diagnosis) -> Question:
    """The question about a recurring task that does nothing but fail: it blocks nothing, the schedule goes on."""
    since = now if task.failing_since is None else task.failing_since
    why = f"{task.streak} failures in a row and no success for {format_duration(now - since)}: {diagnosis.summary}"
    if task.streak == 1 and task.due_at is not None:
        why = f"it failed, and its next run is {format_duration(task.due_at - now)} away: {diagnosis.summary}"
    together = together_scope(diagnosis.kind, diagnosis.fingerprint) if diagnosis.confidence >= SURE_FROM else None
    return ask(task, kind="human", why=why, now=now, diagnosis=diagnosis, scope=together or failing_scope(task.id))


def send_again_at(question: Question) -> int:
    """When a question that was just asked is sent again without an answer."""
    return question.asked_at + SENT_AGAIN_AFTER_MS if question.send_at is None else question.send_at


def on_unanswered(question: Question, now: int) -> Decision:
    """Unanswered: it is sent again. An engine that was away for days sends it once."""
    again = QuestionSent(question_id=question.id, before=question.sent, send_at=now + SENT_DAILY_MS)
    data = {"question": question.id, "need": question.need, "why": question.why, "again": question.sent}
    first = question.task_ids[0] if question.task_ids else None
    return Decision(writes=(again,), events=(Event(name="question:asked", task_id=first, data=data),))


def scope_of(diagnosis: Diagnosis, account: str | None = None) -> str:
    """Tasks stopped by the same thing wait for the same answer: one question per fingerprint and resource.

    Spent credits stop an account, and so do credentials that are refused, however the failure is worded. Where no
    provider is named, the host stands for it.
    """
    if account is not None and diagnosis.subcategory == "quota":
        return f"spent|{account}"
    if diagnosis.subcategory == "auth" and (whose := account or _host(diagnosis)):
        return f"auth|{whose}"  # one token, one question, whatever it was used for
    return f"{diagnosis.fingerprint}|{diagnosis.provider or ''}"


def _host(diagnosis: Diagnosis) -> str:
    """The host that a failure names, as `host:api.example.org`; or nothing."""
    found = _URL.search(f"{diagnosis.pattern.excerpt} {diagnosis.summary}")
    return f"host:{found[1].lower()}" if found else ""


def choose(question: Question, answer: str) -> Option:
    """The option a person means: its number, its own words, `default`, or the word of its effect.

    Free text means the default.
    """
    option = _named(question, answer)
    if option is not None:
        return option
    if question.free_text:
        return question.options[question.default - 1]
    known = ", ".join(f"{number} {option.label}" for number, option in enumerate(question.options, start=1))
    raise UsageError(f'"{answer.strip().lower()}" is not an option of {question.id}', hint=f"choose one of: {known}")


def free_text(question: Question, answer: str) -> str:
    """The words of an answer that names no option, where the question takes them.

    The number of something that an agent listed stands for its words: the agent may have forgotten its list.
    """
    if not question.free_text or _named(question, answer) is not None:
        return ""
    if len(answer) > FREE_TEXT_MAX:
        raise UsageError(f"the answer is longer than {FREE_TEXT_MAX} characters", hint="put it into a file and name it")
    said = answer.strip()
    return listed(question.evidence).get(said, said) if asks_for_words(question) else said


def listed(words: str) -> dict[str, str]:
    """What an agent lists in its question, by number: `2` is `2. SQLite`."""
    found: dict[str, str] = {}
    for number, text in _LISTED.findall(words[:EVIDENCE_MAX]):
        found.setdefault(number, f"{number}. {text.strip()}")
    return found


def _named(question: Question, answer: str) -> Option | None:
    answer = answer.strip().lower()
    if answer in ("", "default"):
        return question.options[question.default - 1]
    if asks_for_words(question):  # "2" is what the agent listed as that; only a word of its own means another option
        return next((option for option in question.options if answer == option.effect), None)
    if answer.isdecimal() and 1 <= int(answer) <= len(question.options):
        return question.options[int(answer) - 1]
    by_label = next((option for option in question.options if answer == option.label.lower()), None)
    return by_label or next((option for option in question.options if answer == option.effect), None)


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


RUNNER: Final = PERSON
WHY: Final = "only a person can do it"

_DONE: Final = {
    "review": "completes the review, and {subject} goes on: with the specification in --note, without one as it is",
    "fix": "completes the fix, and {subject} goes on",
}


def is_persons(task: Task) -> bool:
    """Whether a person does it, so that no engine ever claims it."""
    return task.runner == RUNNER


def is_due(task: Task) -> bool:
    """Whether the person is to be asked now: nothing it comes after is missing, and it is not paused."""
    return is_persons(task) and task.status == "pending" and task.unmet == 0 and not task.paused


def hand_over(draft: Draft[Task]) -> Question:
    """Ask the person; until the answer it is blocked."""
    asked = draft.ask(_ask(draft.task, draft.now))
    draft.block("human", asked.why)
    return asked


def _ask(task: Task, now: int) -> Question:
    done = _DONE.get(task.role, "completes it; a --note becomes its result, and what comes after it goes on")
    return Question(
        id=f"q-{task.id}-{task.questions + 1}",
        need=task.title,
        why=f"{task.owner_id} waits for it, and no agent is configured for a {task.role}" if task.role else WHY,
        evidence=task.description[:EVIDENCE_MAX],
        options=(Option("done", "done", done.format(subject=task.owner_id)), PAUSE, CANCEL),
        default=1,
        owner=Owner("task", task.id),
        task_ids=(task.id,),
        asked_at=now,
    )
