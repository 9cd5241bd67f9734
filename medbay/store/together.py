"""Statements of one transaction that wait, so that each runs once for many sets of values instead of many times.

Order is kept where it matters: what one decision writes is never turned round. Decisions about different tasks
commute, so the same statement of several decisions is run together. Whoever reads has everything written first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from medbay.errors import StaleClaim

Values = Sequence[Any]
RunMany = Callable[[str, Sequence[Values]], int]  # how many rows a statement changed in all


class Together:
    """The statements that wait, in the order they will run."""

    __slots__ = ("_floor", "_newest", "_steps")

    def __init__(self) -> None:
        self._steps: list[tuple[str, list[Values], str]] = []
        self._newest: dict[str, int] = {}  # where a statement waits last
        self._floor = 0  # what the decision being written has used: nothing of it may run before that

    def begin_decision(self) -> None:
        """From here on another decision writes, about other rows."""
        self._floor = 0

    def add(self, sql: str, values: Values, stale: str) -> None:
        """Let a statement wait; `stale` says what went wrong if it does not change one row each time."""
        place = self._newest.get(sql, -1)
        if place < self._floor:
            place = self._newest[sql] = len(self._steps)
            self._steps.append((sql, [], stale))
        self._floor = place
        self._steps[place][1].append(values)

    def run(self, run_many: RunMany) -> None:
        """Run all that wait; raises StaleClaim when something had moved meanwhile."""
        steps, self._steps = self._steps, []
        self._newest.clear()
        self._floor = 0
        for sql, values, stale in steps:
            changed = run_many(sql, values)
            if stale and changed != len(values):
                raise StaleClaim(stale, hint="try again")
