"""The doors themselves, and what holds for every sequence of things that can happen to a task."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from medbay.core import rules
from medbay.core.decision import AttemptEnd, Change, Decision, QuestionClosed, QuestionJoined, RetryClosed, WorkingSet
from medbay.core.diagnosis.record import Diagnosis
from medbay.core.events import EVENT_NAMES
from medbay.core.lifecycles import TASK, BlockKind
from medbay.core.liveness import Surroundings, standstill
from medbay.core.model import Question, Retry, Task
from medbay.core.outcome import (
    Cancelled,
    Failed,
    Lost,
    Outcome,
    OverBudget,
    Requeued,
    Stalled,
    Succeeded,
    TimedOut,
)
from medbay.core.people.question import choose
from medbay.core.triage import effects
from medbay.errors import NotAllowed
from tests.core.builders import (
    DAY,
    HOUR,
    NOW,
    PERSON,
    SECOND,
    after,
    answered,
    blocked,
    diagnosis,
    ended,
    failed,
    free,
    hopeless,
    names,
    only,
    running,
    steps,
    task,
    told,
)
from tests.core.triage.cases import case, says
from tests.properties import examples

WAITS = {"ready": False, "ready_at": None}


# Added


def test_a_new_task_is_ready_at_once() -> None:
    """Unless it waits for something."""
    decision = rules.on_added(Task(id="t-1", title="build", created_by=PERSON), NOW)

    found = after(decision)
    assert (found.status, found.ready, found.ready_at) == ("pending", True, NOW)
    assert (found.created_at, found.since) == (NOW, NOW)
    assert told(decision, "task:created").data == {"title": "build", "queue": "default", "priority": 2}


def test_a_task_like_one_just_added_is_decided_about_like_it() -> None:
    """Only its id, title and command are its own."""
    first = Task(id="t-1", title="build", command=("make",), tags=("x",), created_by=PERSON, due_at=NOW + 5)
    second = replace(first, id="t-2", title="test", command=("make", "test"), created_at=NOW)

    made, wanted = rules.on_added(first, NOW), rules.on_added(second, NOW)
    found = rules.on_added_alike(made.changes[0].after, made.events[0], second)

    assert found == (wanted.changes[0].after, wanted.events[0])


@pytest.mark.parametrize("fields", [{}, {"mutex": "m"}, {"paused": True}, {"tags": ("x",)}])
def test_a_task_like_one_added_before_is_decided_about_like_it(fields: dict[str, Any]) -> None:
    """It is created when it is: what waits for no time is ready from then on."""
    first = Task(id="t-1", title="build", command="make", created_by=PERSON, **fields)
    second = replace(first, id="t-2", title="test", command="make test", created_at=NOW + SECOND)

    made, wanted = rules.on_added(first, NOW), rules.on_added(second, NOW + SECOND)
    found = rules.on_added_alike(made.changes[0].after, made.events[0], second)

    assert found == (wanted.changes[0].after, wanted.events[0])


@pytest.mark.parametrize("fields", [{"due_at": NOW + HOUR}, {"unmet": 1}, {"paused": True}])
def test_a_new_task_may_wait(fields: dict[str, Any]) -> None:
    """For a time, for others, or for a person."""
    found = after(rules.on_added(Task(id="t-1", title="build", **fields), NOW))

    assert (found.ready, found.due_at) == (False, fields.get("due_at"))


# Dependencies


def test_one_more_task_to_come_after_holds_it_back() -> None:
    """A field: an event, no history."""
    decision = rules.on_dependency_added(task(), NOW, unmet=1, after="t-0", actor=PERSON)

    assert (after(decision).unmet, after(decision).ready) == (1, False)
    assert told(decision, "task:edited").data == {"by": PERSON, "changed": ["after"], "after": "t-0"}


@pytest.mark.parametrize("some", [running(), task(status="completed", **WAITS)])
def test_what_runs_or_ended_cannot_come_after_anything_more(some: Task) -> None:
    """It is too late for an order."""
    with pytest.raises(NotAllowed, match=f"t-1 is {some.status}; what it comes after can be changed before"):
        rules.on_dependency_added(some, NOW, unmet=1, after="t-0", actor=PERSON)


# Due


def test_a_due_retry_is_released() -> None:
    """The row is executed, and the place in the queue is when it was due."""
    decision = rules.on_due(failed(attempts=3, due_at=NOW - HOUR), NOW, actor="engine")

    found = after(decision)
    assert steps(decision) == [("failed", "pending")]
    assert (found.ready, found.ready_at, found.due_at, found.streak) == (True, NOW - HOUR, None, 1)
    assert decision.all(RetryClosed) == (RetryClosed("t-1", "executed"),)
    assert told(decision, "task:retry_executed").attempt == 3


@pytest.mark.parametrize("kind", ["external", "spec"])
def test_a_block_that_times_out_ends_with_a_reason_saying_so(kind: BlockKind) -> None:
    """Back to pending, nothing granted."""
    waiting = blocked(block_kind=kind, reason="parts", due_at=NOW)

    decision = rules.on_due(waiting, NOW, actor="engine")

    found = after(decision)
    assert steps(decision) == [("blocked", "pending")]
    assert (found.block_kind, found.ready, found.due_at, found.granted) == (None, True, None, 0)
    assert found.reason == f"blocked_timeout passed while it was blocked ({kind}): parts"
    assert told(decision, "task:unblocked").data == {"kind": kind, "by": "blocked_timeout"}


@pytest.mark.parametrize("kind", ["human", "exhausted", "dependency", "circuit"])
def test_a_block_for_a_person_never_ends_by_itself(kind: BlockKind) -> None:
    """Nothing else releases the task."""
    decision = rules.on_due(blocked(block_kind=kind, due_at=NOW), NOW, actor="engine")

    assert (after(decision).status, after(decision).ready) == ("blocked", False)
    assert decision.events == ()


def test_a_future_task_becomes_ready_when_its_time_has_come() -> None:
    """No transition: it was pending all along."""
    decision = rules.on_due(task(due_at=NOW, **WAITS), NOW, actor="engine")

    assert (after(decision).ready, after(decision).ready_at) == (True, NOW)
    assert steps(decision) == []


# Claimed and parked


def test_a_claim_counts_the_attempt_whatever_becomes_of_it() -> None:
    """Numbers rise with every claim; what a person or a canary may pass, it may pass once."""
    decision = rules.on_claimed(task(attempts=4, forced=True, canary=True), NOW, worker_id="w-1")

    found = after(decision)
    assert steps(decision) == [("pending", "in_progress")]
    assert (found.attempts, found.live, found.ready, found.forced, found.canary) == (5, 5, False, False, False)
    assert decision.changes[0].transitions[0].actor == "worker:w-1"
    event = told(decision, "task:started")
    assert (event.attempt, event.data) == (5, {"worker": "w-1"})


def test_a_parked_task_stays_ready_under_the_key_that_holds_it() -> None:
    """Pending, held, and no event of its own."""
    decision = rules.on_parked(task(), NOW, hold="provider:anthropic")

    found = after(decision)
    assert (found.status, found.ready, found.hold) == ("pending", True, "provider:anthropic")
    assert decision.events == ()


# Everything that can happen, in any order


DIAGNOSES = (
    diagnosis(),
    diagnosis(category="timeout", subcategory="limit"),
    diagnosis(category="transient", confidence=0.3),
    diagnosis(retry_after_ms=NOW + 30 * DAY),
    free(),
    free(subcategory="rate_limit", provider="anthropic"),
    free(subcategory="lock"),
    free(subcategory="usage_limit", provider="anthropic", retry_after_ms=NOW + 2 * DAY),
    hopeless(),
    hopeless(confidence=0.6),
)
OUTCOMES: tuple[Outcome, ...] = (
    Succeeded(),
    Failed(exit_code=1),
    Failed(spawn_error="fork failed"),
    TimedOut(limit_s=1),
    Stalled(silent_s=1),
    OverBudget(why="tokens"),
    Lost(why="gone"),
    Lost(why="died", hard_crash=True),
    Cancelled(),
    Requeued(asked=True, why="exit 75"),
    Requeued(asked=False, why="stopping"),
)

# What can happen to a task where it stands; what is likely stands there more than once.
ANYWHERE = ("wait", "pause", "resume", "resume", "retry", "unblock", "block", "edit", "reset", "cancel")
LIKELY: dict[str, tuple[str, ...]] = {
    "pending": ("claim", "claim", "claim", "due", "park", "free", "resume", *ANYWHERE),
    "in_progress": ("fail", "fail", "fail", "fail", "end", "end", "end", "cancel", *ANYWHERE),
    "failed": ("due", "due", "due", "due", *ANYWHERE),
    "blocked": ("answer", "answer", "due", "unblock", *ANYWHERE),
    "completed": ANYWHERE,
    "cancelled": ANYWHERE,
}


class Lives:
    """Three tasks in memory, the last after the first: every decision is checked, then taken over."""

    def __init__(self) -> None:
        self.now = NOW
        self.tasks: dict[str, Task] = {}
        self.questions: dict[str, Question] = {}
        self.retries: dict[str, Retry] = {}
        self.work = WorkingSet()
        for each in (Task(id="t-1", title="a"), Task(id="t-2", title="b"), Task(id="t-3", title="c", unmet=1)):
            self.tasks[each.id] = each
            self.take(rules.on_added(each, self.now))

    def choose(self, task_id: str, number: int) -> str:
        """One of the things that can happen to a task where it stands."""
        likely = LIKELY[self.tasks[task_id].status]
        return likely[number % len(likely)]

    def happen(self, what: str, task_id: str, outcome: Outcome, number: int) -> None:
        """One thing happens to one task, if it can; a refusal changes nothing."""
        some = self.tasks[task_id]
        self.now += 1 + number * SECOND
        try:
            decision = self._decide(what, some, outcome, number)
        except NotAllowed:
            return
        if decision is not None:
            self._check_counters(what, some, decision)
            self.take(decision)

    def question_of(self, task_id: str) -> Question | None:
        """The open question a task waits for; there is at most one."""
        found = [asked for asked in self.questions.values() if task_id in asked.task_ids]
        assert len(found) <= 1, found
        return found[0] if found else None

    def unmet(self, task_id: str) -> int:
        """How many tasks it comes after can still complete."""
        return int(task_id == "t-3" and not self.tasks["t-1"].finished)

    def behind(self, task_id: str) -> tuple[Task, ...]:
        """The tasks that come directly after this one."""
        return (self.tasks["t-3"],) if task_id == "t-1" else ()

    def take(self, decision: Decision) -> None:
        """Check a decision and make it so."""
        for event in decision.events:
            assert event.name in EVENT_NAMES
        for change in decision.changes:
            self._check_change(change, decision)
            self.tasks[change.after.id] = change.after
        for closed in decision.all(RetryClosed):
            self.retries.pop(closed.task_id, None)
        if decision.first(Retry) is not None:
            assert only(decision, Retry).task_id not in self.retries, "two pending retries"
            self.retries[only(decision, Retry).task_id] = only(decision, Retry)
        for asked in decision.all(Question):
            assert asked.id not in self.questions
            self.questions[asked.id] = asked
        if (joined := decision.first(QuestionJoined)) is not None:
            asked = self.questions[joined.question_id]
            self.questions[asked.id] = replace(asked, task_ids=(*asked.task_ids, joined.task_id))
        for left in decision.all(QuestionClosed):
            self._leave(left.question_id, left.task_id)
            if left.whole:
                assert self.questions.pop(left.question_id).task_ids == ()
        scopes = {asked.scope: asked.id for asked in self.questions.values() if asked.scope}
        self.work = WorkingSet(questions=scopes)
        for each in self.tasks.values():
            self._check_task(each)

    def _leave(self, question_id: str, task_id: str) -> None:
        asked = self.questions[question_id]
        left = tuple(each for each in asked.task_ids if each != task_id)
        self.questions[question_id] = replace(asked, task_ids=left)

    def _decide(self, what: str, some: Task, outcome: Outcome, number: int) -> Decision | None:
        now, asked, unmet = self.now, self.question_of(some.id), self.unmet(some.id)
        match what:
            case "claim" if some.ready and some.hold is None:
                return rules.on_claimed(some, now, worker_id="w-1")
            case "fail" | "end" if some.live is not None:
                ending = Failed(exit_code=1) if what == "fail" else outcome
                return rules.on_attempt_ended(ended(some, ending, dependents=self.behind(some.id)), now, self.work)
            case "due" if some.wants_triage and not some.paused and some.live is None:
                return self._judged(some, ("NOOP", "ADJUST", "ESCALATE")[number % 3])
            case "due" if some.due_at is not None and not (some.ready or some.paused or some.unmet or some.live):
                self.now = max(now, some.due_at)
                return rules.on_due(some, self.now, actor="engine")
            case "wait":
                self.now += number * DAY
            case "pause":
                return rules.on_pause_command(some, now, actor=PERSON)
            case "resume":
                return rules.on_resume_command(some, now, actor=PERSON)
            case "retry":
                return rules.on_retry_command(some, now, actor=PERSON, question=asked, unmet=unmet)
            case "unblock":
                return rules.on_unblock_command(some, now, actor=PERSON, question=asked, unmet=unmet)
            case "block":
                kind: BlockKind = "external" if number % 2 else "human"
                return rules.on_block_command(some, now, actor=PERSON, kind=kind, reason="r", timeout_ms=DAY)
            case "cancel":
                behind = self.behind(some.id)
                return rules.on_cancel_command(some, now, actor=PERSON, dependents=behind, question=asked)
            case "edit" | "reset":
                edit = rules.Edit(fields={"priority": number % 5}, reset_failures=what == "reset")
                return rules.on_edit_command(some, now, actor=PERSON, edit=edit)
            case "park" if some.ready:
                return rules.on_parked(some, now, hold="provider:x")
            case "free" if some.hold is not None:
                self.tasks[some.id] = replace(some, hold=None)
            case "answer" if asked is not None:
                self._answer(asked, number)
        return None

    def _judged(self, some: Task, word: str) -> Decision:
        """A triage of it was started, and says this."""
        some = replace(some, wants_triage=False, triages=some.triages + 1, triaged_at=self.now)
        self.tasks[some.id] = some
        return effects.judge(case(some), says(word), self.now, actor="triage").decision

    def _answer(self, asked: Question, number: int) -> None:
        option = choose(asked, str(number % 3 + 1))
        for task_id in asked.task_ids:
            decision = answered(
                asked,
                option,
                self.tasks[task_id],
                self.now,
                note="n" * (number % 2),
                dependents=self.behind(task_id),
                unmet=self.unmet(task_id),
            )
            self.take(decision)

    def _check_counters(self, what: str, before: Task, decision: Decision) -> None:
        """Attempts rise by claims alone, the streak falls by success and reset alone."""
        for change in decision.changes:
            found = change.after
            assert found.attempts == change.before.attempts + (what == "claim")
            if found.streak < change.before.streak:
                assert what == "reset" or found.status == "completed"
        if what in ("fail", "end"):
            assert decision.first(AttemptEnd) is not None
            assert only(decision, AttemptEnd).number == before.live

    def _check_change(self, change: Change, decision: Decision) -> None:
        """Legal moves, one after the other, each with an event in the same decision."""
        at = change.before.status
        for step in change.transitions:
            assert step.source == at
            TASK.check(change.before.id, step.source, step.target)
            at = step.target
        assert at == change.after.status
        if change.transitions:
            assert names(decision, change.after.id)
        if change.before.finished:
            assert change.after.status == change.before.status

    def _check_task(self, some: Task) -> None:
        """What must hold of every task at every moment."""
        assert 0 <= some.charged <= some.streak <= some.attempts
        assert (some.uncharged_since is None) == (some.uncharged == 0)
        assert (some.live is not None) == (some.status == "in_progress")
        assert (some.block_kind is not None) == (some.status == "blocked")
        waits = some.status == "failed" and some.waits_for is None
        assert (some.id in self.retries) == waits
        assert some.waits_for is None or (some.status == "failed" and some.wants_triage)
        if some.ready:
            assert some.status == "pending" and not some.paused and some.unmet == 0 and some.due_at is None
        assert some.hold is None or some.ready
        if waits:
            assert some.due_at == self.retries[some.id].due_at
        if some.status != "blocked":
            assert self.question_of(some.id) is None
        assert len(some.guidance) <= 5
        around = Surroundings(
            live_attempt=some.live is not None,
            open_question=self.question_of(some.id) is not None,
            unfinished_before=self.unmet(some.id),
            pending_retry=some.id in self.retries,
        )
        assert standstill(some, around) is None, some


@examples(60)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["t-1", "t-1", "t-2", "t-3"]),
            st.sampled_from(OUTCOMES),
            st.sampled_from(DIAGNOSES),
            st.integers(0, 1_000),
        ),
        min_size=20,
        max_size=80,
    )
)
def test_whatever_happens_in_whatever_order_the_promises_hold(
    happenings: list[tuple[str, Outcome, Diagnosis, int]],
) -> None:
    """Legal moves, counters that only count, one question, one retry, and never a silent standstill."""
    lives = Lives()

    with mock.patch("medbay.core.attempt.diagnosed.diagnose") as diagnose:
        for task_id, outcome, found, number in happenings:
            diagnose.return_value = found
            lives.happen(lives.choose(task_id, number), task_id, outcome, number)


@examples(50)
@given(st.lists(st.tuples(st.sampled_from(OUTCOMES), st.sampled_from(DIAGNOSES)), max_size=80))
def test_a_task_that_nobody_looks_after_ends_or_asks(endings: list[tuple[Outcome, Diagnosis]]) -> None:
    """Left alone it is always claimed again, until it is finished or blocked with a question."""
    lives = Lives()

    with mock.patch("medbay.core.attempt.diagnosed.diagnose") as diagnose:
        for outcome, found in endings:
            some = lives.tasks["t-1"]
            if some.finished or some.status == "blocked":
                break
            diagnose.return_value = found
            lives.happen("due", "t-1", outcome, 0)
            lives.happen("due", "t-1", outcome, 0)  # a triage says that it is tried again, later
            lives.happen("claim", "t-1", outcome, 0)
            assert lives.tasks["t-1"].live is not None
            lives.happen("end", "t-1", outcome, 0)

    some = lives.tasks["t-1"]
    if some.status == "blocked":
        assert lives.question_of("t-1") is not None


def test_what_waited_behind_a_mutex_skips_the_occurrences_it_missed() -> None:
    """Of those planned until now the last one runs; with `catch_up = all` each does."""
    waited = task(cron="* * * * *", zone="UTC", planned_at=NOW - 5 * 60_000, hold="mutex:db", mutex="db")

    names = [each.name for each in rules.on_claimed(waited, NOW, worker_id="w-1").events]
    every = rules.on_claimed(replace(waited, catch_up="all"), NOW, worker_id="w-1").events

    assert "task:occurrences_skipped" in names
    assert "task:occurrences_skipped" not in [each.name for each in every]
