"""Questions and remembered answers, from records alone."""

from __future__ import annotations

from medbay.core.model import Option
from medbay.core.triage.escalation import RECOMMENDED
from medbay.views import question as view
from tests.views.records import question


def test_options_say_what_follows_and_what_was_chosen_last_time() -> None:
    """The default and the remembered one are marked."""
    assert list(view.options(question(remembered=2))) == [
        "1 retry (default): it is tried again",
        "2 cancel (you chose this last time): it ends",
    ]
    assert view.labels(question()) == ["1 retry", "2 cancel"]


def test_a_question_is_named_by_its_first_task_or_by_itself() -> None:
    """What is typed after `medbay answer`."""
    assert view.name(question()) == "k7f2"
    assert view.name(question(task_ids=())) == "q-k7f2-1"


def test_where_the_rest_is_depends_on_what_it_is_about() -> None:
    """A log, a task to do, an incident, or a recommendation."""
    to_do = question(options=(Option("done", "done", "it goes on"),))

    assert view.more(question()) == "evidence: medbay log k7f2"
    assert view.more(to_do) == "more: medbay show k7f2"
    assert view.more(question(task_ids=())) == "more: medbay incidents"
    assert view.more(question(task_ids=(), scope=f"{RECOMMENDED}k7f2")) == "more: medbay explain k7f2"


def test_the_json_numbers_the_options() -> None:
    """As they are answered."""
    made = view.as_json(question())

    assert [each["number"] for each in made["options"]] == [1, 2]
    assert (made["answer"], made["chosen_last_time"]) == (None, None)
