"""The board: stories by the directory of their status. A card says what runs, what it waits for, and why it stands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from msgspec import Struct

from medbay.core.machine import Machine
from medbay.core.workflow.records import PhaseRun, Story
from medbay.core.workflow.workflow import Workflow
from medbay.views import glyphs, moments
from medbay.views.status import Phrase
from medbay.views.text import clean

COLUMNS: Final = (
    "backlog",
    "elaboration",
    "ready-to-work",
    "in-progress",
    "ready-for-qa",
    "UAT",
    "blocked",
    "cancelled",
)
_REASON_MAX: Final = 200


class StoryCard(Struct, frozen=True, kw_only=True):
    """A story on the board, with all that its card says."""

    story: Story
    workflow: Workflow
    runs: tuple[PhaseRun, ...] = ()
    questions: tuple[str, ...] = ()  # the open ones
    held_by: tuple[str, ...] = ()  # the stories it waits for

    @property
    def directory(self) -> str:
        """The column it stands in."""
        return self.workflow.machine.places.get(self.story.status) or COLUMNS[0]

    @property
    def open_run(self) -> PhaseRun | None:
        """The run of a phase that has not ended."""
        return next((run for run in self.runs if run.is_open), None)


def status_of(card: StoryCard) -> Phrase:
    """The status of a story with what it means now: what runs, whom it waits for."""
    story, run = card.story, card.open_run
    if card.questions:
        return Phrase(glyph=glyphs.YOU, words=f"{story.status} · waits for you", token="you")
    if run is not None:
        return Phrase(glyph=glyphs.RUNNING, words=f"{story.status} · {run.phase}", token="run")
    if story.status == "blocked":
        return Phrase(glyph=glyphs.YOU, words=story.status, token="you")
    if story.status == "completed":
        return Phrase(glyph=glyphs.DONE, words=story.status, token="done")
    if story.status in card.workflow.machine.terminal:
        return Phrase(glyph=glyphs.CANCELLED, words=story.status, token="idle")
    if card.held_by:
        return Phrase(glyph=glyphs.AFTER, words=f"{story.status} · after {', '.join(card.held_by)}", token="wait")
    if story.driven:
        return Phrase(glyph=glyphs.WAITING, words=story.status, token="wait")
    return Phrase(glyph=glyphs.READY, words=story.status, token="idle")


def notes_of(card: StoryCard) -> list[str]:
    """What else a card says: checks that passed, the budget in use, why it is blocked."""
    said = []
    checks, budget = _checks(card), _budget(card)
    if checks is not None:
        said.append(f"{checks['passed']}/{checks['of']} checks {glyphs.DONE}")
    if budget is not None and budget["used"]:
        said.append(f"{tokens(budget['used'])} of {tokens(budget['limit'])} tokens")
    if card.story.status in ("blocked", "cancelled") and card.story.reason:
        said.append(clean(card.story.reason)[:_REASON_MAX])
    return said


def columns(cards: Iterable[StoryCard]) -> list[tuple[str, list[StoryCard]]]:
    """The columns of the board in their order, the urgent and old first; empty ones of the standard board included."""
    found: dict[str, list[StoryCard]] = {name: [] for name in COLUMNS}
    for card in sorted(cards, key=lambda each: (each.story.priority, each.story.created_at, each.story.id)):
        found.setdefault(card.directory, []).append(card)
    return [*found.items()]


def as_json(cards: Sequence[StoryCard]) -> dict[str, Any]:
    """Return the board as data."""
    return {
        "columns": [
            {"directory": name, "stories": [card_as_json(card) for card in found]} for name, found in columns(cards)
        ]
    }


def card_as_json(card: StoryCard) -> dict[str, Any]:
    """Return one card as data."""
    story, run, said = card.story, card.open_run, status_of(card)
    return {
        "id": story.id,
        "title": story.title,
        "status": story.status,
        "workflow": story.workflow,
        "glyph": said.glyph,
        "words": said.words,
        "token": said.token,
        "phase": run.phase if run is not None else None,
        "notes": notes_of(card),
        "checks": _checks(card),
        "budget": _budget(card),
        "waits_for": list(card.held_by),
        "questions": list(card.questions),
        "priority": story.priority,
        "since": moments.iso(story.since),
        "moves": moves(story, card.workflow.machine, running=run.phase if run is not None else ""),
    }


def moves(story: Story, machine: Machine, *, running: str = "") -> list[dict[str, Any]]:
    """Return every status there is with whether a person may move the story there now, and why not."""
    steps = {move.target: move for move in machine.moves if move.source == story.status}
    made = []
    for status in machine.states:
        move = steps.get(status)
        if status == story.status:
            continue
        if move is None:
            why = f"{story.status} does not lead there"
        elif running and status != "cancelled":
            why = f"{running} runs"
        elif move.guard and not story.permits(move.guard, status):
            why = f"not for this story: {move.guard.replace('_', ' ')}"
        else:
            why = ""
        place = machine.places.get(status) or COLUMNS[0]
        said = why or (move.trigger if move else "")
        made.append({"to": status, "directory": place, "allowed": not why, "why": said})
    return sorted(made, key=lambda each: not each["allowed"])


def tokens(number: int) -> str:
    """Return a number of tokens in few letters: `180k`."""
    return (
        f"{number / 1_000_000:.1f}M" if number >= 1_000_000 else f"{number // 1000}k" if number >= 1000 else str(number)
    )


def _checks(card: StoryCard) -> dict[str, int] | None:
    """How many parts of the last review passed."""
    reviews = [run for run in card.runs if len(run.parts) > 1]
    if not reviews:
        return None
    return {"passed": sum(part.status == "PASS" for part in reviews[-1].parts), "of": len(reviews[-1].parts)}


def _budget(card: StoryCard) -> dict[str, Any] | None:
    """What the budget of the phase that runs, or ran last, has been used for."""
    last = card.open_run or (card.runs[-1] if card.runs else None)
    phase = card.workflow.phase(last.phase) if last is not None else None
    if phase is None:
        return None
    group, budget = card.workflow.budget_of(phase)
    if budget is None:
        return None
    same = {each.name for each in card.workflow.phases if card.workflow.budget_of(each)[0] == group}
    used = sum(run.tokens for run in card.runs if run.phase in same)
    by = card.story.multiplier
    return {"phase": group, "used": used, "warning": int(budget.warning * by), "limit": int(budget.limit * by)}
