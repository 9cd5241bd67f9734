"""Recurring tasks: each occurrence runs once or is told as skipped, whatever comes between; backoff; loops."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from medbay.core import rules
from medbay.core.decision import Decision, WorkingSet
from medbay.core.holds.breaker import open_by_hand
from medbay.core.model import Attempt, Question, Task
from medbay.core.outcome import Failed, Lost, Output, Requeued, Succeeded
from medbay.core.people.question import choose
from medbay.core.people.teaching import Correction, on_reclassify_command
from medbay.core.policy.backoff import backoff
from medbay.core.policy.forecast import forecast
from medbay.core.policy.policy import Policy
from medbay.core.policy.presets import Recurring
from medbay.core.rules import Edit
from medbay.core.schedule import occurrences
from medbay.errors import NotAllowed
from tests.core.builders import (
    DAY,
    HOUR,
    MINUTE,
    NOW,
    PERSON,
    SECOND,
    after,
    answered,
    claimed,
    diagnosis,
    end,
    names,
    task,
    told,
)
from tests.properties import examples

HOURLY: dict[str, Any] = {"cron": "0 * * * *", "zone": "UTC"}
ODD = Failed(output=Output(tail="odd", total_bytes=3), exit_code=1)
BAD_PASSWORD = Failed(output=Output(tail="HTTP 401 Unauthorized", total_bytes=21), exit_code=1)


def added(now: int = NOW, **given: Any) -> Task:
    """A new task as the rules leave it."""
    fresh = task(ready=False, ready_at=None, created_at=now, **given)
    return after(rules.on_added(fresh, now))


def ms(text: str) -> int:
    """A moment of an event."""
    return round(datetime.fromisoformat(text).timestamp() * 1000)


@dataclass
class Story:
    """One recurring task through time: what ran, and what was told as skipped."""

    task: Task
    now: int = NOW
    up_since: int = NOW
    ran: list[int] = field(default_factory=list)
    skipped: list[tuple[int, int, int, str]] = field(default_factory=list)
    question: Any = None

    def take(self, decision: Decision) -> None:
        """Keep what a rule decided."""
        for event in decision.events:
            if event.name == "task:occurrences_skipped":
                said = event.data
                self.skipped.append((ms(said["first"]), ms(said["last"]), said["number"], said["reason"]))
        if decision.changes:
            self.task = after(decision)
        for asked in decision.all(Question):
            self.question = asked

    def wait(self, length: int, *, up: bool = True) -> None:
        """Let time pass in small steps, with an engine that releases what is due, or without one."""
        until = self.now + length
        while up and self.due() is not None and (self.due() or 0) <= until and not self.task.paused:
            self.now = max(self.now, self.due() or 0)
            self.release()
            if self.task.ready:
                break
        self.now = until
        if not up:
            self.up_since = self.now

    def due(self) -> int | None:
        """When an engine would release it."""
        waits = self.task.live is None and not self.task.ready
        return self.task.due_at if waits else None

    def release(self) -> None:
        """What an engine does with what is due."""
        due = self.due()
        if due is not None and due <= self.now and not self.task.paused:
            self.take(rules.on_due(self.task, self.now, actor="engine", up_since=self.up_since))

    def run(self, outcome: Any, lasts: int = SECOND) -> None:
        """Claim it if it is ready, and let the attempt end."""
        self.release()
        if not self.task.ready:
            return
        taken = rules.on_claimed(self.task, self.now, worker_id="w-1")
        self.task = after(taken)
        planned = self.task.planned_at
        self.now += lasts
        if isinstance(outcome, Succeeded | Failed):
            assert planned is not None
            self.ran.append(planned)
        self.take(end(self.task, outcome, now=self.now))

    def hold(self, length: int, *, canary: bool) -> None:
        """Something it needs is held for a while; then it is let go with the rest, or ahead of them."""
        self.release()
        if not self.task.ready:
            return
        opened = open_by_hand(None, "provider:x", "provider", self.now, by=PERSON, why="w", until=None)
        self.take(rules.on_parked(self.task, self.now, hold="provider:x"))
        self.now += length
        if canary:
            self.take(rules.on_canary_chosen(self.task, self.now, breaker=opened))
            self.take(rules.on_canary_dropped(self.task, self.now))
        else:
            self.take(rules.on_released(self.task, self.now, hold=opened))

    def act(self, decision: Decision) -> None:
        """What a person does."""
        self.take(decision)

    def accounted(self) -> list[int]:
        """Every occurrence that ran or was skipped."""
        fires = [each for each in self.ran if is_fire(self.task, each)]
        for first, last, number, _ in self.skipped:
            found = every_fire(self.task, first - 1, last)
            assert len(found) == number, (first, last, number)
            fires += found
        return sorted(fires)


def is_fire(of: Task, moment: int) -> bool:
    """Whether a moment is a planned one."""
    return occurrences.next_after(of, moment - 1) == moment


def every_fire(of: Task, begin: int, until: int) -> list[int]:
    """All planned times of a cron task, one by one."""
    found = []
    while (coming := occurrences.next_after(of, begin)) is not None and coming <= until:
        found.append(coming)
        begin = coming
    return found


STEPS = st.one_of(
    st.tuples(st.sampled_from(["wait", "down", "hold", "canary"]), st.integers(1, 9 * HOUR)),
    st.tuples(st.sampled_from(["good", "bad", "again", "lost", "password"]), st.integers(1, 3 * HOUR)),
    st.tuples(st.sampled_from(["pause", "resume", "retry", "block", "unblock", "reset"]), st.just(0)),
)


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe"])
@pytest.mark.parametrize("catch_up", ["none", "one", "all"])
@examples(40)
@given(
    st.sampled_from(["0 * * * *", "30 2 * * *", "*/20 1-3 * * *", "15,45 * * * *"]),
    st.sampled_from([1_774_600_000_000, 1_792_700_000_000, 1_775_200_000_000, 1_790_900_000_000, NOW + 1]),
    st.lists(STEPS, max_size=25),
)
def test_every_occurrence_runs_once_or_is_skipped(
    catch_up: str, zone: str, expression: str, start: int, steps: list[tuple[str, int]]
) -> None:
    """Whatever downtime, pause, block, failure, loss and change of the clock come between."""
    story = Story(added(start, cron=expression, zone=zone, catch_up=catch_up), now=start, up_since=start)
    begin = start
    for name, length in steps:
        take_a_step(story, name, length)

    accounted = story.accounted()
    assert accounted == sorted(set(accounted)), "an occurrence came twice"
    until = occurrences.accounted_until(story.task)
    assert until is not None
    assert accounted == every_fire(story.task, begin, until), "an occurrence was lost"
    if story.task.due_at is not None and story.task.status == "pending":
        assert story.task.due_at > story.now or not story.task.ready


def take_a_step(story: Story, name: str, length: int) -> None:
    """One thing that may happen; what is refused changes nothing."""
    now, person = story.now, PERSON
    outcomes = {
        "good": Succeeded(),
        "bad": ODD,
        "again": Requeued(asked=True, why="75"),
        "lost": Lost(why="gone"),
        "password": BAD_PASSWORD,
    }
    acts = {
        "pause": lambda: rules.on_pause_command(story.task, now, actor=person),
        "resume": lambda: rules.on_resume_command(story.task, now, actor=person),
        "retry": lambda: rules.on_retry_command(story.task, now, actor=person),
        "block": lambda: rules.on_block_command(
            story.task, now, actor=person, kind="external", reason="x", timeout_ms=HOUR
        ),
        "unblock": lambda: rules.on_unblock_command(story.task, now, actor=person),
        "reset": lambda: rules.on_edit_command(story.task, now, actor=person, edit=Edit(reset_failures=True)),
    }
    if name in outcomes:
        story.run(outcomes[name], length)
    elif name in ("hold", "canary"):
        story.hold(length, canary=name == "canary")
    elif name in acts:
        if name == "block" and story.task.status == "blocked":
            return
        try:
            story.act(acts[name]())
        except NotAllowed:
            pass
    else:
        story.wait(length, up=name == "wait")
        story.release()


@pytest.mark.parametrize("catch_up", ["none", "one", "all"])
@pytest.mark.parametrize("canary", [False, True])
def test_what_falls_into_a_hold_is_skipped_with_one_event(catch_up: str, canary: bool) -> None:
    """The last of them runs when the hold is over, and the next comes at its own time."""
    start = NOW - NOW % HOUR + 10 * MINUTE
    story = Story(added(start, **HOURLY, catch_up=catch_up), now=start, up_since=start)
    first = NOW - NOW % HOUR + HOUR
    story.wait(55 * MINUTE)

    story.hold(3 * HOUR, canary=canary)

    assert story.skipped == [(first, first + 2 * HOUR, 3, "hold")]
    assert story.task.planned_at == first + 3 * HOUR and story.task.ready
    story.run(Succeeded())
    assert story.task.planned_at == first + 4 * HOUR


@pytest.mark.parametrize("length", [1, 30 * MINUTE])
def test_a_hold_that_ends_before_the_next_occurrence_skips_nothing(length: int) -> None:
    """Nor does one over a task that runs once."""
    start = NOW - NOW % HOUR + 10 * MINUTE
    story = Story(added(start, **HOURLY), now=start, up_since=start)
    story.wait(55 * MINUTE)
    story.hold(length, canary=False)
    once = Story(added(start), now=start, up_since=start)
    once.hold(DAY, canary=False)

    assert (story.skipped, once.skipped) == ([], [])
    assert story.task.planned_at == NOW - NOW % HOUR + HOUR and once.task.planned_at is None


def test_a_cron_task_waits_for_its_first_time_and_then_for_the_next() -> None:
    """Never at once, never early, and the next from the planned time, not from the end."""
    start = NOW - NOW % HOUR + 10 * MINUTE
    story = Story(added(start, **HOURLY), now=start, up_since=start)
    assert (story.task.due_at, story.task.planned_at, story.task.ready) == (NOW - NOW % HOUR + HOUR,) * 2 + (False,)

    story.wait(50 * MINUTE)
    story.run(Succeeded(), 7 * MINUTE)

    assert (story.task.status, story.task.iteration, story.task.iterations_done) == ("pending", 2, 1)
    assert story.task.due_at == story.task.planned_at == NOW - NOW % HOUR + 2 * HOUR
    assert story.skipped == []


@pytest.mark.parametrize(
    ("catch_up", "runs", "skipped"),
    [("none", [], (1, 5, 5)), ("one", [5], (1, 4, 4)), ("all", [1, 2, 3, 4, 5], None)],
)
def test_what_was_missed_while_nobody_was_up(catch_up: str, runs: list[int], skipped: tuple[int, ...] | None) -> None:
    """The next one, the last one, or each in turn; what does not run is one event."""
    start = NOW - NOW % HOUR
    story = Story(added(start, catch_up=catch_up, **HOURLY), now=start, up_since=start)
    story.wait(5 * HOUR + MINUTE, up=False)

    for _ in range(5):
        story.run(Succeeded())

    assert story.ran == [start + hour * HOUR for hour in runs]
    expected = [] if skipped is None else [(start + skipped[0] * HOUR, start + skipped[1] * HOUR, skipped[2], "down")]
    assert story.skipped == expected
    assert story.task.due_at == start + 6 * HOUR


def test_a_busy_fleet_delays_an_occurrence_and_never_loses_it() -> None:
    """Even with `none`: an engine was there, only no slot."""
    start = NOW - NOW % HOUR
    story = Story(added(start, catch_up="none", **HOURLY), now=start, up_since=start)
    story.wait(HOUR)
    story.release()
    story.now += 40 * MINUTE

    story.run(Succeeded())

    assert (story.ran, story.skipped) == ([start + HOUR], [])


def test_engines_that_come_late_run_the_last_of_several() -> None:
    """An engine was up all the time but looked only now: the earlier ones are told as late."""
    start = NOW - NOW % HOUR
    story = Story(added(start, catch_up="none", **HOURLY), now=start + 3 * HOUR, up_since=start)

    story.run(Succeeded())

    assert story.ran == [start + 3 * HOUR]
    assert story.skipped == [(start + HOUR, start + 2 * HOUR, 2, "late")]


@pytest.mark.parametrize(("catch_up", "next_in"), [("none", 1), ("one", 0), ("all", 0)])
def test_a_run_longer_than_its_period_never_overlaps(catch_up: str, next_in: int) -> None:
    """What it ran over is skipped but for what the rule of catching up says."""
    start = NOW - NOW % HOUR
    story = Story(added(start, catch_up=catch_up, **HOURLY), now=start, up_since=start)
    story.wait(HOUR)
    story.run(Succeeded(), 3 * HOUR)

    assert story.task.ready == (next_in == 0)
    expected = {
        "none": (2, 4, 3, "overlap"),
        "one": (2, 3, 2, "overlap"),
        "all": None,
    }[catch_up]
    told_as = [(start + a * HOUR, start + b * HOUR, n, why) for a, b, n, why in ([expected] if expected else [])]
    assert story.skipped == told_as


def test_iterations_that_ended_well_are_counted_and_the_last_completes() -> None:
    """A failure counts an iteration, but not towards the number; the key of each is its own."""
    story = Story(added(every_ms=MINUTE, max_iterations=2))
    story.run(Succeeded())
    assert (story.task.status, story.task.iteration) == ("pending", 2)
    story.wait(2 * MINUTE)
    story.run(ODD)
    assert (story.task.status, story.task.iteration, story.task.iterations_done) == ("failed", 3, 1)
    story.wait(5 * MINUTE)
    story.run(Succeeded())

    assert (story.task.status, story.task.iterations_done) == ("completed", 2)


def test_an_expression_that_has_no_more_times_ends() -> None:
    """Nothing is planned any more: completed."""
    of = replace(claimed(added(every_ms=HOUR)), cron="0 0 */40 * 1#5", zone="UTC", every_ms=None)

    assert after(end(of, Succeeded())).status == "completed"


@pytest.mark.parametrize("base", [SECOND, MINUTE, 5 * MINUTE])
def test_failures_stretch_the_period_and_a_success_returns_to_it(base: int) -> None:
    """About 2, 4, 8 periods after failures 1, 2, 3; the same after every restart; one period after a success."""
    story = Story(added(every_ms=base))
    for failures in (1, 2, 3):
        story.run(ODD)
        assert story.task.due_at is not None
        delay = story.task.due_at - story.now
        assert delay == backoff(base, failures, key="t-1")
        assert 0.9 <= delay / (base * 2**failures) <= 1.1
        story.wait(delay)
    planned = story.task.planned_at or 0
    story.run(Succeeded(), 10)

    assert (story.task.streak, story.task.due_at) == (0, planned + base)


def test_the_cap_holds_and_nothing_is_ever_blocked_for_the_number() -> None:
    """Twenty failures: once per cap, only ever earlier by a tenth."""
    story = Story(added(**HOURLY))
    for _ in range(20):
        story.wait(25 * HOUR)
        story.run(ODD)

    assert (story.task.status, story.task.streak) == ("failed", 20)
    assert 0.9 * DAY <= (story.task.due_at or 0) - story.now <= DAY


@pytest.mark.parametrize(
    ("expression", "base"),
    [("* * * * *", MINUTE), ("*/20 * * * * *", MINUTE), ("0 3 * * *", DAY), ("0 0 */40 * 1#5", HOUR)],
)
def test_the_base_is_the_next_gap_of_the_plan(expression: str, base: int) -> None:
    """At least a minute; an hour when nothing is planned."""
    assert occurrences.base_ms(task(cron=expression, zone="UTC"), NOW) == base


def test_a_weekly_task_is_not_run_daily() -> None:
    """When the period is longer than the cap, the wait is the period."""
    of = task(cron="0 3 * * 1", zone="UTC", streak=4)

    assert occurrences.delay_ms(of, Recurring(), NOW) == 7 * DAY
    assert occurrences.steps_to_cap(of, Recurring(), NOW) == 0


def test_the_steps_to_the_cap_are_known() -> None:
    """An hourly task reaches a day after five failures; without growth there is no step."""
    assert occurrences.steps_to_cap(task(**HOURLY), Recurring(), NOW) == 5
    assert occurrences.steps_to_cap(task(**HOURLY), Recurring(multiplier=1.0), NOW) == 0
    assert occurrences.steps_to_cap(task(owner_kind="loop", owner_id="t-1"), Recurring(cap_ms=1024 * SECOND), NOW) == 10


def test_free_failures_back_off_the_same_way_and_go_on_at_the_cap() -> None:
    """A refused connection for three days asks nobody; a named time is waited for."""
    refused = Failed(output=Output(tail="connect ECONNREFUSED 10.0.0.1:443", total_bytes=33), exit_code=1)
    story = Story(added(every_ms=HOUR))
    for _ in range(90):
        story.run(refused)
        assert story.task.due_at is not None
        story.wait(story.task.due_at - story.now)
    assert (story.task.streak, story.task.charged) == (90, 0)

    limited = Failed(output=Output(tail="HTTP 429 Too Many Requests\nRetry-After: 200000", total_bytes=40), exit_code=1)
    story.run(limited)
    assert (story.task.due_at or 0) - story.now >= 200_000 * SECOND


def test_exit_75_for_days_goes_on() -> None:
    """A one-off would be given up to a person; the iteration stays the same."""
    story = Story(added(**HOURLY))
    story.wait(HOUR)
    for _ in range(100):
        story.run(Requeued(asked=True, why="exit 75"))
        story.wait(HOUR + MINUTE)

    assert (story.task.status, story.task.iteration) == ("pending", 1)


def test_a_rerun_at_the_moment_of_an_occurrence_is_not_that_occurrence() -> None:
    """It was skipped with the others; paused before the re-run began, it is not told a second time."""
    start = NOW - NOW % HOUR
    story = Story(added(start, **HOURLY), now=start, up_since=start)
    story.wait(HOUR)
    story.run(ODD)
    story.task = replace(story.task, due_at=start + 4 * HOUR)
    story.now = start + 4 * HOUR
    story.release()
    story.act(rules.on_pause_command(story.task, story.now, actor=PERSON))
    story.now += MINUTE
    story.act(rules.on_resume_command(story.task, story.now, actor=PERSON))

    assert story.skipped == [(start + 2 * HOUR, start + 4 * HOUR, 3, "backoff")]


def test_the_time_that_exit_75_named_outlives_a_pause_and_a_new_schedule() -> None:
    """Nothing is tried before it; then the same iteration goes on."""
    busy = Requeued(asked=True, why="75", output=Output(tail="Retry-After: 9000", total_bytes=17), exit_code=75)
    start = NOW - NOW % HOUR
    for edit in (None, Edit(fields={"cron": "*/5 * * * *"})):
        story = Story(added(start, **HOURLY), now=start, up_since=start)
        story.wait(HOUR)
        story.run(busy)
        named = story.task.due_at or 0
        assert named >= story.now + 9000 * SECOND
        story.act(rules.on_pause_command(story.task, story.now, actor=PERSON))
        if edit is not None:
            story.act(rules.on_edit_command(story.task, story.now + MINUTE, actor=PERSON, edit=edit))
        story.act(rules.on_resume_command(story.task, story.now + MINUTE, actor=PERSON))

        assert (story.task.due_at, story.task.ready, story.task.iteration) == (named, False, 1)


def test_what_cannot_be_retried_asks_once_and_the_schedule_resumes_when_answered() -> None:
    """Blocked for a person; what was planned meanwhile is skipped; the answer says what it does."""
    start = NOW - NOW % HOUR
    story = Story(added(start, **HOURLY), now=start, up_since=start)
    story.wait(HOUR)
    story.run(BAD_PASSWORD)
    assert (story.task.status, story.task.block_kind, story.task.due_at) == ("blocked", "human", None)
    assert "its schedule goes on" in story.question.options[0].consequence
    story.wait(3 * HOUR)

    story.act(answered(story.question, choose(story.question, "1"), story.task, story.now))

    assert (story.task.status, story.task.streak, story.task.due_at) == ("pending", 1, start + 5 * HOUR)
    assert story.skipped == [(start + 2 * HOUR, start + 4 * HOUR, 3, "blocked")]


def test_pause_skips_occurrences_and_keeps_the_streak() -> None:
    """Resumed, it goes on with the next planned time; the next failure is number n + 1."""
    start = NOW - NOW % HOUR
    story = Story(added(start, **HOURLY), now=start, up_since=start)
    story.wait(HOUR)
    story.run(ODD)
    story.act(rules.on_pause_command(story.task, story.now, actor=PERSON))
    story.wait(5 * HOUR)
    story.act(rules.on_resume_command(story.task, story.now, actor=PERSON))
    assert story.skipped == [(start + 2 * HOUR, start + 6 * HOUR, 5, "paused")]
    story.run(ODD)
    assert story.task.streak == 2
    story.wait(5 * HOUR)
    story.run(Succeeded())
    story.act(rules.on_pause_command(story.task, story.now, actor=PERSON))
    story.wait(3 * HOUR)
    story.act(rules.on_resume_command(story.task, story.now, actor=PERSON))

    assert story.skipped[-1][2:] == (4, "paused")  # with the one that was about to run
    assert (story.task.due_at or 0) > story.now


def test_a_retry_by_hand_is_a_run_beside_the_plan() -> None:
    """Between two iterations; the planned one still comes."""
    start = NOW - NOW % HOUR
    story = Story(added(start, **HOURLY), now=start, up_since=start)
    story.now += 10 * MINUTE
    story.act(rules.on_retry_command(story.task, story.now, actor=PERSON))
    story.run(Succeeded())

    assert (story.task.due_at, story.skipped) == (start + HOUR, [])


def test_a_retry_by_hand_after_a_failure_skips_what_its_backoff_passed_over() -> None:
    """The run is beside the plan, and every occurrence up to it is told once."""
    start = NOW - NOW % HOUR
    story = Story(added(start, **HOURLY), now=start, up_since=start)
    story.wait(HOUR)
    story.run(ODD)
    story.now += 2 * HOUR
    story.act(rules.on_retry_command(story.task, story.now, actor=PERSON))
    story.run(Succeeded())

    assert story.skipped == [(start + 2 * HOUR, start + 3 * HOUR, 2, "backoff")]
    assert (len(story.ran), story.task.due_at) == (2, start + 4 * HOUR)


def test_a_retry_by_hand_of_what_is_due_is_that_occurrence() -> None:
    """It waits for a slot; passing it on by hand makes no second run of it."""
    start = NOW - NOW % HOUR
    story = Story(added(start, **HOURLY), now=start, up_since=start)
    story.wait(HOUR)
    story.act(rules.on_retry_command(story.task, story.now, actor=PERSON))
    story.run(Succeeded())

    assert (story.ran, story.task.due_at) == ([start + HOUR], start + 2 * HOUR)


@pytest.mark.parametrize("by_hand", [False, True])
def test_an_occurrence_keeps_its_time_when_the_clock_is_set_back_before_it_starts(by_hand: bool) -> None:
    """Released at its time and claimed when the clock says an hour less: the attempt is still that occurrence."""
    start = NOW - NOW % HOUR
    story = Story(added(start, **HOURLY), now=start, up_since=start)
    story.wait(HOUR)
    if by_hand:
        story.act(rules.on_retry_command(story.task, story.now, actor=PERSON))

    assert occurrences.planned_for(story.task, story.now) == start + HOUR
    assert occurrences.planned_for(story.task, start + SECOND) == start + HOUR


@pytest.mark.parametrize("often", [HOURLY, {"every_ms": HOUR}], ids=["cron", "every"])
def test_a_run_by_hand_ahead_of_the_plan_counts_as_planned_now(often: dict[str, Any]) -> None:
    """Its attempt does not say that it was planned for a time to come."""
    story = Story(added(due_at=NOW + DAY, **often))
    story.act(rules.on_retry_command(story.task, story.now, actor=PERSON))

    assert story.task.ready and occurrences.planned_for(story.task, story.now) == NOW


def test_a_new_schedule_begins_now() -> None:
    """What the old one planned up to now is told as skipped; waiting, failed or running."""
    start = NOW - NOW % HOUR
    story = Story(added(start, **HOURLY), now=start, up_since=start)
    story.wait(HOUR)
    story.release()
    story.now += 2 * HOUR
    edit = Edit(fields={"cron": "30 * * * *"})
    story.act(rules.on_edit_command(story.task, story.now, actor=PERSON, edit=edit))
    assert story.skipped == [(start + HOUR, start + 3 * HOUR, 3, "edited")]
    assert (story.task.due_at, story.task.ready) == (start + 3 * HOUR + 30 * MINUTE, False)

    story.wait(30 * MINUTE)
    story.run(ODD)
    due = story.task.due_at
    edit = Edit(fields={"cron": "", "zone": "", "every_ms": HOUR})
    story.act(rules.on_edit_command(story.task, story.now, actor=PERSON, edit=edit))
    assert (story.task.due_at, story.task.planned_at) == (due, story.now)


def test_a_one_off_task_becomes_recurring_by_an_edit() -> None:
    """From now on."""
    edit = Edit(fields={"every_ms": HOUR})

    changed = after(rules.on_edit_command(task(), NOW, actor=PERSON, edit=edit))

    assert (changed.due_at, changed.ready, changed.endless) == (NOW + HOUR, False, True)


def test_a_block_that_times_out_lets_the_schedule_go_on() -> None:
    """What was planned meanwhile is skipped, what is planned next is waited for."""
    start = NOW - NOW % HOUR
    story = Story(added(start, **HOURLY), now=start, up_since=start)
    block = rules.on_block_command(
        story.task, start, actor=PERSON, kind="external", reason="x", timeout_ms=150 * MINUTE
    )
    story.act(block)
    story.wait(150 * MINUTE)

    assert (story.task.status, story.task.due_at) == ("pending", start + 3 * HOUR)
    assert story.skipped == [(start + HOUR, start + 2 * HOUR, 2, "blocked")]


def test_reset_failures_starts_again_at_the_first_step() -> None:
    """The wait under way stays, the next failure is the first again."""
    story = Story(added(every_ms=MINUTE))
    for _ in range(3):
        story.run(ODD)
        story.wait(20 * MINUTE)
    story.act(rules.on_edit_command(story.task, story.now, actor=PERSON, edit=Edit(reset_failures=True)))
    assert story.task.streak == 0
    story.run(ODD)

    assert (story.task.streak, (story.task.due_at or 0) - story.now) == (1, backoff(MINUTE, 1, key="t-1"))


def test_what_happens_next_is_foretold_by_the_same_rule() -> None:
    """The forecast of a recurring task never ends in a block."""
    of = replace(added(every_ms=MINUTE), status="failed", streak=1, attempts=1, due_at=NOW + MINUTE)

    coming = forecast(of, diagnosis(), Policy(), NOW)

    assert [each.step.due_at is not None for each in coming] == [True] * 5
    assert "recurs every 1m" in coming[0].step.why


def test_reclassified_out_of_a_block_it_is_a_rerun() -> None:
    """The person's word makes it retryable: it waits its backoff, and what is planned until then is skipped."""
    start = NOW - NOW % HOUR
    story = Story(added(start, **HOURLY), now=start, up_since=start)
    story.wait(HOUR)
    story.run(BAD_PASSWORD)
    attempt = Attempt(
        task_id="t-1", number=1, worker_id="w-1", host="h", ended_at=story.now, outcome="failed", diagnosis=diagnosis()
    )
    correction = Correction(
        task=story.task, attempt=attempt, category="timeout", subcategory=None, policy=Policy(), open=True
    )

    decided = on_reclassify_command(correction, story.now, WorkingSet(), actor=PERSON)

    changed = after(decided)
    assert (changed.status, changed.planned_at) == ("pending", changed.due_at)
    assert told(decided, "task:occurrences_skipped").data["reason"] == "backoff"
    assert "task:unblocked" in names(decided)
