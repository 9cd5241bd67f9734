"""Ends that are alike: what the rules say of one they say of the other, and what they look at is never alike."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from medbay.core.attempt.alike import is_alike, is_plain, is_repeatable
from medbay.core.attempt.ending import Ended, on_attempt_ended
from medbay.core.attempt.knowledge import Seen
from medbay.core.budget import Budget
from medbay.core.decision import AttemptEnd, Change, Decision, RetryClosed, WorkingSet
from medbay.core.holds.breaker import Breaker
from medbay.core.model import Guidance, Retry
from medbay.core.outcome import Failed, Lost, Outcome, Output, Succeeded
from medbay.core.people.question import failing_scope
from medbay.core.policy.policy import Policy
from medbay.core.policy.presets import LADDER, Rungs
from tests.core.builders import DAY, HOUR, MINUTE, NOW, ended, failed, running
from tests.properties import examples

AT_ONCE = Policy(rungs={name: Rungs(delays_ms=(0,), max_retries=each.max_retries) for name, each in LADDER.items()})
FREE = Budget(free=frozenset({"shell", "python"}))
TEXTS = ("", "x.py:3: AssertionError: row 77", "npm ERR! 404 Not Found", "connection refused", "build failed: t-2")


def said(text: str, **given: Any) -> Output:
    """An output of this text."""
    return Output(tail=text, total_bytes=len(text), **given)


@st.composite
def outcomes(draw: st.DrawFn) -> Outcome:
    """A success or a failure with one of few outputs."""
    output = said(draw(st.sampled_from(TEXTS)), result=draw(st.sampled_from([None, {"value": 1}, {"value": "two"}])))
    if draw(st.booleans()):
        return Succeeded(output=output)
    return Failed(output=output, exit_code=draw(st.sampled_from([1, 2])), spawn_error=draw(st.sampled_from(["", "no"])))


@st.composite
def ends(draw: st.DrawFn, task_id: str) -> Ended:
    """The end of an attempt of a task that differs in little from any other."""
    streak = draw(st.integers(0, 5))
    told = Guidance(2, "look again", "look again, it failed", "code_error:a1b2c3d4")
    task = running(
        id=task_id,
        title=draw(st.sampled_from(["build", "test"])),
        command=draw(st.sampled_from([("make",), "make t-2", ("jobs:f", "[1]")])),
        runner=draw(st.sampled_from(["shell", "python", "agent:claude"])),
        since=draw(st.sampled_from([NOW - HOUR, NOW - MINUTE, NOW])),
        created_at=draw(st.sampled_from([NOW - DAY, NOW - HOUR])),
        attempts=streak + 1,
        streak=streak,
        charged=draw(st.integers(0, streak)),
        failing_since=NOW - HOUR if streak else None,
        guidance=(told,) if streak else (),
        tags=draw(st.sampled_from([(), ("night",)])),
        cron=draw(st.sampled_from(["", "", "", "0 4 * * *"])),
        policy=draw(st.sampled_from(["", "", "tiers"])),
        cancel_requested=draw(st.sampled_from([False, False, False, True])),
    )
    made = ended(task, draw(outcomes()), policy=draw(st.sampled_from([AT_ONCE, AT_ONCE, Policy()])))
    return replace(
        made,
        attempt=replace(made.attempt, started_at=NOW - draw(st.sampled_from([1, 50])), log_path=f"/logs/{task_id}"),
        takes_advice=draw(st.booleans()),
    )


def without_its_own(made: Decision) -> list[Any]:
    """What was decided, but for whose it is; values that a task only passes on are those it had."""
    found: list[Any] = []
    for write in made.writes:
        match write:
            case Change(before=before, after=after, transitions=steps):
                found.append((steps, {n: v for n, v in fields(after).items() if v != getattr(before, n)}))
            case AttemptEnd():
                found.append(replace(write, task_id="", output=Output()))
            case Seen() | Retry() | RetryClosed():
                found.append(replace(write, task_id=""))
            case _:
                found.append(write)
    return [*found, *(replace(each, task_id=None) for each in made.events)]


def fields(record: Any) -> dict[str, Any]:
    """A record by its fields."""
    return {name: getattr(record, name) for name in record.__struct_fields__}


@examples(400)
@given(st.data())
def test_what_is_decided_about_one_is_what_the_rules_say_of_those_alike(data: st.DataObject) -> None:
    """Whatever the ends are: where the first may be repeated, another one that is alike comes to the same."""
    work = WorkingSet(questions=data.draw(st.sampled_from([{}, {failing_scope("t-2"): "q-1"}])))
    first, other = data.draw(ends("t-1")), data.draw(ends("t-2"))
    if data.draw(st.booleans()):  # else next to none are alike
        since = data.draw(st.sampled_from([NOW - 5, NOW]))
        own = {"id": "t-2", "title": "other", "command": ("other",), "since": since}
        attempt = replace(first.attempt, task_id="t-2", log_path="/logs/t-2")
        other = replace(first, task=replace(first.task, **own), attempt=attempt)
    if not is_plain(first, FREE):
        return
    made = on_attempt_ended(first, NOW, work)

    if is_repeatable(made, NOW, work) and is_alike(other, first, NOW, work):
        assert without_its_own(on_attempt_ended(other, NOW, work)) == without_its_own(made)


def like(first: Ended, **own: Any) -> Ended:
    """The end of another task that is like the first one."""
    task = replace(first.task, id="t-2", title="other", command=("other",), key="k", since=NOW - 7, created_at=NOW - 8)
    attempt = replace(first.attempt, task_id="t-2", started_at=NOW - 9, log_path="/logs/t-2")
    return replace(first, **{"task": task, "attempt": attempt, **own})


def test_what_rules_only_pass_on_may_differ() -> None:
    """Which task it is, how it is called, when it began, where its log is; and what a function returned."""
    first = ended(running(), Succeeded(output=said("done", log_path="/logs/t-1", result={"value": 1})))
    other = like(first, outcome=Succeeded(output=said("done", log_path="/logs/t-2", result={"value": [2, 3]})))

    assert is_alike(other, first, NOW, WorkingSet())


@pytest.mark.parametrize(
    "other",
    [
        {"outcome": Failed(output=said("row 78"), exit_code=1)},
        {"outcome": Failed(output=said("row 77"), exit_code=2)},
        {"outcome": Failed(output=said("row 77", result={"value": 2}), exit_code=1)},
        {"outcome": Succeeded(output=said("row 77"))},
        {"takes_advice": False},
        {"task": running(id="t-2", tags=("night",))},
        {"task": running(id="t-2", streak=1)},
        {"task": running(id="t-2", version=1)},
        {"task": running(id="t-2", since=NOW)},
        {"task": running(id="t-2", cancel_requested=True)},
    ],
)
def test_what_rules_may_look_at_may_not_differ(other: dict[str, Any]) -> None:
    """Another text, exit code, value, ending, counter, tag or version: the rules are asked."""
    first = ended(running(), Failed(output=said("row 77", result={"value": 1}), exit_code=1))

    assert not is_alike(like(first, **other), first, NOW, WorkingSet())


def test_a_task_that_people_were_asked_about_is_like_no_other() -> None:
    """Its success withdraws the question."""
    first = ended(running(), Succeeded())

    assert not is_alike(like(first), first, NOW, WorkingSet(questions={failing_scope("t-2"): "q-1"}))


@pytest.mark.parametrize(
    "end",
    [
        ended(running(runner="agent:claude"), Succeeded()),
        ended(running(owner_kind="task", owner_id="t-0"), Succeeded()),
        ended(running(cron="0 4 * * *"), Succeeded()),
        ended(running(), Succeeded(), canary=True),
        ended(running(), Lost(why="gone")),
        ended(running(), Succeeded(), policy=Policy(adaptive=True)),
        ended(running(), Succeeded(), dependents=(failed(id="t-9"),)),
        ended(running(), Succeeded(), owner=Breaker(key="incident:x", kind="incident")),
        ended(running(max_tokens=5), Succeeded()),
        ended(running(), Succeeded(output=Output(result={"usage": {"tokens": 5}}))),
    ],
)
def test_what_concerns_others_or_is_counted_is_not_plain(end: Ended) -> None:
    """Agents, owned, recurring and sent ahead; tasks that come after; what costs, and what is learned of others."""
    assert not is_plain(end, FREE)
    assert is_plain(ended(running(), Succeeded()), FREE)


def test_a_retry_that_waits_is_not_repeated() -> None:
    """Its delay is spread by the id of its task."""
    work, end = WorkingSet(), ended(running(), Failed(output=said("row 77"), exit_code=1))

    assert is_repeatable(on_attempt_ended(replace(end, policy=AT_ONCE), NOW, work), NOW, work)
    assert not is_repeatable(on_attempt_ended(end, NOW, work), NOW, work)


def test_a_question_or_what_is_shared_is_not_repeated() -> None:
    """Another one would join the question, and the next failure meets what this one changed."""
    work, used_up = WorkingSet(), running(streak=9, charged=9, attempts=10)

    asked = on_attempt_ended(ended(used_up, Failed(exit_code=1), policy=AT_ONCE), NOW, work)
    shared = on_attempt_ended(ended(running(), Failed(output=said("connection refused"), exit_code=1)), NOW, work)

    assert not is_repeatable(asked, NOW, work)
    assert shared.work is not work
    assert not is_repeatable(shared, NOW, work)
