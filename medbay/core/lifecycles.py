"""THE tables: every lifecycle of the product, as data. No code elsewhere decides whether a move is legal."""

from __future__ import annotations

from typing import Final, Literal

from medbay.core.machine import Machine, Move

Status = Literal["pending", "in_progress", "pending_verification", "completed", "failed", "blocked", "cancelled"]
BlockKind = Literal["human", "exhausted", "spec", "dependency", "circuit", "external"]

# Which kinds of block end by themselves once `blocked_timeout` has passed.
BLOCKS_THAT_TIME_OUT: Final[frozenset[BlockKind]] = frozenset({"spec", "external"})

TASK: Final = Machine(
    name="task",
    initial="pending",
    terminal=frozenset({"completed", "cancelled"}),
    moves=(
        Move("pending", "in_progress", "claimed by a worker"),
        Move("pending", "blocked", "by a person, by triage, or what it waits for cannot happen any more"),
        Move("pending", "cancelled", "by a person, by triage, or what it waits for cannot happen any more"),
        Move("in_progress", "pending_verification", "the attempt succeeded and there are checks, or it is evaluated"),
        Move("in_progress", "completed", "the attempt succeeded and there are none"),
        Move("in_progress", "failed", "the attempt failed"),
        Move("in_progress", "pending", "lease lost, handed back, or a recurring iteration succeeded"),
        Move("in_progress", "cancelled", "by a person"),
        Move("in_progress", "blocked", "crash budget used up, or an engine error"),
        Move("pending_verification", "completed", "the gate passed, or the evaluator rescued it"),
        Move("pending_verification", "failed", "the gate did not pass, or nothing was rescued"),
        Move("pending_verification", "pending", "a recurring iteration passed its gate or was rescued"),
        Move("pending_verification", "cancelled", "by a person"),
        Move("pending_verification", "blocked", "crash budget used up, or an engine error"),
        Move("failed", "pending", "the retry is due, it was cleared, or it was chosen as a canary"),
        Move("failed", "blocked", "escalated or exhausted"),
        Move("failed", "cancelled", "closed, for example split into sub-tasks"),
        Move("blocked", "pending", "unblocked, by a person or because what it waited for came"),
        Move("blocked", "cancelled", "by a person"),
        Move("blocked", "completed", "answered: only for the runner person"),
    ),
)

_STORY_PLACES: Final = {
    "pending": "backlog",
    "generated": "backlog",
    "in-elaboration": "elaboration",
    "needs-refinement": "elaboration",
    "needs-split": "elaboration",
    "ready-to-work": "ready-to-work",
    "in-progress": "in-progress",
    "ready-for-code-review": "in-progress",
    "code-review-failed": "in-progress",
    "ready-for-qa": "ready-for-qa",
    "in-qa": "UAT",
    "needs-work": "in-progress",
    "uat": "UAT",
    "completed": "UAT",
    "blocked": "blocked",
    "cancelled": "cancelled",
    "superseded": "cancelled",
}


BLOCKED_FROM: Final = "blocked_from"  # it was blocked from there
PAST_ELABORATION: Final = "past_elaboration"  # its scope is settled
SPLIT_PART: Final = "split_part"  # it is a part that a split made
WITHOUT_REVIEW: Final = "without_review"  # its workflow has no code review
GUARDS: Final = (BLOCKED_FROM, PAST_ELABORATION, SPLIT_PART, WITHOUT_REVIEW)
"""The conditions that moves of stories carry by name."""


def stops(states: tuple[str, ...], *, settled: tuple[str, ...] = ()) -> tuple[Move, ...]:
    """The moves every unfinished state has: a person's cancel, a breaker's block and the way back.

    To those that are `settled` a blocked story may go whatever it was blocked from, once its scope is settled.
    """
    moves = []
    for state in states:
        back, guard = "unblocked: it was blocked from here", BLOCKED_FROM
        if state in settled:
            back, guard = "unblocked, once its scope is settled", PAST_ELABORATION
        moves += [
            Move(state, "cancelled", "by a person's explicit command"),
            Move(state, "blocked", "a phase's breaker opened, or blocked by a person"),
            Move("blocked", state, back, guard),
        ]
    return (*moves, Move("blocked", "cancelled", "by a person's explicit command"))


STORY: Final = Machine(
    name="story",
    initial="pending",
    terminal=frozenset({"completed", "cancelled", "superseded"}),
    places=_STORY_PLACES,
    moves=(
        Move("pending", "generated", "story generate"),
        Move("generated", "in-elaboration", "story elaborate"),
        Move("in-elaboration", "ready-to-work", "elaboration verdict"),
        Move("in-elaboration", "needs-refinement", "elaboration verdict"),
        Move("in-elaboration", "needs-split", "elaboration verdict"),
        Move("needs-refinement", "generated", "story refine"),
        Move("needs-split", "generated", "story split: the parts", SPLIT_PART),
        Move("needs-split", "superseded", "story split: the original"),
        Move("ready-to-work", "in-progress", "story implement"),
        Move("in-progress", "ready-for-code-review", "implementation progress"),
        Move("in-progress", "ready-for-qa", "implementation progress, in workflows without review", WITHOUT_REVIEW),
        Move("ready-for-code-review", "ready-for-qa", "review verdict"),
        Move("ready-for-code-review", "code-review-failed", "review verdict"),
        Move("code-review-failed", "in-progress", "story fix"),
        Move("ready-for-qa", "in-qa", "story verify"),
        Move("in-qa", "uat", "verification verdict"),
        Move("in-qa", "needs-work", "verification verdict"),
        Move("needs-work", "in-progress", "story fix"),
        Move("uat", "completed", "story gate"),
        Move("uat", "in-progress", "story gate"),
        *stops(
            (
                "pending",
                "generated",
                "in-elaboration",
                "needs-refinement",
                "needs-split",
                "ready-to-work",
                "in-progress",
                "ready-for-code-review",
                "code-review-failed",
                "ready-for-qa",
                "in-qa",
                "needs-work",
                "uat",
            ),
            settled=("in-progress", "ready-to-work"),
        ),
    ),
)

HOTFIX: Final = Machine(
    name="hotfix",
    initial="pending",
    terminal=frozenset({"completed", "cancelled"}),
    moves=(
        Move("pending", "in-progress", "story implement"),
        Move("in-progress", "ready-for-code-review", "implementation progress"),
        Move("ready-for-code-review", "uat", "review verdict"),
        Move("ready-for-code-review", "code-review-failed", "review verdict"),
        Move("code-review-failed", "in-progress", "story fix"),
        Move("uat", "completed", "story gate"),
        Move("uat", "in-progress", "story gate"),
        *stops(("pending", "in-progress", "ready-for-code-review", "code-review-failed", "uat")),
    ),
    places={
        name: _STORY_PLACES[name]
        for name in (
            "pending",
            "in-progress",
            "ready-for-code-review",
            "code-review-failed",
            "uat",
            "completed",
            "blocked",
            "cancelled",
        )
    },
)

WORKORDER: Final = Machine(
    name="workorder",
    initial="CREATED",
    terminal=frozenset({"PASSED", "FAILED"}),
    moves=(
        Move("CREATED", "EXECUTED", "the triage agent answered"),
        Move("CREATED", "FAILED", "the runner gave up"),
        Move("EXECUTED", "PASSED", "the gate passed"),
        Move("EXECUTED", "FAILED", "the gate did not pass"),
    ),
)

CAPTURE: Final = Machine(
    name="capture",
    initial="PENDING",
    terminal=frozenset({"PROCESSED", "DISCARDED"}),
    moves=(
        Move("PENDING", "PROCESSED", "its workorder passed"),
        Move("PENDING", "POISON", "three failed gates"),
        Move("PENDING", "DISCARDED", "by a person"),
        Move("POISON", "DISCARDED", "by a person"),
        Move("POISON", "PENDING", "by a person"),
    ),
)

CANDIDATE: Final = Machine(
    name="candidate",
    initial="PROPOSED",
    terminal=frozenset({"PROMOTED", "DISCARDED"}),
    moves=(
        Move("PROPOSED", "PROMOTED", "by a person, or above the confidence that was set"),
        Move("PROPOSED", "DISCARDED", "by a person"),
    ),
)

LIFECYCLES: Final = {m.name: m for m in (TASK, STORY, HOTFIX, WORKORDER, CAPTURE, CANDIDATE)}
