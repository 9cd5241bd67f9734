"""The promises, each as a small function from what one commit did to one task to what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Final

from medbay.core.holds import holding
from medbay.core.holds.breaker import PROBE_AT_LEAST_EVERY_MS
from medbay.core.model import Attempt
from medbay.core.people.question import is_persons
from medbay.core.schedule import occurrences
from medbay.sim.ledger import Broken, TaskCommit

Check = Callable[[TaskCommit], str | None]


def check(seen: TaskCommit) -> None:
    """Raise Broken when any promise does not hold for this step of this task."""
    _hold(CHECKS, seen)


def check_as_it_is(seen: TaskCommit) -> None:
    """The promises about a task as it stands, whatever led there: for a checker that saw the end only."""
    _hold(STANDING, seen)


def _hold(promises: Iterable[tuple[str, Check]], seen: TaskCommit) -> None:
    for promise, rule in promises:
        wrong = rule(seen)
        if wrong is not None:
            raise Broken(promise, f"{seen.after.id}: {wrong}")


def _no_rule_of_ours_broke(seen: TaskCommit) -> str | None:
    for event in seen.named("task:failed"):
        found = event.data.get("diagnosis", {})
        if found.get("subcategory") == "engine_error":
            return f"a rule raised: {found.get('excerpt', '')[-1500:]}"
    return None


def _numbers_rise_by_one(seen: TaskCommit) -> str | None:
    before = seen.before.attempts if seen.before else 0
    expected = before + (1 if seen.claimed else 0)
    if seen.after.attempts != expected:
        return f"attempts went from {before} to {seen.after.attempts}"
    if seen.after.live not in (None, seen.after.attempts):
        return f"attempt {seen.after.live} is live, but the newest is {seen.after.attempts}"
    return None


def _one_live_attempt(seen: TaskCommit) -> str | None:
    if seen.claimed and seen.before is not None and seen.before.live is not None:
        return f"claimed for attempt {seen.after.live} while {seen.before.live} was live"
    live = [each.number for each in seen.attempts if each.ended_at is None]
    expected = [] if seen.after.live is None else [seen.after.live]
    return None if live == expected else f"live attempts {live}, the task says {expected}"


def _result_recorded_once(seen: TaskCommit) -> str | None:
    outcomes = seen.known.outcomes
    fresh = 0
    for attempt in seen.attempts:
        if attempt.ended_at is None:
            continue
        word = str(attempt.outcome)
        if outcomes.setdefault(attempt.number, word) != word:
            return f"attempt {attempt.number} was {outcomes[attempt.number]}, now it is {word}"
        fresh += seen.before is not None and attempt.number == seen.before.live
        wrong = _fits_what_ran(seen, attempt)
        if wrong is not None:
            return wrong
    return None if fresh <= 1 else "two attempts ended in one commit"


def _fits_what_ran(seen: TaskCommit, attempt: Attempt) -> str | None:
    process = seen.processes.get((attempt.task_id, attempt.number))
    if attempt.outcome != "succeeded":
        return None
    if process is None:
        return f"attempt {attempt.number} succeeded without ever running"
    really = process.fate.kind == "success" and process.gone_ms is None and process.ends_ms <= seen.elapsed_ms
    return None if really else f"attempt {attempt.number} is recorded as succeeded, but it did not succeed"


def _completed_by_success(seen: TaskCommit) -> str | None:
    if seen.after.status != "completed" or seen.known.outcomes.get(seen.after.attempts) == "succeeded":
        return None
    if is_persons(seen.after):
        return (
            None
            if seen.known.released or seen.named("question:answered")
            else "a person's task is completed, and no person answered"
        )
    return f"completed, although attempt {seen.after.attempts} did not succeed"


def _nothing_held_is_dispatched(seen: TaskCommit) -> str | None:
    task = seen.before
    if not seen.claimed or task is None:
        return None
    for held, why in (
        (task.status not in ("pending",), f"it was {task.status}"),
        (task.paused, "it was paused"),
        (task.cancel_requested, "its cancel was requested"),
        (task.unmet > 0, f"it waited for {task.unmet} others"),
        (task.waits_for is not None, f"it waited for its {task.waits_for}"),
        (not task.forced and task.due_at is not None and task.due_at > seen.latest, "it was not due"),
    ):
        if held:
            return f"dispatched although {why}"
    return None


def _nothing_starts_before_what_it_comes_after(seen: TaskCommit) -> str | None:
    if not seen.claimed:
        return None
    for other in seen.prerequisites:
        allowed = other.status == "completed" or (other.status == "cancelled" and seen.known.released)
        if not allowed:
            return f"dispatched although {other.id}, which it comes after, is {other.status}"
    return None


def _nothing_before_the_named_time(seen: TaskCommit) -> str | None:
    """Except one uncharged probe of a held account every six hours."""
    if not seen.claimed or seen.latest >= seen.known.not_before:
        return None
    probe = seen.attempts[-1].canary and seen.now - seen.probed_at >= PROBE_AT_LEAST_EVERY_MS
    return None if probe else f"dispatched {seen.known.not_before - seen.latest} ms before the time its failure named"


def _streak_moves_by_the_rules(seen: TaskCommit) -> str | None:
    if seen.before is None:
        return None if seen.after.streak == 0 else "added with a streak"
    failed = [] if _canary_ended(seen) else seen.named("task:failed")
    streak = 0 if seen.forgiven else seen.before.streak + len(failed)
    if seen.after.streak != streak:
        return f"the streak went from {seen.before.streak} to {seen.after.streak}, {streak} was due"
    paid = sum(1 for event in failed if event.data.get("charged"))
    charged = 0 if seen.forgiven else seen.before.charged + paid
    return None if seen.after.charged == charged else f"charged is {seen.after.charged}, {charged} was due"


def _canary_ended(seen: TaskCommit) -> bool:
    """Whether what ended now was sent ahead for a breaker."""
    ended = seen.before.live if seen.before is not None else None
    return any(each.canary and each.number == ended and each.ended_at is not None for each in seen.attempts)


def _canaries_are_never_charged(seen: TaskCommit) -> str | None:
    wrong = [each.number for each in seen.attempts if each.canary and each.charged]
    return f"the canary {wrong[0]} was charged" if wrong else None


def _nothing_an_open_breaker_holds_is_dispatched(seen: TaskCommit) -> str | None:
    """But for the one canary that the breaker itself knows, and a person's retry."""
    if not seen.claimed:
        return None
    newest = seen.attempts[-1]
    sent_for = [event.data.get("canary") for event in seen.named("task:started")][-1]
    if newest.canary != (sent_for is not None):
        return f"attempt {newest.number} is a canary of {sent_for}, its row says {newest.canary}"
    if sent_for is not None:
        known = seen.breakers.get(sent_for)
        mine = known is not None and (known.canary_task, known.canary_number) == (seen.after.id, newest.number)
        return None if mine else f"{sent_for} does not know its canary {newest.number}"
    if newest.forced or seen.held_by is None:
        return None
    return f"dispatched although {seen.held_by} holds it"


def _crashes_are_counted(seen: TaskCommit) -> str | None:
    if seen.before is None:
        return None
    before, after = seen.before.crashes, seen.after.crashes
    if seen.named("task:completed") or seen.named("task:iteration_done"):
        return None if after == 0 else "succeeded, but its crashes stayed"
    taken_over = any("why" in event.data for event in seen.named("task:verifying"))
    allowed = (before, before + 1) if seen.named("task:lost") or taken_over else (before,)
    return None if after in allowed else f"crashes went from {before} to {after}"


def _counters_fit(seen: TaskCommit) -> str | None:
    task = seen.after
    if not 0 <= task.charged <= task.streak <= task.attempts:
        return f"charged {task.charged}, streak {task.streak}, attempts {task.attempts}"
    if (task.uncharged > 0) != (task.uncharged_since is not None):
        return f"{task.uncharged} free tries since {task.uncharged_since}"
    if task.recovery != (task.streak > 0 or task.canary or task.role == "triage"):
        return f"recovery is {task.recovery} with a streak of {task.streak}"
    return None


def _one_pending_retry(seen: TaskCommit) -> str | None:
    if seen.pending is None:
        return None
    due = [retry.due_at for retry in seen.pending]
    if len(due) > 1:
        return f"{len(due)} pending retries"
    if seen.after.status != "failed":
        return f"{seen.after.status} with a pending retry" if due else None
    if seen.after.waits_for is not None:
        return None
    return None if due == [seen.after.due_at] else f"its retry is due at {due}, the task at {seen.after.due_at}"


def _one_turn_in_a_loop(seen: TaskCommit) -> str | None:
    task = seen.after
    return f"claimed although it waits for its {task.waits_for}" if seen.claimed and task.waits_for else None


def _iterations_are_counted(seen: TaskCommit) -> str | None:
    before, after = seen.before, seen.after
    if before is None or not before.recurs:
        return None
    done, failed = len(seen.named("task:iteration_done")), len(seen.named("task:failed"))
    if after.iterations_done != before.iterations_done + done:
        return f"{after.iterations_done} iterations succeeded, {before.iterations_done + done} was due"
    if after.iteration != before.iteration + done + failed:
        return f"iteration went from {before.iteration} to {after.iteration}"
    if after.max_iterations is not None and after.iterations_done > after.max_iterations:
        return f"{after.iterations_done} of {after.max_iterations} iterations"
    blocked = after.block_kind == "exhausted" and before.block_kind != "exhausted" and not after.loop
    return "blocked for the number of its failures" if blocked else None


def _each_occurrence_runs_once_or_is_skipped(seen: TaskCommit) -> str | None:
    """Of cron tasks: what ran and what was reported as skipped never overlap, and the numbers are right."""
    task, known = seen.after, seen.known
    if not task.cron:
        return None
    if known.begun is None:
        known.begun = occurrences.accounted_until(task)
    for event in seen.named("task:occurrences_skipped"):
        first, last = (round(datetime.fromisoformat(event.data[name]).timestamp() * 1000) for name in ("first", "last"))
        planned = occurrences.occurrences(task, first - 1, last)
        if planned != (first, last, event.data["number"]):
            return f"skipped {event.data}, planned was {planned}"
        known.skipped.append((first, last, event.data["number"]))
    ended = [each for each in seen.attempts if seen.before is not None and each.number == seen.before.live]
    for attempt in ended:
        at = attempt.planned_at
        if attempt.outcome not in ("succeeded", "failed", "timed_out") or at is None:
            continue
        if at > (known.begun or 0) and occurrences.next_after(task, at - 1) == at:
            known.ran[at] = known.ran.get(at, 0) + 1
            if known.ran[at] > 1:
                return f"the occurrence of {at} ran {known.ran[at]} times"
    return _accounted(seen)


def _accounted(seen: TaskCommit) -> str | None:
    until, begun = occurrences.accounted_until(seen.after), seen.known.begun
    if seen.after.live is not None or until is None or begun is None or seen.after.finished:
        return None
    planned = occurrences.occurrences(seen.after, begun, until)
    expected = planned.number if planned else 0
    found = len(seen.known.ran) + sum(number for _, _, number in seen.known.skipped)
    if found != expected:
        return f"{len(seen.known.ran)} ran and {found - len(seen.known.ran)} were skipped of {expected} planned"
    if any(first <= at <= last for at in seen.known.ran for first, last, _ in seen.known.skipped):
        return "an occurrence ran and was skipped"
    return None


def _never_before_its_time(seen: TaskCommit) -> str | None:
    task = seen.after
    if not seen.claimed or task.planned_at is None or not task.cron:
        return None
    if occurrences.next_after(task, task.planned_at - 1) != task.planned_at:  # a run outside the plan
        return None
    early = task.planned_at - seen.latest
    return f"claimed {early} ms before its planned time" if early > 0 else None


def _who_waits_has_asked(seen: TaskCommit) -> str | None:
    task, asked = seen.after, seen.question
    if task.status == "blocked" and task.block_kind in ("human", "exhausted", "dependency"):
        if asked is None or asked.status != "open":
            return f"blocked ({task.block_kind}) without an open question"
        return None if task.id in asked.task_ids else f"{asked.id} does not know that it waits"
    # What triage says of a recurring or a paused task asks without stopping it.
    told_beside = asked is not None and (task.recurs or task.paused or task.triages > 0)
    return None if asked is None or told_beside else f"{task.status}, but {asked.id} still waits for it"


def _ready_says_what_holds(seen: TaskCommit) -> str | None:
    task = seen.after
    may = holding.is_ready(task, seen.now)
    if task.ready and not may:
        return f"ready although {holding.reasons(task, seen.now, holding.Circumstances())}"
    if may and not task.ready and task.due_at is None:
        return "nothing holds it back, but it is not ready"
    return None


STANDING: Final[tuple[tuple[str, Check], ...]] = (
    ("2 one live attempt", _one_live_attempt),
    ("3 completed means done", _completed_by_success),
    ("counters", _counters_fit),
    ("2 one pending retry", _one_pending_retry),
    ("a question for who waits", _who_waits_has_asked),
    ("ready", _ready_says_what_holds),
)

CHECKS: Final[tuple[tuple[str, Check], ...]] = (
    ("no rule breaks", _no_rule_of_ours_broke),
    ("attempt numbers rise by one", _numbers_rise_by_one),
    ("3 a result is recorded once", _result_recorded_once),
    ("4 nothing held is dispatched", _nothing_held_is_dispatched),
    ("4 nothing overtakes what it comes after", _nothing_starts_before_what_it_comes_after),
    ("9 nothing before the named time", _nothing_before_the_named_time),
    ("4 nothing a breaker holds is dispatched", _nothing_an_open_breaker_holds_is_dispatched),
    ("a canary is never charged", _canaries_are_never_charged),
    ("5 streak", _streak_moves_by_the_rules),
    ("crash budget", _crashes_are_counted),
    ("recurring: one turn in a loop", _one_turn_in_a_loop),
    ("recurring: iterations", _iterations_are_counted),
    ("recurring: each occurrence once or skipped", _each_occurrence_runs_once_or_is_skipped),
    ("recurring: never early", _never_before_its_time),
    *STANDING,
)
