"""What is known of a failure, from records alone."""

from __future__ import annotations

from msgspec.structs import replace

from medbay.core.attempt.knowledge import Advice, Known, Teaching
from medbay.core.durations import iso
from medbay.views import pattern as view
from tests.views.records import MINUTE, NOW

KNOWN = Known(
    fingerprint="transient:a1b2",
    category="transient",
    subcategory="network",
    summary="no route",
    count=3,
    tasks=2,
    first_seen=NOW - MINUTE,
    last_seen=NOW,
    advice=(Advice("page size 50", 7, 6), Advice("wait", 2, 0)),
)


def test_the_best_advice_comes_with_its_record() -> None:
    """Advice that never worked is not offered."""
    assert view.best(KNOWN) == "page size 50 (worked 6 of 7 times)"
    assert view.best(replace(KNOWN, advice=(Advice("wait", 2, 0),))) == ""
    assert view.rate(KNOWN.advice[0]) == " 85 %  (worked 6 of 7 times)"


def test_what_is_known_is_said_in_one_sentence() -> None:
    """How often, where, since when, who said what it is, what worked."""
    taught = replace(KNOWN, taught=Teaching("unknown", "auth", "person:ada", NOW))

    assert view.seen(taught, iso) == (
        "transient:a1b2 was seen 3 times on 2 tasks since 2027-01-15T07:59:00.000Z; person:ada says it is unknown/auth"
        "; what worked: page size 50 (worked 6 of 7 times)"
    )


def test_a_taught_category_is_the_one_that_counts() -> None:
    """What the rules said stands beside it."""
    made = view.as_json(replace(KNOWN, taught=Teaching("unknown", "auth", "person:ada", NOW)))

    assert (made["category"], made["subcategory"], made["diagnosed"]) == ("unknown", "auth", "transient/network")
    assert made["advice"][0] == {"advice": "page size 50", "given": 7, "cured": 6, "rate": 0.857}


def test_tasks_that_are_not_named_are_counted() -> None:
    """`k7f2 and 1 more`."""
    assert dict(view.sentences(KNOWN, ["k7f2"], iso))["tasks"] == "k7f2 and 1 more"
