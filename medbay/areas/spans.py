"""Spans of what ended, from the event log to a collector: one engine at a time, a bounded number, at least once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from medbay.core.model import Attempt, Event
from medbay.integrations.spans import SpanExporter, Spanned
from medbay.store import attempts, checks, effects, history, messages, triages
from medbay.store import tasks as task_rows
from medbay.store.database import Tx

if TYPE_CHECKING:
    from medbay.bay import Bay

_READER: Final = "otel"
_LEASE_MS: Final = 60_000
_READ_AT_ONCE: Final = 500  # events
_ENDS: Final = ("task:failed", "task:completed", "task:iteration_done", "task:cancelled", "task:lost", "task:requeued")
_TRIAGES: Final = ("triage:verdict", "triage:refused", "triage:failed")
_FINISHED: Final = ("task:completed", "task:cancelled")
_GOOD: Final = ("task:completed", "task:iteration_done", "task:cancelled")


class Spans:
    """Sends the spans of one store, if a collector is configured."""

    def __init__(self, bay: Bay) -> None:
        config = bay.place.config.otel
        self._bay = bay
        self._owner = bay.ids.store()
        self._exporter = SpanExporter(config.endpoint, config.service, bay.store.store_id) if config.endpoint else None
        self._delivered_at = bay.now()  # up to when deliveries were sent

    def cycle(self) -> str:
        """Send what ended since the last time; why that was not possible, or nothing."""
        if self._exporter is None:
            return ""
        with self._bay.store.write() as tx:
            if messages.listen(tx, _READER, owner=self._owner, lease_ms=_LEASE_MS) is None:
                return ""
            at = effects.cursor(tx, _READER, "")
            if at is None:
                effects.move_cursor(tx, _READER, "", history.last_event_seq(tx))
                return ""
        with self._bay.store.read() as tx:
            until, now = effects.readable_until(tx, at, _READ_AT_ONCE), tx.now
            events = effects.events_between(tx, at, until, (*_ENDS, *_TRIAGES)) if until > at else []
            found = [span for each in events for span in _spans(tx, each)]
            found += list(_deliveries(tx, self._delivered_at, now))
        if found and not self._exporter.send(found):
            return (
                f"the collector at {self._bay.place.config.otel.endpoint} did not take the spans; they are sent later"
            )
        self._delivered_at = now
        if until > at:
            with self._bay.store.write() as tx:
                effects.move_cursor(tx, _READER, "", until)
        return ""


def _spans(tx: Tx, event: Event) -> Iterator[Spanned]:
    if event.name in _TRIAGES:
        yield from _triage(tx, str(event.data.get("triage", "")))
        return
    task = task_rows.get(tx, event.task_id or "")
    if task is None:
        return
    attempt = attempts.get(tx, task.id, event.attempt) if event.attempt else None
    if attempt is not None and attempt.ended_at is not None:
        yield _attempt(attempt, "" if event.name in _GOOD else event.name.partition(":")[2])
        yield from _checks(tx, attempt)
    if event.name in _FINISHED:
        yield Spanned(
            task_id=task.id,
            name="task",
            key="",
            begun_at=task.created_at,
            ended_at=task.ended_at if task.ended_at is not None else event.at,
            facts={"medbay.status": task.status, "medbay.attempts": task.attempts},
        )


def _attempt(of: Attempt, error: str) -> Spanned:
    assert of.ended_at is not None
    facts: dict[str, str | int] = {"medbay.attempt": of.number, "medbay.host": of.host}
    facts |= {"medbay.agent": of.agent} if of.agent else {}
    facts |= {"medbay.tokens": of.tokens} if of.tokens else {}
    return Spanned(
        task_id=of.task_id,
        name="attempt",
        key=f"attempt {of.number}",
        within="",
        after=f"attempt {of.number - 1}" if of.number > 1 else None,
        begun_at=of.started_at,
        ended_at=of.ended_at,
        error=error,
        facts=facts,
    )


def _checks(tx: Tx, of: Attempt) -> Iterator[Spanned]:
    for each in checks.of_attempt(tx, of.task_id, of.number):
        if each.started_at is not None and each.ended_at is not None:
            yield Spanned(
                task_id=of.task_id,
                name="check",
                key=f"check {of.number}.{each.position}",
                within=f"attempt {of.number}",
                begun_at=each.started_at,
                ended_at=each.ended_at,
                error="" if each.status == "PASS" else each.status.lower(),
                facts={"medbay.check": each.position, "medbay.result": each.status},
            )


def _triage(tx: Tx, triage_id: str) -> Iterator[Spanned]:
    found = triages.get(tx, triage_id)
    if found is not None and found.ended_at is not None:
        yield Spanned(
            task_id=found.task_id,
            name="triage",
            key=f"triage {found.id}",
            within="",
            begun_at=found.started_at,
            ended_at=found.ended_at,
            facts={"medbay.agent": found.agent, "medbay.action": found.action},
        )


def _deliveries(tx: Tx, since: int, until: int) -> Iterator[Spanned]:
    for each in effects.ended_between(tx, since, until, _READ_AT_ONCE):
        if each.event.task_id and each.ended_at is not None and each.tries:
            yield Spanned(
                task_id=each.event.task_id,
                name="delivery",
                key=f"delivery {each.key}",
                within="",
                begun_at=each.created_at,
                ended_at=each.ended_at,
                error=each.status if each.status == "given_up" else "",
                facts={"medbay.channel": each.channel, "medbay.event": each.event.name, "medbay.tries": each.tries},
            )
