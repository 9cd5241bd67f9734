"""A diagnosis in sentences, from records alone."""

from __future__ import annotations

from msgspec.structs import replace

from medbay.core.diagnosis.record import RunnerUp
from medbay.views import diagnosis as view
from tests.views.records import NOW, diagnosis


def test_a_diagnosis_is_said_under_labels() -> None:
    """What is not known has no line."""
    said = dict(view.sentences(diagnosis()))

    assert said["cause"].startswith("transient/network ")
    assert "where" not in said
    assert said["retry"] == "uses up no attempt"


def test_a_named_time_is_said_first() -> None:
    """The retry waits for it."""
    said = dict(view.sentences(replace(diagnosis(), retry_after_ms=NOW)))

    assert said["retry"] == "not before 2027-01-15T08:00:00.000Z, uses up no attempt"


def test_doubt_is_said_with_what_else_it_may_be() -> None:
    """Below 0.8, where a person would not be asked at once."""
    unsure = replace(
        diagnosis(), confidence=0.7, runners_up=(RunnerUp("missing.file", "dependency_missing", None, 0.9),)
    )

    assert "doubt" not in dict(view.sentences(replace(diagnosis(), confidence=0.8)))
    said = dict(view.sentences(unsure))["doubt"]
    assert said == "not sure that it is transient/network (0.70): it may also be dependency_missing"
