"""What a person is asked: a need, reasons, options with a default, and how an answer is understood."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from medbay.core.decision import QuestionSent
from medbay.core.diagnosis.record import Diagnosis, Pattern, RunnerUp
from medbay.core.lifecycles import BlockKind
from medbay.core.model import Option
from medbay.core.people.question import EVIDENCE_MAX, ask, choose, on_unanswered, scope_of, send_again_at
from medbay.errors import UsageError
from tests.core.builders import NOW, diagnosis, hopeless, task


def test_a_question_says_what_is_needed_why_and_what_shows_it() -> None:
    """An escalation is a question, not a log line."""
    asked = ask(task(), kind="human", why="refused", now=NOW, diagnosis=hopeless(), scope="s")

    assert asked.need == "build: renew the credentials"
    assert (asked.why, asked.evidence, asked.scope) == ("refused", "error TS2304", "s")
    assert (asked.task_ids, asked.status, asked.asked_at) == (("t-1",), "open", NOW)


def test_a_question_says_where_the_rules_doubt() -> None:
    """And what else it may be; nothing where they are sure."""
    unsure = replace(hopeless(), confidence=0.7, runners_up=(RunnerUp("net.refused", "transient", "network", 0.9),))
    said = ask(task(), kind="human", why="refused", now=NOW, diagnosis=unsure).why

    assert said == f"refused; not sure that it is {unsure.kind} (0.70): it may also be transient/network"
    alone = ask(task(), kind="human", why="refused", now=NOW, diagnosis=replace(unsure, runners_up=())).why
    assert alone.endswith("(0.70): read the evidence first")


def test_every_option_says_what_it_will_do_and_the_first_is_the_default() -> None:
    """Retry, leave it for later, cancel."""
    asked = ask(task(), kind="human", why="refused", now=NOW)

    assert [option.effect for option in asked.options] == ["retry", "pause", "cancel"]
    assert all(option.consequence and option.label for option in asked.options)
    assert asked.default == 1
    assert "2 more attempts" in asked.options[0].consequence


def test_the_questions_of_a_task_are_numbered() -> None:
    """An answer to an old one never meets a new one."""
    first = ask(task(), kind="human", why="", now=NOW)
    third = ask(task(questions=2), kind="human", why="", now=NOW)

    assert (first.id, third.id) == ("q-t-1-1", "q-t-1-3")


@pytest.mark.parametrize(
    ("kind", "found", "need", "answer"),
    [
        ("dependency", None, "build: decide what to do, t-0 was cancelled", "run it all the same"),
        ("exhausted", None, "build: look into it, t-0 was cancelled", "looked into it, retry"),
        ("human", diagnosis(), "build: define foo", "fixed, retry"),
        ("human", diagnosis(suggested_fix=""), "build: cannot find name foo", "fixed, retry"),
        ("human", hopeless(), "build: renew the credentials", "done, retry"),
        ("human", hopeless(suggested_fix=""), "build: find out what is missing", "done, retry"),
    ],
)
def test_the_need_fits_the_block(kind: BlockKind, found: Diagnosis | None, need: str, answer: str) -> None:
    """One line that says what to do, and the answer that says it was done."""
    asked = ask(task(), kind=kind, why="t-0 was cancelled", now=NOW, diagnosis=found)

    assert asked.need == need
    assert asked.options[0].label == answer


def test_the_evidence_is_bounded() -> None:
    """A question fits on a screen."""
    long = diagnosis(pattern=Pattern("r", "x" * 9_000))

    assert len(ask(task(), kind="human", why="", now=NOW, diagnosis=long).evidence) == EVIDENCE_MAX


def test_one_question_per_fingerprint_and_resource() -> None:
    """The same refusal of another provider is another question."""
    assert scope_of(hopeless()) == scope_of(hopeless(summary="other words"))
    assert scope_of(hopeless(provider="github")) != scope_of(hopeless())
    assert scope_of(hopeless(fingerprint="unknown:other")) != scope_of(hopeless())


ASKED = ask(task(), kind="human", why="", now=NOW)
RETRY, PAUSE, CANCEL = ASKED.options


@pytest.mark.parametrize(
    ("answer", "option"),
    [
        ("", RETRY),
        ("default", RETRY),
        ("1", RETRY),
        ("2", PAUSE),
        ("3", CANCEL),
        ("retry", RETRY),
        (" Pause ", PAUSE),
        ("CANCEL", CANCEL),
    ],
)
def test_an_answer_is_a_number_a_word_or_the_default(answer: str, option: Option) -> None:
    """However a person writes it."""
    assert choose(ASKED, answer) == option


@pytest.mark.parametrize("answer", ["0", "4", "-1", "1.0", "²", "yes", "retry it"])
def test_what_is_no_option_is_refused_and_the_options_are_named(answer: str) -> None:
    """Nothing is guessed when it ends a task for good."""
    with pytest.raises(UsageError) as refused:
        choose(ASKED, answer)

    assert ASKED.id in refused.value.message
    assert "1 looked into it, retry, 2 leave it for later, 3 cancel the task" in refused.value.hint


def test_a_question_is_sent_again_after_four_hours_then_daily() -> None:
    """Told with the task it is about, if there is one, and how often."""
    asked = ask(task(), kind="human", why="because", now=NOW)
    assert send_again_at(asked) == NOW + 4 * 3_600_000
    assert send_again_at(replace(asked, send_at=7)) == 7

    made = on_unanswered(replace(asked, sent=2), NOW)
    (again,), (event,) = made.all(QuestionSent), made.events
    assert (again.question_id, again.before, again.send_at) == (asked.id, 2, NOW + 24 * 3_600_000)
    assert (event.name, event.task_id, event.data["again"]) == ("question:asked", asked.task_ids[0], 2)
    assert on_unanswered(replace(asked, task_ids=()), NOW).events[0].task_id is None
