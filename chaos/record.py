"""What the tasks wrote down themselves: the outside record that the store is held against."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One note of one attempt, at its place in the file: that order is the order of the writes."""

    place: int
    word: str  # start, end, double, named, check
    task_id: str
    number: int
    at_us: int
    key: str
    attempt_key: str
    more: str


class Record:
    """All notes, in their order, and by task."""

    def __init__(self, path: Path) -> None:
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        self.lines = [_parsed(place, raw) for place, raw in enumerate(text.splitlines())]
        self.by_task: dict[str, list[Line]] = defaultdict(list)
        for line in self.lines:
            self.by_task[line.task_id].append(line)

    def of(self, task_id: str, word: str) -> list[Line]:
        """The notes of a task that begin with this word."""
        return [line for line in self.by_task.get(task_id, ()) if line.word == word]


def _parsed(place: int, raw: str) -> Line:
    word, task_id, number, at_us, key, attempt_key, more = raw.split(" ")
    return Line(
        place=place,
        word=word,
        task_id=task_id,
        number=int(number),
        at_us=int(at_us),
        key=key,
        attempt_key=attempt_key,
        more=more,
    )
