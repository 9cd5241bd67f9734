"""The one writer: a `Decision` becomes rows, all of it or nothing. No other module writes a task's status."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final, NamedTuple

from msgspec.structs import astuple

from medbay.core.agent import agent_facts
from medbay.core.attempt.knowledge import Seen, Taught, Tried
from medbay.core.decision import (
    Added,
    AttemptEnd,
    Change,
    ChecksEnded,
    ChecksPlanned,
    Decision,
    Effect,
    QuestionClosed,
    QuestionEnriched,
    QuestionJoined,
    QuestionSent,
    Rediagnosed,
    RetryClosed,
    Rewired,
    Write,
)
from medbay.core.events import EVENT_NAMES, exists
from medbay.core.holds.breaker import BreakerChange, CommandUse
from medbay.core.intake.records import (
    Candidate,
    Capture,
    CaptureEventProcessed,
    CaptureReady,
    CapturesFreed,
    CapturesTaken,
    ContextSnapshot,
    RunRecord,
    Workorder,
)
from medbay.core.model import TASK_FIELDS, Event, Question, Retry, Task, Triage, changed_fields
from medbay.core.outcome import Output
from medbay.core.people.question import send_again_at
from medbay.core.workflow.records import RunChanged, Story, StoryDecision
from medbay.core.workspace import PullRequestMade
from medbay.errors import StaleClaim
from medbay.store import breakers, checks, intake, patterns, pull_requests, stories, triages
from medbay.store.database import Tx
from medbay.store.rows import (
    RETRY_COLUMNS,
    RETRY_FIELDS,
    TASK_TABLE,
    RecordTable,
    dumps,
    dumps_any,
    encode_diagnosis,
    task_row,
)


def apply(tx: Tx, decision: Decision) -> None:
    """Save a decision. Raises StaleClaim, and changes nothing that counts, when something moved meanwhile.

    Inside `tx.together()` it is saved with others, and StaleClaim may come at the end of the block.
    """
    tx.begin_decision()
    writes = decision.writes
    places = [*map(_place_of, map(type, writes))]
    if places != sorted(places):
        writes = tuple(sorted(writes, key=_place))
    for write in writes:
        WRITERS[type(write)](tx, write)
    write_events(tx, decision.events)


def _place(write: Write) -> int:
    return _place_of(type(write))


def _insert_added(tx: Tx, added: Added[Any]) -> None:
    """A new record, and what a task comes after; its change is applied to the row as any other."""
    record = added.change.before
    table = RECORDS[type(record)]
    if tx.execute(table.insert_sql, table.row(record)) != 1:
        raise StaleClaim(f"{record.id} was added while this was decided", hint="try again")
    for other in added.after:
        tx.execute("INSERT INTO dependency (task_id, after_id) VALUES (?, ?)", (record.id, other))
    if isinstance(record, Task):
        _write_tags(tx, (record,))
    _save_change(tx, added.change)


def _rewire(tx: Tx, edge: Rewired) -> None:
    if edge.source is not None:
        tx.execute("DELETE FROM dependency WHERE task_id = ? AND after_id = ?", (edge.task_id, edge.source))
    tx.execute(
        "INSERT INTO dependency (task_id, after_id) VALUES (?, ?) ON CONFLICT (task_id, after_id) DO NOTHING",
        (edge.task_id, edge.target),
    )


class Arrival(NamedTuple):
    """A new task as it is saved, its event, and the tasks it comes after."""

    task: Task
    event: Event
    after: tuple[str, ...] = ()
    alike: bool = False  # it differs from the one before it in id, title and command only

    @classmethod
    def of(cls, made: Decision, after: tuple[str, ...] = ()) -> Arrival:
        """What was decided about a new task."""
        ((change,), (event,)) = made.changes, made.events
        return cls(change.after, event, after)


def insert_tasks(tx: Tx, arrivals: Sequence[Arrival]) -> list[Task]:
    """Save new tasks. Raises StaleClaim when an id was taken meanwhile."""
    if len(arrivals) == 1:
        inserted = tx.execute(TASK_TABLE.insert_sql, task_row(arrivals[0].task))
    else:
        inserted = tx.execute_many(TASK_TABLE.insert_sql, _new_rows(arrivals))
    if inserted != len(arrivals):
        raise StaleClaim("an id was taken while this was added", hint="try again")
    edges = [(each.task.id, other) for each in arrivals for other in each.after]
    if edges:
        tx.execute_many("INSERT INTO dependency (task_id, after_id) VALUES (?, ?)", edges)
    tasks = [each.task for each in arrivals]
    _write_tags(tx, tasks)
    if len(arrivals) == 1:
        write_events(tx, (arrivals[0].event,))
    else:
        with tx.together():
            write_events(tx, tuple(each.event for each in arrivals))
    return tasks


def insert_another(tx: Tx, row: list[Any], arrival: Arrival) -> None:
    """Save a new task that was decided like the one with this row. Raises StaleClaim when its id is taken."""
    if tx.execute(TASK_TABLE.insert_sql, _row_alike(row, arrival.task)) != 1:
        raise StaleClaim("an id was taken while this was added", hint="try again")
    _write_tags(tx, (arrival.task,))
    write_events(tx, (arrival.event,))


def _new_rows(arrivals: Iterable[Arrival]) -> Iterator[list[Any]]:
    row: list[Any] = []
    for task, _, _, alike in arrivals:
        row = _row_alike(row, task) if alike else task_row(task)
        yield row


def _row_alike(row: list[Any], task: Task) -> list[Any]:
    """The row of a task from that of one which `core.rules.on_added_alike` was told of."""
    row = row.copy()
    row[_ID_AT], row[_TITLE_AT], row[_COMMAND_AT] = task.id, task.title, dumps(task.command)
    row[_CREATED_AT], row[_SINCE_AT], row[_READY_AT] = task.created_at, task.since, task.ready_at
    return row


_ID_AT, _TITLE_AT, _COMMAND_AT, _CREATED_AT, _SINCE_AT, _READY_AT = map(
    TASK_FIELDS.index, ("id", "title", "command", "created_at", "since", "ready_at")
)
_EVENT_SQL: Final = "INSERT INTO event (at, name, task_id, attempt, data) VALUES (?, ?, ?, ?, ?)"


def write_events(tx: Tx, events: tuple[Event, ...]) -> None:
    """Append events, in the transaction of what they report; their numbers follow the order of commits."""
    put, now = tx.execute_last, tx.now
    for event in events:
        assert event.name in EVENT_NAMES or exists(event.name), event.name
        put(_EVENT_SQL, (now, event.name, event.task_id, event.attempt, dumps(event.data) if event.data else "{}"))


def _save_change(tx: Tx, change: Change[Any]) -> None:
    """The row, guarded by how it was read, and a row of history for every step."""
    before, after = change.before, change.after
    changed = changed_fields(before, after)
    if changed:
        update = _update_of(type(before), changed)  # type: ignore[arg-type]  # a class is hashable
        values = [*update.values(after), before.status, before.version]
        for index, encode in update.encoders:
            values[index] = encode(values[index])
        tx.put(update.sql, values, stale=f"{before.id} changed while this was decided")
        if "tags" in changed and isinstance(after, Task):
            tx.execute("DELETE FROM task_tag WHERE task_id = ?", (before.id,))
            _write_tags(tx, (after,))
    for step in change.transitions:
        context = dumps(step.context) if step.context else "{}"
        steps = (before.id, step.source, step.target, step.actor, step.reason, context, tx.now)
        if isinstance(before, Task):
            tx.put(_HISTORY_SQL, steps)
        else:
            tx.put(_RECORD_HISTORY_SQL, (before.kind, *steps))


_HISTORY_SQL: Final = (
    "INSERT INTO history (task_id, source, target, actor, reason, context, at) VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_RECORD_HISTORY_SQL: Final = (
    "INSERT INTO record_history (kind, record_id, source, target, actor, reason, context, at)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)


class Update(NamedTuple):
    """How a record is saved of which these fields changed."""

    sql: str
    values: Callable[[Any], tuple[Any, ...]]
    encoders: tuple[tuple[int, Callable[[Any], Any]], ...]  # of the values that are not stored as they are


@lru_cache(maxsize=512)
def _update_of(kind: type, changed: tuple[str, ...]) -> Update:
    table, sets = RECORDS[kind], ", ".join(f"{name} = ?" for name in changed)
    return Update(
        f"UPDATE {table.name} SET {sets}, version = version + 1 WHERE id = ? AND status = ? AND version = ?",
        attrgetter(*changed, "id"),  # never one name alone, of which there would be no tuple
        tuple((at, table.encoders[name]) for at, name in enumerate(changed) if name in table.encoders),
    )


def _write_tags(tx: Tx, tasks: Iterable[Task]) -> None:
    tagged = [(tag, task.id) for task in tasks for tag in dict.fromkeys(task.tags)]
    if tagged:
        tx.execute_many("INSERT INTO task_tag (tag, task_id) VALUES (?, ?)", tagged)


def _end_attempt(tx: Tx, end: AttemptEnd) -> None:
    tx.put(
        "UPDATE attempt SET ended_at = ?, outcome = ?, exit_code = ?, signal = ?, charged = ?, diagnosis = ?,"
        " policy_hash = ? WHERE task_id = ? AND number = ? AND worker_id = ? AND ended_at IS NULL",
        (
            tx.now,
            end.outcome,
            end.exit_code,
            end.signal,
            int(end.charged),
            encode_diagnosis(end.diagnosis),
            end.policy_hash,
            end.task_id,
            end.number,
            end.worker_id,
        ),
        stale=f"attempt {end.number} of {end.task_id} has ended already, or is another worker's",
    )
    _insert_output(tx, end.task_id, end.number, end.output)
    if end.number > 1:  # how the attempt that a retry led to ended
        tx.put(
            "UPDATE retry SET outcome = ? WHERE task_id = ? AND attempt ="
            " (SELECT max(attempt) FROM retry WHERE task_id = ? AND attempt < ?)"
            " AND status = 'executed' AND outcome IS NULL",
            (end.outcome, end.task_id, end.task_id, end.number),
        )


def _plan_checks(tx: Tx, planned: ChecksPlanned) -> None:
    checks.plan(tx, planned)
    _insert_output(tx, planned.task_id, planned.number, planned.output)


OUTPUT_SQL: Final = (
    "INSERT INTO attempt_output (task_id, number, head, tail, total_bytes, result) VALUES (?, ?, ?, ?, ?, ?)"
)


def output_row(task_id: str, number: int, out: Output) -> tuple[Any, ...]:
    """What an attempt left behind."""
    return task_id, number, out.head, out.tail, out.total_bytes, None if out.result is None else dumps_any(out.result)


def _insert_output(tx: Tx, task_id: str, number: int, out: Output) -> None:
    if out.total_bytes or out.result is not None:
        tx.put(OUTPUT_SQL, output_row(task_id, number, out))
    if (known := agent_facts(out)) is not None:
        tx.put(
            "UPDATE attempt SET session = ?, model = ?, tokens_in = ?, tokens_out = ?, tool_calls = ?"
            " WHERE task_id = ? AND number = ?",
            (*known, task_id, number),
        )


def _correct_attempt(tx: Tx, corrected: Rediagnosed) -> None:
    tx.execute(
        "UPDATE attempt SET diagnosis = ?, charged = ? WHERE task_id = ? AND number = ? AND ended_at IS NOT NULL",
        (encode_diagnosis(corrected.diagnosis), int(corrected.charged), corrected.task_id, corrected.number),
    )


def _close_retry(tx: Tx, closed: RetryClosed) -> None:
    sql = "UPDATE retry SET status = ?, executed_at = ? WHERE task_id = ? AND status = 'pending'"
    executed = closed.status == "executed"
    values = (closed.status, tx.now if executed else None, closed.task_id)
    if executed or not closed.emits:
        tx.put(sql, values)
    elif tx.execute(sql, values):
        write_events(tx, (Event(name="task:retry_cancelled", task_id=closed.task_id),))


def _insert_retry(tx: Tx, retry: Retry) -> None:
    """A failure that is decided about again replaces the retry that was cancelled, never one that counts."""
    stale = f"a retry after attempt {retry.attempt} of {retry.task_id} is scheduled already"
    tx.put(_RETRY_SQL, astuple(retry), stale=stale)


_RETRY_SQL: Final = (
    f"INSERT INTO retry ({RETRY_COLUMNS}) VALUES ({', '.join('?' * len(RETRY_FIELDS))})"
    " ON CONFLICT (task_id, attempt) DO UPDATE SET "
    f"{', '.join(f'{name} = excluded.{name}' for name in RETRY_FIELDS)} WHERE retry.status = 'cancelled'"
)


def _insert_question(tx: Tx, asked: Question) -> None:
    options = [[option.label, option.effect, option.consequence] for option in asked.options]
    asking = tx.execute(
        "INSERT INTO question (id, need, why, evidence, options, default_option, owner_kind, owner_id, free_text,"
        " scope, status, asked_at, answered_at, answered_by, answer, send_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'open', ?, NULL, '', '', ?)"
        " ON CONFLICT (scope) WHERE status = 'open' AND scope IS NOT NULL DO NOTHING",
        (
            asked.id,
            asked.need,
            asked.why,
            asked.evidence,
            dumps(options),
            asked.default,
            asked.owner.kind if asked.owner else "",
            asked.owner.id if asked.owner else "",
            int(asked.free_text),
            asked.scope,
            asked.asked_at,
            send_again_at(asked),
        ),
    )
    if asking != 1:
        raise StaleClaim(f"another task asked about {asked.scope} meanwhile", hint="try again, and join that question")
    for task_id in asked.task_ids:
        _join_question(tx, asked.id, task_id)


def _enrich_question(tx: Tx, enriched: QuestionEnriched) -> None:
    more = enriched.question
    tx.put(
        "UPDATE question SET need = ?, why = ?, evidence = ? WHERE id = ? AND status = 'open'",
        (more.need, more.why, more.evidence, more.id),
        stale=f"the question {more.id} was answered meanwhile",
    )


def _send_question_again(tx: Tx, again: QuestionSent) -> None:
    tx.put(
        "UPDATE question SET sent = sent + 1, send_at = ? WHERE id = ? AND sent = ? AND status = 'open'",
        (again.send_at, again.question_id, again.before),
        stale=f"the question {again.question_id} was answered or sent meanwhile",
    )


def _join_open_question(tx: Tx, joined: QuestionJoined) -> None:
    """A person who answers it waits for us, or has answered already; then it cannot be joined any more."""
    sql = f"SELECT 1 FROM question WHERE id = ? AND status = 'open'{tx.locks.keep}"
    if tx.one(sql, (joined.question_id,)) is None:
        raise StaleClaim(f"the question {joined.question_id} was answered meanwhile", hint="try again")
    _join_question(tx, joined.question_id, joined.task_id)


def _join_question(tx: Tx, question_id: str, task_id: str) -> None:
    """One open question per task: what triage asked while the schedule goes on gives way to what stops the task."""
    row = tx.one("SELECT question_id FROM question_task WHERE task_id = ? AND waiting = 1", (task_id,))
    if row is not None and row[0] != question_id:
        _supersede(tx, row[0], task_id, by=question_id)
    tx.execute(
        "INSERT INTO question_task (question_id, task_id, waiting) VALUES (?, ?, 1)"
        " ON CONFLICT (question_id, task_id) DO UPDATE SET waiting = 1",
        (question_id, task_id),
    )


def _supersede(tx: Tx, question_id: str, task_id: str, *, by: str) -> None:
    others = "SELECT count(*) FROM question_task WHERE question_id = ? AND waiting = 1 AND task_id <> ?"
    row = tx.one(others, (question_id, task_id))
    whole, why = not (row and row[0]), f"asked again as {by}"
    _close_question(
        tx,
        QuestionClosed(
            question_id=question_id, task_id=task_id, whole=whole, status="withdrawn", by="engine", answer=why
        ),
    )
    if whole:
        write_events(
            tx, (Event(name="question:withdrawn", task_id=task_id, data={"question": question_id, "why": why}),)
        )


def _close_question(tx: Tx, closed: QuestionClosed) -> None:
    tx.execute(
        "UPDATE question_task SET waiting = 0 WHERE question_id = ? AND task_id = ?",
        (closed.question_id, closed.task_id),
    )
    if closed.whole and closed.status == "withdrawn" and closed.task_id:  # the others that it was asked for
        tx.execute("UPDATE question_task SET waiting = 0 WHERE question_id = ?", (closed.question_id,))
    if closed.whole:
        tx.execute(
            "UPDATE question SET status = ?, answered_at = ?, answered_by = ?, answer = ?"
            " WHERE id = ? AND status = 'open'",
            (closed.status, tx.now, closed.by, closed.answer, closed.question_id),
        )


def _insert_effect(tx: Tx, effect: Effect) -> None:
    tx.execute(
        "INSERT INTO effect (key, kind, payload, status, tries, due_at, created_at, error)"
        " VALUES (?, ?, ?, 'pending', 0, ?, ?, '') ON CONFLICT (key) DO NOTHING",
        (effect.key, effect.kind, dumps(effect.payload), tx.now, tx.now),
    )


# Where the records that have a lifecycle are kept.
RECORDS: Final[dict[type, RecordTable]] = {
    Task: TASK_TABLE,
    Capture: intake.CAPTURES,
    Workorder: intake.WORKORDERS,
    Candidate: intake.CANDIDATES,
    Story: stories.STORIES,
}

# What writes each type of write. They run in this order, whatever the order in the decision: breakers first, so that
# locks are taken in one order; what is added before what is changed, which may come after it; a question is closed
# before another is asked, because a task waits for one at a time. A new type of write is a row here.
WRITERS: Final[dict[type, Callable[[Tx, Any], None]]] = {
    BreakerChange: breakers.save,
    Added: _insert_added,
    Change: _save_change,
    Rewired: _rewire,
    CaptureEventProcessed: intake.processed,
    ContextSnapshot: intake.save_snapshot,
    CapturesTaken: intake.take_captures,
    CapturesFreed: intake.free_of,
    RunRecord: intake.save_run_record,
    CaptureReady: intake.ready,
    RunChanged: stories.save_run,
    StoryDecision: stories.save_decision,
    Triage: triages.save,
    AttemptEnd: _end_attempt,
    ChecksPlanned: _plan_checks,
    ChecksEnded: checks.end,
    Rediagnosed: _correct_attempt,
    RetryClosed: _close_retry,
    Retry: _insert_retry,
    QuestionClosed: _close_question,
    Question: _insert_question,
    QuestionEnriched: _enrich_question,
    QuestionSent: _send_question_again,
    QuestionJoined: _join_open_question,
    Seen: patterns.learn,
    Tried: patterns.learn,
    Taught: patterns.learn,
    CommandUse: breakers.note_use,
    Effect: _insert_effect,
    PullRequestMade: pull_requests.save,
}


class _Places(dict[type, int]):
    """Where a type of write comes in the order; one that came later comes after all."""

    def __missing__(self, kind: type) -> int:
        return len(self)


_PLACES: Final = _Places({each: place for place, each in enumerate(WRITERS)})
_place_of: Final = _PLACES.__getitem__
