"""A task as a line of an export, from records alone."""

from __future__ import annotations

from msgspec.structs import replace

from medbay.core.model import Check
from medbay.views.exchange import as_line
from tests.views.records import NOW, TASK


def test_what_is_empty_is_left_out() -> None:
    """A line is as short as what was said."""
    made = as_line(TASK, [])

    assert made == {
        "id": "k7f2",
        "status": "pending",
        "title": "deploy docs",
        "run": "make docs",
        "priority": 2,
        "queue": "default",
    }


def test_checks_are_written_with_their_threshold() -> None:
    """The default of all of them is not."""
    checks = (Check("make test"), Check(("./audit.sh", "-q"), required=True))

    made = as_line(replace(TASK, checks=checks, threshold=0.75, due_at=NOW), ["m2xa"])

    assert (made["check"], made["required_check"]) == (["make test"], [["./audit.sh", "-q"]])
    assert (made["check_threshold"], made["check_timeout"]) == (0.75, "300000ms")
    assert (made["after"], made["at"]) == (["m2xa"], "2027-01-15T08:00:00.000Z")
    assert "check_threshold" not in as_line(replace(TASK, checks=checks), [])
