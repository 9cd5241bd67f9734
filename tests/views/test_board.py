"""The board of stories: what a card says, where it stands, where it may go."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from medbay.core.workflow.figures import summed
from medbay.core.workflow.learning import Learning
from medbay.core.workflow.records import PhaseRun, RunPart, Story
from medbay.views import board, story_figures
from medbay.views.board import StoryCard
from tests.core.workflow.cases import shipped

STORY = Story(id="S-1", title="Search", status="ready-to-work")
CARD = StoryCard(story=STORY, workflow=shipped("story"))


def run(phase: str, *parts: RunPart, ended: bool = True) -> PhaseRun:
    return PhaseRun(story_id="S-1", number=1, phase=phase, parts=parts, ended_at=1_000 if ended else None)


@pytest.mark.parametrize(
    ("card", "glyph", "words", "token"),
    [
        (CARD, "○", "ready-to-work", "idle"),
        (replace(CARD, story=replace(STORY, driven=True)), "◷", "ready-to-work", "wait"),
        (replace(CARD, held_by=("S-0",)), "↳", "ready-to-work · after S-0", "wait"),
        (replace(CARD, questions=("q1",)), "!", "ready-to-work · waits for you", "you"),
        (replace(CARD, runs=(run("review", ended=False),)), "▶", "ready-to-work · review", "run"),
        (replace(CARD, story=replace(STORY, status="blocked")), "!", "blocked", "you"),
        (replace(CARD, story=replace(STORY, status="completed")), "✓", "completed", "done"),
        (replace(CARD, story=replace(STORY, status="superseded")), "–", "superseded", "idle"),
    ],
)
def test_a_card_says_why_it_stands_where_it_stands(card: StoryCard, glyph: str, words: str, token: str) -> None:
    """What needs a person first, then what runs, then what it waits for."""
    said = board.status_of(card)

    assert (said.glyph, said.words, said.token) == (glyph, words, token)


def test_a_card_shows_checks_budget_and_reason() -> None:
    """Of the last review, and of the budget that the phase shares."""
    six = (RunPart(role=f"review-{n}", task_id="t", status="PASS" if n else "FAIL", tokens_in=9_000) for n in range(6))
    blocked = replace(STORY, status="blocked", reason="three failures", multiplier=2.0)
    card = replace(CARD, story=blocked, runs=(run("review", *six), run("gate", RunPart(role="gate", task_id="t"))))

    assert board.notes_of(card) == ["5/6 checks ✓", "54k of 200k tokens", "three failures"]
    shown = board.card_as_json(card)
    assert (shown["checks"], shown["budget"]["phase"], shown["phase"]) == ({"passed": 5, "of": 6}, "review", None)


def test_columns_are_the_directories_in_their_order() -> None:
    """The urgent first; a directory of another workflow comes last."""
    first = replace(CARD, story=replace(STORY, id="S-2", priority=0))
    done = replace(CARD, story=replace(STORY, id="S-3", status="completed"))

    found = {name: [card.story.id for card in cards] for name, cards in board.columns([CARD, first, done])}

    assert [*found] == [*board.COLUMNS]
    assert (found["ready-to-work"], found["UAT"], found["backlog"]) == (["S-2", "S-1"], ["S-3"], [])
    assert [each["directory"] for each in board.as_json([CARD])["columns"]] == [*board.COLUMNS]


def test_moves_are_those_of_the_table_and_the_others_say_why_not() -> None:
    """Guards and a running phase count."""
    machine = shipped("story").machine
    moves = {each["to"]: each for each in board.moves(STORY, machine)}

    assert [name for name, each in moves.items() if each["allowed"]] == ["in-progress", "cancelled", "blocked"]
    assert moves["uat"]["why"] == "ready-to-work does not lead there"
    running = {each["to"]: each for each in board.moves(STORY, machine, running="implement")}
    assert [name for name, each in running.items() if each["allowed"]] == ["cancelled"]
    blocked = replace(STORY, status="blocked", blocked_from="uat")
    back = {each["to"]: each for each in board.moves(blocked, machine)}
    assert back["uat"]["allowed"] and not back["generated"]["allowed"]


@pytest.mark.parametrize(("number", "words"), [(0, "0"), (999, "999"), (180_500, "180k"), (1_250_000, "1.2M")])
def test_tokens_are_said_in_few_letters(number: int, words: str) -> None:
    """As many as a card has room for."""
    assert board.tokens(number) == words


def test_figures_are_said_in_sentences() -> None:
    """What there is none of is left out."""
    nothing = summed([], {}, gates=(), reviews=())
    assert story_figures.sentences(nothing) == ["0 stories: 0 completed, 0 cancelled or superseded", "0 tokens in all"]

    done = replace(STORY, status="completed", ended_at=120_000)
    passed = replace(run("gate"), status="PASS")
    found = summed([done], {"S-1": [passed, replace(passed, phase="review")]}, gates={"gate"}, reviews={"review"})
    assert story_figures.sentences(found) == [
        "1 story: 1 completed, 0 cancelled or superseded",
        "half of them took at most 2m from the first phase to the last",
        "gates passed 1 of 1 times (100%)",
        "a story took 1.0 review rounds",
        "0 tokens in all",
    ]
    taught = Learning(role="dev", text="no", digest="d", story_id="S-1", phase="review", count=2, last_seen=0)
    shown = story_figures.as_json(found, [taught])
    assert shown["gates"] == {"runs": 1, "passed": 1, "pass_rate": 1.0}
    assert shown["learnings"][0]["count"] == 2 and shown["phases"][0]["median_s"] == 1.0
