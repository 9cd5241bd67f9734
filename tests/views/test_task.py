"""A task in a list and in `show`, from records alone."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from medbay.core.attempt.knowledge import Advice
from medbay.core.holds.breaker import Breaker
from medbay.core.holds.holding import Reason
from medbay.core.model import Guidance, Task
from medbay.core.policy.presets import Recurring
from medbay.core.snapshot import TaskDetail, TaskList
from medbay.views import task as view
from medbay.views.task import LogSeen
from tests.views.records import MINUTE, NOW, TASK, failed, question, worker


def listed(*tasks: Task, **fields: Any) -> TaskList:
    """A list of these tasks."""
    return TaskList(now=NOW, tasks=tasks, total=len(tasks), **fields)


def why(task: Task, **fields: Any) -> str:
    """What a list says about one task."""
    (row,) = view.rows(listed(task, **fields), {})
    return row.why


HELD = Breaker(key="provider:x", kind="provider", state="open", why="out of quota", opened_at=NOW, opened_by="engine")


@pytest.mark.parametrize(
    ("fields", "around", "said"),
    [
        ({"ready": True}, {}, ""),
        ({"ready": True}, {"serving": (worker(),)}, ""),
        ({"status": "blocked", "reason": "vendor"}, {}, "vendor"),
        ({"status": "failed", "last_summary": "no route"}, {}, "no route"),
        ({"status": "failed", "last_category": "timeout"}, {}, "timeout"),
        ({"status": "completed", "last_category": "timeout", "attempts": 3}, {}, "3 attempts, last failure timeout"),
        (
            {"ready": True, "recovery": True},
            {"serving": (worker(),), "out_of_share": frozenset({"default"})},
            "retries have their share of the slots; fresh work goes first",
        ),
        ({"every_ms": 60_000, "due_at": NOW + MINUTE}, {}, "every 1m"),
    ],
)
def test_a_row_says_why_a_task_is_where_it_is(fields: dict[str, Any], around: dict[str, Any], said: str) -> None:
    """The reason stands in the row itself."""
    assert why(replace(TASK, **fields), **around) == said


def test_a_held_task_says_what_holds_it() -> None:
    """With the words of the breaker."""
    assert why(replace(TASK, ready=True, hold=HELD.key), breakers={HELD.key: HELD}).startswith("out of quota; ")


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        ({}, ""),
        ({"k7f2": LogSeen(NOW, 0)}, "no output yet"),
        ({"k7f2": LogSeen(NOW - 3_000, 5)}, "output 3s ago"),
    ],
)
def test_a_running_task_says_when_it_last_wrote(seen: dict[str, LogSeen], said: str) -> None:
    """What the file system knows is handed in."""
    running = replace(TASK, status="in_progress", live=1, attempts=1)

    assert view.rows(listed(running), seen)[0].why == said


def test_the_last_line_counts_what_is_listed_and_names_what_is_not() -> None:
    """Questions of other tasks, hidden triages, and how many more match."""
    blocked = replace(TASK, status="blocked", block_kind="human")
    found = listed(blocked, replace(TASK, id="m2xa", ready=True), questions=(question(task_ids=("p3qd",)),))
    found = replace(found, total=5, hidden_triages=1)

    assert view.footer(found, view.rows(found, {})) == (
        "2 of 5 shown, what needs you first (medbay list --all): 1 needs you, 1 ready, 1 other question in medbay inbox"
        "; 1 triage hidden (medbay list --all)"
    )


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"narrowed": True}, "nothing matches; medbay list --all has everything"),
        ({"older": 3}, "nothing is open; 3 ended more than 24h ago (medbay list --all)"),
        ({}, "no tasks yet; medbay add TITLE --run 'CMD' makes one"),
    ],
)
def test_an_empty_list_says_what_to_do(fields: dict[str, Any], said: str) -> None:
    """And never nothing."""
    assert view.footer(listed(**fields), []) == said


@pytest.mark.parametrize(
    ("streak", "charged", "said"),
    [
        (1, 1, "1 failure"),
        (1, 0, "1 failure, not counted"),
        (7, 3, "7 failures in a row, 3 of them counted"),
    ],
)
def test_failures_are_counted_in_words(streak: int, charged: int, said: str) -> None:
    """How many in a row, and how many of them count."""
    assert view.failures(replace(TASK, streak=streak, charged=charged)) == said


def test_the_detail_of_a_task_has_its_attempts_and_what_holds_it_back() -> None:
    """From one record, without a look at anything else."""
    detail = TaskDetail(
        now=NOW,
        task=replace(TASK, threshold=0.5, attempts=1),
        rules=Recurring(),
        attempts=(failed(),),
        held_back=Reason(13, 'no worker serves "default"', "capacity"),
        question=question(),
        after=("m2xa",),
    )

    made = view.detail(detail)

    assert made["run"] == "make docs"
    assert made["check_threshold"] == 0.5
    assert made["attempts"][0]["diagnosis"]["category"] == "transient"
    assert made["held_back"] == {
        "number": 13,
        "code": "queue_unserved",
        "what": 'no worker serves "default"',
        "until": None,
    }
    assert (made["after"], made["question"]["id"]) == (["m2xa"], "q-k7f2-1")
    assert view.waits(detail) == 'no worker serves "default"'


def test_advice_is_shown_with_its_record_while_the_task_is_open() -> None:
    """`advice for attempt 2: page size 50 (worked 6 of 7 times)`."""
    given = Guidance(attempt=2, text="Advice: page size 50", advice="page size 50", fingerprint="f")
    detail = TaskDetail(now=NOW, task=TASK, rules=Recurring(), guidance=((given, Advice("page size 50", 7, 6)),))

    assert "".join(view.advice(detail)) == "advice for attempt 2: page size 50 (worked 6 of 7 times)"
    assert view.advice(replace(detail, task=replace(TASK, status="completed"))) == ("", "")
