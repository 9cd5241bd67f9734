"""The gate: from the ends of all checks to PASS, FAIL or ERROR, in the order the rules stand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from medbay.core.attempt import checks as gate
from medbay.core.attempt.checks import Gate, judge, status_of
from medbay.core.decision import Draft
from medbay.core.model import Check, CheckResult, CheckStatus
from medbay.core.outcome import (
    Cancelled,
    Checked,
    Failed,
    Lost,
    Outcome,
    OverBudget,
    Requeued,
    Stalled,
    Succeeded,
    TimedOut,
)
from tests.core.builders import NOW, task

ENDS: tuple[CheckStatus, ...] = ("PASS", "FAIL", "ERROR", "TIMEOUT", "STOPPED")


def checks(*ends: str) -> tuple[CheckResult, ...]:
    """Checks that ended like this; a `!` marks a required one."""
    return tuple(
        CheckResult(
            task_id="t-1",
            number=1,
            position=position,
            command=f"c{position}",
            required=end.endswith("!"),
            status=end.rstrip("!"),  # type: ignore[arg-type]
        )
        for position, end in enumerate(ends, start=1)
    )


def verdict(*ends: str, threshold: float = 1.0) -> str:
    """What the gate says."""
    return judge(checks(*ends), threshold).verdict


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        ("PASS", "PASS"),
        ("PASS PASS!", "PASS"),
        ("PASS FAIL", "FAIL"),
        ("FAIL", "FAIL"),
        ("FAIL ERROR", "ERROR"),
        ("PASS PASS PASS ERROR", "ERROR"),
        ("TIMEOUT", "ERROR"),
        ("TIMEOUT TIMEOUT PASS", "ERROR"),
        ("PASS TIMEOUT", "PASS"),
        ("PASS PASS TIMEOUT TIMEOUT", "PASS"),
        ("PASS PASS TIMEOUT!", "ERROR"),
        ("FAIL TIMEOUT!", "ERROR"),
        ("FAIL TIMEOUT", "FAIL"),
        ("FAIL STOPPED STOPPED STOPPED", "FAIL"),
        ("FAIL STOPPED!", "FAIL"),
        ("ERROR STOPPED", "ERROR"),
        ("STOPPED", "ERROR"),
        ("", "ERROR"),
    ],
)
def test_the_rules_decide_in_their_order(ends: str, said: str) -> None:
    """ERROR or a required timeout, fewer than half answered, below the threshold, else PASS."""
    assert verdict(*ends.split()) == said


@pytest.mark.parametrize(
    ("ends", "threshold", "said"),
    [
        ("PASS FAIL", 0.5, "PASS"),
        ("PASS FAIL FAIL", 0.5, "FAIL"),
        ("PASS FAIL TIMEOUT", 0.5, "PASS"),
        ("FAIL", 0.0, "PASS"),
    ],
)
def test_the_threshold_is_the_share_of_passes_among_those_that_answered(ends: str, threshold: float, said: str) -> None:
    """A timeout is no answer and takes no part in the share."""
    assert verdict(*ends.split(), threshold=threshold) == said


def test_a_pass_names_what_failed_and_what_timed_out() -> None:
    """Not silent about what did not pass."""
    found = judge(checks("PASS", "FAIL", "TIMEOUT"), 0.5)

    assert found == Gate(verdict="PASS", warning="check 2 (c2) failed, check 3 (c3) timed out")
    assert judge(checks("PASS")).warning == ""


@pytest.mark.parametrize(
    ("ends", "why", "blamed"),
    [
        ("PASS ERROR ERROR", "check 2 (c2), check 3 (c3) could not be run", 2),
        ("PASS TIMEOUT!", "check 2 (c2) is required and timed out", 2),
        ("TIMEOUT TIMEOUT PASS", "only 1 of 3 checks answered", 1),
        ("PASS FAIL FAIL", "check 2 (c2), check 3 (c3) failed", 2),
        ("STOPPED", "only 0 of 0 checks answered", None),
    ],
)
def test_what_is_no_pass_says_why_and_whom_to_look_at(ends: str, why: str, blamed: int | None) -> None:
    """The first check that decided it is the one whose output is read."""
    found = judge(checks(*ends.split()))

    assert found.why == why
    assert (found.blamed.position if found.blamed else None) == blamed


_ENDED = st.lists(st.tuples(st.sampled_from(ENDS), st.booleans()), max_size=8).map(
    lambda pairs: [end + ("!" if required else "") for end, required in pairs]
)


@given(_ENDED, st.floats(0, 1))
def test_the_answer_does_not_depend_on_the_order_of_the_checks(ends: list[str], threshold: float) -> None:
    """They run side by side: who ended first means nothing."""
    assert verdict(*ends, threshold=threshold) == verdict(*reversed(ends), threshold=threshold)


@given(_ENDED, st.floats(0, 1))
def test_stopped_checks_change_nothing(ends: list[str], threshold: float) -> None:
    """They are outside of all that is counted."""
    assert verdict(*ends, threshold=threshold) == verdict(*ends, "STOPPED!", threshold=threshold)


@given(_ENDED, st.floats(0, 1))
def test_a_gate_passes_only_when_nothing_broke_and_enough_answered(ends: list[str], threshold: float) -> None:
    """The rules once more, told as what has to hold."""
    found = judge(checks(*ends), threshold)
    count = {end: sum(each.rstrip("!") == end for each in ends) for end in ENDS}
    answered = count["PASS"] + count["FAIL"]
    broke = count["ERROR"] > 0 or "TIMEOUT!" in ends or answered == 0 or answered < count["TIMEOUT"]

    assert (found.verdict == "ERROR") == broke
    if not broke:
        assert (found.verdict == "PASS") == (count["PASS"] >= threshold * answered)
        assert bool(found.warning) == (found.verdict == "PASS" and count["FAIL"] + count["TIMEOUT"] > 0)
    assert bool(found.why) == (found.verdict != "PASS")


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (Succeeded(), "PASS"),
        (Failed(exit_code=1), "FAIL"),
        (Failed(exit_code=255), "FAIL"),
        (Failed(exit_code=0), "PASS"),
        (Failed(exit_code=126), "ERROR"),
        (Failed(exit_code=127), "ERROR"),
        (Failed(signal=9), "ERROR"),
        (Failed(spawn_error="command not found"), "ERROR"),
        (Failed(), "ERROR"),
        (TimedOut(limit_s=1.0, signal=15), "TIMEOUT"),
        (Requeued(asked=True, why="exit 75", exit_code=75), "FAIL"),
        (Requeued(asked=False, why="the worker stops"), "ERROR"),
        (Cancelled(), "STOPPED"),
        (Lost(why="gone"), "ERROR"),
        (Stalled(silent_s=1.0), "ERROR"),
        (OverBudget(why="money"), "ERROR"),
        (Checked(results=()), "ERROR"),
    ],
)
def test_the_end_of_a_command_is_the_status_of_its_check(outcome: Outcome, status: str) -> None:
    """Exit 0 passes; not started, 126, 127 or a signal is an error; any other exit fails."""
    assert status_of(outcome) == status


def test_planned_checks_are_numbered_and_wait() -> None:
    """From 1, in the order the task names them."""
    first, second = gate.planned((Check("make"), Check(("ruff", "."), required=True)), "t-1", 3)

    assert (first.position, first.status, first.required, first.number) == (1, "WAITING", False, 3)
    assert (second.position, second.command, second.required) == (2, ("ruff", "."), True)


def test_a_check_is_named_on_one_short_line() -> None:
    """However long its command is."""
    assert gate.shown(("echo", "a b")) == "echo 'a b'"
    assert gate.shown("make\n  test") == "make test"
    assert len(gate.shown("x" * 500)) == gate.COMMAND_SHOWN


@pytest.mark.parametrize(("said", "landed"), [("merged into main\n", "merged into main"), ("kept on medbay/t-1", None)])
def test_the_event_of_a_gate_says_where_the_work_landed(said: str, landed: str | None) -> None:
    """Where it was merged; work that stays on its branch landed nowhere."""
    draft = Draft(task(), NOW, actor="engine")
    landing = replace(checks("PASS")[0], position=gate.LANDING, tail=said)

    gate.emit(draft, 1, judge((landing,)), (landing,))

    assert draft.events[-1].data.get("landed") == landed
