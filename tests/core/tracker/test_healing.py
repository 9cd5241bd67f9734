"""The failures and verdicts of a task that is an issue: it waits for its tracker, never starts behind its back."""

from __future__ import annotations

import pytest

from medbay.core.model import TRACKER, Retry
from medbay.core.outcome import Failed
from medbay.core.triage import rights
from medbay.core.triage.verdict import Adjustment
from tests.core.builders import HOUR, MINUTE, NOW, after, diagnosis, end, only, running
from tests.core.triage.cases import case, judged, new, says, waiting


@pytest.mark.parametrize(("charged", "wait"), [(0, 30 * MINUTE), (1, 2 * HOUR)])
def test_a_charged_failure_waits_for_its_tracker_exactly(charged: int, wait: int) -> None:
    """The retry is planned without jitter, and nothing but the tracker's cycle releases it."""
    of = running(policy="tiers", charged=charged, streak=charged)

    decision = end(of, Failed(exit_code=1), diagnosis=diagnosis())

    left, retry = after(decision), only(decision, Retry)
    assert (left.status, left.waits_for, left.due_at, left.ready) == ("failed", TRACKER, NOW + wait, False)
    assert retry.delay_ms == wait


def test_the_third_failure_waits_for_the_cycle_that_triages_it() -> None:
    """The engine starts no triage by itself."""
    decision = end(running(policy="tiers", charged=2, streak=2), Failed(exit_code=1), diagnosis=diagnosis())

    left = after(decision)
    assert (left.status, left.waits_for, left.wants_triage, left.due_at) == ("failed", TRACKER, False, None)
    assert decision.first(Retry) is None


def test_after_noop_an_issue_waits_for_eight_hours() -> None:
    """Exactly, and for its tracker."""
    found = judged(case(waiting(policy="tiers")), says("NOOP"))
    left = after(found.decision)

    assert (left.status, left.waits_for, left.due_at) == ("failed", TRACKER, NOW + 8 * HOUR)


def test_an_adjusted_issue_is_cleared_at_once() -> None:
    """It has waited for its triage."""
    found = judged(case(waiting(policy="tiers")), says("ADJUST", adjust=Adjustment(guidance="other words")))

    assert (after(found.decision).status, after(found.decision).ready) == ("pending", True)


def test_an_issue_that_a_command_works_on_can_be_split() -> None:
    """Its parts wait until the tracker has them all."""
    of = waiting(policy="tiers")
    found = judged(case(of), says("SPLIT"))

    assert "SPLIT" in rights.allowed(of, descendants=0, depth=0)
    assert found.action == "split"
    assert [each.change.after.waits_for for each in new(found.decision)] == [TRACKER, TRACKER]
