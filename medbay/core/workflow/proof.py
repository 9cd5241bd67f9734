"""Evidence at the gate: each acceptance criterion needs an entry whose file still has the hash it was recorded with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from medbay.core.workflow.records import EvidenceEntry
from medbay.core.workflow.shapes import CriterionJudged

_NOTHING = "nothing shows it"


def judged(
    criteria: Sequence[str], entries: Sequence[EvidenceEntry], hashes: Mapping[str, str | None]
) -> tuple[CriterionJudged, ...]:
    """Every criterion with whether it is shown, and if not, why not. `hashes` are those of the files now."""
    made = []
    for number, text in enumerate(criteria, start=1):
        why = _missing([each for each in entries if each.criterion == number], hashes)
        made.append(CriterionJudged(criterion=number, text=text, shown=not why, why=why))
    return tuple(made)


def refusal(found: Sequence[CriterionJudged]) -> str:
    """Why the gate cannot pass, naming every criterion that nothing shows; empty where all are shown."""
    return "; ".join(f"criterion {each.criterion} ({each.text}): {each.why}" for each in found if not each.shown)


def _missing(entries: Sequence[EvidenceEntry], hashes: Mapping[str, str | None]) -> str:
    """Why no entry shows it; empty where one does. The reason is that of the newest entry."""
    why = _NOTHING
    for each in reversed(entries):
        now = hashes.get(each.path)
        if each.hash and now == each.hash:
            return ""
        if why == _NOTHING:
            gone = not each.hash or now is None
            why = f"{each.path} is not there" if gone else f"{each.path} changed since {each.phase} recorded it"
    return why
