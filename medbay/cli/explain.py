"""`medbay explain`: where a task stands, why, what happens next and when, and what would change that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import click

from medbay.cli import evaluation_lines
from medbay.cli.completion import task_ids
from medbay.cli.output import BOLD, Screen, fields, print_json, say, screen
from medbay.cli.session import Session, json_option, pass_session
from medbay.core.durations import format_duration
from medbay.core.holds.holding import Reason
from medbay.views import moments, schedule, triage
from medbay.views.glyphs import status_phrase
from medbay.views.text import clean, width, wrap

if TYPE_CHECKING:
    from medbay.bay import Bay
    from medbay.core.attempt.knowledge import Known
    from medbay.core.policy.forecast import Forecast
    from medbay.service.explain import Explanation

When = Callable[[int], str]
_LABEL: Final = 8


@click.command()
@click.argument("task_id", metavar="ID", shell_complete=task_ids)
@json_option
@pass_session
def command(session: Session, task_id: str) -> None:
    """Say why a task is where it is, what happens next, and what would change that.

    \b
    Example:
      medbay explain m2xa
    """
    found = _without_the_dead(session.bay(), session.bay().explain(task_id))
    if session.json:
        print_json(as_json(found))
        return
    shown = screen()
    if not shown.terminal:
        for label, told in sentences(found, moments.iso):
            fields(label.lower(), told)
        return
    last = ""
    for label, told in sentences(found, lambda at: moments.clock(at, found.now)):
        for line in _wrapped(label if label != last else " ", clean(told), shown):
            say(line)
        last = label


def _without_the_dead(bay: Bay, found: Explanation) -> Explanation:
    """A live attempt whose engine died on this machine: nothing runs any more until somebody takes over."""
    task = found.task
    if task.live is None or not any(each.task_id == task.id for dead in bay.dead_engines() for each in dead.running):
        return found
    died = Reason(3, f"attempt {task.live} was running when its engine died, and nobody has taken over", "event")
    reasons = (died if each.number == 3 else each for each in found.reasons)
    return replace(found, reasons=tuple(reasons), orphaned=True)


def sentences(found: Explanation, when: When) -> list[tuple[str, str]]:
    """What there is to say, each under its label."""
    task, now = found.task, found.now
    said = [("Where", f"{task.id} {task.title}: {status_phrase(task, now, after=found.chain[:1]).words}")]
    said += [("Why", why) for why in _why(found, when)]
    said.append(("Next", _next(found, when)))
    said.append(("Change", " · ".join(changes(found))))
    if found.coming:
        waits = task.paused or (task.status == "blocked" and task.due_at is None)
        told = _coming_once_released(found.coming) if waits else coming(found.coming, when)
        said.append(("If it fails the same way", told))
    return [(label, told) for label, told in said if told]


def coming(forecasts: Sequence[Forecast], when: When) -> str:
    """The next decisions in a row."""
    parts = []
    for each in forecasts:
        step = each.step
        if step.due_at is None:
            parts.append(f"after attempt {each.attempt} {_stop(step.action)}: {step.why}")
        else:
            parts.append(f"attempt {each.attempt + 1} at {when(step.due_at)}")
    return " · ".join(parts)


def _coming_once_released(forecasts: Sequence[Forecast]) -> str:
    """The same where a person has to act first: nobody knows when that is, so only how long each wait lasts."""
    parts = [f"attempt {forecasts[0].attempt} when somebody lets it go on"]
    for each in forecasts:
        if each.step.due_at is None:
            parts.append(f"after attempt {each.attempt} {_stop(each.step.action)}: {each.step.why}")
        else:
            parts.append(f"attempt {each.attempt + 1} {moments.short(each.step.due_at - each.at)} later")
    return " · ".join(parts)


def changes(found: Explanation) -> list[str]:
    """The commands that would change where it stands."""
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
    """The same as data."""
    from medbay.service import triage_views, views

    same = found.evaluation and found.last_failure and found.evaluation.number == found.last_failure.number
    evaluated = (found.evaluation,) if same and found.evaluation else ()
    return {
        "id": found.task.id,
        "title": found.task.title,
        "status": found.task.status,
        "words": status_phrase(found.task, found.now, after=found.chain[:1]).words,
        "at": views.iso(found.now),
        "reasons": [
            {"number": each.number, "what": each.what, "needs": each.needs, "until": views.iso(each.until)}
            for each in found.reasons
        ],
        "triage": triage_views.triage(found.triage) if found.triage else None,
        "triage_waits": {"what": found.wanted.what, "why": found.wanted.why} if found.wanted else None,
        "last_failure": views.attempt(found.last_failure, evaluated) if found.last_failure else None,
        "known": views.pattern(found.known) if found.known else None,
        "retry": views.retry(found.retry) if found.retry else None,
        "question": views.question(found.question) if found.question else None,
        "breaker": found.breaker.key if found.breaker else None,
        "waits_for": list(found.chain),
        "parts": [{"id": each.id, "title": each.title, "status": each.status} for each in found.parts],
        "waits_for_person": found.helper.id if found.helper else None,
        "next_attempt_at": views.iso(views.next_attempt_at(found.task)),
        "changes": changes(found),
        "if_it_keeps_failing": [
            {
                "attempt": each.attempt,
                "at": views.iso(each.at),
                "action": each.step.action,
                "why": each.step.why,
                "due_at": views.iso(each.step.due_at),
            }
            for each in found.coming
        ],
    }


def _why(found: Explanation, when: When) -> list[str]:
    said = []
    for reason in found.reasons:
        until = f", until {when(reason.until)}" if reason.until is not None else ""
        said.append(f"{reason.what}{until}")
    if found.task.status != "completed" and found.last_failure and found.last_failure.diagnosis:
        last = found.last_failure.diagnosis
        place = f" at {last.location}" if last.location else ""
        said.append(
            f"attempt {found.last_failure.number} failed{place}: {last.summary}"
            f" ({last.kind} {last.confidence:.2f}, rule {last.pattern.rule})"
        )
    if found.known is not None and found.task.status != "completed":
        said.append(_known(found.known, when))
    if found.evaluation is not None and found.newest is not None:
        said.append(evaluation_lines.sentence(found.newest, found.evaluation, found.rescue_threshold))
    said += triage.explained(found, when)
    if found.question is not None and found.task.status != "blocked" and not found.task.paused:
        said.append(f"a question about it is open: {found.question.need}")
    if len(found.chain) > 1:
        said.append("it waits for " + ", which waits for ".join(found.chain))
    return said


def _known(known: Known, when: When) -> str:
    """How often this was seen, who said what it is, and what helped against it."""
    times_ = "once" if known.count == 1 else f"{known.count} times"
    where = "1 task" if known.tasks == 1 else f"{known.tasks} tasks"
    said = f"{known.fingerprint} was seen {times_} on {where} since {when(known.first_seen)}"
    if known.taught is not None:
        said += f"; {known.taught.by} says it is {known.kind}"
    best = next((each for each in known.advice if each.cured), None)
    return said + (f"; what helped: {best.text} ({best.record})" if best else "")


def _next(found: Explanation, when: When) -> str:
    task, now = found.task, found.now
    if task.finished:
        return "its parts go on" if triage.of_parts(found) else "nothing: it has ended"
    if task.live is not None or task.status == "pending_verification":
        return _under_way(found, when)
    if found.helper is not None and not found.question and task.due_at is None:
        return f"nothing until somebody answers {found.helper.id}: {found.helper.title}"
    if task.status == "blocked" and task.due_at is not None:
        return f"{when(task.due_at)}: it is tried again, unless somebody releases it earlier"
    if task.status == "blocked":
        return "nothing until somebody answers: " + (found.question.need if found.question else task.reason)
    if task.paused:
        asked = f", or somebody answers: {found.question.need}" if found.question else ""
        return f"nothing until it is resumed{asked}"
    if step := triage.next_step(found, when):
        return step
    if schedule.waits_for_turn(task):
        return f"attempt {task.attempts + 1}, when its turn comes in the loop of {task.loop}"
    if task.ready and not found.reasons:
        return f"attempt {task.attempts + 1}, as soon as a worker looks"
    if (held := _held(found, when)) or task.due_at is None:
        return f"{held}attempt {task.attempts + 1}, when what holds it back is over"
    why = _why_then(found)
    return f"{when(task.due_at)} (in {moments.short(task.due_at - now)}), attempt {task.attempts + 1}{why}"


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
        return f"attempt {task.live} ended well; its checks decide whether it counts{latest}"
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


def _wrapped(label: str, told: str, shown: Screen) -> list[str]:
    """A label and its sentence, broken between words to the width of the terminal."""
    lines = wrap(shown.plain(told), max(30, shown.width - _LABEL))
    if width(label) >= _LABEL:
        lines.insert(0, shown.paint(label, BOLD))
        label = ""
    head = lines[0] if not label else shown.paint(label.ljust(_LABEL), BOLD) + lines[0]
    return [head, *(" " * _LABEL + each for each in lines[1:])]
