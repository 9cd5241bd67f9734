"""The failure record in an issue's notes: strict writer, lenient reader, a person's notes untouched."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from medbay.core.tracker import record
from medbay.core.tracker.record import FailureRecord, Notes, UnreadableRecord
from tests.properties import examples

WHOLE = (
    "ADWS_FAILED|attempt=2|last_failure=2026-02-01T12:00:00Z|error_class=SdkCallError|step=implement"
    "|summary=SDK timeout after 30s"
)
NOON = round(datetime(2026, 2, 1, 12, tzinfo=UTC).timestamp() * 1000)
READ = FailureRecord(
    attempt=2, last_failure=NOON, error_class="SdkCallError", step="implement", summary="SDK timeout after 30s"
)
TEXT = st.text(max_size=60)
NAME = st.text("abcdefgh_", min_size=1, max_size=8).filter(
    lambda name: name not in ("attempt", "last_failure", "error_class", "step", "summary")
)
RECORD = st.builds(
    FailureRecord,
    attempt=st.integers(1, 10**6),
    last_failure=st.integers(0, 4 * 10**12),
    error_class=TEXT,
    step=TEXT,
    summary=TEXT,
    extra=st.dictionaries(NAME, TEXT, max_size=3),
)


def said(notes: str) -> str:
    """Why the record in these notes cannot be read."""
    found = record.read(notes).record
    assert isinstance(found, UnreadableRecord)
    return found.why


def test_1_1_a_whole_record_is_read() -> None:
    """Every field of it."""
    assert record.read(WHOLE) == Notes(record=READ)


@pytest.mark.parametrize(
    "notes", ["Normal issue notes", "", "  \n\n", "we saw ADWS_FAILED yesterday", "XADWS_FAILED|a=1"]
)
def test_1_3_and_1_5_notes_without_a_record_have_none(notes: str) -> None:
    """Words of a person, or nothing at all."""
    assert record.read(notes) == Notes()
    assert record.read(notes).is_free


def test_1_7_a_record_that_misses_fields_is_unreadable() -> None:
    """It is named with what is missing, and never guessed; this departs from its source, which took it for none."""
    assert said("ADWS_FAILED|attempt=1") == "last_failure, error_class, step, summary missing"
    assert not record.read("ADWS_FAILED|attempt=1").is_free


def test_1_9_an_escaped_pipe_is_part_of_its_value() -> None:
    """So are a backslash and a line break."""
    notes = WHOLE.replace("SDK timeout after 30s", r"Error in step\|detail\\n\nnext\x")

    found = record.read(notes).record

    assert isinstance(found, FailureRecord)
    assert found.summary == "Error in step|detail\\n\nnext\\x"


def test_1_11_needs_human_is_no_record() -> None:
    """It has its own place, with or without a reason."""
    assert record.read("needs_human") == Notes(human="")
    assert record.read("needs_human|reason=out of ideas\\|really") == Notes(human="out of ideas|really")
    assert record.read("needs_human|because") == Notes(human="")


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        (("attempt=2", "attempt=two"), 'attempt "two" is no number from 1 on'),
        (("attempt=2", "attempt=0"), 'attempt "0" is no number from 1 on'),
        (("attempt=2", "attempt=٣"), 'attempt "٣" is no number from 1 on'),
        (("attempt=2", "attempt=" + "9" * 400), f'attempt "{"9" * 39}…" is no number from 1 on'),
        (("2026-02-01T12:00:00Z", "not-a-date"), 'last_failure "not-a-date" is no time'),
        (("2026-02-01T12:00:00Z", "0001-01-01T00:00:00+14:00"), 'last_failure "0001-01-01T00:00:00+14:00" is no time'),
        (("|step=implement", "|step=implement|step=verify"), "step is there twice"),
        (("|step=implement", "|step"), '"step" has no value'),
    ],
)
def test_a_bad_value_makes_a_record_unreadable(changed: tuple[str, str], why: str) -> None:
    """A bad number, a bad time, a key that is there twice: said, never guessed."""
    assert said(WHOLE.replace(*changed)) == why


def test_an_empty_record_is_unreadable() -> None:
    """The mark alone on a line, or with nothing behind its pipe."""
    assert said("ADWS_FAILED|") == "it has no values"
    assert said("notes\nADWS_FAILED\nmore") == "it has no values"


def test_a_record_is_found_among_other_words() -> None:
    """In any order of keys, with text around it; the last one counts and extra keys are kept."""
    notes = (
        f"look at this\r\n{WHOLE}\r\nthen: ADWS_FAILED|summary=a=b|step=run|last_failure=2026-02-01T13:00:00+01:00"
        "|error_class=unknown|attempt=7|run=5\nbye"
    )

    found = record.read(notes).record

    assert found == FailureRecord(
        attempt=7, last_failure=NOON, error_class="unknown", step="run", summary="a=b", extra={"run": "5"}
    )


@pytest.mark.parametrize(("kind", "unknown"), [("unknown", True), ("", True), (" ", True), ("BeadsCloseError", False)])
def test_only_the_word_itself_or_none_is_unknown(kind: str, unknown: bool) -> None:
    """A class without a slash is known."""
    assert FailureRecord(attempt=1, last_failure=0, error_class=kind).is_unknown is unknown


def test_needs_human_wins_over_a_record_and_means_nothing_in_prose() -> None:
    """At the start of a line only, case-sensitive."""
    both = record.read(f"{WHOLE}\nneeds_human|reason=x")

    assert (both.human, both.record) == ("x", READ)
    assert record.read("this needs_human help\nNEEDS_HUMAN\nneeds_humans").is_free


def test_a_time_without_a_zone_is_utc() -> None:
    """And milliseconds are kept where there are some."""
    assert record.time_of("2026-02-01 12:00:00") == NOON
    assert record.iso(NOON + 7) == "2026-02-01T12:00:00.007Z"


@examples(300)
@given(RECORD)
def test_what_is_written_is_read_again(made: FailureRecord) -> None:
    """Whatever the values are, in one line."""
    written = record.write(made)

    assert "\n" not in written
    assert record.read(written).record == made
    assert record.read(f"notes of a person\n{written}\nmore").record == made


@examples(300)
@given(st.text(max_size=200), RECORD, st.text(max_size=50))
def test_a_persons_notes_are_untouched_to_the_byte(notes: str, made: FailureRecord, reason: str) -> None:
    """Through a record, a second one, an escalation and the clearing of each."""
    assume(record.read(notes).is_free and "ADWS_FAILED" not in notes and "needs_human" not in notes)

    first = record.with_line(notes, record.write(made))
    human = record.with_line(first, record.needs_human(reason))
    again = record.with_line(human, record.write(made))

    assert record.cleared(first) == record.cleared(human) == record.cleared(again) == notes
    assert (record.read(first).record, record.read(first).human) == (made, None)
    assert record.read(human).human is not None
    assert first == again


@examples(300)
@given(st.text(alphabet="ADWS_FAILEDneeds_human|=\\\n\r abc123", max_size=120))
def test_any_notes_are_read_and_cleared(notes: str) -> None:
    """Nothing raises, and nothing of ours is left."""
    record.read(notes)

    assert record.read(record.cleared(notes)).is_free or "ADWS_FAILED" in record.cleared(notes)


def test_only_our_own_text_is_taken_out() -> None:
    """Words in front of a record on its line, and what was written behind it later, stay."""
    assert record.cleared(f"first\nsee: {WHOLE}\nlast\n") == "first\nsee: \nlast\n"
    assert record.cleared(f"first\n{WHOLE}\nlast") == "first\nlast"
    assert record.cleared(f"{WHOLE}\nfirst\nneeds_human\n") == "first\n"
    assert record.with_line(f"{WHOLE}\nfirst\n{WHOLE}\nlast", "needs_human") == "first\nneeds_human\nlast"


def test_what_is_taken_back_is_ours_alone() -> None:
    """The line we wrote, edited or not; a record that goes on counting is another's, and so is one nobody can read."""
    edited, further = WHOLE.replace("12:00", "13:00"), WHOLE.replace("attempt=2", "attempt=3")

    assert record.without(f"mine\n{WHOLE}\nmore", WHOLE) == "mine\nmore"
    assert record.without(f"mine\n{edited}", WHOLE) == "mine"
    assert record.without(f"mine\n{WHOLE}\n{further}", WHOLE) == f"mine\n{further}"
    assert record.without("ADWS_FAILED|x\r\nADWS_FAILED|y", "ADWS_FAILED|x") == "ADWS_FAILED|y"
    assert record.without(f"{WHOLE}\nneeds_human|reason=mine", "needs_human|reason=x") == WHOLE
    assert record.without("nothing of ours", WHOLE) == "nothing of ours"


def test_the_last_record_is_read_as_it_stands() -> None:
    """Without what stands around it."""
    assert record.last_line(f"first: {READ.summary}\nADWS_FAILED|x\r\nsee {WHOLE}\nend") == WHOLE
    assert record.last_line("ADWS_FAILED|x\r\n") == "ADWS_FAILED|x"
    assert record.last_line("words") == ""
