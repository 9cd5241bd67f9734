"""What one failure means for others: holds, crash loops, incidents, canaries; and which task is held by what."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from medbay.core import rules
from medbay.core.attempt.ending import on_engine_error
from medbay.core.decision import AttemptEnd, Decision, QuestionClosed, QuestionJoined, RetryClosed, WorkingSet
from medbay.core.diagnosis.record import Diagnosis, Pattern
from medbay.core.holds import breaker
from medbay.core.holds.breaker import Breaker, BreakerChange, CommandUse, Limits
from medbay.core.holds.incident import FailureSurroundings, changed_breaker, is_shared
from medbay.core.holds.resources import account_of, command_key, crash_loop_key, held_by, incident_key
from medbay.core.model import Check, CheckResult, Question, Task
from medbay.core.outcome import Cancelled, Checked, Failed, Lost, Output, Requeued, Succeeded
from tests.core.builders import (
    HOUR,
    MINUTE,
    NOW,
    after,
    diagnosis,
    end,
    ended,
    failed,
    free,
    hopeless,
    names,
    only,
    running,
    task,
)

ANTHROPIC = "provider:anthropic"
FAILED = Failed(exit_code=1)


def limit(**given: Any) -> Diagnosis:
    """A rate limit that names its provider."""
    return free(**{"subcategory": "rate_limit", "provider": "anthropic", "fingerprint": "transient:11111111"} | given)


def spent() -> Diagnosis:
    """No credits left."""
    return hopeless(category="resource_exhaustion", subcategory="quota", provider="anthropic")


def only_breaker(made: Decision) -> Breaker:
    """The one breaker a decision changes, as it is to be."""
    (change,) = made.all(BreakerChange)
    return change.after


def told(made: Decision) -> list[str]:
    """The events that belong to no task."""
    return [event.name for event in made.events if event.task_id is None]


def open_work(*held: Breaker) -> WorkingSet:
    """A working set with these breakers."""
    return WorkingSet(breakers={each.key: each for each in held})


def sent(held: Breaker, of: Task, number: int = 1) -> Breaker:
    """The breaker with this task as its running canary."""
    return breaker.canary_started(breaker.send_canary(held, of.id, NOW), of.id, number, NOW)


def canary_ended(held: Breaker, outcome: Any, found: Diagnosis | None = None) -> Decision:
    """The end of the canary of a breaker."""
    work = open_work(sent(held, running()))
    return end(
        running(), outcome, work=work, canary=True, diagnosis=found, around=FailureSurroundings(canary=True, number=1)
    )


# Whose limit


def test_the_account_is_the_one_the_task_names() -> None:
    """Else the provider's only account; a limit of nobody is the task's only provider's."""
    work = task(resources=("provider:github", "provider:anthropic/work"))

    assert account_of(task(), limit()) == ANTHROPIC
    assert account_of(work, limit()) == "provider:anthropic/work"
    assert account_of(task(resources=("provider:x/y",)), limit(provider=None)) == "provider:x/y"
    assert account_of(work, limit(provider=None)) is None
    assert account_of(task(), None) is None


def test_the_same_command_is_the_same_runner_and_exactly_the_same_words() -> None:
    """A string for the shell is not a list of one word."""
    assert command_key(task(command=("a", "b"))) == command_key(task(id="t-2", command=("a", "b")))
    keys = {command_key(task(command=c, runner=r)) for c in ("a b", ("a b",), ("a", "b")) for r in ("shell", "python")}
    assert len(keys) == 6


# Holds


def test_a_limit_places_a_hold_and_charges_nobody() -> None:
    """The task waits for its end, and the command is known to need the provider."""
    made = end(running(), FAILED, diagnosis=limit(retry_after_ms=NOW + 4 * HOUR))

    held = only_breaker(made)
    assert (held.key, held.state) == (ANTHROPIC, "open")
    assert held.until is not None
    assert (after(made).due_at or 0) >= held.until
    assert made.first(AttemptEnd) is not None
    assert not only(made, AttemptEnd).charged
    assert made.all(CommandUse) == (CommandUse(command_key(running()), ANTHROPIC),)
    assert told(made) == ["hold:placed"]
    assert made.work.breakers[ANTHROPIC].version == 1


def test_time_inside_a_named_hold_is_not_counted() -> None:
    """The bound of free tries is about tries that could have helped."""
    made = end(running(), FAILED, diagnosis=limit(retry_after_ms=NOW + 40 * HOUR))
    assert (after(made).uncharged_since or 0) >= NOW + 40 * HOUR

    unnamed = end(running(), FAILED, diagnosis=limit())
    assert after(unnamed).uncharged_since == NOW


def test_a_second_limit_of_a_held_account_changes_nothing() -> None:
    """Several slots meet it at once; it is told once."""
    first = end(running(), FAILED, diagnosis=limit())

    made = end(running(id="t-2"), FAILED, diagnosis=limit(), work=first.work)
    assert (made.all(BreakerChange), told(made)) == ((), [])


def test_spent_credits_hold_the_account_for_the_answer() -> None:
    """One question for all on the account, however it is worded."""
    made = end(running(), FAILED, diagnosis=spent())

    held = only_breaker(made)
    (asked,) = made.all(Question)
    assert (held.spent, held.question_id, asked.scope) == (True, asked.id, f"spent|{ANTHROPIC}")
    other = end(running(id="t-2"), FAILED, diagnosis=replace(spent(), fingerprint="x"), work=made.work)
    assert (other.all(Question), other.first(QuestionJoined) is not None) == ((), True)
    nobody = end(running(), FAILED, diagnosis=hopeless(subcategory="quota"))
    assert nobody.all(BreakerChange) == ()


# Incidents


def alike(n: int) -> FailureSurroundings:
    """So many other tasks met the same lately."""
    return FailureSurroundings(others={f"o-{number}": "command" for number in range(n)})


def test_the_fifth_task_opens_an_incident() -> None:
    """With its question, which blocks nobody, and the commands it holds."""
    made = end(running(), FAILED, diagnosis=free(), around=alike(4))

    held = only_breaker(made)
    (asked,) = made.all(Question)
    assert (held.key, held.question_id, asked.task_ids) == ("incident:transient:0a0a0a0a", asked.id, ())
    assert after(made).status == "failed"
    assert set(told(made)) == {"breaker:opened", "incident:opened", "question:asked"}
    assert {use.command for use in made.all(CommandUse)} == {"command", command_key(running())}
    assert end(running(), FAILED, diagnosis=free(), around=alike(3)).all(BreakerChange) == ()


def test_tasks_of_one_transaction_count_together() -> None:
    """Each rule sees what the ones before it did."""
    work = WorkingSet()
    for n in range(5):
        made = end(running(id=f"t-{n}"), FAILED, diagnosis=free(), work=work)
        work = made.work
    assert list(work.breakers) == ["incident:transient:0a0a0a0a"]


def test_the_failure_that_opens_is_charged_and_later_ones_are_not() -> None:
    """A missing module charges; once the incident is open it does not."""
    found = diagnosis(category="dependency_missing", subcategory="module", fingerprint="dependency_missing:1")
    first = end(running(), FAILED, diagnosis=found, around=alike(4))
    assert first.first(AttemptEnd) is not None
    assert only(first, AttemptEnd).charged

    later = end(running(id="t-2"), FAILED, diagnosis=found, work=first.work)
    assert later.first(AttemptEnd) is not None
    assert not only(later, AttemptEnd).charged
    assert later.all(CommandUse) == (CommandUse(command_key(running()), incident_key("dependency_missing:1")),)


@pytest.mark.parametrize(
    "found",
    [
        diagnosis(),
        diagnosis(category="unknown", subcategory="no_evidence"),
        free(confidence=0.79),
        free(pattern=Pattern("facts.only", " ")),
    ],
)
def test_what_is_not_shared_opens_nothing(found: Diagnosis) -> None:
    """Failures of the work itself, unsure ones, and those without words."""
    assert not is_shared(found)
    assert end(running(), FAILED, diagnosis=found, around=alike(20)).all(BreakerChange) == ()


# Crash loops


def spawn_failed(of: Task, work: WorkingSet, loop: Breaker | None = None) -> Decision:
    """It could not be started."""
    outcome = Failed(output=Output(), spawn_error="Resource temporarily unavailable")
    around = FailureSurroundings(host="h-1", crash_loop=loop, limits=Limits(crash_failures=3))
    return end(of, outcome, diagnosis=free(subcategory="spawn"), work=work, around=around)


def test_spawn_failures_open_a_crash_loop_of_that_host() -> None:
    """Counted from commit to commit, and within one."""
    first = spawn_failed(running(), WorkingSet())
    assert only_breaker(first).state == "closed"
    second = spawn_failed(running(id="t-2"), first.work)
    third = spawn_failed(running(id="t-3"), WorkingSet(), only_breaker(second))
    assert (only_breaker(third).key, only_breaker(third).state) == (crash_loop_key("shell", "h-1"), "open")
    assert told(third) == ["breaker:opened"]
    fourth = spawn_failed(running(id="t-4"), third.work)
    assert fourth.all(BreakerChange) == ()


def test_a_canary_that_cannot_start_keeps_the_loop_open() -> None:
    """With the next wait."""
    loop = Breaker(key=crash_loop_key("shell", "h-1"), kind="crash_loop", data={"probed_at": NOW})
    work = open_work(sent(loop, running()))
    around = FailureSurroundings(host="h-1", canary=True, number=1)

    made = end(
        running(), Failed(spawn_error="no"), diagnosis=free(subcategory="spawn"), work=work, canary=True, around=around
    )
    assert (only_breaker(made).state, only_breaker(made).failures) == ("open", 1)


# Canaries


def held_account(**given: Any) -> Breaker:
    """An account that is held."""
    return replace(breaker.place_hold(None, ANTHROPIC, NOW, named=None, why="limit", met="transient:1"), **given)


def an_incident() -> Breaker:
    """The incident of `free()`."""
    return breaker.open_incident(
        incident_key(free().fingerprint), NOW, why="down", fingerprint=free().fingerprint, question_id="q-1", facts={}
    )


def test_a_canary_that_succeeds_ends_it() -> None:
    """Told, and the incident's question withdrawn."""
    made = canary_ended(held_account(), Succeeded())
    assert (only_breaker(made).state, told(made)) == ("closed", ["hold:released"])
    assert made.work.breakers == {}

    over = canary_ended(an_incident(), Succeeded())
    assert told(over) == ["breaker:closed", "incident:closed", "question:withdrawn"]
    assert [closed.status for closed in over.all(QuestionClosed)] == ["withdrawn"]


def test_a_canary_that_fails_otherwise_ends_it_uncharged() -> None:
    """It got past what the breaker is about."""
    made = canary_ended(held_account(), FAILED, diagnosis())

    assert only_breaker(made).state == "closed"
    assert (after(made).streak, after(made).charged) == (0, 0)
    assert made.first(AttemptEnd) is not None
    assert not only(made, AttemptEnd).charged


def test_a_canary_that_meets_the_limit_extends_the_hold() -> None:
    """Not counted, and told."""
    made = canary_ended(held_account(), FAILED, limit(retry_after_ms=NOW + 2 * HOUR))

    assert (only_breaker(made).state, only_breaker(made).failures) == ("open", 1)
    assert (only_breaker(made).until or 0) >= NOW + 2 * HOUR
    assert (after(made).streak, after(made).uncharged) == (0, 1), "no failure of the work, but a free try"
    assert told(made) == ["hold:placed"]


def test_a_canary_that_meets_the_incident_leaves_it_open() -> None:
    """With the next wait."""
    made = canary_ended(an_incident(), FAILED, free())
    assert (only_breaker(made).state, only_breaker(made).failures) == ("open", 1)


@pytest.mark.parametrize("outcome", [Lost(why="gone"), Cancelled(), Requeued(asked=False, why="stopping")])
def test_a_canary_that_says_nothing_is_followed_by_the_next(outcome: Any) -> None:
    """At once."""
    made = canary_ended(held_account(), outcome)
    assert (only_breaker(made).state, only_breaker(made).probe_at, only_breaker(made).canary_task) == (
        "open",
        NOW,
        None,
    )


def test_an_error_of_ours_says_that_it_got_past() -> None:
    """The canary ran to its end."""
    work = open_work(sent(held_account(), running()))
    broken = ended(running(), FAILED, canary=True)
    assert only_breaker(on_engine_error(broken, NOW, work, traceback="KeyError")).state == "closed"


def test_a_canary_of_nothing_any_more_changes_nothing() -> None:
    """It outlived the breaker it was sent for."""
    assert end(running(), Succeeded(), canary=True).all(BreakerChange) == ()


# Doors


def test_a_failed_task_is_chosen_past_its_time() -> None:
    """Its retry is executed; it is ready whatever its due time."""
    made = rules.on_canary_chosen(failed(due_at=NOW + HOUR), NOW, breaker=held_account())

    chosen = after(made)
    assert (chosen.status, chosen.ready, chosen.canary, chosen.recovery) == ("pending", True, True, True)
    assert [closed.status for closed in made.all(RetryClosed)] == ["executed"]
    assert only_breaker(made).canary_task == "t-1"
    assert names(made) == ["task:retry_executed"]


def test_a_parked_task_is_chosen_past_its_hold() -> None:
    """And started for that breaker."""
    made = rules.on_canary_chosen(task(hold=ANTHROPIC), NOW, breaker=an_incident())
    assert (after(made).hold, after(made).canary) == (None, True)
    assert told(made) == ["breaker:half_open"]

    started = rules.on_claimed(after(made), NOW, worker_id="w", sent_for=only_breaker(made))
    assert (only_breaker(started).canary_number, after(started).canary) == (1, False)
    dropped = rules.on_canary_dropped(after(made), NOW)
    assert not after(dropped).canary


def test_the_time_in_a_named_hold_is_excused_when_it_is_released() -> None:
    """For free tries that began before it; others were excused when they failed."""
    hold = held_account(data={"named": True}, opened_at=NOW - HOUR, state="closed")
    before = task(hold=ANTHROPIC, uncharged=2, uncharged_since=NOW - 3 * HOUR)

    assert after(rules.on_released(before, NOW, hold=hold)).uncharged_since == NOW - 2 * HOUR
    during = replace(before, uncharged_since=NOW - MINUTE)
    assert after(rules.on_released(during, NOW, hold=hold)).uncharged_since == NOW - MINUTE
    unnamed = replace(hold, data={})
    assert after(rules.on_released(before, NOW, hold=unnamed)).uncharged_since == NOW - 3 * HOUR
    assert after(rules.on_released(task(hold=ANTHROPIC), NOW, hold=hold)).hold is None


def test_a_limit_that_only_the_checks_of_a_task_meet_is_its_own() -> None:
    """The account is held all the same, but a check that says so for ever becomes a question."""
    said = limit(retry_after_ms=NOW + 4 * HOUR)
    result = CheckResult(task_id="t-1", number=1, position=1, command="c", status="FAIL", exit_code=1)
    verifying = running(status="pending_verification", resources=(ANTHROPIC,), checks=(Check("c"),))

    of_work = end(running(resources=(ANTHROPIC,)), FAILED, diagnosis=said)
    of_check = end(verifying, Checked(results=(result,)), diagnosis=said)

    assert [only_breaker(each).key for each in (of_work, of_check)] == [ANTHROPIC, ANTHROPIC]
    assert (after(of_work).uncharged_since or 0) >= NOW + 4 * HOUR
    assert after(of_check).uncharged_since == NOW


# Who is held by what


def test_a_task_is_held_by_what_it_names_or_its_command_is_known_to_need() -> None:
    """Its own word on a provider stands over what was learned."""
    breakers = {ANTHROPIC: held_account()}

    assert held_by(task(resources=(ANTHROPIC,)), breakers, ()) == breakers[ANTHROPIC]
    assert held_by(task(), breakers, {ANTHROPIC}) == breakers[ANTHROPIC]
    assert held_by(task(resources=("provider:anthropic/home",)), breakers, {ANTHROPIC}) is None
    assert held_by(task(resources=("provider:github",)), breakers, {ANTHROPIC}) == breakers[ANTHROPIC]
    assert held_by(task(), breakers, ()) is None


def test_an_incident_holds_what_failed_like_it_and_fresh_tasks_of_the_same_command() -> None:
    """Not a task that failed in another way."""
    held = an_incident()
    breakers = {held.key: held}

    assert held_by(task(last_fingerprint=free().fingerprint, streak=1), breakers, ()) == held
    assert held_by(task(), breakers, {held.key}) == held
    assert held_by(task(last_fingerprint="other", streak=1), breakers, {held.key}) is None


def test_only_what_parks_makes_a_claim_look_closer() -> None:
    """A storm holds nothing."""
    assert open_work(held_account()).parks
    assert not open_work(breaker.open_storm(NOW, 60)).parks


def test_nothing_is_told_of_what_did_not_change() -> None:
    """And a longer look is no news."""
    held = held_account()
    assert changed_breaker(held, held) == Decision()
    later = changed_breaker(held, replace(held, probe_at=NOW))
    assert (later.events, len(later.all(BreakerChange))) == ((), 1)
    assert changed_breaker(an_incident(), replace(an_incident(), probe_at=NOW)).events == ()
