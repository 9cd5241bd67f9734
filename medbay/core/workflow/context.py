"""What a role is told besides its story: pieces in three tiers, kept for a time by the hash of their content.

Static pieces come first and change least, so that the beginning of a prompt stays the same from phase to phase.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any, Final, Literal

from msgspec import Struct

from medbay.core.untrusted import line
from medbay.core.workflow.records import PhaseRun, Story

Tier = Literal["static", "domain", "session"]

KEPT_MS: Final[dict[Tier, int]] = {
    "static": 24 * 3_600_000,  # role instructions, the project's own documents
    "domain": 4 * 3_600_000,  # the shape of the project, what was learned
    "session": 30 * 60_000,  # what happened in this story so far
}
LEARNINGS_MAX: Final = 10
_SUMMARY_MAX: Final = 2_000


class ContextPiece(Struct, frozen=True, kw_only=True):
    """One text for a prompt, and the hash of its content."""

    tier: Tier
    name: str
    text: str
    hash: str

    def as_data(self) -> dict[str, Any]:
        """As it stands in MEDBAY_INPUT."""
        return {"tier": self.tier, "name": self.name, "hash": self.hash, "text": self.text}


def piece(tier: Tier, name: str, text: str) -> ContextPiece:
    """A text with its hash."""
    return ContextPiece(tier=tier, name=name, text=text, hash=digest(text))


def digest(text: str) -> str:
    """The hash of a content."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def learned(texts: Sequence[str]) -> str:
    """What reviews and gates refused before, for the role that has to do better; empty for nothing."""
    if not texts:
        return ""
    items = "".join(f"- {line(each, 500)}\n" for each in texts[:LEARNINGS_MAX])
    return f"What reviews and gates refused before, the most frequent first:\n{items}"


def history(story: Story, runs: Iterable[PhaseRun]) -> str:
    """What happened in a story so far: each phase that ended, and what refused parts said."""
    lines = []
    for run in runs:
        if run.ended_at is None:
            continue
        verdict = run.verdict or run.status
        lines.append(
            f"- {run.phase} (run {run.number}): {verdict}. {line(run.summary, _SUMMARY_MAX)}".rstrip(". ") + "."
        )
        refused = (part for part in run.parts if part.status in ("FAIL", "ERROR", "TIMEOUT") and len(run.parts) > 1)
        lines += [f"  - {part.role}: {part.status}. {line(part.summary, _SUMMARY_MAX)}" for part in refused]
    return f"What happened in {story.id} so far:\n" + "".join(f"{each}\n" for each in lines) if lines else ""
