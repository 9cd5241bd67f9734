"""What was written for one attempt, written again for another one of which the rules say the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from medbay.core.decision import Decision
from medbay.core.outcome import Output
from medbay.store.apply import OUTPUT_SQL, apply, output_row
from medbay.store.database import Tx

Values = Sequence[Any]


class _Line(NamedTuple):
    """A statement that was put, and where its values name the task."""

    sql: str
    values: list[Any]
    stale: str | None  # the reason where it is checked that a row changed; None where it comes last
    places: list[int]


class _Noting:
    """A transaction that notes what is put. Whatever else it is asked for cannot be repeated without asking again."""

    def __init__(self, tx: Tx, task_id: str) -> None:
        self._tx = tx
        self._task_id = task_id
        self.now = tx.now
        self.begin_decision = tx.begin_decision
        self.lines: list[_Line] = []
        self.repeatable = True

    def put(self, sql: str, params: Values, *, stale: str = "") -> None:
        """Put it, and note it."""
        self._note(sql, params, stale)
        self._tx.put(sql, params, stale=stale)

    def execute_last(self, sql: str, params: Values) -> None:
        """The same for what is numbered at the end."""
        self._note(sql, params, None)
        self._tx.execute_last(sql, params)

    def __getattr__(self, name: str) -> Any:
        self.repeatable = False
        return getattr(self._tx, name)

    def _note(self, sql: str, params: Values, stale: str | None) -> None:
        id_, values = self._task_id, list(params)
        places = [place for place, value in enumerate(values) if value is id_]
        # A text that speaks of the task, or one that happens to, says nothing of others.
        naming = [value for value in values if isinstance(value, str) and id_ in value]
        if len(naming) != len(places) and sql != OUTPUT_SQL:
            self.repeatable = False
        self.lines.append(_Line(sql, values, stale, places))


class Written:
    """The rows of one decision, to be written for other tasks."""

    def __init__(self, lines: Sequence[_Line]) -> None:
        self._lines = lines

    def again(self, tx: Tx, task_id: str, ended: tuple[int, Output] | None = None) -> None:
        """Write them for this task, with the number and the output of the attempt of its own that ended."""
        tx.begin_decision()
        put, last = tx.put, tx.execute_last
        for sql, values, stale, places in self._lines:
            if sql is OUTPUT_SQL and ended is not None:
                put(sql, output_row(task_id, *ended), stale="")
                continue
            own = values.copy()
            for place in places:
                own[place] = task_id
            if stale is None:
                last(sql, own)
            else:
                put(sql, own, stale=stale)


def apply_noted(tx: Tx, decision: Decision, task_id: str) -> Written | None:
    """Save a decision about this task; what was written for it, unless that cannot be told from its id."""
    noting = _Noting(tx, task_id)
    apply(cast(Tx, noting), decision)
    return Written(noting.lines) if noting.repeatable else None
