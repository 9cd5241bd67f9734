"""Small cases for the tests of triage: a failing task that waits, the triage that looked at it, what it answered."""

from __future__ import annotations

from typing import Any

from medbay.core.decision import Added, Decision
from medbay.core.model import Guidance, Task, Triage
from medbay.core.policy.policy import Policy
from medbay.core.triage.case import Means, TriageCase
from medbay.core.triage.effects import Judged, judge
from medbay.core.triage.verdict import Adjustment, Piece, Unreadable, Verdict
from tests.core.builders import HOUR, MINUTE, NOW, diagnosis, failed

ACTOR = "triage"
IDS = tuple(f"n-{number}" for number in range(1, 13))
PARTS = (Piece(title="parser", description="reads"), Piece(title="printer", description="writes"))
FIX = Piece(title="repair the ledger", description="its checksum is wrong")
SPEC = """Build the ledger.

Acceptance criteria:
- it adds
- [ ] it subtracts
  and says so
1. it prints

Notes:
- not a criterion
"""


def waiting(**given: Any) -> Task:
    """A one-off at rung 3, which waits for its triage."""
    standing: dict[str, Any] = {
        "attempts": 3,
        "streak": 3,
        "charged": 3,
        "due_at": None,
        "waits_for": "triage",
        "triages": 1,
        "triaged_at": NOW - MINUTE,
        "last_category": "code_error/type",
        "last_fingerprint": "code_error:a1b2c3d4",
        "last_summary": "cannot find name foo",
    }
    return failed(**(standing | given))


def repeating(**given: Any) -> Task:
    """A recurring task on its backoff."""
    standing: dict[str, Any] = {"every_ms": HOUR, "waits_for": None, "due_at": NOW + HOUR, "planned_at": NOW - MINUTE}
    return waiting(**(standing | given))


def agents(**given: Any) -> Task:
    """A one-off that an agent works on."""
    return waiting(**({"runner": "agent:coder", "command": (), "spec": SPEC} | given))


def triage_of(task: Task, **given: Any) -> Triage:
    """The triage that looked at the newest failure of a task."""
    values: dict[str, Any] = {
        "id": f".triage-{task.id}-1",
        "task_id": task.id,
        "number": task.attempts,
        "fingerprint": task.last_fingerprint,
        "agent": "command",
        "started_at": NOW - MINUTE,
    }
    return Triage(**(values | given))


def case(task: Task | None = None, **given: Any) -> TriageCase:
    """A case as the service loads it."""
    task = task if task is not None else waiting()
    values: dict[str, Any] = {
        "task": task,
        "triage": triage_of(task),
        "diagnosis": diagnosis(),
        "policy": Policy(),
        "new_ids": IDS,
        "acts": ("triage:started",),
    }
    return TriageCase(**(values | given))


def says(word: str, **given: Any) -> Verdict:
    """A verdict within its rights, as far as the task allows it."""
    carries: dict[str, dict[str, Any]] = {
        "ADJUST": {"adjust": Adjustment(guidance="read the schema first")},
        "SPLIT": {"parts": PARTS},
        "FILE_FIX": {"fixes": (FIX,)},
        "SPEC_REFRESH": {"unclear": "what foo is"},
        "RECOMMEND_CONFIG": {"suggestion": "raise the limit of the database"},
    }
    values: dict[str, Any] = {
        "word": word,
        "why": "because of foo",
        "root_cause": "foo is missing",
        "evidence": ("error TS2304: foo",),
        "confidence": 0.8,
    }
    return Verdict(**(values | carries.get(word, {}) | given))


def judged(of: TriageCase, answer: Verdict | Unreadable, *, now: int = NOW) -> Judged:
    """What follows from an answer."""
    return judge(of, answer, now, actor=ACTOR)


def new(decision: Decision) -> list[Added]:
    """What was made, in order."""
    return list(decision.all(Added))


def told_before(advice: str, attempt: int = 3) -> Guidance:
    """A guidance that did not help."""
    return Guidance(attempt, advice, advice, "code_error:a1b2c3d4", cured=False)


def with_agents(**given: Any) -> Means:
    """A configuration with agents for everything."""
    values: dict[str, Any] = {
        "fix_agent": "fixer",
        "spec_agent": "writer",
        "profiles": ("coder", "other"),
        "models": ("small", "large"),
        "accounts": {"coder": ("provider:acme",), "other": ("provider:beta",), "fixer": ("provider:acme/2",)},
    }
    return Means(**(values | given))
