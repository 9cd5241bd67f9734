"""Any input is normal input: bounded work, never an exception, the same answer twice."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medbay.core.diagnosis.rules import RULES
from medbay.core.diagnosis.text import HEAD_CHARS, TAIL_CHARS, clean
from tests.core.diagnosis.samples import why
from tests.properties import examples

RUNS = itertools.count()
EXAMPLES = [hit for one in RULES for hit in one.hits]
PIECES = st.one_of(
    st.text(max_size=80),
    st.sampled_from(EXAMPLES),
    st.sampled_from(["\r", "\n", "\x00", "\x1b[31m", "\u202e", "\ufeff", " ", "at ", "error: ", ":3:5: ", "1 failed"]),
)
TEXTS = st.lists(PIECES, max_size=12).map("".join)


@examples(150)
@given(text=TEXTS, exit_code=st.none() | st.integers(-64, 255), result=st.none() | st.dictionaries(
    st.sampled_from(["category", "type", "message", "traceback", "retry_after", "summary"]),
    st.none() | st.text(max_size=30) | st.integers() | st.floats() | st.booleans(), max_size=4))  # fmt: skip
def test_no_text_makes_it_raise_and_the_answer_is_the_same_twice(
    text: str, exit_code: int | None, result: dict[str, Any] | None
) -> None:
    """Fuzzed with pieces of real messages."""
    first = why(text, exit_code=exit_code, result=result, runner="one")

    assert first == why(text, exit_code=exit_code, result=result, runner="two")
    assert first == why(text, exit_code=exit_code, result=result, runner="one")
    assert 0.5 <= first.confidence <= 1.0
    assert "\n" not in first.summary


@examples(100)
@given(data=st.binary(max_size=400))
def test_no_bytes_make_it_raise(data: bytes) -> None:
    """Invalid UTF-8 and NULs."""
    assert why(data, runner="one") == why(data, runner="two")


def test_utf_16_is_read() -> None:
    """Its NULs are dropped."""
    assert why("error: connection refused".encode("utf-16")).category == "transient"


def test_colours_marks_and_progress_are_cleaned_away() -> None:
    """ANSI, carriage returns, right-to-left marks, stamps of CI logs, frames drawn around messages."""
    text = "\x1b[31m\u202econnection\x1b[0m refused\r 10%\r\n2026-08-15T10:00:00.123Z ok \x00\n│ Error: İ\n"

    assert clean(text).body == "connection refused\n 10%\nok \nError: I\n"


def test_long_lines_keep_their_ends() -> None:
    """The middle of a very long line says nothing."""
    body = clean("a" * 3_000 + "error: connection refused").body

    assert len(body) < 2_100
    assert body.endswith("connection refused")


def test_a_text_added_by_the_result_stands_at_the_end() -> None:
    """A Python task's traceback comes after its output."""
    assert clean("output", "added").body == "output\nadded"


@pytest.mark.parametrize("huge", [b"x" * 100_000_000, b"error: connection refused\n" * 4_000_000])
def test_a_hundred_megabytes_cost_no_more_than_the_window(huge: bytes) -> None:
    """Within 100 ms of CPU: head and tail are taken before anything else."""
    why(huge[: HEAD_CHARS + TAIL_CHARS])  # compile what it needs

    start = time.process_time()
    why(huge)

    assert time.process_time() - start < 0.1


HOSTILE: dict[str, Callable[[int], str]] = {
    "one long word": lambda n: "a" * n,
    "one long path": lambda n: "a/" * (n // 2),
    "dotted": lambda n: "a." * (n // 2),
    "digits": lambda n: "1" * n,
    "colons": lambda n: "a.b:1" * (n // 5),
    "spaces": lambda n: " " * n + "x",
    "quotes": lambda n: "File \"" * (n // 6),
    "brackets": lambda n: "(" * n,
    "escapes": lambda n: "\x1b[" * (n // 2),
    "errors": lambda n: "error " * (n // 6),
    "failed": lambda n: "1 failed " * (n // 9),
    "timeouts": lambda n: "job timed " * (n // 10),
    "could not find": lambda n: "could not find a " * (n // 17),
    "retry in": lambda n: "rate limit retry in 1s 2m " * (n // 26),
    "frames": lambda n: "\n    at f (a.js:1:1)" * (n // 20),
    "blank lines": lambda n: "\n" * n,
    "status": lambda n: "status code " * (n // 12) + "503",
    "no a, b": lambda n: "no " + "x, " * (n // 3),
}  # fmt: skip


@pytest.mark.parametrize("shape", HOSTILE)
def test_time_grows_no_faster_than_the_text(shape: str) -> None:
    """Eight times the text takes at most about eight times as long: no pattern backtracks its way out."""
    small, large = HOSTILE[shape](2_000), HOSTILE[shape](16_000)
    why(small), why(large)  # compile what they need

    ratio = _cost(large) / max(_cost(small), 1e-4)

    assert ratio < 8 * 4, f"{shape}: {ratio:.1f} times"


def _cost(text: str) -> float:
    """The least CPU time of three runs."""
    times = []
    for _ in range(3):
        start = time.process_time()
        why(text, runner=f"run-{next(RUNS)}")  # so that it is read again, not remembered
        times.append(time.process_time() - start)
    return min(times)
