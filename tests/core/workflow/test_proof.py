"""Evidence at the gate."""

from __future__ import annotations

import pytest

from medbay.core.workflow.proof import judged, refusal
from medbay.core.workflow.records import EvidenceEntry

A, B = "a" * 64, "b" * 64


def entry(hash_: str = A, path: str = "x.txt") -> EvidenceEntry:
    return EvidenceEntry(criterion=1, shows="it works", path=path, phase="implement", hash=hash_)


@pytest.mark.parametrize(
    ("entries", "hashes", "why"),
    [
        ([entry()], {"x.txt": A}, ""),
        ([], {}, "nothing shows it"),
        ([entry()], {"x.txt": B}, "x.txt changed since implement recorded it"),
        ([entry()], {}, "x.txt is not there"),
        ([entry("")], {"x.txt": ""}, "x.txt is not there"),
        ([entry(path="old.txt"), entry(B)], {"old.txt": A, "x.txt": A}, ""),
        ([entry(path="old.txt"), entry(B)], {"x.txt": A}, "x.txt changed since implement recorded it"),
    ],
)
def test_a_criterion_needs_an_entry_whose_hash_matches(
    entries: list[EvidenceEntry], hashes: dict[str, str | None], why: str
) -> None:
    """One that matches is enough; otherwise the newest says why not."""
    (found,) = judged(["it works"], entries, hashes)

    assert (found.shown, found.why) == (not why, why)


def test_the_refusal_names_every_criterion_that_is_not_shown() -> None:
    """In their order, with their words."""
    found = judged(["one", "two", "three"], [entry()], {"x.txt": A})

    assert refusal(found) == "criterion 2 (two): nothing shows it; criterion 3 (three): nothing shows it"
    assert refusal(found[:1]) == ""
