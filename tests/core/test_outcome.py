"""What an attempt left behind, as one text for the diagnosis."""

from __future__ import annotations

from medbay.core.model import CheckResult
from medbay.core.outcome import Checked, Failed, Lost, Outcome, Output, OverBudget, Requeued, Succeeded, redacted
from medbay.core.redaction import MARK, Redaction


def test_a_short_log_is_not_repeated() -> None:
    """Head and tail of a short log are the same bytes."""
    assert Output(head="all of it", tail="all of it", total_bytes=9).text() == "all of it"


def test_a_long_log_is_its_two_ends() -> None:
    """With a mark where the middle was."""
    assert Output(head="first", tail="last", total_bytes=50_000).text() == "first\n[...]\nlast"


def test_a_log_without_a_head_is_its_tail() -> None:
    """Nothing is invented before it."""
    assert Output(tail="last", total_bytes=50_000).text() == "last"


def test_lengths_are_counted_in_bytes_not_in_characters() -> None:
    """Half a surrogate pair included: the count never raises."""
    assert Output(head="ä", tail="ä\ud800", total_bytes=3).text() == "ä\ud800"


SECRET = "hunter2-of-the-vault"
KNOWING = Redaction(secrets=(SECRET,))


def test_no_secret_is_kept_of_an_outcome_whatever_it_is() -> None:
    """Its log, its result, why it ended, and the logs of its checks."""
    said = Output(head=f"{SECRET} a", tail=f"b {SECRET}", total_bytes=99_999, result={"summary": SECRET})
    check = CheckResult(task_id="t-1", number=1, position=1, command="make", head=f"{SECRET} a", tail=f"b {SECRET}")
    outcomes: list[Outcome] = [
        Failed(output=said, spawn_error=f"no {SECRET}"),
        Failed(output=Output(tail=SECRET)),
        Requeued(asked=True, why=SECRET),
        OverBudget(why=SECRET),
        Checked(results=(check,)),
        Lost(why="the engine died", output=said),
    ]

    for outcome in outcomes:
        found = redacted(outcome, KNOWING)
        assert SECRET not in repr(found)
        assert type(found) is type(outcome)
        assert MARK in repr(found)


def test_what_a_function_returned_is_its_own() -> None:
    """A value is data for those who asked for it; nothing is changed where there is nothing."""
    returned = Succeeded(output=Output(result={"value": SECRET, "summary": SECRET}))

    assert redacted(returned, KNOWING).output.result == {"value": SECRET, "summary": MARK}
    assert redacted(Succeeded(), KNOWING) == Succeeded()
    plain = Failed(output=Output(tail="nothing of the kind", total_bytes=19))
    assert redacted(plain, KNOWING) is plain


def test_a_traceback_that_is_the_whole_log_is_redacted_with_it() -> None:
    """The same text stands in the log and in the result, and is clean in both."""
    said = f"Traceback\nError: {SECRET}"
    failed = Failed(exit_code=1, output=Output(tail=said, total_bytes=len(said), result={"traceback": said}))

    found = redacted(failed, KNOWING).output

    assert found.result == {"traceback": found.tail}
    assert SECRET not in found.tail


def test_what_stands_under_a_secret_name_goes_as_a_whole_and_lists_are_looked_through() -> None:
    """Whatever it looks like itself."""
    said = {"api_token": "plain words", "causes": [{"message": f"sent {SECRET}"}], "type": "ValueError"}

    found = redacted(Failed(output=Output(tail="x", total_bytes=1, result=said)), KNOWING).output

    assert found.result == {"api_token": MARK, "causes": [{"message": f"sent {MARK}"}], "type": "ValueError"}
