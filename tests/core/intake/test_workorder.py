"""A workorder from its event to its end, as decisions."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from medbay.core.decision import NOTHING, Added, Change, Decision, Draft, QuestionClosed, WorkingSet
from medbay.core.intake import workorder as rules
from medbay.core.intake.records import (
    Candidate,
    Capture,
    CaptureEvent,
    CaptureEventProcessed,
    CaptureReady,
    CapturesFreed,
    CapturesTaken,
    ContextSnapshot,
    RunRecord,
    Workorder,
)
from medbay.core.intake.workorder import IntakeCase, IntakeWork
from medbay.core.model import Question, Retry, Task
from medbay.core.people.answer import Answer, on_answer
from tests.core.builders import NOW, running

EVENT = CaptureEvent(id=3, at=NOW, due_at=NOW)
ONE, TWO = Capture(id="cap-1", text="login fails"), Capture(id="cap-2", text="dark mode")
ORDER = Workorder(id="wo-3", event_id=3, snapshot_id="snap-3")
CASE = IntakeCase(workorder=ORDER, captures=(ONE, TWO))
TASK = running(id=".intake-wo-3", runner="intake", role="intake", owner_kind="workorder", owner_id="wo-3")


def draft() -> Draft[Task]:
    """The task that runs the workorder, at its end."""
    return Draft(TASK, NOW, actor="worker:w")


def said(*ids: str, **more: Any) -> str:
    """A bundle about these captures."""
    content = [{"title": "fix it", "acceptance_criteria": ["it works"], **more}]
    return json.dumps({"title": "t", "metadata": {"capture_ids": ids}, "content": content})


def become(made: Decision, kind: type) -> list[Any]:
    """The records of a kind as they are to be."""
    found = [each.change if isinstance(each, Added) else each for each in made.writes]
    return [each.after for each in found if isinstance(each, Change) and isinstance(each.after, kind)]


def test_an_event_becomes_a_snapshot_a_workorder_and_its_task_at_once() -> None:
    """One decision, so one transaction; what was asked about the captures before is withdrawn."""
    made = rules.schedule(EVENT, (ONE, TWO), IntakeWork(command=("agent",)), NOW, by="me", asked=("q-1",))

    assert "login fails" in made.all(ContextSnapshot)[0].full_prompt_text
    assert made.all(CapturesTaken)[0].capture_ids == ("cap-1", "cap-2")
    assert made.all(CaptureEventProcessed) == (
        CaptureEventProcessed(event_id=3, by="me", reason="SCHEDULED", workorder_id="wo-3"),
    )
    assert [each.workorder for each in become(made, Capture)] == ["wo-3", "wo-3"]
    assert become(made, Workorder)[0].status == "CREATED"
    task = become(made, Task)[0]
    assert (task.ready, task.timeout_ms, task.owner_id) == (True, 300_000, "wo-3")
    assert made.all(QuestionClosed)[0].status == "withdrawn"
    assert [each.name for each in made.events] == ["workorder:created", "task:created"]


def test_an_event_without_pending_captures_is_only_processed() -> None:
    """Nothing else is written."""
    made = rules.schedule(EVENT, (), IntakeWork(), NOW, by="me")

    assert made.writes == (CaptureEventProcessed(event_id=3, by="me", reason="NO_PENDING_CAPTURES"),)


def test_a_good_answer_proposes_candidates_and_asks_for_a_review() -> None:
    """Captures that were used are processed."""
    made = rules.answered(draft(), CASE, said("cap-1", "cap-2", captures=["cap-1"]))

    assert become(made, Workorder)[0].status == "PASSED"
    assert [each.status for each in become(made, Capture)] == ["PROCESSED", "PROCESSED"]
    assert [(each.id, each.captures) for each in become(made, Candidate)] == [("wo-3-1", ("cap-1",))]
    assert made.all(RunRecord)[0].gate_result == "PASS"
    assert made.all(CapturesFreed) and not made.all(CaptureReady)
    (asked,) = made.all(Question)
    assert rules.pause_reason(asked) == "RUN_COMPLETE"
    moved = [each.data["to"] for each in made.events if each.name == "workorder:moved"]
    assert moved == ["EXECUTED", "PASSED"]


def test_a_capture_that_an_answer_leaves_out_is_triaged_again() -> None:
    """It is not lost, and the try counts; one that a person discarded meanwhile stays so."""
    gone = replace(TWO, id="cap-3", status="DISCARDED")
    made = rules.answered(draft(), replace(CASE, captures=(ONE, TWO, gone)), said("cap-1"))

    one, two = become(made, Capture)
    assert (one.status, two.status, two.tries, two.workorder) == ("PROCESSED", "PENDING", 1, "")
    assert made.all(CaptureReady) == (CaptureReady(due_at=NOW + 60_000),)
    assert become(made, Candidate)[0].captures == ("cap-1",)


def test_a_bad_answer_fails_the_workorder_and_counts_the_try() -> None:
    """The captures stay pending, and the next event comes later; after three tries they are poison."""
    case = replace(CASE, captures=(ONE, replace(TWO, tries=2)))
    made = rules.answered(draft(), case, said("cap-9"))

    assert become(made, Workorder)[0].status == "FAILED"
    assert [(each.status, each.tries) for each in become(made, Capture)] == [("PENDING", 1), ("POISON", 3)]
    assert made.all(RunRecord)[0].gate_reason == "it names captures that were not in the snapshot: cap-9"
    assert rules.pause_reason(made.all(Question)[0]) == "GATE_FAILED"
    assert made.all(CaptureReady)
    assert not rules.answered(draft(), replace(case, captures=(replace(TWO, tries=2),)), None).all(CaptureReady)


@pytest.mark.parametrize("status", ["EXECUTED", "PASSED", "FAILED"])
def test_a_workorder_that_was_executed_is_not_executed_again(status: str) -> None:
    """Whatever ends its task a second time changes nothing."""
    over = replace(CASE, workorder=replace(ORDER, status=status))

    assert rules.answered(draft(), over, said("cap-1")) is NOTHING
    assert rules.cancelled(draft(), over) is NOTHING
    assert rules.gave_up(draft(), over, NOTHING, True) is NOTHING


def test_a_charged_failure_ends_the_workorder_and_nothing_retries_its_task() -> None:
    """The ladder's retry and question are left out; the next workorder is the retry."""
    own = draft()
    own.move("failed", "it exceeded its time limit")
    own.emit("task:retry_scheduled")
    retry = Retry(task_id=TASK.id, attempt=1, category="x", action="retry", scheduled_at=NOW, due_at=NOW, delay_ms=0)
    made = rules.gave_up(own, CASE, Decision(writes=(retry,)), True)

    assert own.record.status == "cancelled"
    assert [each.name for each in own.events] == ["task:cancelled"]
    assert not made.all(Retry)
    assert become(made, Workorder)[0].reason == "the runner gave up: it exceeded its time limit"
    assert become(made, Capture)[0].tries == 1


def test_what_is_not_charged_is_tried_again_until_the_ladder_gives_up() -> None:
    """Then no try is counted."""
    own, followed = draft(), Decision()
    own.move("failed", "rate limit")
    assert rules.gave_up(own, CASE, followed, False) is followed

    own.block("exhausted", "asked too often")
    made = rules.gave_up(own, CASE, followed, False)

    assert become(made, Capture)[0].tries == 0
    assert made.all(CaptureReady)


def test_a_persons_cancel_counts_no_try_and_starts_nothing() -> None:
    """The captures wait for the next event or a person."""
    made = rules.cancelled(draft(), CASE)

    assert become(made, Workorder)[0].status == "FAILED"
    assert become(made, Capture)[0].tries == 0
    assert not made.all(CaptureReady)


def test_an_error_of_our_own_fails_the_workorder() -> None:
    """Who waits for it does not wait for ever."""
    own, work = draft(), WorkingSet()
    made = rules.broke(CASE, own, work, "a rule broke")

    assert own.record.status == "cancelled"
    assert become(made, Workorder)[0].status == "FAILED"
    assert made.work is work


def answer(case: IntakeCase, effect: str) -> Decision:
    """A person answers the pause state of a workorder."""
    ended = rules.answered(draft(), CASE, said("cap-9")).all(Question)[0]
    passed = rules.answered(draft(), CASE, said("cap-1")).all(Question)[0]
    asked = ended if case.workorder.status == "FAILED" else passed
    option = next(each for each in asked.options if each.effect == effect)
    return on_answer(Answer(question=asked, option=option, actor="person:ada", now=NOW), "workorder", case)


def test_the_answers_to_a_pause_state_do_what_they_say() -> None:
    """Run again releases poison, handle by hand discards, reading changes nothing."""
    poison, taken = replace(ONE, status="POISON", tries=3), replace(TWO, id="cap-3", workorder="wo-4")
    case = replace(CASE, workorder=replace(ORDER, status="FAILED"), captures=(poison, TWO, taken))

    again, by_hand, read = answer(case, "retry"), answer(case, "discard"), answer(case, "note")

    assert [(each.id, each.status, each.tries) for each in become(again, Capture)] == [("cap-1", "PENDING", 0)]
    assert again.all(CaptureReady) == (CaptureReady(due_at=NOW), CaptureReady(due_at=NOW))
    assert [(each.id, each.status) for each in become(by_hand, Capture)] == [
        ("cap-1", "DISCARDED"),
        ("cap-2", "DISCARDED"),
    ]
    assert become(read, Capture) == []
    assert all(each.all(QuestionClosed)[0].whole for each in (again, by_hand, read))


def test_all_candidates_can_be_discarded_at_once() -> None:
    """Those that were promoted stay."""
    open_, done = Candidate(id="c-1", workorder="wo-3", title="a"), Candidate(id="c-2", workorder="wo-3", title="b")
    passed = replace(ORDER, status="PASSED")
    made = answer(IntakeCase(workorder=passed, candidates=(open_, replace(done, status="PROMOTED"))), "discard")

    assert [(each.id, each.status) for each in become(made, Candidate)] == [("c-1", "DISCARDED")]
    assert become(rules.discard(open_, NOW, actor="engine"), Candidate)[0].reason == "discarded by engine"


def test_a_capture_and_its_event_are_one_decision() -> None:
    """And the last decision about candidates closes the pause state."""
    made = rules.captured(ONE, NOW, actor="person:ada")
    asked = rules.answered(draft(), CASE, said("cap-1")).all(Question)[0]

    assert made.all(CaptureReady) == (CaptureReady(due_at=NOW),)
    assert [each.name for each in made.events] == ["capture:ready"]
    assert rules.settled(asked, actor="person:ada", answer="decided").all(QuestionClosed)[0].answer == "decided"
