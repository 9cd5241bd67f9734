"""What a split promises: all of it or nothing, closed once, its parts one after another, what followed after them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from medbay.core.model import Event, Task
from medbay.sim.ledger import Broken
from medbay.store import tasks
from medbay.store.database import Tx

Graph = Mapping[str, tuple[str, ...]]
HALF: Final = "a split is whole or not at all"


class Splits:
    """Every split there was, as the events report it, and what has to come after what because of it."""

    def __init__(self) -> None:
        self.parts: dict[str, tuple[str, ...]] = {}  # of each task that was split, in their order
        self._of: dict[str, str] = {}  # part -> the task it is a part of
        self._left: dict[str, tuple[str, ...]] = {}  # what a task that was split still waited for itself

    def kept(self) -> Splits:
        """As they are now, whatever is heard later."""
        kept = Splits()
        kept.parts, kept._of, kept._left = dict(self.parts), dict(self._of), dict(self._left)
        return kept

    def hear(self, tx: Tx, events: Sequence[Event], graph: Graph) -> None:
        """Follow one commit; raises Broken when it left half a split, or split something twice."""
        made: dict[str, list[str]] = {}
        for event in events:
            serves = event.data.get("serves", {}) if event.name == "task:created" else {}
            if serves.get("role") == "part":
                made.setdefault(serves["subject"], []).append(str(event.task_id))
        closed = [(str(each.task_id), each.data["split_into"]) for each in events if each.data.get("split_into")]
        for original, ids in closed:
            if original in self.parts:
                raise Broken("a split closes its task once", f"{original} was split already")
            if len(ids) < 2 or made.pop(original, []) != ids:
                raise Broken(HALF, f"{original} was closed for {', '.join(ids)}, which are not what was made")
            self._check_rows(tx, original, ids, graph)
            # It ran, so all else that it came after was over, or a person had let it go on without.
            self._left[original] = tuple(each for each in self.comes_after(original, graph) if _is_open(tx, each))
            self.parts[original] = tuple(ids)
            self._of |= dict.fromkeys(ids, original)
        if made:
            raise Broken(HALF, f"parts of {', '.join(made)} were made, and it was not closed")

    def stays_closed(self, task: Task) -> None:
        """Its parts do the work now: the task itself never comes back."""
        if task.id in self.parts and task.status != "cancelled":
            raise Broken("a split closes its task once", f"{task.id} was split, and is {task.status}")

    def comes_after(self, task_id: str, graph: Graph) -> tuple[str, ...]:
        """What has to be over before this starts; what was split stands for all of its parts."""
        return tuple(dict.fromkeys(self._whole(self._named(task_id, graph))))

    def all_parts(self) -> Iterable[str]:
        """Every part there ever was."""
        return self._of

    def _named(self, task_id: str, graph: Graph) -> list[str]:
        """What it comes directly after: a part after the one before it, and through that after all of them."""
        original = self._of.get(task_id)
        if original is None:
            return list(graph.get(task_id, ()))
        ids = self.parts[original]
        return [*self._left[original], *ids[: ids.index(task_id)][-1:]]

    def _whole(self, ids: Iterable[str]) -> Iterable[str]:
        for each in ids:
            if each in self.parts:
                yield from self._whole(self.parts[each])
            else:
                yield each

    def _check_rows(self, tx: Tx, original: str, ids: list[str], graph: Graph) -> None:
        """In the store each part is worked on as the whole was and waits for the one before; others wait for all."""
        whole = tasks.get(tx, original)
        for at, part_id in enumerate(ids):
            part = tasks.get(tx, part_id)
            if part is None or whole is None or part.runner != whole.runner:
                raise Broken(HALF, f"{part_id}, a part of {original}, is worked on by none")
            before = {each for each, _ in tasks.comes_after(tx, part_id)}
            if at and ids[at - 1] not in before:
                raise Broken("the parts of a split follow each other", f"{part_id} does not wait for {ids[at - 1]}")
        for task_id in [*graph, *self._of]:
            if original not in self._named(task_id, graph) or not _is_open(tx, task_id):
                continue
            missing = set(ids) - {each for each, _ in tasks.comes_after(tx, task_id)}
            if missing:
                told = f"{task_id} came after {original}, and does not wait for {', '.join(sorted(missing))}"
                raise Broken("what came after a split comes after its parts", told)


def _is_open(tx: Tx, task_id: str) -> bool:
    task = tasks.get(tx, task_id)
    return task is not None and not task.finished
