"""Ids that no task has."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Final

from medbay.env import Ids
from medbay.errors import NotAllowed
from medbay.store import tasks
from medbay.store.database import Tx

_IDS_AT_ONCE: Final = 256
ID_TRIES: Final = 100


def some(tx: Tx, ids: Ids, number: int) -> tuple[str, ...]:
    """This many unused ids."""
    return tuple(itertools.islice(fresh_ids(tx, ids), number))


def hopeful_ids(tx: Tx, ids: Ids) -> Iterator[str]:
    """A new id that is almost certainly unused, not looked up: for one task, whose insert notices. Then `fresh_ids`."""
    yield ids.task(tasks.how_many(tx))
    yield from fresh_ids(tx, ids)


def rising_ids(tx: Tx, ids: Ids, expected: int) -> Iterator[str]:
    """Unused new ids, as many as are expected in their order: what is ready in one moment runs in that of its ids."""
    free = fresh_ids(tx, ids)
    yield from sorted(itertools.islice(free, expected))
    yield from free


def fresh_ids(tx: Tx, ids: Ids) -> Iterator[str]:
    """Unused new ids; looked up several at a time once many are wanted."""
    given: set[str] = set()
    existing, tries, at_once = 0, 0, 1
    while tries < ID_TRIES:
        existing = max(existing, tasks.how_many(tx, at_once))
        drawn = dict.fromkeys(ids.task(existing + len(given)) for _ in range(at_once))
        free = drawn.keys() - given - tasks.taken(tx, list(drawn))
        given |= free
        yield from (each for each in drawn if each in free)
        if free:
            tries, at_once = 0, min(at_once * 2, _IDS_AT_ONCE)
        else:
            tries, existing = tries + 1, existing * 10 + 1_000  # crowded: longer ids
    raise NotAllowed("no free task id was found", hint="try again")
