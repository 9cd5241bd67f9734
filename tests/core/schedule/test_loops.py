"""Loops over several tasks: whose turn it is, what a failure does, and when a person is asked."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from medbay.core import rules
from medbay.core.attempt.ending import on_attempt_ended
from medbay.core.decision import Decision
from medbay.core.model import Question, Retry, Task
from medbay.core.outcome import Cancelled, Failed, Outcome, Output, Requeued, Succeeded
from medbay.core.policy.backoff import backoff
from medbay.core.policy.policy import Policy
from medbay.core.rules import Ended, Loop
from medbay.errors import NotAllowed, UsageError
from tests.core.builders import HOUR, MINUTE, NOW, PERSON, SECOND, ended, names, task

ODD = Failed(output=Output(tail="odd", total_bytes=3), exit_code=1)
FREE = Failed(output=Output(tail="connect ECONNREFUSED 10.0.0.1:443", total_bytes=33), exit_code=1)
BAD_PASSWORD = Failed(output=Output(tail="HTTP 401 Unauthorized", total_bytes=21), exit_code=1)


class Ring:
    """The tasks of one loop, run by hand."""

    def __init__(self, *ids: str, **asked: Any) -> None:
        self.now = NOW
        self.tasks = {each: task(id=each, title=each) for each in ids}
        self.last = Decision()
        members = tuple(self.tasks.values())
        wanted = Loop(**({"max_failure_restarts": 3} | asked))
        self.take(rules.on_loop_command(members, self.now, asked=wanted, actor=PERSON))

    def take(self, decision: Decision) -> Decision:
        """Keep what was decided."""
        for change in decision.changes:
            self.tasks[change.after.id] = change.after
        self.last = decision
        return decision

    @property
    def turn(self) -> list[str]:
        """Who may run, or waits for a time or a person with the turn."""
        open_ = [each for each in self.tasks.values() if not each.finished]
        return [each.id for each in open_ if each.waits_for is None]

    def run(self, outcome: Outcome = Succeeded()) -> str:
        """Whoever has the turn runs, when its time has come; who it was."""
        (name,) = self.turn
        one = self.tasks[name]
        if one.due_at is not None:
            self.now = max(self.now, one.due_at)
            self.take(rules.on_due(one, self.now, actor="engine"))
        assert self.tasks[name].ready, self.tasks[name]
        self.take(rules.on_claimed(self.tasks[name], self.now, worker_id="w-1"))
        self.now += SECOND
        self.take(on_attempt_ended(self.ended(name, outcome), self.now, self.last.work))
        return name

    def ended(self, name: str, outcome: Outcome) -> Ended:
        """The end of the live attempt, with the whole loop as the store would load it."""
        return replace(ended(self.tasks[name], outcome, policy=Policy()), owner=tuple(self.tasks.values()))


def test_each_has_its_turn_when_the_one_before_ended_well() -> None:
    """Round and round; the delay comes before each new round only."""
    ring = Ring("a", "b", "c", delay_ms=MINUTE)
    assert ring.tasks["a"].ready
    assert [ring.tasks[each].ready for each in "bc"] == [False, False]

    began = [ring.now]
    order = []
    for _ in range(6):
        order.append(ring.run())
        began.append(ring.now)

    assert order == list("abcabc")
    assert ring.turn == ["a"]
    assert ring.tasks["a"].due_at == ring.now + MINUTE
    assert began[4] - began[3] == MINUTE + SECOND
    assert [ring.tasks[each].iterations_done for each in "abc"] == [2, 2, 2]


def test_a_failure_begins_the_round_again_at_the_owner() -> None:
    """After the backoff from the delay; the one that failed waits for its turn, and its streak stays."""
    ring = Ring("a", "b", delay_ms=MINUTE)
    ring.run()
    assert ring.run(ODD) == "b"

    assert ring.turn == ["a"]
    assert ring.tasks["a"].due_at == ring.now + backoff(MINUTE, 1, key="b")
    assert (ring.tasks["a"].restarts, ring.tasks["b"].streak, ring.tasks["b"].status) == (1, 1, "pending")
    assert ring.last.first(Retry) is None
    assert "task:retry_scheduled" not in names(ring.last, "b")


def test_a_loop_without_delay_backs_off_from_a_second() -> None:
    """And a clean round sets the count of failed ones to 0."""
    ring = Ring("a", "b")
    ring.run(ODD)
    assert ring.last.first(Retry) is not None
    assert ring.tasks["a"].due_at == ring.now + backoff(SECOND, 1, key="a")
    assert ring.tasks["a"].restarts == 1
    ring.run()
    ring.run()

    assert (ring.tasks["a"].restarts, ring.turn, ring.tasks["a"].ready) == (0, ["a"], True)


@pytest.mark.parametrize("fails", ["a", "b"])
def test_at_the_limit_the_owner_is_blocked_and_asks(fails: str) -> None:
    """At the limit, not one round later, whichever task fails; an answer grants more rounds, and only that many."""
    ring = Ring("a", "b", max_failure_restarts=3)

    def fail_once() -> None:
        if fails == "b":
            ring.run()
        ring.run(ODD)

    for _ in range(3):
        assert ring.turn == ["a"]
        fail_once()

    owner = ring.tasks["a"]
    assert (owner.status, owner.block_kind, ring.turn) == ("blocked", "exhausted", ["a"])
    assert ring.tasks[fails].wants_triage  # its third failure makes one due all the same
    (question,) = ring.last.all(Question)
    assert question.task_ids == ("a",)
    assert ring.last.first(Retry) is None
    assert {"task:retry_exhausted", "task:blocked", "question:asked"} <= set(names(ring.last, "a"))
    ring.take(rules.on_unblock_command(owner, ring.now, actor=PERSON, question=question))
    fail_once()
    assert ring.tasks["a"].block_kind is None
    fail_once()
    assert ring.tasks["a"].block_kind == "exhausted"


def test_free_failures_restart_the_round_but_are_not_counted() -> None:
    """An outage is no reason to give up."""
    ring = Ring("a", "b", max_failure_restarts=1)
    for _ in range(6):
        ring.run()
        ring.run(FREE)

    assert (ring.tasks["a"].restarts, ring.tasks["b"].streak, ring.turn) == (0, 6, ["a"])


def test_what_cannot_be_retried_keeps_the_turn_until_it_is_answered() -> None:
    """The person's answer lets the round go on where it stopped."""
    ring = Ring("a", "b")
    ring.run()
    ring.run(BAD_PASSWORD)
    assert (ring.tasks["b"].status, ring.turn) == ("blocked", ["b"])
    ring.take(rules.on_unblock_command(ring.tasks["b"], ring.now, actor=PERSON))
    assert ring.tasks["b"].ready

    assert ring.run() == "b"
    assert ring.turn == ["a"]


def test_exit_75_keeps_the_turn() -> None:
    """It is no failure: the same task, later."""
    ring = Ring("a", "b")
    ring.run(Requeued(asked=True, why="exit 75"))

    assert ring.turn == ["a"]
    assert ring.run() == "a"


def test_iterations_are_counted_for_each_and_the_loop_ends() -> None:
    """Who has done its number is completed, the others go on among themselves."""
    ring = Ring("a", "b", "c", max_iterations=2)
    ring.run()
    ring.run(ODD)
    order = [ring.run() for _ in range(5)]

    assert order == ["a", "b", "c", "b", "c"]
    assert {each.status for each in ring.tasks.values()} == {"completed"}


def test_the_last_one_left_follows_itself() -> None:
    """When the others have ended, after the delay."""
    ring = Ring("a", "b", delay_ms=MINUTE)
    ring.take(rules.on_cancel_command(ring.tasks["b"], ring.now, actor=PERSON, dependents=(), question=None))
    ring.run()

    assert (ring.turn, ring.tasks["a"].due_at) == (["a"], ring.now + MINUTE)


@pytest.mark.parametrize("running", [False, True])
def test_a_cancelled_one_passes_its_turn_on(running: bool) -> None:
    """Waiting with the turn or running; a new round begins at the next that is left."""
    ring = Ring("a", "b", "c")
    loop = tuple(ring.tasks.values())
    if running:
        ring.run(Cancelled())
    else:
        ring.take(rules.on_cancel_command(ring.tasks["a"], NOW, actor=PERSON, dependents=(), question=None, owner=loop))

    assert ring.turn == ["b"]
    assert ring.run() == "b"
    assert ring.run() == "c"
    assert ring.turn == ["b"]


def test_the_end_of_all_is_the_end_of_the_loop() -> None:
    """Nobody is left to have the turn."""
    ring = Ring("a", "b")
    for name in ("b", "a"):
        loop = tuple(ring.tasks.values())
        ring.take(
            rules.on_cancel_command(ring.tasks[name], NOW, actor=PERSON, dependents=(), question=None, owner=loop)
        )

    assert ring.turn == []


def test_the_turn_comes_to_a_blocked_one_and_waits() -> None:
    """Its block keeps its own time; released, it runs."""
    ring = Ring("a", "b", max_failure_restarts=0)
    ring.take(rules.on_block_command(ring.tasks["b"], NOW, actor=PERSON, kind="external", reason="x", timeout_ms=HOUR))
    ring.run()

    assert (ring.tasks["b"].due_at, ring.turn) == (NOW + HOUR, ["b"])
    assert ring.run() == "b"


def test_an_owner_that_somebody_blocked_is_not_blocked_twice() -> None:
    """The turn waits for its release."""
    ring = Ring("a", "b", max_failure_restarts=0)
    ring.run()
    ring.take(rules.on_block_command(ring.tasks["a"], NOW, actor=PERSON, kind="external", reason="x", timeout_ms=HOUR))
    ring.run(ODD)

    assert (ring.tasks["a"].block_kind, ring.turn, ring.last.all(Question)) == ("external", ["a"], ())


def test_who_waits_for_its_turn_is_not_retried_by_hand() -> None:
    """The refusal names the owner."""
    ring = Ring("a", "b")

    with pytest.raises(NotAllowed, match="waits for its turn"):
        rules.on_retry_command(ring.tasks["b"], NOW, actor=PERSON)
    ring.take(rules.on_retry_command(ring.tasks["a"], NOW + HOUR, actor=PERSON))
    assert ring.tasks["a"].planned_at == NOW + HOUR


def test_a_paused_one_keeps_its_turn() -> None:
    """Resumed, it is ready again."""
    ring = Ring("a", "b")
    ring.take(rules.on_pause_command(ring.tasks["a"], NOW, actor=PERSON))
    assert not ring.tasks["a"].ready
    ring.take(rules.on_resume_command(ring.tasks["a"], NOW, actor=PERSON))

    assert ring.tasks["a"].ready


@pytest.mark.parametrize(
    ("members", "error"),
    [
        ((task(id="a"),), UsageError),
        ((task(id="a"), task(id="a")), UsageError),
        ((task(id="a"), task(id="b", status="failed")), NotAllowed),
        ((task(id="a"), task(id="b", every_ms=5)), NotAllowed),
        ((task(id="a"), task(id="b", owner_kind="task", owner_id="c", role="fix")), NotAllowed),
    ],
)
def test_what_cannot_be_a_loop_is_refused(members: tuple[Task, ...], error: type[Exception]) -> None:
    """One task, one twice, one that waits for a retry, one that recurs already."""
    with pytest.raises(error):
        rules.on_loop_command(members, NOW, asked=Loop(max_failure_restarts=3), actor=PERSON)
