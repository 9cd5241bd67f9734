"""The guidance for the next attempt: the last failure, its place, the advice, and what was tried. Bounded."""

from __future__ import annotations

from typing import Final

from medbay.core.diagnosis.record import Diagnosis
from medbay.core.model import Guidance
from medbay.core.untrusted import block, line

KEPT: Final = 5
FOUND_MAX: Final = 400
ADVICE_MAX: Final = 500
TEXT_MAX: Final = 1_000

DIFFERENT_APPROACH: Final = (
    "Try a completely different approach: what was tried so far failed again. Question the assumptions behind it"
    " and change the method, not the details."
)


def guide(diagnosis: Diagnosis, *, next_attempt: int, advice: str = "", record: str = "") -> Guidance:
    """The guidance for the next attempt after this failure; `record` is how the advice has fared so far."""
    advice = advice_line(advice or diagnosis.suggested_fix)
    helps = f"Advice: {advice}" + (f" ({record})" if record else "") if advice else ""
    place = f" at {diagnosis.location}" if diagnosis.location else ""
    found = f"Attempt {next_attempt - 1} failed{place}: {diagnosis.summary}"
    known = f"({diagnosis.kind}, confidence {diagnosis.confidence:.2f})"
    text = "\n".join(part for part in (f"{line(found, FOUND_MAX)} {known}", helps) if part)
    return Guidance(next_attempt, advice, block(text, TEXT_MAX), diagnosis.fingerprint)


def person_says(note: str, *, next_attempt: int, fingerprint: str = "", failed: str = "") -> Guidance:
    """A person's own words for the next attempt, against the failure they were asked about."""
    return _says("A person says", note, next_attempt, fingerprint, failed)


def person_answers(question: str, words: str, *, next_attempt: int) -> Guidance:
    """What a person answers to an agent that asked: whole, because it goes into its session as it is."""
    text = f"The agent asked: {line(question, FOUND_MAX)}\nA person answers: {words}"
    return Guidance(next_attempt, advice_line(words), block(text, TEXT_MAX), "", None, words)


def triage_says(words: str, *, next_attempt: int, fingerprint: str = "", failed: str = "") -> Guidance:
    """What a triage advises after it examined several failures."""
    return _says("Triage advises", words, next_attempt, fingerprint, failed)


def _says(who: str, words: str, next_attempt: int, fingerprint: str, failed: str) -> Guidance:
    """Their words after what failed, which the next attempt has to know as well."""
    found = f"{line(f'Attempt {next_attempt - 1} failed: {failed}', FOUND_MAX)}\n" if failed else ""
    return Guidance(next_attempt, advice_line(words), block(f"{found}{who}: {words}", TEXT_MAX), fingerprint)


def advice_line(advice: str) -> str:
    """An advice as it is given and remembered: one line, bounded."""
    return line(advice, ADVICE_MAX)


def keep(entries: tuple[Guidance, ...], new: Guidance) -> tuple[Guidance, ...]:
    """The newest few; five failures do not grow a prompt without end."""
    return (*entries, new)[-KEPT:]


def render(entries: tuple[Guidance, ...], *, attempt: int) -> str:
    """The text a runner gets: the newest guidance first, then what was advised before."""
    if not entries:
        return ""
    newest = entries[-1]
    lines = [f"Retry Guidance (Attempt #{attempt})", newest.text]
    tried = [f"- before attempt {entry.attempt}: {entry.advice}" for entry in entries[:-1] if entry.advice]
    return "\n".join([*lines, "Already advised:", *tried] if tried else lines)
