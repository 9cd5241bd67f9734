"""Tasks that are added one after the other and say the same but for their own words.

What was checked, decided and encoded for one of them holds for the next; what is stored is what it would be alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from medbay.core import rules
from medbay.core.agent import Profile
from medbay.core.model import Task, changed
from medbay.env import Ids
from medbay.errors import NotAllowed, StaleClaim
from medbay.service import additions, requests
from medbay.service.additions import Assess
from medbay.service.free_ids import ID_TRIES
from medbay.service.requests import Defaults
from medbay.store import tasks
from medbay.store.apply import Arrival, insert_another
from medbay.store.database import Tx
from medbay.store.rows import task_row

_IDS_AT_ONCE: Final = 1023


class _Added(NamedTuple):
    """What was added last, and what it was asked with."""

    given: Mapping[str, Any]
    defaults: Defaults
    actor: str
    arrival: Arrival
    row: list[Any]


class Series:
    """Adds one task at a time, for one caller with the same agents throughout."""

    def __init__(self, ids: Ids, agents: Mapping[str, Profile]) -> None:
        self._ids = ids
        self._agents = agents
        self._last: _Added | None = None
        self._drawn = 0  # ids, when some were drawn last
        self._free: list[str] = []  # those of them that are left, the next one last

    def add(self, tx: Tx, given: Mapping[str, Any], *, defaults: Defaults, actor: str, assess: Assess = "off") -> Task:
        """Check what is asked for and store it; the same as `requests.new_task` and `additions.add`."""
        last = self._last
        if (
            last is not None
            and last.actor == actor
            and last.defaults == defaults
            and requests.says_the_same(last.given, given)
        ):
            return self._another(tx, last, **requests.own_words(given))
        self._last = None
        new = requests.new_task(given, now=tx.now, defaults=defaults, agents=self._agents)
        if not requests.is_repeatable(given, new):
            return additions.add(tx, new, ids=self._ids, actor=actor, assess=assess)
        arrival = additions.arrive(tx, new, ids=self._ids, actor=actor)
        self._last = _Added(given, defaults, actor, arrival, task_row(arrival.task))
        return arrival.task

    def _another(self, tx: Tx, last: _Added, *, title: str, command: tuple[str, ...] | str) -> Task:
        like = last.arrival
        for _ in range(ID_TRIES):
            task = changed(like.task, id=self._new_id(tx), title=title, command=command, created_at=tx.now)
            arrival = Arrival(*rules.on_added_alike(like.task, like.event, task))
            try:
                insert_another(tx, last.row, arrival)
                return arrival.task
            except StaleClaim:  # somebody else was given this id
                continue
        raise NotAllowed("no free task id was found", hint="try again")

    def _new_id(self, tx: Tx) -> str:
        """A new id that is almost certainly unused, not looked up: the insert notices.

        They rise: tasks that are ready in one moment run in the order of their ids, and what an engine writes about
        those that run together lies side by side in the store.
        """
        if not self._free:
            self._drawn = min(self._drawn * 2 + 1, _IDS_AT_ONCE)
            existing = tasks.how_many(tx, self._drawn)
            self._free = sorted({self._ids.task(existing) for _ in range(self._drawn)}, reverse=True)
        return self._free.pop()
