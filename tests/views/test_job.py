"""What is said of the jobs of a file: signs, words, differences, and their JSON."""

from __future__ import annotations

import pytest

from medbay.core.jobs import JobAction, JobChange
from medbay.errors import NotAllowed
from medbay.views import job


@pytest.mark.parametrize(
    ("action", "sign", "word"),
    [
        ("add", "+", "added"),
        ("change", "~", "changed"),
        ("keep", "=", "unchanged"),
        ("cancel", "-", "cancelled"),
        ("refuse", "!", "refused"),
    ],
)
def test_each_action_has_a_sign_and_a_word(action: JobAction, sign: str, word: str) -> None:
    """As in a difference."""
    change = JobChange(name="a", action=action)

    assert (job.mark(change), job.word(change)) == (sign, word)


def test_a_difference_has_both_values() -> None:
    """Under the names of options, cut where they are long; of variables and long texts only that they differ."""
    change = JobChange(
        name="a",
        action="change",
        changed={
            "timeout_ms": (60_000, None),
            "command": ("x" * 100, ("make", "all")),
            "env": ((("A", "secret"), ("B", "2")), (("B", "2"), ("C", "3"))),
            "spec": ("long", "longer"),
            "priority": (2, 0),
        },
    )

    said = job.details(change)

    assert "timeout 1m -> none" in said and "priority 2 -> 0" in said
    assert "run " + "x" * 59 + "… -> make all" in said
    assert "env A, C" in said and "secret" not in said
    assert "spec;" in said and "longer" not in said
    assert job.as_json(change)["changed"] == ["env", "priority", "run", "spec", "timeout"]


def test_a_refusal_says_why() -> None:
    """With what to do."""
    change = JobChange(name="a", action="refuse", line=3, error=NotAllowed("it has completed", hint="rename it"))

    assert job.details(change) == "it has completed; rename it"
    assert job.as_json(change)["why"] == "it has completed"
