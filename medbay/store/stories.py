"""Stories, the runs of their phases, what was decided in them, and the workflows they began with."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct

from medbay.core.workflow.records import (
    EvidenceEntry,
    PhaseRun,
    RunChanged,
    RunPart,
    Story,
    StoryDecision,
    StoryGit,
    StoryRules,
)
from medbay.core.workflow.story import RESCOPED
from medbay.store.database import Row, Tx
from medbay.store.rows import RecordTable, dumps, dumps_any, loads

R = TypeVar("R", bound=Struct)
V = TypeVar("V")
OfStory = TypeVar("OfStory", PhaseRun, StoryDecision)
_AT_ONCE: Final = 500  # ids in one statement


def _plain(value: Any) -> str:
    return dumps_any(msgspec.to_builtins(value))


def _texts(text: str) -> tuple[str, ...]:
    return tuple(loads(text))


STORIES: Final = RecordTable(
    "story",
    Story.__struct_fields__,
    {
        **dict.fromkeys(("criteria", "depends_on", "parts", "confirmed"), dumps),
        **dict.fromkeys(("elaborated", "has_review", "driven", "waiting", "fast", "files_due", "merged"), int),
        "evidence": _plain,
        "git": _plain,
    },
)
_RUNS: Final = RecordTable(
    "phase_run", PhaseRun.__struct_fields__, dict.fromkeys(("parts", "rules", "context", "result"), _plain)
)
_DECISIONS: Final = RecordTable("story_decision", StoryDecision.__struct_fields__, {"options": dumps})
_DECODERS: Final[dict[type[Struct], dict[str, Callable[[Any], Any]]]] = {
    Story: {
        **dict.fromkeys(("criteria", "depends_on", "parts", "confirmed"), _texts),
        **dict.fromkeys(("elaborated", "has_review", "driven", "waiting", "fast", "files_due", "merged"), bool),
        "evidence": lambda text: msgspec.convert(loads(text), tuple[EvidenceEntry, ...]),
        "git": lambda text: msgspec.convert(loads(text), StoryGit),
    },
    PhaseRun: {
        "parts": lambda text: msgspec.convert(loads(text), tuple[RunPart, ...]),
        "rules": lambda text: msgspec.convert(loads(text), StoryRules),
        "context": loads,
        "result": loads,
    },
    StoryDecision: {"options": _texts},
}


def _record(kind: type[R], row: Row) -> R:
    decoders = _DECODERS[kind]
    values = zip(kind.__struct_fields__, row, strict=True)
    return kind(**{name: decoders[name](value) if name in decoders else value for name, value in values})


def _select(kind: type[Struct], table: str) -> str:
    return f"SELECT {', '.join(kind.__struct_fields__)} FROM {table}"


_STORY: Final = _select(Story, "story")
_RUN: Final = _select(PhaseRun, "phase_run")
_DECISION: Final = _select(StoryDecision, "story_decision")


def get(tx: Tx, story_id: str) -> Story | None:
    """One story by its id; in a transaction that writes it is this one's from now on."""
    row = tx.one(f"{_STORY} WHERE id = ?{tx.locks.take}", (story_id,))
    return _record(Story, row) if row else None


def ids_like(tx: Tx, prefix: str, limit: int = 2) -> list[str]:
    """The first ids that begin like this."""
    sql = "SELECT id FROM story WHERE substr(id, 1, ?) = ? ORDER BY id LIMIT ?"
    return [row[0] for row in tx.rows(sql, (len(prefix), prefix, limit))]


def select(tx: Tx, *, status: Sequence[str] = (), limit: int = 10_000) -> list[Story]:
    """Stories, the oldest first."""
    where = f" WHERE status IN ({', '.join('?' * len(status))})" if status else ""
    return [
        _record(Story, row) for row in tx.rows(f"{_STORY}{where} ORDER BY created_at, id LIMIT ?", (*status, limit))
    ]


def conducted(tx: Tx, limit: int = 1_000) -> list[Story]:
    """Those that something has to be done for: files to be written, a run to be set up, a phase to be started."""
    sql = f"{_STORY} WHERE files_due = 1 OR driven = 1 OR run > 0 ORDER BY priority, created_at, id LIMIT ?"
    return [_record(Story, row) for row in tx.rows(sql, (limit,))]


def statuses(tx: Tx, story_ids: Collection[str]) -> dict[str, str]:
    """The statuses of these stories; one that is not there has none."""
    return dict(_rows_of(tx, "SELECT id, status FROM story WHERE id IN ({}) ORDER BY id", story_ids))


def depending_on(tx: Tx, story_id: str) -> list[Story]:
    """The stories that name one among those they depend on."""
    sql = f"{_STORY} WHERE depends_on LIKE ? ESCAPE '!' ORDER BY created_at, id"
    like = dumps(story_id).replace("!", "!!").replace("_", "!_").replace("%", "!%")
    return [_record(Story, row) for row in tx.rows(sql, (f"%{like}%",))]


def claim_files(tx: Tx, story: Story, *, by: str, until: int) -> bool:
    """Take the folder of a story for a while; False when another has it."""
    sql = (
        "UPDATE story SET files_by = ?, files_until = ? WHERE id = ?"
        " AND (files_until IS NULL OR files_until <= ? OR files_by = ?)"
    )
    return tx.execute(sql, (by, until, story.id, tx.now, by)) == 1


def claim_many(tx: Tx, story_ids: Collection[str], *, by: str, until: int) -> dict[str, int]:
    """Take the folders of these stories for a while; those that could be had, with the versions of their records."""
    got: dict[str, int] = {}
    for some in _portions(sorted(story_ids)):
        mine = f"id IN ({', '.join('?' * len(some))})"
        free = "(files_until IS NULL OR files_until <= ? OR files_by = ?)"
        tx.execute(
            f"UPDATE story SET files_by = ?, files_until = ? WHERE {mine} AND {free}", (by, until, *some, tx.now, by)
        )
        got.update(tx.rows(f"SELECT id, version FROM story WHERE {mine} AND files_by = ? ORDER BY id", (*some, by)))
    return got


def release_files(tx: Tx, story_ids: Collection[str], *, by: str) -> None:
    """Give the folders of these stories back."""
    for some in _portions(sorted(story_ids)):
        mine = f"id IN ({', '.join('?' * len(some))})"
        tx.execute(f"UPDATE story SET files_by = '', files_until = NULL WHERE files_by = ? AND {mine}", (by, *some))


def files_written(tx: Tx, written: Sequence[tuple[Story, str]]) -> None:
    """The folders of these stories are in these directories, as their records said; one that has moved on is due."""
    for directory in sorted({where for _, where in written}):
        there = sorted((each.id, each.version) for each, where in written if where == directory)
        for some in _portions(there):
            either = " OR ".join(["(id = ? AND version = ?)"] * len(some))
            sql = f"UPDATE story SET files_due = 0, directory = ? WHERE {either}"
            tx.execute(sql, (directory, *(value for pair in some for value in pair)))


def mark_files_due(tx: Tx, story_ids: Collection[str]) -> None:
    """Have the folders of these stories compared with the store again."""
    for some in _portions(sorted(story_ids)):
        marks = ", ".join("?" * len(some))
        tx.execute(f"UPDATE story SET files_due = 1 WHERE files_due = 0 AND id IN ({marks})", some)


def passed(tx: Tx, story_id: str) -> frozenset[str]:
    """Every status a story has had since its scope changed last."""
    sql = "SELECT target, reason FROM record_history WHERE kind = 'story' AND record_id = ? ORDER BY id"
    found: set[str] = set()
    for target, reason in tx.rows(sql, (story_id,)):
        if reason == RESCOPED:
            found.clear()
        found.add(target)
    return frozenset([*found, *(row[0] for row in tx.rows("SELECT status FROM story WHERE id = ?", (story_id,)))])


# Runs and decisions


def run(tx: Tx, story_id: str, number: int) -> PhaseRun | None:
    """One run of a story."""
    row = tx.one(f"{_RUN} WHERE story_id = ? AND number = ?", (story_id, number))
    return _record(PhaseRun, row) if row else None


def runs(tx: Tx, story_id: str) -> tuple[PhaseRun, ...]:
    """Every run of a story, in their order."""
    return tuple(_record(PhaseRun, row) for row in tx.rows(f"{_RUN} WHERE story_id = ? ORDER BY number", (story_id,)))


def runs_of(tx: Tx, story_ids: Collection[str]) -> dict[str, tuple[PhaseRun, ...]]:
    """Every run of each of these stories, in their order."""
    rows = _rows_of(tx, _RUN + " WHERE story_id IN ({}) ORDER BY story_id, number", story_ids)
    return _by_story((_record(PhaseRun, row) for row in rows), story_ids)


def setups(tx: Tx) -> set[str]:
    """The stories with a run that is to be set up."""
    return {row[0] for row in tx.rows("SELECT story_id FROM phase_run WHERE status = 'SETUP' ORDER BY story_id")}


def _portions(values: Sequence[V]) -> Iterator[Sequence[V]]:
    return (values[at : at + _AT_ONCE] for at in range(0, len(values), _AT_ONCE))


def _rows_of(tx: Tx, sql: str, ids: Collection[str]) -> Iterator[Row]:
    """The rows of a query about many ids, whose marks go where it has `{}`."""
    for some in _portions(sorted(ids)):
        yield from tx.rows(sql.format(", ".join("?" * len(some))), some)


def _by_story(made: Iterable[OfStory], story_ids: Collection[str]) -> dict[str, tuple[OfStory, ...]]:
    found: dict[str, list[OfStory]] = {each: [] for each in story_ids}
    for each in made:
        found[each.story_id].append(each)
    return {story_id: tuple(its) for story_id, its in found.items()}


def _grouped(pairs: Iterable[Row]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for of, question_id in pairs:
        found.setdefault(of, []).append(question_id)
    return found


def save_run(tx: Tx, changed: RunChanged) -> None:
    """Write a run; StaleClaim when it moved meanwhile."""
    columns = PhaseRun.__struct_fields__
    if changed.before is None:
        sql = f"INSERT INTO phase_run ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
        tx.execute(sql, _RUNS.row(changed.after))
        return
    after = msgspec.structs.replace(changed.after, version=changed.before.version + 1)
    sets = ", ".join(f"{name} = ?" for name in columns)
    key = (changed.before.story_id, changed.before.number, changed.before.version)
    tx.put(
        f"UPDATE phase_run SET {sets} WHERE story_id = ? AND number = ? AND version = ?",
        (*_RUNS.row(after), *key),
        stale=f"the run {key[1]} of {key[0]} changed while this was decided",
    )


def decisions(tx: Tx, story_id: str) -> tuple[StoryDecision, ...]:
    """What was decided or is to be decided about a story, in its order."""
    rows = tx.rows(f"{_DECISION} WHERE story_id = ? ORDER BY number", (story_id,))
    return tuple(_record(StoryDecision, row) for row in rows)


def decisions_of(tx: Tx, story_ids: Collection[str]) -> dict[str, tuple[StoryDecision, ...]]:
    """What was decided or is to be decided about each of these stories, in its order."""
    rows = _rows_of(tx, _DECISION + " WHERE story_id IN ({}) ORDER BY story_id, number", story_ids)
    return _by_story((_record(StoryDecision, row) for row in rows), story_ids)


def decided_alone(tx: Tx, since: int, limit: int) -> tuple[StoryDecision, ...]:
    """What was decided without a person since a moment, the newest first."""
    where = "WHERE at >= ? AND answered_by IN ('preference', 'default', 'configuration')"
    rows = tx.rows(f"{_DECISION} {where} ORDER BY at DESC, story_id, number LIMIT ?", (since, limit))
    return tuple(_record(StoryDecision, row) for row in rows)


def decision_of(tx: Tx, question_id: str) -> StoryDecision | None:
    """What a question asks to decide."""
    row = tx.one(f"{_DECISION} WHERE question_id = ?", (question_id,))
    return _record(StoryDecision, row) if row else None


def save_decision(tx: Tx, decision: StoryDecision) -> None:
    """Write a decision, or its answer."""
    columns = StoryDecision.__struct_fields__
    tx.execute(
        f"INSERT INTO story_decision ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
        " ON CONFLICT (story_id, number) DO UPDATE SET answer = excluded.answer,"
        " answered_by = excluded.answered_by, at = excluded.at",
        _DECISIONS.row(decision),
    )


def open_question_ids(tx: Tx, story_id: str) -> list[str]:
    """The open questions about a story, the oldest first."""
    sql = (
        "SELECT id FROM question WHERE owner_kind = 'story' AND owner_id = ? AND status = 'open' ORDER BY asked_at, id"
    )
    return [row[0] for row in tx.rows(sql, (story_id,))]


def open_question_ids_of(tx: Tx, story_ids: Collection[str]) -> dict[str, list[str]]:
    """The open questions about each of these stories, the oldest first."""
    sql = (
        "SELECT owner_id, id FROM question WHERE owner_kind = 'story' AND status = 'open'"
        " AND owner_id IN ({}) ORDER BY asked_at, id"
    )
    return _grouped(_rows_of(tx, sql, story_ids))


def open_task_questions(tx: Tx, task_ids: Collection[str]) -> dict[str, list[str]]:
    """The open questions that each of these tasks waits for."""
    sql = (
        "SELECT t.task_id, q.id FROM question q JOIN question_task t ON t.question_id = q.id"
        " WHERE t.task_id IN ({}) AND t.waiting = 1 AND q.status = 'open' ORDER BY q.id"
    )
    return _grouped(_rows_of(tx, sql, task_ids))


def open_task_question_ids(tx: Tx, task_ids: Collection[str]) -> list[str]:
    """The open questions that tasks of a run wait for."""
    if not task_ids:
        return []
    marks = ", ".join("?" * len(task_ids))
    sql = (
        "SELECT DISTINCT q.id FROM question q JOIN question_task t ON t.question_id = q.id"
        f" WHERE t.task_id IN ({marks}) AND t.waiting = 1 AND q.status = 'open' ORDER BY q.id"
    )
    return [row[0] for row in tx.rows(sql, sorted(task_ids))]


# Workflows


def save_workflow(tx: Tx, key: str, name: str, text: str) -> None:
    """Keep a workflow as stories begin with it."""
    sql = "INSERT INTO workflow_definition (hash, name, text) VALUES (?, ?, ?) ON CONFLICT (hash) DO NOTHING"
    tx.execute(sql, (key, name, text))


def workflow_text(tx: Tx, key: str) -> str | None:
    """A workflow that was kept."""
    row = tx.one("SELECT text FROM workflow_definition WHERE hash = ?", (key,))
    return row[0] if row else None
