"""A verdict as data: what a triage agent found and wants done. Reading one is `reading`, its limits are `rights`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Word = Literal["NOOP", "ADJUST", "SPLIT", "SPEC_REFRESH", "FILE_FIX", "PAUSE", "RECOMMEND_CONFIG", "ESCALATE"]
WORDS: Final[tuple[Word, ...]] = (
    "NOOP",
    "ADJUST",
    "SPLIT",
    "SPEC_REFRESH",
    "FILE_FIX",
    "PAUSE",
    "RECOMMEND_CONFIG",
    "ESCALATE",
)

_SPELLINGS: Final[dict[str, Word]] = {"NO_OP": "NOOP", "ADJUST_PARAMETERS": "ADJUST", "ESCALATED_TO_TIER3": "ESCALATE"}


def word_of(said: str) -> Word | None:
    """The verdict a word means, however it is spelled; None when it is none of ours."""
    spelled = "_".join(said.upper().replace("-", "_").split())
    return next((word for word in WORDS if word == spelled), _SPELLINGS.get(spelled))


# What a triage of an item ends with, each of them produced somewhere; the last six when something went wrong.
Action = Literal[
    "cleared_for_retry",
    "cooldown_pending",
    "triage_started",
    "adjusted",
    "split",
    "fix_filed",
    "spec_refresh_requested",
    "paused",
    "no_action",
    "config_recommended",
    "escalated_to_human",
    "stale",
    "clear_failed",
    "triage_failed",
    "verdict_unreadable",
    "split_failed",
    "escalation_failed",
    "refused",
    "record_unreadable",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A task a verdict wants made: a part of a split, or a fix."""

    title: str
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adjustment:
    """What ADJUST changes of the failing task; what is not named stays."""

    guidance: str = ""
    timeout_ms: int | None = None
    model: str = ""
    profile: str = ""  # another configured agent
    fresh_session: bool = False
    retry_delay_ms: int | None = None
    keep_criteria: tuple[str, ...] | None = None  # fewer acceptance criteria; the rest becomes a follow-up task


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a triage agent answered, readable; whether it is within its rights is not decided yet."""

    word: Word
    why: str = ""
    root_cause: str = ""
    evidence: tuple[str, ...] = ()
    confidence: float | None = None
    adjust: Adjustment | None = None
    parts: tuple[Piece, ...] = ()
    fixes: tuple[Piece, ...] = ()  # one is allowed; more are kept to be refused
    unclear: str = ""
    suggestion: str = ""
    look_at: str = ""
    task_id: str = ""  # the task it names; any but the failing task is outside its rights
    attempt: int | None = None  # which attempt it says it judged
    orders: tuple[str, ...] = ()  # names of what it asked for that no verdict can carry
    warning: str = ""  # what is odd about the answer and refuses nothing


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An answer that is no verdict, and what was wrong with it."""

    why: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """A verdict outside its rights, and which right it lacks."""

    why: str
