"""A text that was diagnosed before: the same answer at once, with the clock of this call, and a bounded memory."""

from __future__ import annotations

import time
from datetime import timedelta

from medbay.core.diagnosis import diagnose
from medbay.core.diagnosis.engine import KEPT_MAX, Memory, Remembered
from tests.core.diagnosis.samples import NOW, why


def test_a_text_seen_before_is_not_read_again() -> None:
    """The very same diagnosis; other facts or another runner are another question."""
    text = "src/app.ts(45,12): error TS2304: Cannot find name 'seen'"

    assert why(text) is why(text)
    assert why(text, exit_code=2) is not why(text)
    assert why(text, runner="claude") is not why(text)


def test_the_time_it_names_is_read_with_the_clock_of_each_call() -> None:
    """`try again in 20s` means 20 seconds from now, each time."""
    text = "Rate limit reached. Please try again in 20s."
    first, later = (diagnose(text, now=NOW + timedelta(minutes=after), exit_code=1) for after in (0, 5))

    assert first.retry_after_ms is not None
    assert later.retry_after_ms == first.retry_after_ms + 5 * 60_000


def test_the_memory_is_bounded_and_forgets_the_oldest() -> None:
    """A fleet with a million different failures does not fill the machine."""
    memory, known = Memory(), Remembered(why("x"), "")
    for number in range(KEPT_MAX + 3):
        memory.keep(number, known)

    assert [memory.get(number) is not None for number in (0, 2, 3, KEPT_MAX + 2)] == [False, False, True, True]


def test_a_text_seen_before_takes_a_small_part_of_the_time() -> None:
    """A ratio, so that a busy machine does not matter."""
    text = "\n".join(f"step {number}: error {number} in module_{number}" for number in range(200))

    def cost(runner: str) -> float:
        began = time.process_time()
        for _ in range(20):
            why(text, runner=runner)
        return time.process_time() - began

    fresh = min(_once(text, f"fresh-{number}") for number in range(5))

    assert min(cost("seen") for _ in range(3)) / 20 < fresh / 3


def _once(text: str, runner: str) -> float:
    began = time.process_time()
    why(text, runner=runner)
    return time.process_time() - began
