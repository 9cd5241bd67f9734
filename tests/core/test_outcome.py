"""What an attempt left behind, as one text for the diagnosis."""

from __future__ import annotations

from medbay.core.outcome import Output


def test_a_short_log_is_not_repeated() -> None:
    """Head and tail of a short log are the same bytes."""
    assert Output(head="all of it", tail="all of it", total_bytes=9).text() == "all of it"


def test_a_long_log_is_its_two_ends() -> None:
    """With a mark where the middle was."""
    assert Output(head="first", tail="last", total_bytes=50_000).text() == "first\n[...]\nlast"


def test_a_log_without_a_head_is_its_tail() -> None:
    """Nothing is invented before it."""
    assert Output(tail="last", total_bytes=50_000).text() == "last"


def test_lengths_are_counted_in_bytes_not_in_characters() -> None:
    """Half a surrogate pair included: the count never raises."""
    assert Output(head="ä", tail="ä\ud800", total_bytes=3).text() == "ä\ud800"
