"""Links that answer one question."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medbay.core.people.link import VALID_MS, AnswerLink, read, sign
from medbay.errors import NotAllowed, NotFound

KEY = "k" * 32
NOW = 1_800_000_000_000
LINK = AnswerLink("q-k7f2-1", "phone", NOW + VALID_MS)


@given(st.text(max_size=60), st.from_regex(r"[a-z0-9_.-]{1,20}", fullmatch=True))
def test_a_link_says_what_was_signed(question_id: str, channel: str) -> None:
    """Whatever the question and the channel are called, reading gives back what was signed."""
    link = AnswerLink(question_id.encode("utf-8", "ignore").decode(), channel, NOW + VALID_MS)

    assert read(sign(link, KEY), KEY, NOW) == link


def test_a_link_stands_in_an_address_as_it_is() -> None:
    """No sign of it has to be escaped behind the # of an address."""
    text = sign(AnswerLink("q-ÿÿÿ???>>>-1", "phone", NOW), KEY)

    assert text.isascii() and all(sign.isalnum() or sign in "-_." for sign in text)


@pytest.mark.parametrize("at", range(len(sign(LINK, KEY)) - 1))
def test_a_link_with_another_letter_opens_nothing(at: int) -> None:
    """Each letter counts, but for the last one, of which only some bits do."""
    text = sign(LINK, KEY)
    changed = text[:at] + ("A" if text[at] != "A" else "B") + text[at + 1 :]

    with pytest.raises(NotFound, match="opens nothing"):
        read(changed, KEY, NOW)


@pytest.mark.parametrize("text", ["", ".", "abc", "é.é", "a" * 5_000, sign(LINK, "another key")])
def test_what_we_did_not_sign_opens_nothing(text: str) -> None:
    """Nothing of it is even read."""
    with pytest.raises(NotFound):
        read(text, KEY, NOW)


def test_without_a_key_nothing_is_ours() -> None:
    """A store that never sent a link has no key, and an empty one signs nothing."""
    with pytest.raises(NotFound):
        read(sign(LINK, ""), "", NOW)


def test_a_link_ends_after_its_days() -> None:
    """The last moment it works, and the next."""
    text = sign(LINK, KEY)

    assert read(text, KEY, LINK.until - 1) == LINK
    with pytest.raises(NotAllowed, match="too old"):
        read(text, KEY, LINK.until)


def test_an_answer_by_link_names_the_channel() -> None:
    """The store knows that a reader of the channel answered."""
    assert LINK.actor == "person:phone link"
