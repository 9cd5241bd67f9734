"""Text of others is shown, never obeyed."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medbay.views.text import ColoursOnly, clean, clean_json, clean_lines, cut, pad, width, wrap

RED = "\x1b[31m"
OFF = "\x1b[0m"


@pytest.mark.parametrize(
    ("given_text", "shown"),
    [
        ("plain", "plain"),
        ("\x1b[2Jgone", "\\x1b[2Jgone"),
        ("two\nlines\tand\ra", "two\\nlines\\tand\\ra"),
        ("\u202eevil", "\\u202eevil"),
        ("\x9b31m", "\\x9b31m"),
        ("größe 漢字", "größe 漢字"),
    ],
)
def test_control_characters_are_shown_as_their_escapes(given_text: str, shown: str) -> None:
    """A title cannot clear a screen or turn a line around."""
    assert clean(given_text) == shown


@given(st.text())
def test_a_clean_text_has_one_line_and_no_escape(text: str) -> None:
    """Whatever the text is."""
    made = clean(text)

    assert "\x1b" not in made
    assert len(made.splitlines()) <= 1


@given(st.text(), st.integers(0, 30))
def test_a_cut_text_fits(text: str, columns: int) -> None:
    """Wide characters count twice."""
    assert width(cut(clean(text), columns)) <= columns


def test_wide_characters_take_two_columns() -> None:
    """So that columns stay aligned."""
    assert width("漢字") == 4
    assert cut("漢字漢字", 5) == "漢字…"
    assert pad("漢", 4) == "漢  "
    assert clean_lines("a\nb\x07") == ["a", "b\\x07"]


@pytest.mark.parametrize(
    ("pieces", "shown"),
    [
        ([f"{RED}red{OFF}"], f"{RED}red{OFF}"),
        (["\x1b[2J\x1b[Hclear"], "clear"),
        (["\x1b]0;title\x07text"], "text"),
        (["\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\"], "link"),
        (["\x1bPpayload\x1b\\after"], "after"),
        (["a\x1b", "[31", "mred"], f"a{RED}red"),
        (["a\x1b]0;half", " title\x07b"], "ab"),
        (["bell\x07 and\x00 nul"], "bell\\x07 and\\x00 nul"),
        (["keep\ttabs\r\nand lines\n"], "keep\ttabs\r\nand lines\n"),
        (["\x1bc reset"], " reset"),
    ],
)
def test_of_a_log_only_colours_reach_the_terminal(pieces: list[str], shown: str) -> None:
    """Also when a sequence is cut between two pieces."""
    passes = ColoursOnly()

    assert "".join(passes.feed(piece) for piece in pieces) == shown


@given(st.text(alphabet="ab 宽é"), st.integers(2, 12))
def test_wrapping_loses_nothing_and_fits(text: str, columns: int) -> None:
    """Broken between words; a word that is longer is broken inside."""
    lines = wrap(text, columns)

    assert all(width(line) <= columns for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


def test_wrapping_breaks_between_words() -> None:
    """As people read."""
    assert wrap("one two three", 8) == ["one two", "three"]
    assert wrap("abcdefghij kl", 4) == ["abcd", "efgh", "ij", "kl"]
    assert wrap("", 4) == [""]


def test_a_word_broken_over_lines_of_two_widths_gets_no_blank() -> None:
    """A path that is copied from two lines is the path."""
    assert wrap("in /a/long/path x", 6, below=4) == ["in", "/a/l", "ong/", "path", "x"]
    assert wrap("abcdefghijkl", 6, below=4) == ["abcdef", "ghij", "kl"]


def test_without_colours_not_even_those_pass() -> None:
    """NO_COLOR holds for logs as well."""
    assert ColoursOnly(colours=False).feed(f"{RED}red{OFF}") == "red"


@given(st.lists(st.text(alphabet="\x1b[]0;m\x07\\aHJP")))
def test_no_other_sequence_ever_passes(pieces: list[str]) -> None:
    """What is left after taking the colours out has no escape in it."""
    import re

    passes = ColoursOnly()
    told = "".join(passes.feed(piece) for piece in pieces)

    assert "\x1b" not in re.sub("\x1b\\[[0-9;:]*m", "", told)


def test_a_log_cannot_turn_its_lines_around_or_write_over_them() -> None:
    """Bidi marks are shown as what they are, and a lone carriage return is the end of a line."""
    shown = ColoursOnly()

    assert (
        shown.feed("rm -rf /\rall is well\r\nabc\u202edef\u2066\r") == "rm -rf /\nall is well\r\nabc\\u202edef\\u2066"
    )
    assert shown.feed("\nnext") == "\r\nnext"


def test_a_command_that_runs_now_may_redraw_its_line() -> None:
    """As progress bars do."""
    assert ColoursOnly(redraws=True).feed("10%\r20%\r") == "10%\r20%\r"


def test_json_says_the_same_without_controls() -> None:
    """What could control a terminal is an escape of JSON."""
    written = json.dumps({"a": "\x9b2J\x7f\u202e\u2028 é"}, ensure_ascii=False)

    assert clean_json(written) == '{"a": "\\u009b2J\\u007f\\u202e\\u2028 é"}'
    assert json.loads(clean_json(written)) == json.loads(written)
