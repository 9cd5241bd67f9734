"""What is known of a fingerprint: a person's word is followed, and advice that cured comes first."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from medbay.core.attempt.guidance import DIFFERENT_APPROACH, KEPT
from medbay.core.attempt.knowledge import (
    LIKE_CONFIDENCE,
    RUNNERS_UP_MAX,
    TAUGHT_LIKE,
    Advice,
    Known,
    Teaching,
    Tried,
    advised,
    apply_teaching,
    best_advice,
    judge,
    likeness,
    read_kind,
    teach,
)
from medbay.core.diagnosis.consequences import CONSEQUENCES, consequence_of
from medbay.core.diagnosis.record import CATEGORIES, Location, Pattern, RunnerUp
from medbay.core.model import Guidance
from medbay.errors import UsageError
from tests.core.builders import NOW, PERSON, diagnosis

FINGERPRINT = diagnosis().fingerprint
KINDS = st.sampled_from(sorted(CONSEQUENCES)).map(read_kind)
RECORDS = st.integers(0, 20).flatmap(lambda given: st.tuples(st.just(given), st.integers(0, given)))


def known(*advice: Advice, taught: str = "", **given: Any) -> Known:
    """What is known of the builder's diagnosis."""
    said = Teaching(*read_kind(taught), PERSON, NOW) if taught else None
    return Known(
        fingerprint=FINGERPRINT, category="code_error", subcategory="type", taught=said, advice=advice, **given
    )


def told(advice: str, *, cured: bool | None = False, fingerprint: str = FINGERPRINT) -> Guidance:
    """Guidance that this task got."""
    return Guidance(2, advice, advice, fingerprint, cured)


# Teaching


def test_what_nobody_taught_stays_as_it_was_found() -> None:
    """Neither an unknown fingerprint nor an untaught one changes a diagnosis."""
    assert apply_teaching(diagnosis(), None) == diagnosis()
    assert apply_teaching(diagnosis(), known()) == diagnosis()


def test_a_correction_carries_over_with_less_certainty() -> None:
    """A person spoke of a failure in the same words: it is followed, by a rule of its own."""
    found = apply_teaching(diagnosis(), known(taught="transient/network", carried=True))

    assert (found.kind, found.confidence, found.pattern.rule) == ("transient/network", LIKE_CONFIDENCE, TAUGHT_LIKE)
    assert teach(found, "timeout", None).runners_up[0].rule == diagnosis().pattern.rule


def test_failures_are_alike_by_rule_and_wording() -> None:
    """Names, numbers, paths and places are left out; other words or another rule are another failure."""
    first = diagnosis(summary="Error: row 77 of 'orders' looks odd (a.py:3)", location=Location("a.py", 3))
    other = diagnosis(summary="Error: row 12 of 'users' looks odd (lib/b.py:9)", location=Location("lib/b.py", 9))

    assert likeness(first) == likeness(other)
    assert likeness(first) == likeness(teach(first, "transient", None))
    assert likeness(first) != likeness(replace(first, summary="Error: row 77 of 'orders' looks fine"))
    assert likeness(first) != likeness(replace(first, pattern=Pattern("another", "")))


def test_a_persons_word_is_followed_with_everything_that_follows_from_it() -> None:
    """Certain, by the rule `taught`, and with the consequences of the new kind."""
    found = apply_teaching(diagnosis(summary="Type or name error: foo"), known(taught="transient/network"))

    assert (found.kind, found.confidence, found.pattern.rule) == ("transient/network", 1.0, "taught")
    assert (found.retryable, found.charge, found.session) == (True, False, "resume")
    assert found.suggested_fix == CONSEQUENCES["transient/network"].advice
    assert found.summary == "Network failure: foo"
    assert (found.fingerprint, found.pattern.excerpt) == (FINGERPRINT, "error TS2304")
    assert found.runners_up == (RunnerUp("test.rule", "code_error", "type", 0.9),)


def test_a_summary_in_other_words_is_left_alone() -> None:
    """What a job said of itself does not begin with our words for its kind."""
    assert teach(diagnosis(summary="foo is gone"), "transient", None).summary == "foo is gone"


def test_a_kind_that_is_confirmed_keeps_the_sharper_advice() -> None:
    """The rule knew more than the table of kinds."""
    found = teach(diagnosis(), "code_error", "type")

    assert (found.confidence, found.suggested_fix) == (1.0, "define foo")


@given(KINDS, KINDS)
def test_the_last_teaching_wins_and_the_rules_own_word_is_kept(first: Any, second: Any) -> None:
    """Teaching twice is teaching once; the runner-up is always what the rules said."""
    many = tuple(RunnerUp(f"r{number}", "unknown", None, 0.1) for number in range(RUNNERS_UP_MAX))
    found = teach(teach(diagnosis(runners_up=many), *first), *second)

    assert teach(found, *second) == found
    assert (found.category, found.subcategory) == second
    assert found.runners_up[0] == RunnerUp("test.rule", "code_error", "type", 0.9)
    assert len(found.runners_up) == RUNNERS_UP_MAX
    follows = consequence_of(*second)
    assert (found.charge, found.retryable, found.session) == (follows.charge, follows.retryable, follows.session)


def test_the_kind_acted_on_is_the_persons() -> None:
    """Where there is one; otherwise that of the rules."""
    assert known().kind == "code_error/type"
    assert known(taught="unknown").kind == "unknown"


# Advice


def test_the_diagnosis_own_advice_is_given_while_nothing_better_is_known() -> None:
    """Unknown fingerprints, bad advice and advice that was tried only once do not replace it."""
    assert best_advice(diagnosis(), None) == Advice("define foo")
    assert best_advice(diagnosis(), known(Advice("start over", 5, 0))).text == "define foo"
    assert best_advice(diagnosis(), known(Advice("start over", 1, 1))).text == "define foo"
    assert best_advice(diagnosis(), known(Advice("start over", 2, 1))).text == "define foo"


def test_advice_that_cured_is_preferred() -> None:
    """With the record that made it so."""
    found = best_advice(diagnosis(), known(Advice("page size 50", 7, 6), Advice("page size 10", 3, 1)))

    assert found == Advice("page size 50", 7, 6)
    assert found.record == "worked 6 of 7 times"
    assert best_advice(diagnosis(), known(Advice("define foo", 9, 9), Advice("start over", 3, 3))).given == 9


def test_what_did_not_help_this_task_is_not_said_again_while_there_is_something_else() -> None:
    """Guidance is new when its advice differs."""
    two = known(Advice("page size 50", 7, 6), Advice("page size 10", 3, 2))

    assert best_advice(diagnosis(), two, [told("page size 50")]).text == "page size 10"
    assert best_advice(diagnosis(), two, [told("page size 50", fingerprint="other:1")]).text == "page size 50"
    assert best_advice(diagnosis(), two, [told("page size 50", cured=None)]).text == "page size 50"
    every = [told("page size 50"), told("page size 10"), told("define foo")]
    assert best_advice(diagnosis(), two, every).text == "page size 50"


def test_a_different_approach_is_no_advice_for_a_first_failure() -> None:
    """It has a record, but says nothing about the failure."""
    assert best_advice(diagnosis(), known(Advice(DIFFERENT_APPROACH, 9, 9))).text == "define foo"


def test_a_person_is_told_what_helped_before() -> None:
    """With its record; otherwise the diagnosis speaks for itself."""
    assert advised(diagnosis(), known(Advice("renew it", 3, 3))).suggested_fix == "renew it (worked 3 of 3 times)"
    assert advised(diagnosis(), known(Advice("define foo", 3, 0))) == diagnosis()


@given(st.dictionaries(st.sampled_from(["a", "b", "c", "define foo"]), RECORDS))
def test_no_candidate_has_a_better_record_than_the_best(records: dict[str, tuple[int, int]]) -> None:
    """Whatever the records, nothing that may be chosen beats what is chosen."""
    everything = [Advice(text, *record) for text, record in records.items()]

    best = best_advice(diagnosis(), known(*everything))

    own = next((each for each in everything if each.text == "define foo"), Advice("define foo"))
    allowed = [each for each in everything if each.given >= 2 and each.cured] + [own]
    assert best in allowed
    assert best.score == max(each.score for each in allowed)
    assert all(0 < each.score < 1 for each in allowed)


def test_advice_that_was_never_tried_has_no_record() -> None:
    """Rather than none of none."""
    assert Advice("x").record == ""


# What became of it


def test_an_ended_attempt_judges_what_it_was_told() -> None:
    """Once: what was judged before, and what is for a later attempt, stays."""
    before = (told("old"), told("new", cured=None), Guidance(4, "later", "", FINGERPRINT))

    judged, tried = judge(before, 3, cured=True)

    assert [each.cured for each in judged] == [False, True, None]
    assert tried == (Tried(FINGERPRINT, "new", True),)
    assert judge(judged, 3, cured=False) == (judged, ())


def test_what_was_said_against_no_failure_has_no_record() -> None:
    """A note for a task that never failed, and guidance without advice."""
    entries = (Guidance(2, "hello", "", ""), Guidance(2, "", "", FINGERPRINT))

    judged, tried = judge(entries, 2, cured=False)

    assert [each.cured for each in judged] == [False, False]
    assert tried == ()


def test_the_same_advice_twice_is_one_try() -> None:
    """An attempt is one piece of evidence."""
    twice = (told("a", cured=None), replace(told("a", cured=None), attempt=3))

    assert judge(twice, 3, cured=True)[1] == (Tried(FINGERPRINT, "a", True),)


@given(
    st.lists(st.builds(Guidance, st.integers(1, 9), st.just("a"), st.just("t"), st.just("f")), max_size=KEPT),
    st.lists(st.booleans(), min_size=9, max_size=9),
)
def test_no_guidance_is_judged_twice(entries: list[Guidance], results: list[bool]) -> None:
    """However many attempts end, each entry adds to a record once at most."""
    kept, tries = tuple(entries), 0
    for number, cured in enumerate(results, start=1):
        kept, tried = judge(kept, number, cured=cured)
        tries += len(tried)

    assert tries <= len(entries)
    assert all(each.cured is not None for each in kept)


# What a person types


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("transient", ("transient", None)),
        (" Transient/Network ", ("transient", "network")),
        ("unknown/a1_b", ("unknown", "a1_b")),
    ],
)
def test_a_kind_is_a_category_and_maybe_a_subcategory(text: str, kind: tuple[str, str | None]) -> None:
    """As it is shown everywhere."""
    assert read_kind(text) == kind


@pytest.mark.parametrize("text", ["", "flaky", "flaky/network", "trans ient", "/network"])
def test_another_category_is_refused_naming_the_seven(text: str) -> None:
    """So that nobody has to look them up."""
    with pytest.raises(UsageError) as refused:
        read_kind(text)

    assert all(name in refused.value.hint for name in CATEGORIES)


@pytest.mark.parametrize("text", ["transient/", "transient/a/b", "transient/a b", "transient/" + "x" * 41])
def test_a_subcategory_is_one_word(text: str) -> None:
    """It becomes part of what is shown and compared."""
    with pytest.raises(UsageError, match="not a subcategory"):
        read_kind(text)
