"""What one cycle answers: a result per item, counts that add up, every error once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

COUNTED_AS: Final[Mapping[str, str]] = {
    "cleared_for_retry": "tier1_cleared",
    "cooldown_pending": "tier1_pending",
    "adjusted": "tier2_adjusted",
    "split": "tier2_split",
    "fix_filed": "tier2_fix_filed",
    "spec_refresh_requested": "tier2_spec_refresh",
    "paused": "tier2_paused",
    "no_action": "tier2_no_action",
    "stale": "tier2_no_action",
    "config_recommended": "tier2_recommended",
    "triage_started": "tier2_started",
    "escalated_to_human": "tier3_escalated",
    "refused": "tier3_escalated",
    "record_unreadable": "unreadable",
}
"""An action that is not here went wrong, and is counted among the errors of triage."""

ERRORS: Final = "triage_errors"
COUNTS: Final = (*dict.fromkeys(COUNTED_AS.values()), ERRORS)
_TOLD_AS: Final = {"refused": "escalated_to_human", "stale": "no_action", "record_unreadable": "escalated_to_human"}


@dataclass(frozen=True, slots=True)
class Item:
    """What became of one failed item."""

    issue_id: str
    tier: int
    action: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Cycle:
    """One cycle over all items; `broken` says why they could not be listed at all."""

    items: tuple[Item, ...] = ()
    broken: str = ""

    @property
    def counts(self) -> dict[str, int]:
        """Every count there is; they sum to the number of items."""
        found = Counter(COUNTED_AS.get(each.action, ERRORS) for each in self.items)
        return {name: found[name] for name in COUNTS}

    @property
    def errors(self) -> tuple[str, ...]:
        """Every error, once."""
        wrong = (each for each in self.items if each.action not in COUNTED_AS)
        told = (f"{each.issue_id}: {each.action}: {each.detail}" for each in wrong)
        return ((self.broken,) if self.broken else ()) + tuple(dict.fromkeys(told))

    def as_data(self) -> dict[str, Any]:
        """The documented shape."""
        results = [asdict(each) | {"action": _TOLD_AS.get(each.action, each.action)} for each in self.items]
        return {"issues_found": len(self.items), **self.counts, "errors": list(self.errors), "results": results}

    def line(self) -> str:
        """One line for the log: every count, and the errors as one number."""
        told = ", ".join(f"{name} {count}" for name, count in self.counts.items())
        return f"triage: issues_found {len(self.items)}, {told}, errors {len(self.errors)}"
