"""Work and checks as one errand elsewhere: what its worker reports when it is told to stop."""

from __future__ import annotations

from pathlib import Path

import pytest

from medbay.core.model import Check
from medbay.core.outcome import Cancelled, Failed, Outcome, Requeued, Succeeded, TimedOut
from medbay.core.redaction import Redaction
from medbay.engine.errand import Errand
from medbay.places.here import Here
from medbay.places.protocol import Launch
from tests.runners.driving import launch
from tests.worlds import NoLeftovers, ScriptedRunner, ScriptedRunning, failed

WHY = "its worker is stopping"


class EndedBefore(ScriptedRunning):
    """One that ended in the moment before anybody asked it to."""

    def cancel(self, monotonic_s: float) -> None:
        """Too late."""

    def hand_back(self, monotonic_s: float, *, why: str) -> None:
        """Too late."""


class Runner(ScriptedRunner):
    """Everything it starts has ended."""

    def start(self, launch: Launch, monotonic_s: float) -> ScriptedRunning:
        """With the next outcome of the script."""
        return EndedBefore(launch, super().start(launch, monotonic_s).outcome)


def reported(tmp_path: Path, outcome: Outcome, *checks: Check, cancelled: bool = False) -> Outcome:
    """What is told of work that ended like this just before its worker was stopped, or it was cancelled."""
    order = launch(tmp_path, "work", checks=checks)
    place = Here({"shell": Runner({"work": [outcome]})}, NoLeftovers())
    errand = Errand(order, place, host="far", redaction=Redaction(), now_ms=lambda: 0, monotonic_s=0.0)

    if cancelled:
        errand.cancel(0.0)
    else:
        errand.hand_back(0.0, why=WHY)
    report = errand.poll(0.0)

    assert report is not None
    return report.outcome


@pytest.mark.parametrize("outcome", [failed("Retry-After: 3600"), TimedOut(limit_s=5), Cancelled()])
def test_a_failure_that_came_before_the_stop_is_told_as_it_is(tmp_path: Path, outcome: Outcome) -> None:
    """A time that it names, above all: what is handed back is started again at once."""
    told = reported(tmp_path, outcome, Check(command="lint"))

    assert type(told) is type(outcome)
    assert not isinstance(told, Failed) or "Retry-After" in told.output.tail


def test_work_that_was_done_before_the_stop_is_handed_back_only_where_it_was_to_be_checked(tmp_path: Path) -> None:
    """Without its checks it says nothing; with none to come it is done."""
    unchecked = reported(tmp_path, Succeeded(), Check(command="lint"))
    done = reported(tmp_path, Succeeded())

    assert unchecked == Requeued(asked=False, why=WHY, output=unchecked.output)
    assert isinstance(done, Succeeded)


def test_work_that_was_done_before_its_cancel_is_not_checked_any_more(tmp_path: Path) -> None:
    """Without checks it is done, as on this machine."""
    unchecked = reported(tmp_path, Succeeded(), Check(command="lint"), cancelled=True)
    done = reported(tmp_path, Succeeded(), cancelled=True)

    assert isinstance(unchecked, Cancelled)
    assert isinstance(done, Succeeded)
