"""What the store remembers of failures: counted once, bounded, and gone when it is forgotten."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from medbay.core.attempt.knowledge import Advice, Learned, Seen, Taught, Teaching, Tried
from medbay.core.decision import Decision, Rediagnosed
from medbay.core.diagnosis.record import Diagnosis
from medbay.core.model import Retry
from medbay.env import SystemClock
from medbay.errors import StaleClaim
from medbay.store import attempts, history, migrations, patterns, retries
from medbay.store.apply import apply
from medbay.store.database import Store
from medbay.store.dialect import SQLITE
from medbay.store.patterns import ADVICE_MAX, PatternFilter
from medbay.store.sqlite import SqliteStore
from tests.conftest import OpenStore
from tests.core.builders import diagnosis
from tests.worlds import START_MS, ManualClock, World, failed

ROUNDS = 15


def learn(store: Store, *learned: Learned) -> None:
    """Apply decisions that teach this."""
    with store.write() as tx:
        apply(tx, Decision(writes=learned))


def seen(fingerprint: str, **given: Any) -> Diagnosis:
    """A diagnosis with this fingerprint."""
    return diagnosis(fingerprint=fingerprint, **given)


def test_every_failure_is_counted_with_the_tasks_that_met_it(store: Store, clock: ManualClock) -> None:
    """First and last seen, the newest summary and excerpt, each task once."""
    learn(store, Seen(seen("f:1", summary="old"), "t-1"))
    clock.advance(1_000)
    learn(store, Seen(seen("f:1"), "t-1"), Seen(seen("f:1"), "t-2"))

    with store.read() as tx:
        known = patterns.get(tx, "f:1")
        ids = patterns.tasks_of(tx, "f:1")
        assert patterns.get(tx, "f:2") is None
    assert known is not None
    assert (known.count, known.tasks, known.kind) == (3, 2, "code_error/type")
    assert (known.first_seen, known.last_seen) == (START_MS, START_MS + 1_000)
    assert (known.summary, known.excerpt, known.taught) == ("cannot find name foo", "error TS2304", None)
    assert ids == ["t-1", "t-2"]


def test_a_correction_carries_over_to_the_same_rule_and_wording(store: Store) -> None:
    """Until it is forgotten; it is no failure of its own in any list, and a failure's own teaching comes first."""
    first, like = seen("f:1", summary="Error: row 77 looks odd"), seen("f:2", summary="Error: row 12 looks odd")
    learn(store, Taught(first, "t-1", "transient", "network", "ann"))
    learn(store, Seen(seen("f:3", summary="Error: row 3 looks odd"), "t-1"))

    with store.read() as tx:
        found = patterns.of_failures(tx, [like, seen("f:3", summary="Error: row 3 looks odd"), first, like])
        carried, third, own = found["f:2"], found["f:3"], found["f:1"]
        assert patterns.of_failures(tx, [seen("f:4", summary="Error: other words")]) == {"f:4": None}
        assert {each.fingerprint for each in patterns.select(tx, PatternFilter())} == {"f:1", "f:3"}
        assert patterns.with_prefix(tx, "l") == []
    assert carried is not None and (carried.kind, carried.carried) == ("transient/network", True)
    assert third is not None and (third.count, third.carried) == (1, True)
    assert own is not None and (own.kind, own.carried) == ("transient/network", False)

    with store.write() as tx:
        patterns.forget(tx, "f:1")
    with store.read() as tx:
        assert patterns.of_failures(tx, [like]) == {"f:2": None}


def test_the_record_of_an_advice_is_kept_per_fingerprint(store: Store) -> None:
    """The best record first."""
    learn(store, Seen(seen("f:1"), "t-1"), Tried("f:1", "a", False), Tried("f:1", "b", True), Tried("f:1", "a", True))
    learn(store, Tried("f:2", "a", True))

    with store.read() as tx:
        known = patterns.get(tx, "f:1")
        assert patterns.record(tx, "f:1", "a") == Advice("a", 2, 1)
        assert patterns.record(tx, "f:2", "b") == Advice("b")
    assert known is not None and known.advice == (Advice("b", 1, 1), Advice("a", 2, 1))


def test_the_advice_of_a_fingerprint_is_bounded(store: Store, clock: ManualClock) -> None:
    """What cured least, and of that the oldest, makes room; the newest is always kept."""
    learn(store, Seen(seen("f:1"), "t-1"), Tried("f:1", "cures", True))
    for number in range(ADVICE_MAX + 5):
        clock.advance(1)
        learn(store, Tried("f:1", f"advice {number:03d}", False))

    with store.read() as tx:
        known = patterns.get(tx, "f:1")
    assert known is not None and len(known.advice) == ADVICE_MAX
    kept = {each.text for each in known.advice}
    assert {"cures", f"advice {ADVICE_MAX + 4:03d}"} <= kept
    assert "advice 000" not in kept


def test_a_persons_word_is_kept_and_the_rules_own_beside_it(store: Store) -> None:
    """A later failure changes what the rules say, not what a person said."""
    learn(store, Seen(seen("f:1"), "t-1"))
    learn(store, Taught(seen("f:1"), "t-1", "transient", "network", "ada"))
    learn(store, Seen(seen("f:1", category="unknown", subcategory=None), "t-1"))

    with store.read() as tx:
        known = patterns.get(tx, "f:1")
    assert known is not None
    assert (known.count, known.category, known.kind) == (2, "unknown", "transient/network")
    assert known.taught == Teaching("transient", "network", "ada", START_MS)


def test_teaching_remembers_a_failure_that_was_forgotten(store: Store) -> None:
    """There is a row to teach, and the failure in it."""
    learn(store, Taught(seen("f:1"), "t-1", "transient", None, "ada"))

    with store.read() as tx:
        known = patterns.get(tx, "f:1")
    assert known is not None and (known.count, known.tasks, known.kind) == (1, 1, "transient")


def test_what_is_forgotten_leaves_nothing(store: Store) -> None:
    """Neither its advice nor its tasks; others stay."""
    learn(store, Seen(seen("f:1"), "t-1"), Tried("f:1", "a", True), Seen(seen("f:2"), "t-1"))

    with store.write() as tx:
        patterns.forget(tx, "f:1")

    with store.read() as tx:
        assert patterns.get(tx, "f:1") is None
        assert patterns.record(tx, "f:1", "a") == Advice("a")
        assert patterns.tasks_of(tx, "f:1") == []
        assert [each.fingerprint for each in patterns.select(tx, PatternFilter())] == ["f:2"]


def test_lists_are_by_last_seen_or_by_count_and_by_the_kind_acted_on(store: Store, clock: ManualClock) -> None:
    """What a person taught is found under that."""
    learn(store, Seen(seen("f:1"), "t-1"), Seen(seen("f:1"), "t-1"), Seen(seen("f:3", subcategory=None), "t-1"))
    clock.advance(1)
    learn(store, Seen(seen("f:2"), "t-1"), Taught(seen("f:2"), "t-1", "transient", None, "ada"))

    def listed(**wanted: Any) -> list[str]:
        with store.read() as tx:
            return [each.fingerprint for each in patterns.select(tx, PatternFilter(**wanted))]

    assert listed() == ["f:2", "f:1", "f:3"]
    assert listed(order="count") == ["f:1", "f:2", "f:3"]
    assert listed(order="count", limit=1) == ["f:1"]
    assert listed(category="transient") == ["f:2"]
    assert listed(category="code_error", order="count") == ["f:1", "f:3"]
    assert listed(category="code_error", subcategory="type") == ["f:1"]
    assert listed(category="transient", subcategory="type") == []


@pytest.mark.parametrize(("order", "index"), [("seen", "failure_pattern_seen"), ("count", "failure_pattern_count")])
def test_a_list_is_read_from_its_index(order: Any, index: str) -> None:
    """However many failures are known."""
    store = SqliteStore(":memory:", ManualClock(), new_store_id="s", machine_id="m")

    with store.read() as tx:
        plan = " / ".join(str(row[3]) for row in tx.rows(f"EXPLAIN QUERY PLAN {patterns.LIST_SQL[order]}", (50,)))

    assert index in plan and "TEMP B-TREE" not in plan


def test_a_store_from_before_learns_from_now_on(tmp_path: Path) -> None:
    """The tables are added to what is there."""
    raw = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    migrations.migrate(raw, SQLITE, upto=1)
    raw.execute("INSERT INTO meta (key, value) VALUES ('store_id', 's')")

    store = SqliteStore(tmp_path / "a.db", SystemClock(), new_store_id="other", machine_id="m")
    learn(store, Seen(seen("f:1"), "t-1"))

    assert store.store_id == "s"
    store.close()


def test_two_engines_that_meet_the_same_failures_never_wait_for_each_other(open_store: OpenStore) -> None:
    """In whatever order each of them meets these; and nothing that one of them learnt is lost."""
    names = ["f:1", "f:2", "f:3"]

    def meet(order: list[str]) -> None:
        with closing(open_store()) as store:
            for number in range(ROUNDS):
                with store.write() as tx:
                    for name in order:
                        apply(tx, Decision(writes=(Seen(seen(name), f"t-{number}"), Tried(name, "a", True))))

    with ThreadPoolExecutor() as pool:
        list(pool.map(meet, [names, names[::-1]]))

    with open_store().read() as tx:
        found = patterns.select(tx, PatternFilter(order="count"))
    assert [(each.count, each.tasks) for each in found] == [(2 * ROUNDS, ROUNDS)] * 3
    assert {each.advice for each in found} == {(Advice("a", 2 * ROUNDS, 2 * ROUNDS),)}


# What a correction writes


def test_a_cancelled_retry_of_the_same_attempt_is_replaced(store: Store, clock: ManualClock) -> None:
    """Nothing of it is left; one that counts is never overwritten."""
    task = World(store, clock).add("a")
    first = Retry(task_id=task.id, attempt=1, category="unknown", action="x", scheduled_at=1, due_at=2, delay_ms=1)
    second = replace(first, category="transient", due_at=9)

    with store.write() as tx:
        apply(tx, Decision(writes=(replace(first, status="cancelled"),)))
        apply(tx, Decision(writes=(second,)))

    with store.read() as tx:
        assert retries.of_task(tx, task.id) == [second]
    with pytest.raises(StaleClaim, match="scheduled already"), store.write() as tx:
        apply(tx, Decision(writes=(first,)))


def test_only_an_attempt_that_ended_is_corrected(store: Store, clock: ManualClock) -> None:
    """A live one has no diagnosis yet."""
    world = World(store, clock)
    task = world.add("a", None, failed())
    engine = world.engine()
    engine.start()
    engine.tick()

    with store.write() as tx:
        apply(tx, Decision(writes=(Rediagnosed(task_id=task.id, number=1, diagnosis=diagnosis(), charged=True),)))

    with store.read() as tx:
        live = attempts.get(tx, task.id, 1)
        assert live is not None and live.diagnosis is None
        assert attempts.newest_diagnosed(tx, task.id) is None


def test_the_newest_transition_is_found_and_the_newest_to_a_status(store: Store, clock: ManualClock) -> None:
    """Both by the index of the history."""
    world = World(store, clock)
    task = world.add("a", failed())
    engine = world.engine()
    engine.start()
    with store.read() as tx:
        assert history.last(tx, task.id) is None

    world.run(engine, ticks=2)

    with store.read() as tx:
        newest, failing = history.last(tx, task.id), history.last(tx, task.id, to="failed")
        assert history.last(tx, task.id, to="blocked") is None
    assert newest == failing and failing is not None
    counted = {"streak": 0, "charged": 0, "uncharged": 0, "uncharged_since": None, "failing_since": None}
    assert failing.context["before"] == counted
