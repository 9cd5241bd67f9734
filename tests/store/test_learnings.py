"""What reviews refused, on both databases."""

from __future__ import annotations

from medbay.core.workflow.learning import Learning
from medbay.store import learnings
from medbay.store.database import Store
from tests.worlds import ManualClock


def taught(store: Store, text: str, role: str = "dev") -> None:
    with store.write() as tx:
        learnings.save(tx, Learning(role=role, text=text, digest=text[:4], story_id="S-1", phase="review"))


def test_the_same_refusal_is_counted_and_the_most_frequent_comes_first(store: Store, clock: ManualClock) -> None:
    """With its newest words; each role has its own."""
    for text in ("lint: a", "lint: b", "type: c"):
        taught(store, text)
        clock.advance(1_000)
    taught(store, "lint: d", "pm")

    with store.read() as tx:
        found = learnings.of_role(tx, "dev", 10)
        newest = learnings.newest(tx, 1)

    assert [(each.text, each.count) for each in found] == [("lint: b", 2), ("type: c", 1)]
    assert [(each.role, each.text) for each in newest] == [("pm", "lint: d")]


def test_a_role_keeps_those_it_was_told_last(store: Store, clock: ManualClock) -> None:
    """The list has an end."""
    for number in range(learnings.KEPT_PER_ROLE + 3):
        taught(store, f"{number:04}")
        clock.advance(1_000)

    with store.read() as tx:
        found = {each.text for each in learnings.of_role(tx, "dev", 1_000)}

    assert len(found) == learnings.KEPT_PER_ROLE and "0002" not in found and "0003" in found
