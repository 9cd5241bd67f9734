"""Incidents: the same failure on many tasks at once, where the cause is one they share. Treated once, asked once."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from medbay.core.breaker import Breaker, open_incident
from medbay.core.diagnosis.record import Diagnosis
from medbay.core.model import Option, Question
from medbay.core.question import EVIDENCE_MAX
from medbay.core.resources import incident_key

CONFIDENT_FROM: Final = 0.8
SHARED: Final = frozenset({"transient", "dependency_missing", "resource_exhaustion"})

TRY_NOW: Final = Option("fixed, try one task now", "retry", "sends one task ahead; when it lives, the rest follow")
WAIT: Final = Option("keep waiting", "wait", "Medbay goes on sending one task ahead from time to time")


def is_shared(found: Diagnosis) -> bool:
    """Whether a failure speaks of something that tasks have in common, surely enough and with words to show."""
    said = found.pattern.excerpt.strip()
    return found.category in SHARED and found.confidence >= CONFIDENT_FROM and bool(said)


def opened(found: Diagnosis, tasks: Collection[str], now: int) -> tuple[Breaker, Question]:
    """The incident, and its question, which blocks no task."""
    question = asked(
        found.fingerprint,
        now,
        need=f"{len(tasks)} tasks fail the same way: {found.summary}. {found.suggested_fix}".strip(),
        why=f"{found.kind} on {', '.join(sorted(tasks))}; they hold until one of them gets through",
        evidence=found.pattern.excerpt[:EVIDENCE_MAX],
    )
    facts = {"category": found.kind, "excerpt": found.pattern.excerpt[:EVIDENCE_MAX], "tasks": sorted(tasks)}
    key = incident_key(found.fingerprint)
    why = f"{len(tasks)} tasks fail the same way: {found.summary}"
    made = open_incident(key, now, why=why, fingerprint=found.fingerprint, question_id=question.id, facts=facts)
    return made, question


def asked(fingerprint: str, now: int, *, need: str, why: str, evidence: str, again: int = 0) -> Question:
    """The question of an incident: it blocks no task, and is withdrawn when the incident closes.

    `again` is a number of its own for a second one within the same second.
    """
    number = fingerprint.rpartition(":")[2]
    return Question(
        id=f"q-{number}-{again or now // 1000:x}",
        need=need,
        why=why,
        evidence=evidence,
        options=(TRY_NOW, WAIT),
        asked_at=now,
    )
