"""Durations and sizes: every accepted form, every refusal, and the laws between the two directions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medbay.core.durations import (
    MAX_DURATION_MS,
    MAX_SIZE_BYTES,
    format_duration,
    parse_duration,
    parse_size,
    write_duration,
)
from medbay.errors import UsageError

SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("50ms", 50),
        ("30s", 30 * SECOND),
        ("2m", 2 * MINUTE),
        ("8h", 8 * HOUR),
        ("1d", DAY),
        ("1h30m", 90 * MINUTE),
        ("1h 30m", 90 * MINUTE),
        ("1d2h3m4s5ms", DAY + 2 * HOUR + 3 * MINUTE + 4 * SECOND + 5),
        ("1d5ms", DAY + 5),
        ("90m", 90 * MINUTE),
        ("0s", 0),
        ("3650d", MAX_DURATION_MS),
    ],
)
def test_every_form_of_a_duration_is_read(text: str, ms: int) -> None:
    """The forms that the help and the errors promise."""
    assert parse_duration(text) == ms


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "5",
        "s",
        "-5s",
        "+5s",
        "5 s",
        " 5s",
        "5s ",
        "5s\n",
        "1.5h",
        "30m1h",
        "1s1s",
        "5S",
        "5w",
        "٣s",
        "1e3s",
    ],
)
def test_anything_else_is_refused_with_the_accepted_forms(text: str) -> None:
    """The error quotes the text and shows how to write it."""
    with pytest.raises(UsageError) as caught:
        parse_duration(text)

    assert f'"{text}"' in str(caught.value)
    assert "1h30m" in str(caught.value)


@pytest.mark.parametrize("text", ["3651d", "3650d1ms", "9" * 18 + "d"])
def test_a_duration_over_ten_years_is_refused(text: str) -> None:
    """A bound keeps every due time far from an overflow."""
    with pytest.raises(UsageError, match="at most 10 years"):
        parse_duration(text)


def test_a_long_text_is_not_quoted_whole() -> None:
    """An error stays one readable line."""
    with pytest.raises(UsageError) as caught:
        parse_duration("9" * 5_000 + "s")

    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0s"),
        (1, "1ms"),
        (850, "850ms"),
        (2 * SECOND, "2s"),
        (2 * SECOND + 60, "2s"),
        (4_850, "4.8s"),
        (12_345, "12s"),
        (4 * MINUTE + 12 * SECOND, "4m 12s"),
        (13 * MINUTE + 30 * SECOND, "13m 30s"),
        (3 * HOUR + 16 * MINUTE + 59 * SECOND, "3h 16m"),
        (DAY, "1d"),
        (DAY + 59 * MINUTE, "1d"),
        (400 * DAY + HOUR, "400d 1h"),
        (-252_000, "-4m 12s"),
    ],
)
def test_a_duration_is_shown_by_its_two_largest_units(ms: int, text: str) -> None:
    """What `list` and `explain` print."""
    assert format_duration(ms) == text


@pytest.mark.parametrize(("ms", "text"), [(0, "0s"), (90 * MINUTE, "1h30m"), (DAY + 1, "1d1ms")])
def test_a_duration_is_written_exactly(ms: int, text: str) -> None:
    """Every unit that is not nought, the largest first."""
    assert write_duration(ms) == text


@given(st.integers(0, MAX_DURATION_MS))
def test_writing_and_reading_a_duration_loses_nothing(ms: int) -> None:
    """`write_duration` is the exact inverse of `parse_duration`."""
    assert parse_duration(write_duration(ms)) == ms


@given(st.integers(10_000, MAX_DURATION_MS))
def test_what_is_shown_is_never_longer_than_the_truth(ms: int) -> None:
    """Cutting off loses less than one of the smaller unit shown, and can be read back."""
    shown = parse_duration(format_duration(ms))

    assert shown <= ms
    assert ms - shown < max(SECOND, ms // 20)


@given(st.text(max_size=30))
def test_a_hostile_text_gives_a_number_or_a_usage_error(text: str) -> None:
    """No other exception, and nothing out of bounds."""
    for parse, highest in ((parse_duration, MAX_DURATION_MS), (parse_size, MAX_SIZE_BYTES)):
        try:
            assert 0 <= parse(text) <= highest
        except UsageError:
            pass


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("1024", 1024),
        ("17B", 17),
        ("512M", 512 * 2**20),
        ("2G", 2 * 2**30),
        ("2g", 2 * 2**30),
        ("1.5GiB", 3 * 2**29),
        ("1.5 GiB", 3 * 2**29),
        ("100MB", 100_000_000),
        ("3KiB", 3072),
        ("3kB", 3000),
        ("1T", 2**40),
        ("1048576T", MAX_SIZE_BYTES),
    ],
)
def test_every_form_of_a_size_is_read(text: str, size: int) -> None:
    """One letter and `iB` count in 1024s, `B` after a letter in 1000s."""
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "M", "-1M", "1.M", ".5G", "1P", "1MiBs", "1 000", "1,5G", "inf", "٣M"])
def test_a_wrong_size_is_refused_with_the_accepted_forms(text: str) -> None:
    """The error quotes the text and shows how to write it."""
    with pytest.raises(UsageError) as caught:
        parse_size(text)

    assert f'"{text}"' in str(caught.value)
    assert "1.5GiB" in str(caught.value)


def test_a_size_beyond_any_machine_is_refused() -> None:
    """A bound keeps sizes inside what the operating system can be told."""
    with pytest.raises(UsageError, match="at most 1 EiB"):
        parse_size("1048577T")
