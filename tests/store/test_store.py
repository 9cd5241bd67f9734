"""What every store promises, whatever database it is: transactions, wake-ups, texts, numbers, ids."""

from __future__ import annotations

import select
import threading
from collections.abc import Callable

import pytest

from medbay.core.decision import Decision
from medbay.core.model import Event, Question
from medbay.core.outcome import Failed, Output
from medbay.env import Ids
from medbay.errors import NotAllowed, StaleClaim, StoreBusy
from medbay.service import additions, requests, tasks
from medbay.store import attempts, history, meta
from medbay.store import tasks as task_rows
from medbay.store.apply import apply, write_events
from medbay.store.database import Store, Violation
from medbay.store.tasks import TaskFilter
from tests.conftest import OpenStore
from tests.waiting import eventually
from tests.worlds import ManualClock, World

PUT = "INSERT INTO meta (key, value) VALUES (?, '1')"


@pytest.fixture
def world(store: Store, clock: ManualClock) -> World:
    """A store with engines on it."""
    return World(store, clock)


def test_a_store_keeps_its_name_when_it_is_opened_again(open_store: OpenStore) -> None:
    """Every child process carries that name, so it may not change."""
    first, again = open_store(), open_store()

    assert first.store_id == again.store_id == first.sibling().store_id


def test_what_raises_inside_a_transaction_is_undone(store: Store) -> None:
    """One transaction per step: all of it or nothing."""
    with pytest.raises(RuntimeError), store.write() as tx:
        tx.execute(PUT, ("x",))
        write_events(tx, (Event(name="worker:started"),))
        raise RuntimeError

    with store.read() as tx:
        assert meta.value(tx, "x") is None
        assert history.events_since(tx, 0, limit=10) == []


def test_a_savepoint_is_undone_alone_with_its_events(store: Store) -> None:
    """One item that raises does not take the others with it."""
    with store.write() as tx:
        tx.execute(PUT, ("kept",))
        with pytest.raises(RuntimeError), tx.savepoint():
            tx.execute(PUT, ("lost",))
            write_events(tx, (Event(name="worker:lost"),))
            raise RuntimeError
        with pytest.raises(Violation), tx.savepoint():
            tx.execute(PUT, ("kept",))
        with tx.savepoint():
            write_events(tx, (Event(name="worker:started"),))

    with store.read() as tx:
        assert (meta.value(tx, "kept"), meta.value(tx, "lost")) == ("1", None)
        assert [event.name for event in history.events_since(tx, 0, limit=10)] == ["worker:started"]


def test_another_connections_commit_is_noticed(store: Store) -> None:
    """The cross-process wake-up: true once after somebody else committed."""
    other = store.sibling()
    store.changed()
    assert not store.changed()

    with other.write() as tx:
        tx.execute(PUT, ("x",))

    assert eventually(store.changed, 0.7)
    assert not store.changed()
    other.close()


def test_whoever_waits_is_told_of_a_commit(store: Store) -> None:
    """The descriptor becomes readable by itself, and is quiet again once somebody looked."""
    other = store.sibling()
    while store.changed():
        pass
    waiting = select.poll()
    waiting.register(store.fileno(), select.POLLIN)
    assert not waiting.poll(0)

    with other.write() as tx:
        tx.execute(PUT, ("x",))

    assert waiting.poll(10_000)
    assert eventually(store.changed, 0.7)
    assert not waiting.poll(0)
    other.close()


def test_the_clock_of_a_transaction_stands_still(store: Store, clock: ManualClock) -> None:
    """`now` is read once, at its start."""
    with store.write() as tx:
        before = tx.now
        clock.advance(5_000)

        assert tx.now == before == clock.wall_ms - 5_000


def test_a_reader_sees_one_state(open_store: OpenStore) -> None:
    """What commits meanwhile is not in it."""
    reader, writer = open_store(), open_store()

    with reader.read() as tx:
        assert meta.value(tx, "x") is None
        with writer.write() as other:
            other.execute(PUT, ("x",))
        assert meta.value(tx, "x") is None

    with reader.read() as tx:
        assert meta.value(tx, "x") == "1"


def test_titles_are_found_by_any_part_of_them(world: World) -> None:
    """Without regard to case, and a sign that is special in SQL is only a sign."""
    made = world.add("Deploy 100% of it?")
    world.add("another")

    with world.store.read() as tx:
        found = {text: task_rows.select(tx, TaskFilter(text=text)) for text in ("100% OF", "of it?", "_")}

    assert {text: [task.id for task in each] for text, each in found.items()} == {
        "100% OF": [made.id],
        "of it?": [made.id],
        "_": [],
    }


def test_a_log_with_any_character_is_kept(world: World) -> None:
    """Also the one character that a text of PostgreSQL cannot hold."""
    text = "before\0after \x1b[31m \u202e \U0001f680"
    task = world.add("a", Failed(output=Output(tail=text, total_bytes=len(text)), exit_code=1))

    world.run(world.engine(), ticks=2)

    with world.store.read() as tx:
        kept = attempts.output(tx, task.id, 1)
    assert kept is not None
    assert kept.tail in (text, text.replace("\0", "\u2400"))
    assert world.task(task.id).last_category != "unknown/engine_error"


def test_a_key_added_by_two_at_once_is_one_task(open_store: OpenStore) -> None:
    """The second waits for the first and is given its task."""
    stores = [open_store() for _ in range(4)]
    ready = threading.Barrier(len(stores))
    made: list[str] = []

    def add(store: Store) -> None:
        ready.wait(10)
        with store.write() as tx:
            new = requests.new_task({"title": "a", "run": "true", "key": "k"}, now=tx.now)
            made.append(additions.add(tx, new, ids=Ids(), actor="person:test").id)

    together([lambda each=each: add(each) for each in stores])  # type: ignore[misc]

    assert len(made) == 4
    assert len(set(made)) == 1


def test_an_id_wanted_by_two_at_once_is_given_to_one(open_store: OpenStore) -> None:
    """Four symbols are few; the loser takes another."""
    stores = [open_store() for _ in range(3)]
    ready = threading.Barrier(len(stores))
    made: list[str] = []

    def add(store: Store) -> None:
        ids = Ids(_Counting())
        ready.wait(10)
        with store.write() as tx:
            new = requests.new_task({"title": "a", "run": "true"}, now=tx.now)
            made.append(additions.add(tx, new, ids=ids, actor="person:test").id)

    together([lambda each=each: add(each) for each in stores])  # type: ignore[misc]

    assert len(set(made)) == 3


def test_two_edges_that_close_a_circle_together_are_not_both_added(open_store: OpenStore, clock: ManualClock) -> None:
    """Each alone is fine; the second is refused."""
    stores = [open_store(), open_store()]
    world = World(stores[0], clock)
    a, b, c, d = (world.add(title).id for title in "abcd")
    for task_id, after in ((a, b), (c, d)):
        world.act(tasks.edit, task_id, fields={}, reset_failures=False, after=[after])
    refused: list[str] = []

    def edit(store: Store, task_id: str, after: str) -> None:
        with store.write() as tx:
            task = tasks.resolve(tx, task_id)
            tasks.edit(tx, task, actor="person:test", fields={}, reset_failures=False, after=[after])

    def attempt(store: Store, task_id: str, after: str) -> None:
        try:
            edit(store, task_id, after)
        except StoreBusy:  # they waited for each other; one is undone and tries again
            attempt(store, task_id, after)
        except NotAllowed as error:
            refused.append(str(error))

    together([lambda: attempt(stores[0], b, c), lambda: attempt(stores[1], d, a)])

    assert len(refused) == 1
    assert "is a circle" in refused[0]


def test_one_cause_has_one_open_question(world: World) -> None:
    """Who asks second is told to join; nothing of the second is kept."""
    first, second = world.add("a"), world.add("b")

    def asked(task_id: str) -> Decision:
        question = Question(
            id=f"q-{task_id}", need="n", why="w", scope="s", task_ids=(task_id,), options=(), asked_at=0
        )
        return Decision(writes=(question,))

    with world.store.write() as tx:
        apply(tx, asked(first.id))
    with pytest.raises(StaleClaim, match="meanwhile"), world.store.write() as tx:
        apply(tx, asked(second.id))


class _Counting:
    """Draws the same ids for everybody, in the same order."""

    def __init__(self) -> None:
        self.given = 0

    def getrandbits(self, bits: int, /) -> int:
        """Zero twice, which is one id, then one twice, and so on."""
        self.given += 1
        return (self.given - 1) // 2


def together(jobs: list[Callable[[], None]]) -> None:
    """Run all at once, each in a thread, and wait; what one raised is raised here."""
    raised: list[BaseException] = []

    def run(job: Callable[[], None]) -> None:
        try:
            job()
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    if raised:
        raise raised[0]
