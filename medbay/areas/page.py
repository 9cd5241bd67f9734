"""What the page shows and does beyond single calls of the library: pages of lists, overviews, logs by line."""

from __future__ import annotations

import base64
import binascii
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from medbay import app
from medbay.core.agent import runner_of
from medbay.core.attempt.knowledge import Known, read_kind
from medbay.core.lifecycles import LIFECYCLES
from medbay.core.model import Attempt, Guidance, Question, Task
from medbay.core.snapshot import Overview
from medbay.errors import NotFound, UsageError
from medbay.places import log_search
from medbay.places.log_lines import LogIndex, LogLine, contains, looks_wrong
from medbay.service import bulk_edits, listing, overview, teaching
from medbay.service import tasks as task_service
from medbay.service.bulk import Bulk
from medbay.service.bulk_edits import BulkEdit
from medbay.service.tasks import Action
from medbay.store import activity, attempts, effects, history, questions, workers
from medbay.store import tasks as task_rows
from medbay.store.patterns import PatternFilter
from medbay.store.tasks import PageKey, TaskFilter
from medbay.views import event as event_views
from medbay.views import explanation, moments, schedule, timeline
from medbay.views import overview as overview_views
from medbay.views import task as task_views
from medbay.views.status import phrase_as_json, status_phrase
from medbay.views.task import LogSeen

if TYPE_CHECKING:
    from medbay.bay import Bay
    from medbay.core.redaction import Redaction
    from medbay.store.database import Tx

ROWS_MAX: Final = 200
EVENTS_AT_ONCE: Final = 1_000
MATCHED_MAX: Final = 1_000_000
LAST_LINE: Final = 4_096
LINES_FOUND: Final = 2_000
INDEXES_KEPT: Final = 8
ADVICE_MAX: Final = 4_000
Order = Literal["need", "newest", "oldest"]
_PLACES: Final = {name: place for place, name in overview_views.PLACES.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskQuery:
    """What a person asks a list for, in their words."""

    status: tuple[str, ...] = ()
    tag: tuple[str, ...] = ()
    not_tag: tuple[str, ...] = ()
    queue: str | None = None
    category: str = ""
    fingerprint: str = ""
    agent: str = ""
    held: str = ""
    stands: tuple[str, ...] = ()  # you, run, wait, held, ready, done
    text: str = ""
    since_ms: int | None = None  # what ended longer ago is left out; None: nothing is
    triages: bool = False  # with those tasks that look at others
    order: Order = "need"
    limit: int = 50
    cursor: str = ""


class Page:
    """The page of one store."""

    def __init__(self, bay: Bay) -> None:
        self._bay = bay
        self._indexes: dict[tuple[str, int], LogIndex] = {}

    # Lists

    def overview(self) -> dict[str, Any]:
        """Return the first page."""
        with self._bay.store.read() as tx:
            found = overview.load(tx, **self._capacity)
        seen, output = _written(found.running.logs), self._output(found)
        return overview_views.as_json(found, seen, output)

    def tasks(self, asked: TaskQuery) -> dict[str, Any]:
        """Return one page of tasks, how many match and how they stand, and where the next page begins."""
        with self._bay.store.read() as tx:
            wanted = self._filter(asked, tx.now)
            listed, more = listing.page(tx, wanted, _position(asked.cursor), **self._capacity)
            places = task_rows.count_places(tx, wanted)
            seq = history.last_event_seq(tx)
        rows = task_views.rows(listed, _written(listed.logs))
        return {
            "now": moments.iso(listed.now),
            "seq": seq,
            "tasks": [task_views.row_as_json(row) for row in rows],
            "total": sum(places.values()),
            "counts": {name: places[place] for place, name in overview_views.PLACES.items() if place in places},
            "next": _cursor(more) if more else None,
        }

    def bulk(
        self, action: Action, asked: TaskQuery | list[str], *, attempts: int = 2, dry_run: bool = True
    ) -> dict[str, Any]:
        """Act on all that match, or on those that are named; or say what would be done, and whom it passes over."""
        made = self._bay.act_on(action, self._meant(asked), attempts=attempts, dry_run=dry_run)
        return _summed(action, made, dry_run=dry_run)

    def bulk_tag(
        self, asked: TaskQuery | list[str], *, add: list[str], remove: list[str], dry_run: bool = True
    ) -> dict[str, Any]:
        """Give tags to many tasks, and take some away; or say to whom."""
        meant, bay = self._meant(asked), self._bay
        how: dict[str, Any] = {"add": add, "remove": remove, "actor": bay.actor, "dry_run": dry_run}
        made = self._looked(lambda tx: bulk_edits.tag(tx, meant, **how), dry_run=dry_run)
        return _summed("tag", made, dry_run=dry_run)

    def bulk_reclassify(self, asked: TaskQuery | list[str], category: str, *, dry_run: bool = True) -> dict[str, Any]:
        """Say what the last failures of many tasks were; or say whose would be meant."""
        meant, bay = self._meant(asked), self._bay
        how: dict[str, Any] = {"actor": bay.actor, "policy": bay.policy, "dry_run": dry_run}
        made = self._looked(lambda tx: bulk_edits.reclassify(tx, meant, category, **how), dry_run=dry_run)
        return {**_summed("reclassify", made, dry_run=dry_run), "fingerprints": len(made.fingerprints)}

    def _looked(self, work: Callable[[Tx], BulkEdit], *, dry_run: bool) -> BulkEdit:
        if not dry_run:
            return self._bay.write(work)
        with self._bay.store.read() as tx:
            return work(tx)

    def _meant(self, asked: TaskQuery | list[str]) -> TaskFilter | list[str]:
        """Which tasks a bulk action means; everything is refused."""
        if not isinstance(asked, TaskQuery):
            return [self._bay.get(each).id for each in dict.fromkeys(asked)]
        with self._bay.store.read() as tx:
            wanted = replace(self._filter(asked, tx.now), limit=MATCHED_MAX)
        if not wanted.narrows:
            raise UsageError("nothing says which tasks are meant", hint="name a status, tag, queue, category or text")
        return wanted

    def task(self, task_id: str) -> dict[str, Any]:
        """Return everything about one task: what is recorded, why it is where it is, and its timeline."""
        found, explained = self._bay.detail(task_id), self._bay.explain(task_id)
        phrase = status_phrase(found.task, found.now, after=found.waits_for)
        config = self._bay.place.config
        with self._bay.store.read() as tx:
            total = attempts.totals(tx, found.task.id)
        from medbay.views.work import work

        return {
            "now": moments.iso(found.now),
            "task": {**_shortened(task_views.detail(found)), "phrase": phrase_as_json(phrase), "live": found.task.live},
            "work": work(found, config.agents, config.triage.agent),
            "recurs": schedule.how(found.task) or None,
            "explanation": {
                **explanation.as_json(explained),
                "sentences": [{"label": label, "text": text} for label, text in explanation.sentences(explained, _iso)],
            },
            "timeline": timeline.as_json(found, explained),
            "cost": {"tokens": total[0], "cost": total[1] / 1_000_000},
            "same_again": _same_again(found.task, explained.last_failure),
        }

    def near(self, task_id: str) -> list[dict[str, str]]:
        """Return tasks whose id begins like this one does."""
        for size in range(min(len(task_id), 8), 0, -1):
            if ids := self._bay.ids_like(task_id[:size], 8):
                return [{"id": each, "title": title} for each, title in sorted(self._bay.titles(ids).items())]
        return []

    def guide(self, task_id: str, text: str) -> Task:
        """Tell the next attempt of a task something, in place of what it would have been told."""
        said = app.redaction_of(self._bay.place.config, os.environ).text(text.strip())
        if not said or len(said) > ADVICE_MAX:
            raise UsageError(f"guidance is a text of 1 to {ADVICE_MAX} characters")
        bay = self._bay
        with bay.store.write() as tx:
            task = task_service.resolve(tx, task_id)
            number = task.attempts + 1
            kept = tuple(each for each in task.guidance if each.attempt != number)
            guidance = (*kept, Guidance(attempt=number, advice=said, text=said))
            task_service.edit(tx, task, actor=bay.actor, fields={"guidance": guidance}, reset_failures=False)
            return task_service.resolve(tx, task.id)

    # The fleet

    def fleet(self, asked: TaskQuery, *, since: int) -> dict[str, Any]:
        """Return the timeline of the tasks that match: their attempts since a moment, and what comes."""
        with self._bay.store.read() as tx:
            wanted = replace(self._filter(asked, tx.now), moved_since=since)
            rows = overview.fleet(tx, wanted, since=since)
            total = task_rows.count(tx, wanted)
            now = tx.now
        shown = [timeline.fleet_row_as_json(row, now) for row in rows]
        return {"now": moments.iso(now), "since": moments.iso(since), "rows": shown, "total": total}

    def schedules(self) -> dict[str, Any]:
        """Return what recurs and is open, the one that runs next first."""
        with self._bay.store.read() as tx:
            found, now = activity.recurring(tx, ROWS_MAX), tx.now
        return {
            "now": moments.iso(now),
            "tasks": [
                {
                    **task_views.summary(task),
                    **schedule.as_json(task),
                    "how": schedule.how(task),
                    "progress": schedule.progress(task),
                    "phrase": phrase_as_json(status_phrase(task, now)),
                    "next_at": moments.iso(task_views.next_attempt_at(task)),
                }
                for task in found
            ],
        }

    # Events

    def events(
        self, *, since: int | None = None, before: int | None = None, task_id: str | None = None, limit: int = 100
    ) -> dict[str, Any]:
        """Return events in their order: after a number, or the last ones before one; each with its words."""
        bay = self._bay
        whole = bay.get(task_id).id if task_id is not None else None
        with bay.store.read() as tx:
            last = history.last_event_seq(tx)
            if since is None:
                found = history.events_before(
                    tx, before if before is not None else last + 1, limit=limit, task_id=whole
                )
            else:
                found = history.events_since(tx, since, limit=limit, task_id=whole)
            titles = task_rows.titles(tx, sorted({each.task_id for each in found if each.task_id}))
        return {"last": last, "events": [_event(each, titles) for each in found]}

    def settled(self, after: int) -> tuple[list[dict[str, Any]], int]:
        """Return the events after a number that nothing can come before any more, and how far that reaches."""
        with self._bay.store.read() as tx:
            until = effects.readable_until(tx, after, EVENTS_AT_ONCE)
            found = history.events_since(tx, after, limit=EVENTS_AT_ONCE) if until > after else []
            found = [each for each in found if each.seq <= until]
            titles = task_rows.titles(tx, sorted({each.task_id for each in found if each.task_id}))
        return [_event(each, titles) for each in found], until

    # Questions

    def questions(self, *, answered: int = 0) -> dict[str, Any]:
        """Return the open questions, oldest first; with `answered` also so many that were answered last."""
        with self._bay.store.read() as tx:
            asked = teaching.offered(tx, questions.open_questions(tx, ROWS_MAX))
            past = questions.closed(tx, answered) if answered else []
            about = task_rows.many(tx, sorted({each for q in asked for each in q.task_ids[:8]}))
            seen = _overview_of(tx.now, asked, about)
        return {
            "now": moments.iso(seen.now),
            "questions": [overview_views.asked_as_json(each, seen) for each in asked],
            "answered": [overview_views.asked_as_json(each, seen) for each in past],
        }

    def question(self, question_or_task: str) -> dict[str, Any]:
        """Return one question by its id, or the newest one of a task."""
        with self._bay.store.read() as tx:
            found = questions.get(tx, question_or_task)
            if found is None:
                found = questions.newest_of_task(tx, task_service.resolve(tx, question_or_task).id)
            if found is None:
                raise NotFound(f'there is no question "{question_or_task[:70]}"', hint="/inbox has those that wait")
            (offered,) = teaching.offered(tx, [found])
            seen = _overview_of(tx.now, [offered], task_rows.many(tx, found.task_ids[:8]))
        return overview_views.asked_as_json(offered, seen)

    # Logs

    def log(self, task_id: str, number: int, *, first: int | None = None, count: int = 200) -> dict[str, Any]:
        """Return some lines of the log of an attempt; without a first line, the last ones."""
        task, attempt = self._attempt(task_id, number)
        index = self._index(attempt)
        if index is None:
            return self._from_store(task, attempt, first, count)
        total = index.lines
        begin = max(1, total - count + 1) if first is None else max(1, first)
        found = index.read(begin, min(count, ROWS_MAX * 5))
        return {**_log_facts(attempt, total, index.size), "here": True, "rows": self._shown(task, found)}

    def cause(self, task_id: str, number: int) -> int | None:
        """Return the line that the diagnosis of an attempt matched, where its log has it."""
        _, attempt = self._attempt(task_id, number)
        excerpt = attempt.diagnosis.pattern.excerpt if attempt.diagnosis is not None else ""
        wanted = next((line.strip() for line in excerpt.splitlines() if line.strip()), "")
        index = self._index(attempt)
        if index is None or not wanted:
            return None
        return index.near(index.lines + 1, contains(wanted), back=True)

    def search(
        self, task_id: str, number: int, text: str, *, ignore_case: bool = False, regex: bool = False
    ) -> dict[str, Any]:
        """Return which lines of the log of an attempt match a text: the first ones, and how many in all."""
        _, attempt = self._attempt(task_id, number)
        index = self._index(attempt)
        if index is None:
            return {"lines": [], "total": 0}
        if regex:
            found, total = log_search.by_expression(index.path, text, ignore_case=ignore_case, limit=LINES_FOUND)
        else:
            found, total = index.search(contains(text, ignore_case=ignore_case), limit=LINES_FOUND)
        return {"lines": found, "total": total}

    def error_line(self, task_id: str, number: int, line: int, *, back: bool) -> int | None:
        """Return the next line after one that reads like an error, or the last one before it."""
        _, attempt = self._attempt(task_id, number)
        index = self._index(attempt)
        return index.near(line, looks_wrong, back=back) if index else None

    def log_file(self, task_id: str, number: int) -> tuple[LogIndex | None, Redaction]:
        """Return the log of an attempt by its lines, and what is not shown of it."""
        task, attempt = self._attempt(task_id, number)
        return self._index(attempt), self.redaction(task)

    def redaction(self, task: Task) -> Redaction:
        """Return what is not shown of a task's logs."""
        return app.redaction_of(self._bay.place.config, os.environ).knowing(dict(task.env))

    def _shown(self, task: Task, found: list[LogLine]) -> list[dict[str, Any]]:
        """Lines without secrets; a secret of several lines is found where they stand together."""
        texts, hide = [each.text for each in found], self.redaction(task)
        together = hide.text("\n".join(texts)).split("\n")
        hidden = together if len(together) == len(texts) else [hide.text(each) for each in texts]
        return [
            {"n": each.number, "text": text, "cut": each.cut, "dropped": each.dropped}
            for each, text in zip(found, hidden, strict=True)
        ]

    def _from_store(self, task: Task, attempt: Attempt, first: int | None, count: int) -> dict[str, Any]:
        """The file is elsewhere or gone: the ends that the store keeps."""
        kept = self._bay.output(attempt.task_id, attempt.number)
        lines = kept.text().splitlines() if kept else []
        begin = max(1, len(lines) - count + 1) if first is None else max(1, first)
        found = [LogLine(at, lines[at - 1]) for at in range(begin, min(begin + count, len(lines) + 1))]
        facts = _log_facts(attempt, len(lines), kept.total_bytes if kept else 0)
        return {**facts, "here": not (kept and kept.head), "rows": self._shown(task, found)}

    def _index(self, attempt: Attempt) -> LogIndex | None:
        key = attempt.task_id, attempt.number
        index = self._indexes.pop(key, None) or LogIndex(Path(attempt.log_path))
        try:
            if not attempt.log_path:
                return None
            index.refresh()
        except OSError:
            return None
        self._indexes[key] = index
        while len(self._indexes) > INDEXES_KEPT:
            del self._indexes[next(iter(self._indexes))]
        return index

    def _attempt(self, task_id: str, number: int) -> tuple[Task, Attempt]:
        with self._bay.store.read() as tx:
            task = task_service.resolve(tx, task_id)
            found = attempts.get(tx, task.id, number)
        if found is None:
            raise NotFound(f"{task.id} has no attempt {number}", hint=f"it had {task.attempts}")
        return task, found

    def _output(self, found: Overview) -> dict[str, str]:
        """The last line that each running attempt wrote."""
        by_id = {task.id: task for task in found.running.tasks}
        lines = {task_id: _last_line(path) for task_id, path in found.running.logs.items()}
        return {task_id: self.redaction(by_id[task_id]).text(line) for task_id, line in lines.items() if line}

    # The rest

    def patterns(self, *, category: str, order: Literal["seen", "count"], limit: int) -> list[Known]:
        """Return what is known of failures, of one category or all."""
        main, sub = read_kind(category) if category else ("", None)
        return self._bay.patterns(PatternFilter(category=main, subcategory=sub, order=order, limit=limit))

    def engines(self) -> tuple[int, int]:
        """Return the moment of the store, and how many engines serve it."""
        with self._bay.store.read() as tx:
            return tx.now, sum(each.lease_until > tx.now for each in workers.alive(tx))

    @property
    def _capacity(self) -> dict[str, Any]:
        config = self._bay.place.config
        return {"recovery_share": config.engine.slots_for_recovery, "queue_slots": config.queue_slots}

    def _filter(self, asked: TaskQuery, now: int) -> TaskFilter:
        known = LIFECYCLES["task"].states
        for each in asked.status:
            if each not in known:
                raise UsageError(f'there is no status "{each[:40]}"', hint=f"there are {', '.join(sorted(known))}")
        for each in asked.stands:
            if each not in _PLACES:
                raise UsageError(f'nothing stands "{each[:40]}"', hint=f"there are {', '.join(_PLACES)}")
        return TaskFilter(
            statuses=asked.status,
            tags=asked.tag,
            without_tags=asked.not_tag,
            queue=asked.queue,
            category="/".join(part for part in read_kind(asked.category) if part) if asked.category else "",
            fingerprint=asked.fingerprint,
            agent=runner_of(asked.agent) if asked.agent else "",
            hold=asked.held,
            places=tuple(_PLACES[each] for each in asked.stands),
            text=asked.text,
            moved_since=None if asked.since_ms is None else now - asked.since_ms,
            triages=None if asked.triages else False,
            order=asked.order,
            limit=max(1, min(asked.limit, ROWS_MAX)),
        )


def _summed(action: str, made: Bulk | BulkEdit, *, dry_run: bool) -> dict[str, Any]:
    """What became of many tasks: how many, some of them, and how many were passed over for which reason."""
    skipped: dict[str, int] = {}
    for _, why in made.skipped:
        skipped[why] = skipped.get(why, 0) + 1
    return {
        "action": action,
        "dry_run": dry_run,
        "matched": len(made.done) + len(made.skipped),
        "done": len(made.done),
        "ids": list(made.done[:ROWS_MAX]),
        "skipped": [{"why": why, "number": number} for why, number in sorted(skipped.items())],
    }


def _iso(at: int) -> str:
    """Times in sentences are marked, so that the page can say them in the reader's zone."""
    return f"⟨{moments.iso(at)}⟩"


def _shortened(task: dict[str, Any]) -> dict[str, Any]:
    """A task with the newest entries of each of its lists: one that recurs for years has many."""
    return {name: value[-ROWS_MAX:] if isinstance(value, list) else value for name, value in task.items()}


def _same_again(task: Task, last: Attempt | None) -> bool:
    """Whether one more attempt would be the same as the one that failed: nothing was learnt for it, nothing changed."""
    if last is None or last.diagnosis is None or task.finished:
        return False
    return not last.diagnosis.retryable or not any(each.attempt > last.number for each in task.guidance)


def _overview_of(now: int, asked: list[Question], about: list[Task]) -> Overview:
    from medbay.core.snapshot import TaskList

    nothing = TaskList(now=now, tasks=(), total=0)
    return Overview(
        now=now,
        seq=0,
        places={},
        done=0,
        questions=tuple(asked),
        tasks={each.id: each for each in about},
        breakers=(),
        workers=(),
        running=nothing,
        waiting=nothing,
    )


def _event(each: Any, titles: Mapping[str, str]) -> dict[str, Any]:
    said = event_views.lines([each], lambda task_id: titles.get(task_id, ""))
    words = {"glyph": said[0].glyph, "token": said[0].token, "words": said[0].what} if said else None
    return {
        **event_views.as_json(each),
        "title": titles.get(each.task_id or ""),
        "said": words or {"glyph": "·", "token": "idle", "words": event_views.data_words(each.data)},
    }


def _log_facts(attempt: Attempt, lines: int, size: int) -> dict[str, Any]:
    return {
        "task": attempt.task_id,
        "attempt": attempt.number,
        "lines": lines,
        "size": size,
        "running": attempt.ended_at is None,
        "path": attempt.log_path,
        "host": attempt.host,
    }


def _written(logs: Mapping[str, str]) -> dict[str, LogSeen]:
    """When each log was written last; one that cannot be read says nothing."""
    found = {}
    for task_id, path in logs.items():
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            continue
        found[task_id] = LogSeen(round(status.st_mtime * 1000), status.st_size)
    return found


def _last_line(path: str) -> str:
    try:
        with open(path, "rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            raw = os.pread(file.fileno(), LAST_LINE, max(0, size - LAST_LINE))
    except OSError:
        return ""
    lines = [line for line in raw.replace(b"\r", b"\n").split(b"\n") if line.strip(b"\0 \t")]
    return lines[-1].decode("utf-8", "replace").strip()[:300] if lines else ""


def _cursor(key: PageKey) -> str:
    return base64.urlsafe_b64encode(json.dumps(list(key)).encode()).decode().rstrip("=")


def _position(cursor: str) -> PageKey:
    """Where a page ended; anything that did not come from us is refused."""
    if not cursor:
        return ()
    try:
        read = json.loads(base64.urlsafe_b64decode(cursor[:500] + "=" * (-len(cursor) % 4)))
    except (binascii.Error, ValueError):
        read = None
    whole = isinstance(read, list) and len(read) > 1 and isinstance(read[-1], str)
    if not whole or not all(type(each) is int and abs(each) < 2**62 for each in read[:-1]):
        raise UsageError("this is not a place in a list", hint="take the cursor of the page before, or none")
    return tuple(read)
