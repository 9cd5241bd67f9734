"""No silent standstill: every way a task could be forgotten, and every way it is not."""

from __future__ import annotations

import pytest

from medbay.core.lifecycles import Status
from medbay.core.liveness import Surroundings, replay, standstill
from medbay.core.model import HistoryRow, Task
from tests.core.builders import HOUR, NOW, blocked, failed, running, task

ALONE = Surroundings()
RUNS = Surroundings(live_attempt=True)
ASKED = Surroundings(open_question=True)
RETRIED = Surroundings(pending_retry=True)
BEHIND = Surroundings(unfinished_before=1)

idle = {"ready": False, "ready_at": None}


@pytest.mark.parametrize(
    ("some", "around"),
    [
        (task(status="completed", **idle), ALONE),
        (task(status="cancelled", **idle), ALONE),
        (running(), RUNS),
        (running(status="pending_verification"), RUNS),
        (task(), ALONE),
        (task(hold="provider:x"), ALONE),
        (task(due_at=NOW + HOUR, **idle), ALONE),
        (task(paused=True, **idle), ALONE),
        (task(waits_for="evaluation", **idle), ALONE),
        (task(unmet=1, **idle), BEHIND),
        (failed(), RETRIED),
        (failed(unmet=1), Surroundings(pending_retry=True, unfinished_before=1)),
        (failed(due_at=None, waits_for="triage", wants_triage=True), ALONE),
        (failed(due_at=None, waits_for="triage"), Surroundings(looked_at=True)),
        (failed(due_at=None, paused=True), ALONE),
        (blocked(), ASKED),
        (blocked(unmet=1), ASKED),
        (blocked(block_kind="spec"), Surroundings(reviewed=True)),
        (blocked(block_kind="external", due_at=NOW + HOUR), ALONE),
        (blocked(block_kind="external", due_at=NOW + HOUR, unmet=1), BEHIND),
    ],
)
def test_a_task_that_has_an_owner_a_time_or_a_person_is_alive(some: Task, around: Surroundings) -> None:
    """Something will move it."""
    assert standstill(some, around) is None


@pytest.mark.parametrize(
    ("some", "around", "why"),
    [
        (running(), ALONE, "its live attempt and its row disagree"),
        (task(), RUNS, "its live attempt and its row disagree"),
        (
            running(),
            Surroundings(live_attempt=True, owner_gone=True),
            "its live attempt belongs to a worker that is gone",
        ),
        (blocked(), Surroundings(reviewed=True), "blocked · human without a question or a time"),
        (failed(due_at=None, waits_for="triage"), ALONE, "waits for a triage that is not running"),
        (running(live=None), ALONE, "in_progress without a live attempt"),
        (
            running(status="pending_verification", live=None),
            ALONE,
            "pending_verification without a live attempt",
        ),
        (task(hold="provider:x"), Surroundings(hold_ends=False), "held by provider:x, which is over"),
        (blocked(block_kind="spec"), ALONE, "blocked · spec without a question or a time"),
        (
            blocked(block_kind="external", due_at=NOW, unmet=1),
            ALONE,
            "waits for tasks that can never complete",
        ),
        (failed(due_at=None), RETRIED, "failed without a time at which it is tried again"),
        (failed(), ALONE, "failed with a time but without its retry"),
        (failed(unmet=1), RETRIED, "waits for tasks that can never complete"),
        (task(unmet=2, **idle), ALONE, "waits for tasks that can never complete"),
        (task(unmet=2, due_at=NOW, **idle), ALONE, "waits for tasks that can never complete"),
        (task(**idle), ALONE, "pending, not ready, and nothing will wake it"),
        (task(cancel_requested=True, **idle), ALONE, "pending, not ready, and nothing will wake it"),
    ],
)
def test_a_task_that_nothing_will_move_is_found_out(some: Task, around: Surroundings, why: str) -> None:
    """Each kind of standstill has its own words."""
    assert standstill(some, around) == why


@pytest.mark.parametrize(
    ("some", "moves", "wrong"),
    [
        (task(), [], None),
        (running(), [("pending", "in_progress")], None),
        (running(), [], "history says pending, the row says in_progress"),
        (running(), [("failed", "in_progress")], "failed follows pending"),
        (task(), [("pending", "completed")], "pending may not become completed"),
    ],
)
def test_history_replayed_from_its_first_row_gives_the_status(
    some: Task, moves: list[tuple[Status, Status]], wrong: str | None
) -> None:
    """No gap, no forbidden move, and the last target is the status."""
    rows = [
        HistoryRow(task_id=some.id, source=source, target=target, actor="engine", reason="", at=NOW)
        for source, target in moves
    ]

    assert replay(some, rows) == wrong


def test_history_counts_from_the_checkpoint_of_what_was_archived() -> None:
    """Whatever came before it; what follows is judged as always."""
    moves: list[tuple[Status, Status, str]] = [
        ("failed", "failed", "archive"),
        ("failed", "pending", "engine"),
        ("pending", "in_progress", "engine"),
    ]
    rows = [
        HistoryRow(task_id="t-1", source=source, target=target, actor=actor, reason="", at=NOW)
        for source, target, actor in moves
    ]
    assert replay(running(), rows) is None
    assert replay(running(), rows[:1] + rows[2:]) == "pending follows failed"
