"""Evaluations of failed attempts: what an evaluator is shown, and what its end is the end of."""

from __future__ import annotations

import json
import logging
from datetime import UTC

from msgspec.structs import replace

from medbay.core.attempt import rescue
from medbay.core.attempt.diagnosed import diagnose_outcome, handed_to
from medbay.core.attempt.ending import Ended
from medbay.core.attempt.rescue import Evaluation
from medbay.core.model import Attempt, Task
from medbay.core.outcome import Checked, Lost, Output
from medbay.core.redaction import Redaction
from medbay.core.triage import agency
from medbay.core.triage.context import ShownFailure, of_attempt
from medbay.service import owners
from medbay.store import attempts, breakers
from medbay.store.database import Tx

log = logging.getLogger("medbay.engine")


def context(tx: Tx, task: Task, attempt: Attempt, *, redaction: Redaction) -> str:
    """What the evaluator of this attempt is shown, as JSON, redacted; nothing where its checks are what comes."""
    if attempt.failure is None:
        return ""
    output = attempts.output(tx, task.id, attempt.number) or Output()
    outcome = rescue.restored(attempt.failure, output)
    handed = handed_to(task, attempt)
    found = diagnose_outcome(outcome, tx.now, runner=task.runner, zone=UTC, handed=handed)
    ended = replace(attempt, outcome=attempt.failure["outcome"], diagnosis=found)
    shown = ShownFailure(attempt=ended, tail=output.tail)
    redact, depth = redaction.knowing(dict(task.env)).text, owners.depth_of(tx, task)
    return json.dumps(of_attempt(task, shown, redact, depth=depth))


def looked_at(tx: Tx, ended: Ended, *, threshold: float) -> Ended:
    """The end of an evaluation as the end of the failed work it evaluated; any other end as it is."""
    failure, outcome = ended.attempt.failure, ended.outcome
    if failure is None or not isinstance(outcome, Checked | Lost):
        return ended
    output = attempts.output(tx, ended.task.id, ended.attempt.number) or Output()
    evaluation = Evaluation(
        results=outcome.results if isinstance(outcome, Checked) else (),
        lost=outcome.why if isinstance(outcome, Lost) else "",
        threshold=threshold,
        agency=breakers.get(tx, agency.KEY),
    )
    said = rescue.score(evaluation)
    if said.value is None:
        log.warning("attempt %d of %s is not rescued: %s", ended.attempt.number, ended.task.id, said.why)
    return replace(ended, outcome=rescue.restored(failure, output), evaluation=evaluation, evaluator=None)
