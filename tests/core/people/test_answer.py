"""What an answer does: one table of effects, for owners of any kind."""

from __future__ import annotations

from itertools import product

import pytest
from msgspec.structs import replace

from medbay.core.decision import QuestionClosed
from medbay.core.holds.breaker import Breaker, BreakerChange, hold_for_answer, open_incident
from medbay.core.holds.incident import asked as ask_about_incident
from medbay.core.model import Option, Owner, Question
from medbay.core.outcome import Failed
from medbay.core.people.answer import EFFECTS, Answer, on_answer
from medbay.core.people.question import FREE_TEXT_MAX, ask, ask_for_agent, choose, free_text
from medbay.errors import UsageError
from tests.core.builders import HOUR, NOW, PERSON, after, answered, blocked, diagnosis, end, only, running, task

INCIDENT = open_incident(
    "incident:transient:0a0a0a0a", NOW - HOUR, why="down", fingerprint="transient:0a0a0a0a", question_id="q-1", facts={}
)
OPEN_ENDED = Question(
    id="q-t-1-1",
    need="which port?",
    why="there are two",
    options=(Option("answer", "retry", "goes on with your words"), Option("cancel", "cancel", "ends it")),
    owner=Owner("task", "t-1"),
    free_text=True,
    task_ids=("t-1",),
)


def about(breaker: Breaker, effect: str) -> Answer:
    """The answer with this effect to the question of an incident or a hold."""
    asked = replace(ask_about_incident("transient:0a0a0a0a", NOW, need="n", why="w", evidence=""), id="q-1")
    return Answer(question=asked, option=Option("x", effect, ""), actor=PERSON, now=NOW)


def test_a_question_knows_what_it_is_about() -> None:
    """A task by its id, an incident by its key."""
    assert ask(task(), kind="human", why="w", now=NOW).owner == Owner("task", "t-1")
    asked = ask_about_incident("transient:0a0a0a0a", NOW, need="n", why="w", evidence="")
    assert asked.owner == Owner("incident", "incident:transient:0a0a0a0a")


def test_the_options_of_every_question_have_a_row() -> None:
    """Of a task, of an incident, and of a hold, which asks as a task does."""
    of_task = {option.effect for option in ask(task(), kind="human", why="w", now=NOW).options} | {"wait", "done"}
    of_task |= {option.effect for option in ask_for_agent(task(), "which?", NOW, agent="a").options}
    of_incident = {option.effect for option in about(INCIDENT, "x").question.options}

    assert {effect for kind, effect in EFFECTS if kind == "task"} == of_task
    assert {effect for kind, effect in EFFECTS if kind == "incident"} == of_incident
    assert {effect for kind, effect in EFFECTS if kind == "hold"} == {"retry", "pause", "cancel"}


@pytest.mark.parametrize(("effect", "at_once"), [("retry", True), ("wait", False)])
def test_the_answer_to_an_incident_sends_one_task_ahead_or_waits(effect: str, at_once: bool) -> None:
    """The question is closed with it, in one decision."""
    made = on_answer(about(INCIDENT, effect), "incident", INCIDENT)

    found = only(made, BreakerChange).after
    assert (found.question_id, found.probe_at == NOW) == (None, at_once)
    assert (only(made, QuestionClosed).answer, [event.name for event in made.events]) == ("x", ["question:answered"])


@pytest.mark.parametrize("effect", ["retry", "pause", "cancel"])
def test_what_is_held_for_an_answer_is_looked_after_at_once(effect: str) -> None:
    """Only where it is still held for that."""
    spent = hold_for_answer(None, "provider:x", NOW - HOUR, why="spent", question_id="q-1")

    made = on_answer(about(spent, effect), "hold", spent)

    assert only(made, BreakerChange).after.probe_at == NOW
    assert on_answer(about(INCIDENT, effect), "hold", INCIDENT).writes == ()


def test_free_text_is_an_answer_where_the_question_says_so() -> None:
    """The default option gets the words; what names an option means that option."""
    assert choose(OPEN_ENDED, "Port 81, please") == OPEN_ENDED.options[0]
    assert free_text(OPEN_ENDED, " Port 81, please ") == "Port 81, please"
    for named in ("2", "cancel", "default", ""):
        assert free_text(OPEN_ENDED, named) == ""
    assert choose(OPEN_ENDED, "cancel") == OPEN_ENDED.options[1]


def test_without_that_words_are_no_answer() -> None:
    """As before: only what names an option."""
    closed = replace(OPEN_ENDED, free_text=False)

    assert free_text(closed, "Port 81") == ""
    with pytest.raises(UsageError, match='"port 81" is not an option of q-t-1-1'):
        choose(closed, "Port 81")


def test_an_answer_has_a_limit() -> None:
    """It is stored, and handed to an attempt."""
    with pytest.raises(UsageError, match=f"longer than {FREE_TEXT_MAX}"):
        free_text(OPEN_ENDED, "x" * (FREE_TEXT_MAX + 1))


def test_the_words_are_handed_to_the_effect() -> None:
    """The next attempt of a task is told them."""
    made = answered(OPEN_ENDED, OPEN_ENDED.options[0], blocked(), note="use port 81")

    assert after(made).guidance[-1].advice == "use port 81"
    assert only(made, QuestionClosed).answer == "answer: use port 81"


@pytest.mark.parametrize(("effect", "status"), [*product(["cancel", "done"], ["completed", "cancelled"])])
def test_what_has_ended_meanwhile_is_only_noted(effect: str, status: str) -> None:
    """Nothing ends twice."""
    ended = task(status=status, ready=False, ready_at=None)

    made = answered(OPEN_ENDED, Option("x", effect, ""), ended)

    assert (made.changes, only(made, QuestionClosed).whole) == ((), True)


def test_a_question_about_spent_credits_is_the_holds() -> None:
    """The tasks wait for it, the account is what it is about."""
    spent = diagnosis(
        category="resource_exhaustion", subcategory="quota", provider="anthropic", retryable=False, charge=False
    )
    of = running(resources=("provider:anthropic/work",))

    made = end(of, Failed(exit_code=1), diagnosis=spent)

    asked = only(made, Question)
    assert (asked.owner, asked.task_ids) == (Owner("hold", "provider:anthropic/work"), ("t-1",))
    assert only(made, BreakerChange).after.key == "provider:anthropic/work"
