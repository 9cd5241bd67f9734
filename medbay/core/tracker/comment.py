"""Our one comment on an issue of a tracker without notes: what it says, and the notes that it stands for.

The comment carries the failure record; that a person is waited for is a label. A person who takes the label away
releases the issue, whatever the comment still says.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from medbay.core.tracker import record

HEAD: Final = "Medbay keeps this comment up to date."
PERSON_LABEL: Final = record.NEEDS_HUMAN
PAUSE_LABEL: Final = "deferred"
OWN_LABELS: Final = frozenset({PERSON_LABEL, PAUSE_LABEL})
MARKDOWN: Final = "```"  # the line that begins and ends text which nothing interprets
WIKI: Final = "{noformat}"
_NOTHING: Final = "Nothing failed since it was last worked on."


def with_notes(notes: str, fence: str) -> str:
    """The comment for these notes: our line stands where no markup changes its pipes and backslashes."""
    return f"{HEAD}\n\n{fence}\n{notes.strip()}\n{fence}" if notes.strip() else f"{HEAD}\n\n{_NOTHING}"


def with_reason(reason: str) -> str:
    """The comment of an issue that we close."""
    return f"{HEAD}\n\n{reason}"


def is_ours(comment: str) -> bool:
    """Whether a comment begins as ours do; who wrote it is the tracker's to say."""
    return comment.lstrip().startswith(HEAD)


def notes_of(comment: str, labels: Collection[str], fence: str) -> str:
    """The notes that our comment (empty: there is none) and the labels of an issue stand for."""
    said = _fenced(comment, fence)
    human = record.read(said).human
    if PERSON_LABEL not in labels:
        return record.cleared(said) if human is not None else said
    return said if human is not None else record.with_line(said, record.needs_human(f"it has the label {PERSON_LABEL}"))


def _fenced(comment: str, fence: str) -> str:
    lines = comment.replace("\r\n", "\n").split("\n")
    marks = [at for at, each in enumerate(lines) if each.strip() == fence]
    return "\n".join(lines[marks[0] + 1 : marks[-1]]) if len(marks) > 1 else ""
