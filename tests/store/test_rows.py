"""JSON as it is stored: what is written is read back the same, whatever wrote it and whatever is in it."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from medbay.core.diagnosis import diagnose
from medbay.store.rows import diagnosis, dumps, dumps_any, encode_diagnosis, loads
from tests.worlds import START_MS

TEXTS = some.text(some.characters(), max_size=20)  # halves of surrogate pairs and control characters are among them
FINITE = some.none() | some.booleans() | some.integers() | some.floats(allow_nan=False, allow_infinity=False) | TEXTS
VALUES = some.recursive(
    FINITE, lambda inner: some.lists(inner, max_size=4) | some.dictionaries(TEXTS, inner, max_size=4), max_leaves=20
)


def by_the_library(value: Any) -> str:
    """As every version before wrote it."""
    return json.dumps(value, separators=(",", ":"), sort_keys=True, default=str)


@given(VALUES)
def test_what_is_written_is_read_back_the_same(value: Any) -> None:
    """Texts of any kind, numbers of any size."""
    assert loads(dumps(value)) == loads(dumps_any(value)) == value
    assert dumps(value).isascii()


@given(VALUES)
def test_what_an_older_version_wrote_is_read_as_before(value: Any) -> None:
    """By the library's own decoder."""
    text = by_the_library(value)

    assert loads(text) == json.loads(text)
    assert dumps_any(value) == text


@pytest.mark.parametrize("value", ["\udc80", {"\udc80": 1}, "é", {1: "one"}, {None: 1}, 2**70, -(2**70), {}, [], ""])
def test_odd_values_are_written_as_the_library_writes_them(value: Any) -> None:
    """Letter by letter."""
    assert dumps(value) == by_the_library(value)


def test_keys_are_in_order_and_what_is_no_json_is_text() -> None:
    """Two writers of one value write one text."""
    assert dumps({"b": (1, 2), "a": {"d": 1, "c": START_MS}}) == '{"a":{"c":1800000000000,"d":1},"b":[1,2]}'
    assert dumps({"error": ValueError("odd")}) == '{"error":"odd"}'


@pytest.mark.parametrize("value", [math.inf, -math.inf])
def test_what_a_program_returned_keeps_its_infinities(value: float) -> None:
    """And NaN, which is not equal to itself."""
    assert loads(dumps_any({"value": [value]})) == {"value": [value]}
    assert math.isnan(loads(dumps_any(math.nan)))


@pytest.mark.parametrize("name", ["key", "ключ"])
def test_a_diagnosis_is_stored_whole(name: str) -> None:
    """With its place and what else was considered, whichever encoder writes it."""
    now = datetime.fromtimestamp(START_MS / 1000, tz=UTC)
    trace = f'Traceback (most recent call last):\n  File "a.py", line 3, in f\nKeyError: {name!r}'
    found = diagnose(trace, now=now, exit_code=1)

    text = encode_diagnosis(found)

    assert text is not None
    assert diagnosis(text) == found
    assert found.location is not None
    assert encode_diagnosis(None) is None
