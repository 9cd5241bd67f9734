"""What an attempt left behind, as one text for the diagnosis."""

from __future__ import annotations

from medbay.core.model import CheckResult
from medbay.core.outcome import Checked, Failed, Output, OverBudget, Requeued, Succeeded, redacted
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


TOKEN = "ghp_" + "Zx9Qw7Er5Ty3Ui1Op0As8Df6Gh4Jk2Lz0Xc9"


def test_secrets_are_taken_out_of_whatever_an_attempt_left() -> None:
    """Log, result, why it was not started or asks to be tried again, and its checks."""
    output = Output(head="", tail=f"used {TOKEN}", total_bytes=50, result={"summary": TOKEN, "value": TOKEN})
    found = redacted(Failed(output=output, spawn_error=f"no {TOKEN}"), Redaction())
    assert isinstance(found, Failed)
    assert (found.output.tail, found.spawn_error) == (f"used {MARK}", f"no {MARK}")
    assert found.output.result == {"summary": MARK, "value": TOKEN}  # what a function returned is its own
    assert redacted(Requeued(asked=True, why=TOKEN), Redaction()) == Requeued(asked=True, why=MARK)
    assert redacted(OverBudget(why=TOKEN), Redaction()) == OverBudget(why=MARK)
    check = CheckResult(task_id="a", number=1, position=1, command="x", tail=f"token={TOKEN}")
    checked = redacted(Checked(results=(check,)), Redaction())
    assert isinstance(checked, Checked) and checked.results[0].tail == f"token={MARK}"
    assert isinstance(redacted(Failed(output=Output(tail="plain")), Redaction()), Failed)


def test_what_left_nothing_is_left_as_it_is() -> None:
    """A silent success costs nothing."""
    quiet = Succeeded()
    assert redacted(quiet, Redaction()) is quiet
