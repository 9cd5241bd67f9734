"""What a person chose before: which one counts, what it may do, what is kept."""

from __future__ import annotations

from msgspec.structs import replace

from medbay.core.model import Option, Question
from medbay.core.people.preference import Preference, best, offered, scopes, to_keep
from medbay.core.people.question import CANCEL, PAUSE

RETRY = Option("fixed, retry", "retry", "again")
ASKED = Question(id="q", need="n", why="w", options=(RETRY, PAUSE, CANCEL), scope="fp|p", task_ids=("a",))


def chose(scope: str, answer: str, at: int = 0, used: int = 0) -> Preference:
    """One that is known."""
    return Preference(scope=scope, answer=answer, told_by="person:x", told_at=at, used=used)


def test_an_answer_belongs_to_its_task_and_to_what_tasks_share() -> None:
    """The task first; a question of several tasks has no task of its own, one of none may have nothing."""
    assert scopes(ASKED) == ("task:a", "cause:fp|p")
    assert scopes(replace(ASKED, task_ids=("a", "b"))) == ("cause:fp|p",)
    assert scopes(replace(ASKED, scope=None)) == ("task:a",)
    assert scopes(replace(ASKED, scope=None, task_ids=())) == ()


def test_the_most_specific_counts_then_the_most_recent_among_what_can_be_chosen() -> None:
    """An answer that this question does not have is passed over."""
    wide, own = chose("cause:fp|p", "retry", at=9), chose("task:a", "pause", at=1)
    assert best(ASKED, [wide, own]) == own
    assert best(ASKED, [chose("cause:fp|p", "pause", at=1), wide]) == wide
    assert best(ASKED, [wide, chose("task:a", "wait")]) == wide
    assert best(ASKED, [chose("task:other", "retry")]) is None


def test_it_is_put_first_unless_it_ends_the_task() -> None:
    """What cannot be undone is marked only."""
    assert offered(ASKED, [chose("task:a", "pause")]) == replace(ASKED, default=2, remembered=2)
    assert offered(ASKED, [chose("task:a", "cancel")]) == replace(ASKED, default=1, remembered=3)
    assert offered(ASKED, []) is ASKED


def test_an_answer_is_kept_in_each_of_its_scopes_and_counted_when_it_is_given_again() -> None:
    """Another answer starts anew; what has no choice is not kept."""
    known = [chose("task:a", "retry", used=3), chose("cause:fp|p", "pause", used=5)]
    kept = to_keep(ASKED, RETRY, known, by="person:y", now=7)
    assert [(each.scope, each.answer, each.used, each.told_at) for each in kept] == [
        ("task:a", "retry", 4, 7),
        ("cause:fp|p", "retry", 0, 7),
    ]
    assert to_keep(replace(ASKED, options=(RETRY,)), RETRY, [], by="p", now=7) == []
    assert to_keep(ASKED, Option("done", "done", ""), [], by="p", now=7) == []
