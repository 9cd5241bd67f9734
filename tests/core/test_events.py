"""The names of all events, written here a second time from the specification."""

from __future__ import annotations

from medbay.core.events import EVENT_NAMES, exists

# The first names, then those that came with questions, holds, gates and workers.
OBSERVED = """
    task:created task:started task:completed task:failed task:retry_scheduled task:retry_executed
    task:retry_exhausted task:recovery_action task:escalated task:spec_refresh_requested task:permanently_blocked
    task:blocked task:unblocked task:paused task:resumed task:cancelled task:rescued triage:started triage:verdict
    triage:refused breaker:opened breaker:closed incident:opened incident:closed budget:warning budget:exceeded
    capture:ready
"""
FURTHER = """
    task:verifying task:lost task:requeued task:iteration_done task:retry_cancelled question:asked
    question:answered hold:placed hold:released question:withdrawn task:edited task:cancel_requested
    task:reclassified task:occurrences_skipped triage:failed breaker:half_open clock:jumped worker:started
    worker:stopped worker:lost workorder:created workorder:executed workorder:passed workorder:failed gate:passed
    gate:failed gate:error story:moved phase:started phase:ended delivery:failed delivery:restored agent:asked
    task:assessed task:rolled_back place:away place:back
"""


def test_there_are_exactly_the_events_of_the_specification() -> None:
    """No others: readers rely on the list."""
    assert set((OBSERVED + FURTHER).split()) == EVENT_NAMES


def test_a_move_is_an_event_of_every_kind_that_has_a_lifecycle() -> None:
    """But a task says what happened to it in words of its own."""
    assert all(exists(f"{kind}:moved") for kind in ("story", "workorder", "capture", "candidate"))
    assert exists("task:created")
    assert not any(exists(name) for name in ("task:moved", "cup:moved", "task:danced", "moved"))
