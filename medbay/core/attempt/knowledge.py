"""What is known of a fingerprint: how often it was seen, what a person taught, which advice worked. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from medbay.core.attempt.guidance import DIFFERENT_APPROACH, advice_line
from medbay.core.diagnosis.consequences import consequence_of
from medbay.core.diagnosis.fingerprint import fingerprint, wording
from medbay.core.diagnosis.record import CATEGORIES, Diagnosis, Pattern, RunnerUp
from medbay.core.diagnosis.wording import advise, relabel
from medbay.core.model import Guidance
from medbay.errors import UsageError

TAUGHT: Final = "taught"  # the rule of a diagnosis that follows a person's word
TAUGHT_LIKE: Final = "taught.like"  # the same for a failure like the one that was corrected
LIKE_CONFIDENCE: Final = 0.85  # a person spoke of another failure in the same words
LIKE: Final = "like:"  # how the names of what was taught for a rule and a wording begin
TRIES_MIN: Final = 2  # advice from elsewhere is not preferred before it was tried so often
RUNNERS_UP_MAX: Final = 4

_SUBCATEGORY: Final = re.compile(r"[a-z][a-z0-9_]{0,39}")


class Advice(Struct, frozen=True):
    """One advice and its record: how many attempts got it and then ended, and how many of them succeeded."""

    text: str
    given: int = 0
    cured: int = 0

    @property
    def record(self) -> str:
        """Return how it has done: `worked 6 of 7 times`; nothing when it was never tried."""
        return f"worked {self.cured} of {self.given} times" if self.given else ""

    @property
    def score(self) -> float:
        """The rate at which it cures, drawn towards one half while there is little to go by (Laplace)."""
        return (self.cured + 1) / (self.given + 2)


class Teaching(Struct, frozen=True):
    """What a person said these failures are."""

    category: str
    subcategory: str | None
    by: str
    at: int


class Known(Struct, frozen=True, kw_only=True):
    """Everything known of one fingerprint; `category` is what the rules say, `taught` what a person says."""

    fingerprint: str
    category: str
    subcategory: str | None = None
    summary: str = ""
    excerpt: str = ""
    count: int = 0
    tasks: int = 0
    first_seen: int = 0
    last_seen: int = 0
    taught: Teaching | None = None
    carried: bool = False  # taught for another failure of the same rule and wording
    advice: tuple[Advice, ...] = ()

    @property
    def kind(self) -> str:
        """`category/subcategory` as it is acted on: a person's word before that of the rules."""
        said = self.taught or self
        return f"{said.category}/{said.subcategory}" if said.subcategory else said.category


class Seen(Struct, frozen=True):
    """A failure of this task was diagnosed like this, before any teaching."""

    diagnosis: Diagnosis
    task_id: str


class Tried(Struct, frozen=True):
    """An attempt got this advice against this fingerprint, and succeeded or not."""

    fingerprint: str
    advice: str
    cured: bool


class Taught(Struct, frozen=True):
    """A person corrected what failures like this one are."""

    diagnosis: Diagnosis
    task_id: str
    category: str
    subcategory: str | None
    by: str


Learned = Seen | Tried | Taught


def apply_teaching(diagnosis: Diagnosis, known: Known | None) -> Diagnosis:
    """The diagnosis as a person taught it; as it was found where nothing was taught."""
    if known is None or known.taught is None:
        return diagnosis
    found = teach(diagnosis, known.taught.category, known.taught.subcategory)
    if not known.carried:
        return found
    return replace(found, confidence=LIKE_CONFIDENCE, pattern=Pattern(TAUGHT_LIKE, found.pattern.excerpt))


def likeness(diagnosis: Diagnosis) -> str:
    """Name what failures of the same rule in the same wording have in common: names, numbers and places left out."""
    rule = diagnosis.pattern.rule
    if rule in (TAUGHT, TAUGHT_LIKE) and diagnosis.runners_up:
        rule = diagnosis.runners_up[0].rule
    place = f" ({diagnosis.location})" if diagnosis.location else ""
    said = diagnosis.summary.removesuffix(place).partition(": ")[2]
    return LIKE + fingerprint(rule, (wording(said),))


def teach(diagnosis: Diagnosis, category: str, subcategory: str | None) -> Diagnosis:
    """The same failure under another category, certain, with everything that follows from it.

    What the rules had said becomes the first runner-up. The fingerprint stays: it is the name of the failure.
    """
    follows = consequence_of(category, subcategory)
    rule, others = diagnosis.pattern.rule, diagnosis.runners_up
    if rule not in (TAUGHT, TAUGHT_LIKE):
        said = RunnerUp(rule, diagnosis.category, diagnosis.subcategory, diagnosis.confidence)
        others = (said, *others)[:RUNNERS_UP_MAX]
    same = (category, subcategory) == (diagnosis.category, diagnosis.subcategory)
    kind = f"{category}/{subcategory}" if subcategory else category
    place = f" at {diagnosis.location}" if diagnosis.location else ""
    return replace(
        diagnosis,
        category=category,
        subcategory=subcategory,
        confidence=1.0,
        pattern=Pattern(TAUGHT, diagnosis.pattern.excerpt),
        summary=relabel(diagnosis.summary, before=diagnosis.kind, after=kind),
        suggested_fix=diagnosis.suggested_fix if same else advise(follows.advice, place=place),
        retryable=follows.retryable,
        charge=follows.charge,
        session=follows.session,
        runners_up=others,
    )


def best_advice(diagnosis: Diagnosis, known: Known | None, told: Iterable[Guidance] = ()) -> Advice:
    """The advice with the best record against this failure; what did not help this task yet comes first.

    The diagnosis' own advice is always a candidate, another one only when it cured and was tried often enough.
    """
    own = advice_line(diagnosis.suggested_fix)
    if known is None or not known.advice:
        return Advice(own)
    records = {each.text: each for each in known.advice}
    failed_here = {each.advice for each in told if each.cured is False and each.fingerprint == diagnosis.fingerprint}
    candidates = [
        each
        for each in records.values()
        if each.cured > 0 and each.given >= TRIES_MIN and each.text not in (own, DIFFERENT_APPROACH)
    ]
    return min(
        (records.get(own, Advice(own)), *candidates),
        key=lambda each: (each.text in failed_here, -each.score, each.text != own, -each.given, each.text),
    )


def advised(diagnosis: Diagnosis, known: Known | None) -> Diagnosis:
    """The diagnosis with the advice that cured it before, and its record, for the person who is asked."""
    best = best_advice(diagnosis, known)
    return replace(diagnosis, suggested_fix=f"{best.text} ({best.record})") if best.cured else diagnosis


def judge(told: tuple[Guidance, ...], attempt: int, *, cured: bool) -> tuple[tuple[Guidance, ...], tuple[Tried, ...]]:
    """The advice of the attempt that has just ended, now that it is known whether it helped."""
    if not told:
        return (), ()
    waiting = [each for each in told if each.cured is None and each.attempt <= attempt]
    tried = dict.fromkeys(
        Tried(each.fingerprint, each.advice, cured) for each in waiting if each.fingerprint and each.advice
    )
    judged = tuple(replace(each, cured=cured) if each in waiting else each for each in told)
    return judged, tuple(tried)


def read_kind(text: str) -> tuple[str, str | None]:
    """A category and subcategory as a person types them: `transient` or `transient/network`."""
    category, slash, subcategory = text.strip().lower().partition("/")
    if category not in CATEGORIES:
        raise UsageError(f'"{category}" is not a category', hint=f"choose one of: {', '.join(CATEGORIES)}")
    if slash and not _SUBCATEGORY.fullmatch(subcategory):
        raise UsageError(f'"{subcategory}" is not a subcategory', hint="write small letters, such as transient/network")
    return category, subcategory or None
