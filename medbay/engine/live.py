"""An attempt that an engine is running."""

from __future__ import annotations

from dataclasses import dataclass

from medbay.core.attempt.rescue import Failure
from medbay.core.outcome import Outcome, Succeeded, redacted
from medbay.core.redaction import Redaction
from medbay.runners.protocol import Running
from medbay.service.attempts import Claim, Finished


@dataclass(frozen=True, slots=True)
class Live:
    """An attempt this engine is running."""

    claim: Claim
    running: Running

    @property
    def verifying(self) -> bool:
        """Whether its work has ended well and its checks are what runs."""
        return self.claim.task.status == "pending_verification"

    def leaves_checks(self, outcome: Outcome, *, evaluates: bool) -> bool:
        """Whether something may have to look at its result now."""
        if isinstance(outcome, Succeeded):
            return self.verifying or bool(self.claim.task.checks)
        return self.verifying or (evaluates and isinstance(outcome, Failure))

    def finished(self, outcome: Outcome, now: int, redaction: Redaction) -> Finished:
        """How it ended, to be settled; nothing of it is kept or judged before its secrets are taken out."""
        claim = self.claim
        return Finished(
            task_id=claim.task.id,
            number=claim.attempt.number,
            outcome=redacted(outcome, redaction.knowing(dict(claim.task.env))),
            ended_at=now,
            checks=claim.task.checks,
            claim=claim,
        )
