"""Issues and the workflows that their tags start."""

from __future__ import annotations

import pytest

from medbay.core.tracker.issue import Issue, checked_id, in_order, workflow_of
from medbay.errors import UsageError


@pytest.mark.parametrize("given", ["demo-a1b", "demo-a1b.2", "owner/repo#12", "PROJ-7", "a"])
def test_an_id_is_taken_as_it_is(given: str) -> None:
    """Of every tracker."""
    assert checked_id(given) == given


@pytest.mark.parametrize("given", ["", "  ", "--help", "; rm -rf /", "a\nb", "../x", "a b", "x" * 200])
def test_what_is_no_id_is_refused(given: str) -> None:
    """Before anything runs."""
    with pytest.raises(UsageError):
        checked_id(given)


@pytest.mark.parametrize(
    ("issue", "name"),
    [
        (Issue(id="a", title="x", labels=("ui", "implement_close")), "implement_close"),
        (Issue(id="a", title="x", labels=("{implement_verify_close}",)), "implement_verify_close"),
        (Issue(id="a", title="{implement_close} x", description="{implement_verify_close}"), "implement_close"),
        (Issue(id="a", title="x", description="do it {implement_close}"), "implement_close"),
        (Issue(id="a", title="{triage}", labels=("triage", "story")), None),
        (Issue(id="a", title="implement_close"), None),
        (Issue(id="a", title="{implement_close}", trusted=False), None),
        (Issue(id="a", title="x", labels=("implement_close",), trusted=False), "implement_close"),
    ],
)
def test_a_tag_is_read_from_labels_then_title_then_description(issue: Issue, name: str | None) -> None:
    """Only those that may be dispatched count."""
    found = workflow_of(issue)

    assert (found.name if found else None) == name


def test_the_most_urgent_comes_first_then_the_oldest() -> None:
    """Whatever the order of the tracker."""
    late = Issue(id="a", title="x", priority=1, created_at="2026-02-01")
    early = Issue(id="b", title="x", priority=1, created_at="2026-01-01")
    other = Issue(id="c", title="x", priority=2, created_at="2025-01-01")

    assert in_order([other, late, early]) == [early, late, other]
