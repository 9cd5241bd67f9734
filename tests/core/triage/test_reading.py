"""Any text an agent may print: a verdict, something to refuse, or said to be unreadable. Never an error."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medbay.core.triage.reading import ANSWER_MAX, read
from medbay.core.triage.verdict import WORDS, Adjustment, Piece, Unreadable, Verdict, word_of
from tests.properties import examples


def verdict(answer: Any) -> Verdict:
    """What is read, which has to be a verdict."""
    found = read(answer if isinstance(answer, str) else json.dumps(answer))
    assert isinstance(found, Verdict), found
    return found


def wrong(answer: Any) -> str:
    """What is said to be wrong with an answer."""
    found = read(answer if isinstance(answer, str) else json.dumps(answer))
    assert isinstance(found, Unreadable), found
    return found.why


@pytest.mark.parametrize("said", ["SPEC_REFRESH", "spec-refresh", "Spec Refresh", " spec_refresh "])
def test_a_word_is_known_however_it_is_spelled(said: str) -> None:
    """Any case, with hyphens, spaces or underscores."""
    assert verdict({"verdict": said, "unclear": "x"}).word == "SPEC_REFRESH"


def test_every_word_of_ours_is_known_and_no_other() -> None:
    """Verdicts are a closed list."""
    assert [word_of(word) for word in WORDS] == list(WORDS)
    assert [word_of(word) for word in ("CLOSE", "COMPLETE", "", "NOOPS")] == [None] * 4


@pytest.mark.parametrize(
    "answer",
    [
        '{"verdict": "PAUSE", "why": "w"}',
        'I looked.\n```json\n{"action": "pause", "reason": "w"}\n```\nThat is all.',
        '```\n{"verdict": "NOOP"}\n```\nno, rather\n```\n{"verdict": "PAUSE", "why": "w"}\n```',
        'First {"verdict": "NOOP"}, then {broken, then {"verdict": "PAUSE", "why": "w"} as {"a": "sketch"}.',
        '[{"verdict": "PAUSE", "why": "w"}]',
        '{"Verdict": "PAUSE", "WHY": "w"}',
        '{"verdict": "PAUSE", "action": "pause", "why": "w", "summary": "chatter", "severity": 3}',
    ],
)
def test_the_object_is_found_wherever_it_stands(answer: str) -> None:
    """The whole text, a fence, or the last object that names a verdict."""
    found = verdict(answer)

    assert (found.word, found.why, found.orders) == ("PAUSE", "w", ())


def test_everything_a_verdict_may_carry_is_read() -> None:
    """Every field, with its limits."""
    found = verdict(
        {
            "verdict": "ADJUST",
            "why": "slow",
            "rootCause": "too little time",
            "evidence": ["a", "", {"line": "b"}, {"other": "c"}, 7],
            "confidence": 0.75,
            "adjust": {
                "guidance": "use the index",
                "timeout": "20m",
                "model": "large",
                "profile": "other",
                "fresh_session": True,
                "retry_delay": 90,
                "keep_criteria": ["it adds", 2],
            },
            "look-at": "the database",
            "task": "t-1",
            "attempt": 3,
            "usage": {"tokens": {"input": 100, "output": 20, "note": "x"}, "cost": 0.0125},
        }
    )

    assert (found.why, found.root_cause, found.evidence) == ("slow", "too little time", ("a", "b"))
    assert (found.confidence, found.look_at, found.task_id, found.attempt) == (0.75, "the database", "t-1", 3)
    assert found.adjust == Adjustment(
        guidance="use the index",
        timeout_ms=1_200_000,
        model="large",
        profile="other",
        fresh_session=True,
        retry_delay_ms=90_000,
        keep_criteria=("it adds", "2"),
    )
    assert found.orders == ()


@pytest.mark.parametrize(
    ("answer", "adjust"),
    [
        ({"adjust": "go slower"}, Adjustment(guidance="go slower")),
        ({"adjustment": {"guidance": "g"}}, Adjustment(guidance="g")),
        ({"change": {"timeout": "300"}}, Adjustment(timeout_ms=300_000)),
        ({"guidance": ["a", "b"], "timeout": 1.5}, Adjustment(guidance="a\nb", timeout_ms=1_500)),
        ({"adjust": {"endpoint": "other", "fresh_session": "no"}}, Adjustment(profile="other")),
        ({"adjust": {"fresh_session": "Yes", "timeout": None, "retry_delay": ""}}, Adjustment(fresh_session=True)),
        ({}, Adjustment()),
    ],
)
def test_a_change_may_be_written_in_several_ways(answer: dict[str, Any], adjust: Adjustment) -> None:
    """As an object, as words, or beside the verdict."""
    assert verdict({"verdict": "ADJUST"} | answer).adjust == adjust


@pytest.mark.parametrize(
    "adjust",
    [
        {"timeout": "soon"},
        {"timeout": -1},
        {"timeout": True},
        {"timeout": ["1h"]},
        {"timeout": 1e300},
        {"retry_delay": "NaN"},
        {"fresh_session": "perhaps"},
        {"fresh_session": 7},
        {"keep_criteria": "all"},
        ["guidance"],
        7,
    ],
)
def test_a_change_that_cannot_be_read_is_said_to_be(adjust: Any) -> None:
    """Nothing is guessed."""
    assert "adjust" in wrong({"verdict": "ADJUST", "adjust": adjust})


def test_evidence_may_be_a_text_with_lines() -> None:
    """Each line is one piece of it; there are at most so many, none too long."""
    assert verdict({"verdict": "NOOP", "evidence": "a\n\n b "}).evidence == ("a", "b")
    many = verdict({"verdict": "NOOP", "evidence": ["x" * 900] * 200}).evidence
    assert len(many) == 20
    assert max(map(len, many)) == 500
    assert verdict({"verdict": "NOOP", "evidence": {"no": "list"}}).evidence == ()


@pytest.mark.parametrize("said", ["NaN", "Infinity", "-1", "1.5", '"high"', "null", "true", "[]", "9" * 4_000])
def test_a_confidence_that_is_none_is_left_out(said: str) -> None:
    """Not a reason to drop a verdict."""
    assert verdict(f'{{"verdict": "NOOP", "confidence": {said}}}').confidence is None


def test_the_parts_of_a_split_are_objects_or_titles() -> None:
    """A title is needed; more parts than are allowed are kept, to be refused."""
    found = verdict({"verdict": "SPLIT", "parts": ["a", {"name": "b", "detail": "does b"}, {"description": "c\nd"}]})

    assert found.parts == (
        Piece(title="a"),
        Piece(title="b", description="does b"),
        Piece(title="c d", description="c\nd"),
    )
    assert len(verdict({"verdict": "SPLIT", "subtasks": ["x"] * 99}).parts) == 50
    assert verdict({"verdict": "SPLIT", "parts": []}).parts == ()


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"verdict": "SPLIT"}, "SPLIT without parts"),
        ({"verdict": "SPLIT", "parts": [7]}, "no task"),
        ({"verdict": "SPLIT", "parts": [{"title": ""}]}, "without a title"),
        ({"verdict": "FILE_FIX"}, "without a fix"),
        ({"verdict": "SPEC_REFRESH"}, "without what is unclear"),
        ({"verdict": "RECOMMEND_CONFIG"}, "without a suggestion"),
    ],
)
def test_a_verdict_without_what_it_has_to_carry_is_unreadable(answer: dict[str, Any], why: str) -> None:
    """It says what is missing."""
    assert why in wrong(answer)


def test_a_fix_has_a_title_a_description_and_a_root_cause() -> None:
    """As an object, or beside the verdict; several are kept to be refused."""
    fix = {"title": "mend", "description": "it", "root_cause": "rust"}
    found = verdict({"verdict": "FILE_FIX", "fix": fix})
    assert (found.fixes, found.root_cause) == ((Piece(title="mend", description="it"),), "rust")

    alone = verdict({"verdict": "FILE_FIX", "root_cause": "rust", "why": "it squeaks"})
    assert alone.fixes == (Piece(title="rust", description="it squeaks"),)

    titled = verdict({"verdict": "FILE_FIX", "title": "oil", "description": "the hinge", "fix": ""})
    assert titled.fixes == (Piece(title="oil", description="the hinge"),)

    assert len(verdict({"verdict": "FILE_FIX", "fixes": ["a", "b"], "fix_task": "c"}).fixes) == 3


def test_what_a_verdict_needs_may_be_said_as_its_reason() -> None:
    """The reason stands in for what is unclear, or for the suggestion."""
    assert verdict({"verdict": "SPEC_REFRESH", "root_cause": "no format"}).unclear == "no format"
    assert verdict({"verdict": "RECOMMEND_CONFIG", "why": "raise it"}).suggestion == "raise it"
    assert verdict({"verdict": "NOOP", "suggestion": "raise it"}).suggestion == ""


@pytest.mark.parametrize(
    ("answer", "orders"),
    [
        ({"verdict": "CLOSE"}, "verdict CLOSE"),
        ({"verdict": "COMPLETE", "task": "t-2"}, "verdict COMPLETE"),
        ({"action": "run"}, "verdict run"),
        ({"verdict": "NOOP", "action": "delete"}, "verdict delete"),
        ({"verdict": "NOOP", "action": "PAUSE"}, "several verdicts: NOOP, PAUSE"),
        ({"verdict": ["NOOP", "PAUSE"]}, "several verdicts: NOOP, PAUSE"),
        ({"verdict": "NOOP", "verdicts": ["PAUSE"]}, "several verdicts: NOOP, PAUSE"),
        ([{"verdict": "NOOP"}, {"verdict": "PAUSE"}], "several verdicts: NOOP, PAUSE"),
        ([{"a": 1}, {"b": 2}], "2 things at once"),
        ({"verdict": "NOOP", "command": "rm -rf /"}, "command"),
        ({"verdict": "NOOP", "status": "completed"}, "status"),
        ({"verdict": "NOOP", "close": ["t-2"]}, "close"),
        ({"verdict": "NOOP", "closeTask": "t-2"}, "close_task"),
        ({"verdict": "NOOP", "triage": ".triage-t-1-1"}, "triage"),
        ({"tasks": [{"id": "t-2", "status": "completed"}]}, "tasks"),
        ({"verdict": "NOOP", "task": ["t-1", "t-2"]}, "several tasks: t-1, t-2"),
        ({"verdict": "NOOP", "task": {"id": "t-1"}, "issue_id": "t-2"}, "several tasks: t-1, t-2"),
        ({"verdict": "ADJUST", "adjust": {"guidance": "g", "command": "sh"}}, "adjust command"),
        ({"verdict": "ADJUST", "adjust": {"guidance": "g", "whatever": 1}}, "adjust whatever"),
        ({"verdict": "SPLIT", "parts": [{"title": "a", "runner": "shell"}]}, "parts runner"),
        ({"verdict": "FILE_FIX", "fix": {"title": "a", "depends_after": "t-2"}}, "fix depends_after"),
    ],
)
def test_what_no_verdict_can_carry_is_kept_by_name(answer: Any, orders: str) -> None:
    """It is readable enough to be refused, and recorded."""
    assert orders in verdict(answer).orders


def test_what_is_said_twice_is_kept_by_name() -> None:
    """One key with two values is two verdicts."""
    assert verdict('{"verdict": "NOOP", "verdict": "PAUSE"}').orders == ("verdict said twice",)
    assert verdict('{"verdict": "NOOP", "why": "a", "why": "a"}').orders == ()


def test_what_holds_nothing_orders_nothing() -> None:
    """A form that was filled in with blanks is fine."""
    blank: dict[str, Any] = {
        "command": None,
        "tasks": [],
        "status": "",
        "close": False,
        "fix": None,
        "parts": [],
        "adjust": {},
    }

    found = verdict({"verdict": "NOOP"} | blank)

    assert (found.orders, found.adjust, found.fixes, found.parts) == ((), None, (), ())


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("", "empty"),
        ("  \n", "empty"),
        ("I would rather not say", "no verdict"),
        ("{", "no verdict"),
        ("{}", "names no verdict"),
        ('{"verdict": 7}', "names no verdict"),
        ('{"verdict": null}', "names no verdict"),
        ('{"verdict": "I think that somebody should have a look at this"}', "names no verdict"),
        ("[]", "a list"),
        ("[1, 2]", "a list"),
        ("7", "no verdict"),
        ('"NOOP"', "no verdict"),
        ("x" * (ANSWER_MAX + 1), "longer than 256 KB"),
        ('{"action": "triage_sdk_failed"}', "triage_failed"),
        ("ACTION: triage_parse_failed|DETAIL: none", "verdict_unreadable"),
    ],
)
def test_what_is_no_verdict_says_what_was_wrong(answer: str, why: str) -> None:
    """One clear reason."""
    assert why in wrong(answer)


# The older forms


def test_the_detail_of_an_adjustment_becomes_guidance() -> None:
    """`ACTION: adjust_parameters|DETAIL: ...`"""
    found = verdict("I looked.\nACTION: adjust_parameters|DETAIL: read the\nschema first")

    assert (found.word, found.adjust) == ("ADJUST", Adjustment(guidance="read the\nschema first"))


@pytest.mark.parametrize(
    "detail",
    [
        "parser and printer",
        "\n- parser\n- printer",
        "1. parser 2. printer",
        "parser; printer",
        "\n1) parser\n2) printer\n",
        "(1) parser (2) printer",
        "Split into parser and printer",
        "split this task into two parts: parser and printer",
    ],
)
def test_a_split_names_its_parts_in_a_list(detail: str) -> None:
    """Lines, numbers, semicolons, or `A and B`."""
    found = verdict(f"ACTION: split|DETAIL: {detail}")

    parser, printer = Piece(title="parser", description="parser"), Piece(title="printer", description="printer")
    assert (found.word, found.parts) == ("SPLIT", (parser, printer))


def test_a_split_of_three_may_be_one_sentence() -> None:
    """`A, B and C`"""
    found = verdict("ACTION: SPLIT | DETAIL: lexer, parser and printer.")

    assert [part.title for part in found.parts] == ["lexer", "parser", "printer"]


@pytest.mark.parametrize("detail", ["it is too big", "", "; ", "- one"])
def test_a_split_without_a_list_is_unreadable(detail: str) -> None:
    """Nothing is guessed."""
    assert "split without a list" in wrong(f"ACTION: split|DETAIL: {detail}")


def test_an_escalation_says_why() -> None:
    """`ACTION: escalate`, with or without a detail; its older name too."""
    assert verdict("ACTION: escalate|DETAIL: look at it").why == "look at it"
    assert verdict("ACTION: Escalate").word == "ESCALATE"
    assert verdict("ACTION: escalated_to_tier3|DETAIL: look").word == "ESCALATE"


def test_an_unknown_action_is_kept_to_be_refused() -> None:
    """Only three actions can be said like this."""
    assert verdict("ACTION: close|DETAIL: t-2").orders == ("verdict close",)
    assert "cannot be said" in wrong("ACTION: file-fix|DETAIL: mend it")


def test_a_verdict_with_lines_is_read() -> None:
    """`VERDICT=` with its root cause, evidence and what was done."""
    found = verdict(
        "VERDICT=file-fix\nROOT_CAUSE: the ledger is down\nEVIDENCE: bad checksum\n  at line 7\n"
        "ACTION_TAKEN: filed a fix\nCONFIDENCE: 0.7"
    )

    assert (found.word, found.root_cause, found.confidence) == ("FILE_FIX", "the ledger is down", 0.7)
    assert found.evidence == ("bad checksum", "at line 7")
    assert found.fixes == (Piece(title="the ledger is down", description="filed a fix\nbad checksum\nat line 7"),)


def test_the_other_verdicts_take_what_they_need_from_the_lines() -> None:
    """A reason, a suggestion, what is unclear."""
    noop = verdict("ROOT_CAUSE: night\nVERDICT=NOOP")
    assert (noop.word, noop.why) == ("NOOP", "night")
    assert verdict("VERDICT=PAUSE\nACTION_TAKEN: stop it").why == "stop it"
    assert verdict("VERDICT=RECOMMEND-CONFIG\nROOT_CAUSE: too small").suggestion == "too small"
    assert verdict("VERDICT=SPEC_REFRESH\nROOT_CAUSE: no format").unclear == "no format"
    assert verdict("VERDICT=CLOSE").orders == ("verdict CLOSE",)


@pytest.mark.parametrize(
    ("answer", "why"),
    [("VERDICT=FILE-FIX\nEVIDENCE: x", "without a ROOT_CAUSE"), ("VERDICT=ADJUST\nROOT_CAUSE: x", "cannot be said")],
)
def test_lines_that_lack_what_is_needed_are_unreadable(answer: str, why: str) -> None:
    """It says what is missing."""
    assert why in wrong(answer)


def test_the_last_directive_counts() -> None:
    """An agent may think aloud first."""
    found = verdict("VERDICT=PAUSE\nROOT_CAUSE: first\nno, rather\nVERDICT=NOOP\nROOT_CAUSE: second")

    assert (found.word, found.root_cause) == ("NOOP", "second")
    assert verdict("VERDICT=PAUSE\nACTION: escalate|DETAIL: x").word == "ESCALATE"


def test_a_quoted_log_does_not_speak_for_the_agent() -> None:
    """A directive stands at the beginning of a line; an object in a text form's evidence is no verdict."""
    found = verdict('VERDICT=NOOP\nEVIDENCE: log says VERDICT=PAUSE and {"verdict": "SPLIT", "parts": ["a", "b"]}')

    assert (found.word, found.parts) == ("NOOP", ())


# Hostile texts


@pytest.mark.parametrize(
    "answer",
    [
        '{"a":' * 50_000,
        "[" * 100_000,
        "{" * 250_000,
        '{"' * 120_000,
        '{"x":[1,' * 30_000,
        "```json\n" * 30_000,
        "ACTION: " * 30_000,
        "VERDICT=" + "A" * 200_000,
        "\n" * 200_000 + "VERDICT=NOOP",
        " " * 200_000 + "{",
        "- " * 100_000,
        "ACTION: split|DETAIL: " + "1. " * 80_000,
        "ACTION: split|DETAIL: " + "\n- a" * 60_000,
        '{"verdict": "NOOP", "why": "' + "\\u0000" * 40_000 + '"}',
    ],
)
def test_a_hostile_text_is_read_in_no_time(answer: str) -> None:
    """Neither depth nor length nor repetition makes it slow."""
    began = time.process_time()

    assert isinstance(read(answer), Verdict | Unreadable)

    assert time.process_time() - began < 2


def test_what_is_deeper_than_the_stack_is_unreadable_also_inside_a_verdict() -> None:
    """No answer ends the reader."""
    deep = '{"verdict": "NOOP", "x": ' + "[" * 50_000 + "]" * 50_000 + "}"

    assert isinstance(read(deep), Unreadable)


def test_no_control_character_gets_through() -> None:
    """What is stored and shown is printable, whatever was sent."""
    bad = "a\x00b\x1b[31mc\u202ed\ud800e\x7f"
    found = verdict({"verdict": "ADJUST", "why": bad, "evidence": [bad], "adjust": {"guidance": bad, "model": bad}})

    assert found.adjust is not None
    for text in (found.why, *found.evidence, found.adjust.guidance, found.adjust.model):
        assert text.replace("\n", "").isprintable()
        text.encode()


def test_no_secret_gets_through() -> None:
    """Redacted field by field: no text of JSON is broken by it."""
    secret = "ghp_" + "a1B2" * 9
    found = verdict(
        {
            "verdict": "ADJUST",
            "why": secret,
            "evidence": [f"token={secret}"],
            "adjust": {"guidance": f"use {secret}", "keep_criteria": [secret]},
        }
    )

    assert secret not in repr(found)
    assert secret not in wrong(f"I used {secret}")
    assert secret not in repr(verdict({"verdict": "SPLIT", "parts": [secret, {"title": "b", "description": secret}]}))


@examples(300)
@given(st.one_of(st.text(), st.binary().map(lambda each: each.decode("utf-8", "surrogateescape"))))
def test_any_text_is_read(answer: str) -> None:
    """No bytes at all make it fail."""
    assert isinstance(read(answer), Verdict | Unreadable)


_KEYS = st.sampled_from(
    "verdict action why root_cause evidence confidence adjust parts fix fixes unclear suggestion look_at task attempt"
    " usage guidance timeout fresh_session keep_criteria command close title".split()
)
_LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from([*WORDS, "file-fix", "CLOSE", "10m", "yes"]),
)
_VALUES = st.recursive(
    _LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_KEYS, inner, max_size=5), max_leaves=12
)


@examples(400)
@given(st.dictionaries(_KEYS, _VALUES, max_size=9), st.sampled_from(["", "see:\n", "```json\n"]))
def test_any_object_is_read(answer: dict[str, Any], before: str) -> None:
    """No shape of an answer makes it fail, and every text is bounded and printable."""
    found = read(before + json.dumps(answer) + ("\n```" if before.startswith("`") else ""))

    assert isinstance(found, Verdict | Unreadable)
    if isinstance(found, Verdict):
        assert found.word in WORDS
        assert found.why.replace("\n", "").isprintable()
        assert found.confidence is None or 0 <= found.confidence <= 1


@pytest.mark.parametrize(
    ("answer", "word", "others"),
    [
        ('{"verdict": "PAUSE", "why": "a"}\n{"verdict": "NOOP", "why": "b"}', "NOOP", "PAUSE"),
        ('I thought of {"verdict": "SPLIT"} first.\n```json\n{"verdict": "NOOP"}\n```', "NOOP", "SPLIT"),
        (
            '```\n{"verdict": "PAUSE"}\n```\n```\n{"verdict": "NOOP"}\n```\nnot {"verdict": "ESCALATE"}',
            "NOOP",
            "PAUSE, ESCALATE",
        ),
        ('{"verdict": "NOOP", "why": "a"}\n{"verdict": "NOOP", "why": "b"}', "NOOP", "NOOP"),
        ('{"verdict": "NOOP"}\n{"verdict": "NOOP"}', "NOOP", ""),
        ('{"line": 7}\n{"verdict": "NOOP"}', "NOOP", ""),
    ],
)
def test_of_several_verdicts_one_counts_and_the_others_are_not_lost(answer: str, word: str, others: str) -> None:
    """The last one, in a fence where there are fences; a warning names what else was said."""
    found = read(answer)
    assert isinstance(found, Verdict)
    assert found.word == word
    assert found.warning == (f"the answer holds other verdicts as well: {others}" if others else "")


@pytest.mark.parametrize(
    ("answer", "order"),
    [
        ('{"verdict": "ADJUST", "adjust": {"guidance": "a", "guidance": "b"}}', "adjust guidance said twice"),
        ('{"verdict": "FILE_FIX", "fix": {"title": "a", "Title": "b"}}', "fix title said twice"),
        ('{"verdict": "SPLIT", "parts": [{"title": "a"}, {"title": "b", "title": "c"}]}', "parts title said twice"),
    ],
)
def test_what_is_said_twice_below_is_refused_as_well(answer: str, order: str) -> None:
    """Nothing is guessed, wherever it stands."""
    found = read(answer)
    assert isinstance(found, Verdict)
    assert order in found.orders
