"""Tasks that run once per boot: they wait for the next start of their machine, and every start runs or is told."""

from __future__ import annotations

from typing import Any

import pytest

from medbay.core import rules
from medbay.core.decision import Decision
from medbay.core.model import BOOT, Task
from medbay.core.outcome import Requeued, Succeeded
from medbay.core.rules import Edit
from medbay.core.schedule import cron, occurrences
from tests.core.builders import DAY, HOUR, MINUTE, NOW, PERSON, after, claimed, diagnosis, end, task, told
from tests.worlds import failed

REBOOT: dict[str, Any] = {"cron": cron.REBOOT, "zone": "UTC"}


def added(**given: Any) -> Task:
    """A new task that runs once per boot."""
    return after(rules.on_added(task(ready=False, ready_at=None, created_at=NOW, **REBOOT, **given), NOW))


def booted(of: Task, at: int) -> Decision:
    """What follows when its machine was started at a moment."""
    return rules.on_booted(of, at + MINUTE, at=at)


def skipped(decision: Decision) -> str:
    """Why a boot did not run it."""
    return str(told(decision, "task:occurrences_skipped").data["reason"])


def test_a_new_one_waits_for_the_next_boot() -> None:
    """Nothing is planned, and nothing wakes it but a boot."""
    new = added()

    assert (new.ready, new.waits_for, new.due_at) == (False, BOOT, None)
    assert cron.next_fire(cron.REBOOT, "UTC", NOW) is None
    cron.check(cron.REBOOT, "UTC", NOW)


def test_a_boot_releases_it_and_its_end_lets_it_wait_again() -> None:
    """Round and round."""
    ready = after(booted(added(), NOW + HOUR))
    assert ready.ready and ready.planned_at == NOW + HOUR

    again = after(end(claimed(ready), Succeeded(), now=NOW + 2 * HOUR))

    assert (again.status, again.ready, again.waits_for) == ("pending", False, BOOT)
    assert again.iterations_done == 1
    assert after(booted(again, NOW + DAY)).ready


def test_after_a_failure_it_is_tried_again_without_a_boot() -> None:
    """Soon, and it waits for a boot again once it succeeded."""
    broken = after(end(claimed(after(booted(added(), NOW + HOUR))), failed(), now=NOW + HOUR, diagnosis=diagnosis()))
    assert broken.status == "failed" and broken.due_at is not None
    assert broken.due_at - NOW - HOUR < 5 * MINUTE
    assert occurrences.base_ms(broken, NOW) == MINUTE

    ready = after(rules.on_due(broken, broken.due_at, actor="engine"))
    again = after(end(claimed(ready), Succeeded(), now=broken.due_at + 1))

    assert ready.ready
    assert again.waits_for == BOOT


def test_an_attempt_that_is_handed_back_needs_no_other_boot() -> None:
    """The boot it began for still counts."""
    back = after(end(claimed(after(booted(added(), NOW + HOUR))), Requeued(asked=False, why="stopped"), now=NOW + HOUR))

    assert back.ready and back.waits_for is None


def test_a_boot_while_it_stands_still_is_told() -> None:
    """Paused, blocked, failed or running."""
    paused = after(rules.on_pause_command(added(), NOW, actor=PERSON))
    blocked = after(rules.on_block_command(added(), NOW, actor=PERSON, kind="external", reason="x", timeout_ms=HOUR))
    running = claimed(after(booted(added(), NOW + HOUR)))

    assert skipped(booted(paused, NOW + DAY)) == "paused"
    assert skipped(booted(blocked, NOW + DAY)) == "blocked"
    assert skipped(booted(running, NOW + DAY)) == "overlap"


@pytest.mark.parametrize("pausing", [True, False])
def test_who_was_stopped_goes_on_waiting_for_a_boot(pausing: bool) -> None:
    """After a pause and after a block."""
    if pausing:
        held = after(rules.on_pause_command(added(), NOW, actor=PERSON))
        free = after(rules.on_resume_command(held, NOW + 1, actor=PERSON))
    else:
        held = after(rules.on_block_command(added(), NOW, actor=PERSON, kind="human", reason="x", timeout_ms=HOUR))
        free = after(rules.on_unblock_command(held, NOW + 1, actor=PERSON))

    assert (free.status, free.waits_for, free.ready) == ("pending", BOOT, False)


def test_a_person_runs_it_by_hand() -> None:
    """At once, and it waits for the next boot afterwards."""
    forced = after(rules.on_retry_command(added(), NOW + 1, actor=PERSON))
    assert forced.ready

    assert after(end(claimed(forced), Succeeded(), now=NOW + 2)).waits_for == BOOT


def test_its_schedule_can_be_edited_both_ways() -> None:
    """From and to times of a clock."""
    by_clock = Edit(fields={"cron": "0 * * * *", "zone": "UTC"})
    hourly = after(rules.on_edit_command(added(), NOW + 1, actor=PERSON, edit=by_clock))
    back = after(rules.on_edit_command(hourly, NOW + 2, actor=PERSON, edit=Edit(fields=REBOOT)))

    assert hourly.waits_for is None and hourly.due_at is not None
    assert (back.waits_for, back.due_at, back.ready) == (BOOT, None, False)
