"""The names of all events. A name that is not here does not exist."""

from __future__ import annotations

from typing import Final

from medbay.core.lifecycles import LIFECYCLES

EVENT_NAMES: Final = frozenset(
    """
    task:created task:started task:completed task:failed task:retry_scheduled task:retry_executed
    task:retry_exhausted task:retry_cancelled task:recovery_action task:escalated task:spec_refresh_requested
    task:permanently_blocked task:blocked task:unblocked task:paused task:resumed task:cancelled task:rescued
    task:verifying task:lost task:requeued task:iteration_done task:edited task:cancel_requested
    task:reclassified task:occurrences_skipped task:assessed task:rolled_back
    triage:started triage:verdict triage:refused triage:failed
    breaker:opened breaker:half_open breaker:closed incident:opened incident:closed hold:placed hold:released
    budget:warning budget:exceeded question:asked question:answered question:withdrawn
    capture:ready workorder:created workorder:executed workorder:passed workorder:failed
    gate:passed gate:failed gate:error story:moved phase:started phase:ended
    agent:asked
    worker:started worker:stopped worker:lost place:away place:back clock:jumped delivery:failed delivery:restored
    """.split()
)


def exists(name: str) -> bool:
    """Whether there is such an event: one of the list, or `KIND:moved` of a kind of record that has a lifecycle."""
    kind, _, what = name.partition(":")
    return name in EVENT_NAMES or (what == "moved" and kind in LIFECYCLES and kind != "task")
