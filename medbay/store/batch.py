"""Statements of one transaction that wait, so that each runs once for many sets of values instead of many times.

Order is kept where it matters: what one decision writes is never turned round. Decisions about different tasks
commute, so the same statement of several decisions is run together. A reader has everything written first.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

from medbay.errors import StaleClaim

Values = Sequence[Any]
# Runs statements in their order, each once for each set of values; how many rows each changed in all.
RunAll = Callable[[Sequence[tuple[str, Sequence[Values]]]], Sequence[int]]


class Together:
    """The statements that wait, in the order they will run."""

    __slots__ = ("_newest", "_steps", "floor")

    def __init__(self) -> None:
        self._steps: list[tuple[str, list[Values], str]] = []
        self._newest: dict[str, int] = {}  # where a statement waits last
        self.floor = 0  # what the decision being written has used: nothing of it may run before; 0 for another one

    def add(self, sql: str, values: Values, *, stale: str = "") -> None:
        """Let a statement wait; `stale` says what went wrong if it does not change one row each time."""
        place = self._newest.get(sql, -1)
        if place < self.floor:
            place = self._newest[sql] = len(self._steps)
            self._steps.append((sql, [], stale))
        self.floor = place
        self._steps[place][1].append(values)

    def run(self, run_all: RunAll) -> None:
        """Run all that wait; raises StaleClaim when something had moved meanwhile."""
        steps = self.taken()
        if not steps:
            return
        changed = run_all([(sql, values) for sql, values, _ in steps])
        for rows, (_, values, stale) in zip(changed, steps, strict=True):
            if stale and rows != len(values):
                raise StaleClaim(stale, hint="try again")

    def taken(self) -> list[tuple[str, list[Values], str]]:
        """All that wait, which from here on the caller runs."""
        steps, self._steps = self._steps, []
        self._newest.clear()
        self.floor = 0
        return steps


class Putting(ABC):
    """The part of a transaction that lets statements wait; the same on every database."""

    waits: ClassVar[tuple[str, ...]] = ("put",)  # what lets statements wait inside `together`

    def __init__(self) -> None:
        self._waiting: Together | None = None

    @abstractmethod
    def execute(self, sql: str, params: Values = ()) -> int:
        """Run a statement; how many rows it changed."""

    @abstractmethod
    def _run_all(self, steps: Sequence[tuple[str, Sequence[Values]]]) -> Sequence[int]:
        """Run statements once for each of their sets of values, now; how many rows each changed in all."""

    def execute_many(self, sql: str, params: Iterable[Values]) -> int:
        """Run a statement once for each set of values; how many rows it changed in all."""
        self._write_waiting()
        (changed,) = self._run_all([(sql, list(params))])
        return changed

    def put(self, sql: str, params: Values, *, stale: str = "") -> None:
        """Run a statement now, or with others like it; with `stale` it has to change one row."""
        if self.execute(sql, params) != 1 and stale:
            raise StaleClaim(stale, hint="try again")

    @contextmanager
    def together(self) -> Iterator[None]:
        """What is put inside runs once for many."""
        self._waiting = Together()
        for name in self.waits:  # no call in between: a round puts many hundreds
            vars(self)[name] = self._waiting.add
        try:
            yield
            self._write_waiting()
        finally:
            self._waiting = None
            for name in self.waits:
                del vars(self)[name]

    def begin_decision(self) -> None:
        """What is put from here on belongs to another decision."""
        if self._waiting is not None:
            self._waiting.floor = 0

    def _write_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.run(self._run_all)
