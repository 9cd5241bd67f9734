"""A kind of record that the package has never heard of: its record, its lifecycle and its writers are all it needs."""

from __future__ import annotations

from typing import ClassVar

import pytest
from msgspec import Struct

from medbay.core.decision import Added, Decision, Draft, Write
from medbay.core.lifecycles import LIFECYCLES
from medbay.core.machine import Machine, Move
from medbay.core.model import Event
from medbay.errors import IllegalTransition, StaleClaim
from medbay.store import apply as applying
from medbay.store import history
from medbay.store.apply import RECORDS, WRITERS, apply
from medbay.store.database import Store, Tx
from medbay.store.rows import RecordTable, dumps, loads

PARCEL = Machine(
    name="parcel",
    initial="packed",
    terminal=frozenset({"delivered"}),
    moves=(Move("packed", "sent", "handed over"), Move("sent", "delivered", "signed for")),
)


class Parcel(Struct, frozen=True, kw_only=True):
    """What is on its way; it keeps no reason and no time of its end."""

    kind: ClassVar[str] = "parcel"
    lifecycle: ClassVar[str] = "parcel"

    id: str
    weights: tuple[int, ...] = ()
    status: str = "packed"
    since: int = 0
    version: int = 0


class Weighed(Struct, frozen=True):
    """A write that is no record with a lifecycle."""

    parcel: str
    grams: int


TABLE = RecordTable("parcel", ("id", "weights", "status", "since", "version"), {"weights": dumps})


def note_weight(tx: Tx, weighed: Weighed) -> None:
    """The writer of what was weighed."""
    tx.execute("INSERT INTO weighed (parcel, grams) VALUES (?, ?)", (weighed.parcel, weighed.grams))


@pytest.fixture
def parcels(store: Store, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A store that knows parcels: a migration, a lifecycle, a table and a writer."""
    monkeypatch.setitem(LIFECYCLES, "parcel", PARCEL)
    monkeypatch.setitem(RECORDS, Parcel, TABLE)
    monkeypatch.setitem(WRITERS, Weighed, note_weight)
    with store.write() as tx:
        tx.execute(
            "CREATE TABLE parcel (id TEXT PRIMARY KEY, weights TEXT NOT NULL, status TEXT NOT NULL,"
            " since BIGINT NOT NULL, version BIGINT NOT NULL)"
        )
        tx.execute("CREATE TABLE weighed (parcel TEXT NOT NULL, grams BIGINT NOT NULL)")
    return store


def packed(store: Store) -> Parcel:
    """A new parcel, as it is stored."""
    parcel = Parcel(id="p-1", weights=(1, 2))
    with store.write() as tx:
        apply(tx, Decision(writes=(Added(Draft(parcel, tx.now, actor="ada").change()),)))
    return parcel


def found(store: Store) -> tuple[Parcel, list[tuple[str, ...]], list[Event]]:
    """The parcel, its history and the events, as they are stored."""
    with store.read() as tx:
        ((id_, weights, status, since, version),) = tx.rows("SELECT id, weights, status, since, version FROM parcel")
        steps = "SELECT kind, record_id, source, target, actor, reason FROM record_history ORDER BY id"
        rows = [tuple(map(str, row)) for row in tx.rows(steps)]
        events = history.events_since(tx, 0, limit=10)
    return Parcel(id=id_, weights=tuple(loads(weights)), status=status, since=since, version=version), rows, events


def test_a_record_of_a_new_kind_is_moved_and_saved_with_its_history_and_its_event(parcels: Store) -> None:
    """In one transaction, with a write of another new type beside it."""
    parcel = packed(parcels)

    with parcels.write() as tx:
        draft = Draft(parcel, tx.now, actor="ada")
        draft.move("sent", "picked up", van=3)
        apply(tx, draft.decision(Weighed("p-1", 900)))
        now = tx.now

    stored, steps, (event,) = found(parcels)
    assert stored == Parcel(id="p-1", weights=(1, 2), status="sent", since=now, version=1)
    assert steps == [("parcel", "p-1", "packed", "sent", "ada", "picked up")]
    assert (event.name, event.task_id) == ("parcel:moved", None)
    assert event.data == {"parcel": "p-1", "from": "packed", "to": "sent", "by": "ada", "why": "picked up"}
    with parcels.read() as tx:
        assert tx.rows("SELECT parcel, grams FROM weighed") == [("p-1", 900)]


def test_what_was_decided_about_a_record_that_moved_meanwhile_is_not_saved(parcels: Store) -> None:
    """Guarded as a task is: nothing of the second decision is left."""
    parcel = packed(parcels)

    def send(by: str) -> None:
        with parcels.write() as tx:
            draft = Draft(parcel, tx.now, actor=by)
            draft.move("sent", "picked up")
            apply(tx, draft.decision(Weighed("p-1", 900)))

    send("ada")
    with pytest.raises(StaleClaim, match="p-1 changed while this was decided"):
        send("bob")

    stored, steps, events = found(parcels)
    assert (stored.version, len(steps), len(events)) == (1, 1, 1)


def test_an_id_that_is_taken_is_refused(parcels: Store) -> None:
    """A new record replaces none."""
    packed(parcels)

    with pytest.raises(StaleClaim, match="p-1 was added while this was decided"):
        packed(parcels)


def test_its_own_lifecycle_decides_what_is_legal(parcels: Store) -> None:
    """Not that of a task."""
    draft = Draft(packed(parcels), 0, actor="ada")

    with pytest.raises(IllegalTransition, match="p-1 is packed and may not become delivered"):
        draft.move("delivered", "no")


def test_writes_happen_in_the_order_of_the_table(parcels: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever their order in the decision; of one type in the order they were decided; a new type comes last."""
    wrote: list[Write] = []
    for kind in WRITERS:
        monkeypatch.setitem(WRITERS, kind, lambda tx, write: wrote.append(write))
    draft = Draft(Parcel(id="p-1"), 0, actor="ada")
    added, change, first, second = Added(draft.change()), draft.change(), Weighed("p-1", 1), Weighed("p-1", 2)

    with parcels.write() as tx:
        apply(tx, Decision(writes=(first, change, second, added)))

    assert wrote == [added, change, first, second]


def test_the_fixed_order_takes_locks_in_one_order() -> None:
    """Breakers first; added before changed; closed before asked."""
    names = [each.__name__ for each in WRITERS]

    assert names[0] == "BreakerChange"
    assert names.index("Added") < names.index("Change") < names.index("AttemptEnd")
    assert names.index("QuestionClosed") < names.index("Question") < names.index("QuestionJoined")
    assert list(applying._PLACES) == list(WRITERS)
