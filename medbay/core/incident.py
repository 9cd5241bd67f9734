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
    number = found.fingerprint.rpartition(":")[2]
    asked = Question(
        id=f"q-{number}-{now // 1000:x}",
        need=f"{len(tasks)} tasks fail the same way: {found.summary}. {found.suggested_fix}".strip(),
        why=f"{found.kind} on {', '.join(sorted(tasks))}; they hold until one of them gets through",
        evidence=found.pattern.excerpt[:EVIDENCE_MAX],
        options=(TRY_NOW, WAIT),
        asked_at=now,
    )
    facts = {"category": found.kind, "excerpt": found.pattern.excerpt[:EVIDENCE_MAX], "tasks": sorted(tasks)}
    key = incident_key(found.fingerprint)
    why = f"{len(tasks)} tasks fail the same way: {found.summary}"
    made = open_incident(key, now, why=why, fingerprint=found.fingerprint, question_id=asked.id, facts=facts)
    return made, asked
