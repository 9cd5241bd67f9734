"""Why a task is where it is, what happens next, and what would change that: sentences, commands and JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from medbay.core.durations import format_duration
from medbay.core.policy.forecast import Forecast
from medbay.core.policy.policy import UNCHARGED_PATIENCE_MS, UNCHARGED_TRIES
from medbay.core.snapshot import Explanation
from medbay.views import attempt, breaker, moments, pattern, question, schedule, triage
from medbay.views import task as tasks
from medbay.views.status import status_phrase

_SHORTEST_SAID_MS: Final = 1_000

When = Callable[[int], str]


def sentences(found: Explanation, when: When) -> list[tuple[str, str]]:
    """Return what there is to say, each sentence under its label."""
    task, now = found.task, found.now
    said = [("Where", f"{task.id} {task.title}: {status_phrase(task, now, after=found.chain[:1]).words}")]
    said += [("Why", why) for why in _why(found, when)]
    said.append(("Next", _next(found, when)))
    said.append(("Place", found.task.place))  # where its attempts run, if not on the machine of its engine
    said.append(("Change", " · ".join(changes(found))))
    if found.coming:
        waits = task.paused or (task.status == "blocked" and task.due_at is None)
        text = _coming_once_released(found.coming) if waits else coming(found.coming, when)
        text += _when_asked(found)
        said.append(("If it fails the same way", text))
    return [(label, text) for label, text in said if text]


def coming(forecasts: Sequence[Forecast], when: When) -> str:
    """Return the next decisions in a row."""
    parts = []
    for each in forecasts:
        step = each.step
        if step.due_at is None:
            parts.append(f"after attempt {each.attempt} {_stop(step.action)}: {step.why}")
        else:
            parts.append(f"attempt {each.attempt + 1} at {when(step.due_at)}")
    return " · ".join(parts)


def _when_asked(found: Explanation) -> str:
    """Return when a person is asked about failures that are not counted, where that is not among the next steps."""
    last = found.last_failure
    if last is None or last.charged or any(each.step.due_at is None for each in found.coming) or found.task.recurs:
        return ""
    patience = moments.short(UNCHARGED_PATIENCE_MS)
    return f" · none of them counted; after {patience} and {UNCHARGED_TRIES} tries a person is asked"


def _coming_once_released(forecasts: Sequence[Forecast]) -> str:
    """Return the same where a person has to act first: only how long each wait lasts is known."""
    parts = [f"attempt {forecasts[0].attempt} when a person lets it go on"]
    for each in forecasts:
        if each.step.due_at is None:
            parts.append(f"after attempt {each.attempt} {_stop(each.step.action)}: {each.step.why}")
        else:
            wait = max(_SHORTEST_SAID_MS, each.step.due_at - each.at)  # one of 1s less its jitter is no wait of 0s
            parts.append(f"attempt {each.attempt + 1} {moments.short(wait)} later")
    return " · ".join(parts)


def changes(found: Explanation) -> list[str]:
    """Return the commands that would change where it stands."""
    task = found.task
    if task.finished:
        return triage.of_parts(found) or ["medbay add makes a new task"]
    if found.orphaned:
        return ["medbay up", f"medbay cancel {task.id}"]
    if task.live is not None:
        return [f"medbay cancel {task.id}", f"medbay log {task.id} -f"]
    if task.status == "blocked":
        answer = f"medbay answer {task.id}" if found.question else f"medbay unblock {task.id}"
        resume = [f"medbay resume {task.id}"] if task.paused else []
        return [*triage.of_helper(found), answer, *resume, f"medbay cancel {task.id}"]
    if task.paused:
        asked = [f"medbay answer {task.id}"] if found.question else []
        return [*asked, f"medbay resume {task.id}", f"medbay cancel {task.id}"]
    moves = (task.ready and found.breaker is None) or task.unmet > 0 or schedule.waits_for_turn(task)
    ways = [] if moves else [f"medbay retry {task.id} (now{_likely(found)})"]
    if found.breaker is not None:
        question = found.breaker.question_id if found.breaker.spent or found.breaker.paused else None
        ways.append(f"medbay answer {question}" if question else f"medbay breaker close {found.breaker.key}")
    ways += [*triage.of_helper(found), *triage.changes(found)]
    ways += [f"medbay answer {task.id}"] if found.question else []
    if any(reason.number == 13 for reason in found.reasons):
        ways.append("medbay up")
    return [*ways, f"medbay pause {task.id}", f"medbay cancel {task.id}"]


def as_json(found: Explanation) -> dict[str, Any]:
    """Return what `explain --json` prints."""
    same = found.evaluation and found.last_failure and found.evaluation.number == found.last_failure.number
    evaluated = (found.evaluation,) if same and found.evaluation else ()
    return {
        "id": found.task.id,
        "title": found.task.title,
        "status": found.task.status,
        "place": found.task.place or None,
        "words": status_phrase(found.task, found.now, after=found.chain[:1]).words,
        "at": moments.iso(found.now),
        "reasons": [{**tasks.reason_as_json(each), "needs": each.needs} for each in found.reasons],
        "triage": triage.as_json(found.triage) if found.triage else None,
        "triage_waits": {"what": found.wanted.what, "why": found.wanted.why} if found.wanted else None,
        "last_failure": attempt.as_json(found.last_failure, evaluated) if found.last_failure else None,
        "known": pattern.as_json(found.known) if found.known else None,
        "retry": attempt.retry_as_json(found.retry) if found.retry else None,
        "question": question.as_json(found.question) if found.question else None,
        "breaker": found.breaker.key if found.breaker else None,
        "waits_for": list(found.chain),
        "parts": [{"id": each.id, "title": each.title, "status": each.status} for each in found.parts],
        "waits_for_person": found.helper.id if found.helper else None,
        "next_attempt_at": moments.iso(tasks.next_attempt_at(found.task)),
        "changes": changes(found),
        "if_it_keeps_failing": [
            {
                "attempt": each.attempt,
                "at": moments.iso(each.at),
                "action": each.step.action,
                "why": each.step.why,
                "due_at": moments.iso(each.step.due_at),
            }
            for each in found.coming
        ],
    }


def _why(found: Explanation, when: When) -> list[str]:
    said = []
    for reason in found.reasons:
        until = f", until {when(reason.until)}" if reason.until is not None else ""
        if reason.code == "budget" and found.breaker is not None:
            until = f"; {breaker.until_next_day(found.breaker, found.now)} ({found.breaker.key})"
        said.append(f"{reason.what}{until}")
    if found.task.status != "completed" and found.last_failure and found.last_failure.diagnosis:
        last = found.last_failure.diagnosis
        place = f" at {last.location}" if last.location else ""
        said.append(
            f"attempt {found.last_failure.number} failed{place}: {last.summary}"
            f" ({last.kind} {last.confidence:.2f}, rule {last.pattern.rule})"
        )
    if found.known is not None and found.task.status != "completed":
        said.append(pattern.seen(found.known, when))
    if found.evaluation is not None and found.newest is not None:
        said.append(attempt.evaluation_sentence(found.newest, found.evaluation, found.rescue_threshold))
    said += triage.explained(found, when)
    if found.question is not None and found.task.status != "blocked" and not found.task.paused:
        said.append(f"a question about it is open: {found.question.need}")
    if len(found.chain) > 1:
        said.append("it waits for " + ", which waits for ".join(found.chain))
    return said


def _next(found: Explanation, when: When) -> str:
    task, now = found.task, found.now
    if task.finished:
        return "its parts go on" if triage.of_parts(found) else "nothing: it has ended"
    if task.live is not None or task.status == "pending_verification":
        return _under_way(found, when)
    if found.helper is not None and not found.question and task.due_at is None:
        return f"nothing until a person answers {found.helper.id}: {found.helper.title}"
    if task.status == "blocked" and task.due_at is not None:
        return f"{when(task.due_at)}: it is tried again, unless it is released earlier"
    if task.status == "blocked":
        return "nothing until a person answers: " + (found.question.need if found.question else task.reason)
    if task.paused:
        asked = f", or a person answers: {found.question.need}" if found.question else ""
        return f"nothing until it is resumed{asked}"
    if step := triage.next_step(found, when):
        return step
    if schedule.waits_for_turn(task):
        return f"attempt {task.attempts + 1}, when its turn comes in the loop of {task.loop}"
    if schedule.waits_for_boot(task):
        return f"attempt {task.attempts + 1}, when an engine sees that its machine was started again"
    if task.ready and not found.reasons:
        return f"attempt {task.attempts + 1}, as soon as a worker is free"
    if (held := _held(found, when)) or task.due_at is None:
        return f"{held}attempt {task.attempts + 1}, when what holds it back is over"
    why = _why_then(found)
    there = moments.in_zone(task.due_at, now, task.zone if task.cron else "")
    by_schedule = f"{there}, " if task.zone and there.endswith(task.zone) else ""
    soon = f"{by_schedule}in {moments.short(task.due_at - now)}"
    return f"{when(task.due_at)} ({soon}), attempt {task.attempts + 1}{why}"


def _held(found: Explanation, when: When) -> str:
    """From when on what holds it may let it go, where its own time comes sooner; empty where nothing does."""
    held = next((each for each in found.reasons if each.needs == "healing"), None)
    if held is None or (held.until is not None and held.until <= (found.task.due_at or 0)):
        return ""
    return f"{when(held.until)} at the earliest: " if held.until is not None else "nothing by itself: "


def _under_way(found: Explanation, when: When) -> str:
    task = found.task
    if found.orphaned:
        return "nothing until medbay up takes over: it ends what is left of the attempt, then tries again"
    if task.status == "pending_verification" and found.evaluation is not None and found.newest is not None:
        return f"the evaluation of attempt {found.newest.number}, which failed, says whether it counts all the same"
    if task.status == "pending_verification":
        latest = f", at the latest about {when(task.since + task.check_timeout_ms)}"
        return f"attempt {task.live} succeeded; its checks decide whether it counts{latest}"
    limit = task.since + task.timeout_ms if task.timeout_ms is not None else None
    return f"attempt {task.live} ends" + (f", at the latest {when(limit)}" if limit else " by itself")


def _why_then(found: Explanation) -> str:
    """Where the time of the next attempt comes from."""
    if found.retry is None:
        return schedule.why_then(found.task)
    action = found.retry.action.replace("_", " ")
    policy = f"{found.task.policy or 'ladder'}/{found.retry.category.partition('/')[0]}"
    if found.task.recurs:
        policy = f"recurring, {schedule.how(found.task)}"
    why = f": {action}, {format_duration(found.retry.delay_ms)} after the failure; policy {policy}"
    why += f", learned: {found.retry.learned}" if found.retry.learned else ""
    return why + (". Not sooner: the failure named a time" if _likely(found) else "")


def _likely(found: Explanation) -> str:
    last = found.last_failure.diagnosis if found.last_failure else None
    return "; likely to fail again" if last is not None and last.retry_after_ms is not None else ""


def _stop(action: str) -> str:
    return "a person is asked" if action == "escalate_to_human" else "it is given up to a person"
