"""Every row of every table holds to its own examples."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from medbay.core.diagnosis.consequences import CONSEQUENCES, consequence_of
from medbay.core.diagnosis.findings import find_all
from medbay.core.diagnosis.location import locate
from medbay.core.diagnosis.phrases import clauses, covering, lowered
from medbay.core.diagnosis.record import CATEGORIES
from medbay.core.diagnosis.rule import Rule, rule
from medbay.core.diagnosis.rules import RULES
from medbay.core.diagnosis.rules.places import PLACES, PositionPattern
from medbay.core.diagnosis.table import Table
from medbay.core.diagnosis.text import clean
from tests.core.diagnosis import words

BY_ID = pytest.mark.parametrize("one", RULES, ids=[one.id for one in RULES])


def found(text: str) -> set[str]:
    """The ids of the rules that match a text."""
    return {finding.rule.id for finding in find_all(clean(text), thorough=True)}


@BY_ID
def test_a_rule_matches_its_examples(one: Rule) -> None:
    """Through the index, as in a real diagnosis."""
    for hit in one.hits:
        assert one.id in found(hit), hit


@BY_ID
def test_a_rule_passes_by_its_counter_example(one: Rule) -> None:
    """The words alone decide nothing."""
    assert one.id not in found(one.miss)


@BY_ID
def test_a_rule_is_well_formed(one: Rule) -> None:
    """Category, confidence and advice are what they may be."""
    assert one.category in CATEGORIES
    assert 0.5 <= one.confidence <= 1.0
    assert one.advice.endswith(".")
    assert consequence_of(one.category, one.subcategory).advice


def test_no_two_rules_share_an_id() -> None:
    """An id names one row."""
    ids = [one.id for one in RULES]
    assert len(ids) == len(set(ids))


def test_well_known_patterns_are_confident() -> None:
    """What names its cause exactly is stated with at least 0.8."""
    assert all(one.confidence >= 0.8 for one in RULES if one.level >= 2.0)


@pytest.mark.parametrize("place", PLACES, ids=[place.id for place in PLACES])
def test_a_place_finds_its_example(place: PositionPattern) -> None:
    """Each shape of a position reads a file and a line."""
    match = place.pattern.search(place.example)

    assert match is not None
    assert place.needle in clean(place.example).zeros[0]
    location = locate(clean(place.example))
    assert location is not None
    assert location.line == int(match["line"])


def test_a_phrase_without_a_whole_word_is_refused() -> None:
    """Otherwise the index would never lead to it."""
    bad = rule("bad", "unknown", r"\w+", hit="x", miss="")

    with pytest.raises(ValueError, match="no whole word"):
        bad.by_word()


def test_the_words_that_lead_to_rules_are_written_down() -> None:
    """Otherwise a first diagnosis waits until they are worked out."""
    assert words.WORDS.read_text("utf-8") == words.written(), "run `make words` and commit what it changes"


def test_a_rule_that_has_changed_is_led_to_by_its_new_words() -> None:
    """What is written down of it says nothing then."""
    one = next(one for one in RULES if one.id == "net.refused")
    table = Table((replace(one, phrases=("quite another complaint",)),))

    assert [finding.rule.id for finding in find_all(clean("quite another complaint"), table)] == ["net.refused"]
    assert not find_all(clean("connection refused"), table)


@pytest.mark.parametrize(
    ("phrases", "texts"),
    [
        (("no space left on device",), ("no space left on device",)),
        (
            (r"could not find (?:a |the )?module\b.{0,20}",),
            ("could not find a module", "could not find module", "could not find the module"),
        ),
        (("TEST-UNEXPECTED-FAIL", r"\.{3} FAILED$"), (" failed", "test-unexpected-fail")),
        (("error", "error: x"), ("error",)),
        ((r"\d+ [a-z]",), ("0 ",)),
        ((r"line [1-9]\d{0,6}: E\d", r"exit 12\b"), ("exit 00", "line 0")),
        ((r"[:(]\d+[,)]",), ("(0", ":0")),
        (("(?i:one|two)", "three"), ()),
        ((r"(?:a|b|c|d|e|f|g)\w(?:a|b|c|d|e|f|g)\w(?:fatal|failed)",), ("failed", "fatal")),
        (tuple(f"letters {letter}" for letter in "abcdefghijklmnopq"), ()),
    ],
)
def test_a_phrase_shows_texts_that_every_match_holds(phrases: tuple[str, ...], texts: tuple[str, ...]) -> None:
    """As few and as long as can be told; nothing where a way to match shows none, or there are too many."""
    assert covering(phrases, False) == texts


def test_a_phrase_that_minds_its_case_shows_texts_as_they_are_written() -> None:
    """So that a line with the word in another case is passed by."""
    assert covering((r"^FAIL\s",), True) == ("FAIL",)


def test_every_part_of_a_phrase_shows_texts_of_its_own() -> None:
    """Split where it is open, or where there would be too many ways; the most telling part leads the search."""
    many = "|".join("abcdefghijklmnopq")

    assert clauses(r"config(?:uration)?\b.{0,60}(?:is invalid|not valid)", False) == (
        ("is invalid", "not valid"),
        ("config",),
    )
    assert clauses(rf"(?:{many}) error in the (?:{many})", False) == ((" error in the ",),)
    assert covering((r"error: .{1,20} no matching version",), False) == (" no matching version",)
    assert clauses("磁盘空间不足", False) == (("磁盘空间不足",),)


@BY_ID
def test_an_example_holds_what_its_phrase_needs(one: Rule) -> None:
    """Otherwise a search would pass by what matches."""
    for phrase in one.phrases:
        pattern = re.compile(phrase if one.case else lowered(phrase), re.MULTILINE)
        for hit in filter(pattern.search, one.hits if one.case else map(str.lower, one.hits)):
            zeros = re.sub(r"\d", "0", hit)
            assert all(any(text in zeros for text in texts) for texts in clauses(phrase, one.case))


def test_every_category_has_a_consequence() -> None:
    """And a subcategory nobody listed follows its category."""
    assert set(CATEGORIES) <= set(CONSEQUENCES)
    assert consequence_of("timeout", "anything") is CONSEQUENCES["timeout"]


def test_a_phrase_inside_other_words_is_no_match() -> None:
    """Whole words only, however often it stands inside."""
    assert "net.refused" not in found("xconnection refused " * 12)
    assert "net.refused" not in found("connection; " + "xconnection refused " * 12)
    assert "net.refused" in found("xconnection refused; connection refused")
