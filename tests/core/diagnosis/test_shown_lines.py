"""The evidence of a diagnosis: whole lines of the log, with the number of the first."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from medbay.core.attempt.diagnosed import diagnose_outcome
from medbay.core.diagnosis import diagnose
from medbay.core.diagnosis.engine import EVIDENCE_LINE_MAX, EVIDENCE_LINES
from medbay.core.diagnosis.record import Pattern, facts
from medbay.core.outcome import Failed, Output
from medbay.core.people.question import ask
from tests.core.builders import NOW, task

WHEN = datetime(2026, 3, 1, tzinfo=UTC)
LINE = "2026-03-01T00:00:00Z worker-3 db: connect ECONNREFUSED 10.0.0.7:5432 while loading page 4"


def outcome(text: str, **given: object) -> Failed:
    """A command that printed this and failed."""
    return Failed(output=Output(**{"tail": text, "total_bytes": len(text)} | given), exit_code=1)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [str, bytes])
def test_the_whole_line_is_shown_with_its_number(kind: type) -> None:
    """Not only the words that a rule looks for."""
    text = f"starting\nreading\n{LINE}\n"
    found = diagnose(text if kind is str else text.encode(), now=WHEN, exit_code=1).pattern

    assert "ECONNREFUSED" in found.excerpt and found.excerpt != found.lines
    assert found.evidence == f"line 3: {LINE.partition(' ')[2]}"


def test_a_line_in_colour_is_shown_without_its_number() -> None:
    """It is not found again as it is shown; a wrong number would be worse than none."""
    found = diagnose("a\nconnect \x1b[31mECONNREFUSED\x1b[0m 10.0.0.7:5432\n", now=WHEN, exit_code=1).pattern
    raw = diagnose(b"a\nconnect \x1b[31mECONNREFUSED\x1b[0m 10.0.0.7:5432\n", now=WHEN, exit_code=1).pattern

    assert found.evidence == raw.evidence == "connect ECONNREFUSED 10.0.0.7:5432"


def test_lines_that_were_left_out_are_counted() -> None:
    """Also where two outputs look the same at both ends."""
    for cut in (3_000, 4_000):
        text = "begin\n" + "working on it\n" * cut + LINE + "\n"
        assert diagnose(text, now=WHEN, exit_code=1).pattern.number == cut + 2
        assert diagnose(text.encode(), now=WHEN, exit_code=1).pattern.number == cut + 2


def test_a_traceback_is_shown_by_its_exception_and_a_long_line_is_cut() -> None:
    """The line that says it."""
    trace = 'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\nShopError: row 7 is odd\n'
    assert diagnose(trace, now=WHEN, exit_code=1).pattern.evidence == "line 3: ShopError: row 7 is odd"

    long = diagnose("connect ECONNREFUSED 10.0.0.7:5432 " + "x" * 1_000, now=WHEN, exit_code=1).pattern
    assert len(long.lines) == EVIDENCE_LINE_MAX
    assert EVIDENCE_LINES > 1


def test_without_words_there_is_nothing_to_show() -> None:
    """An exit status alone; and the record as data says the same."""
    found = diagnose("", now=WHEN, exit_code=3)

    assert (found.pattern.evidence, found.pattern.number) == ("", None)
    assert facts(found)["evidence"] == {"line": None, "text": ""}
    assert Pattern("r", "words").evidence == "words"


def test_the_number_is_that_of_the_log() -> None:
    """Not of what was read of it: lines that an attempt was handed are left out, and of a long log the middle."""
    handed = "Mind the gap between the platforms of this station"
    echoed = diagnose_outcome(outcome(f"{handed}\n{LINE}\n"), NOW, runner="shell", zone=UTC, handed=handed)
    assert echoed.pattern.number == 2

    much = {"head": "begin\n", "total_bytes": 900_000, "lines_before": 12_000}
    assert diagnose_outcome(outcome(f"a\n{LINE}\n", **much), NOW, runner="shell", zone=UTC).pattern.number == 12_002
    in_head = outcome("later\n", **much | {"head": f"begin\n{LINE}\n"})
    assert diagnose_outcome(in_head, NOW, runner="shell", zone=UTC).pattern.number == 2


def test_a_number_that_is_not_known_is_not_made_up() -> None:
    """Of a log with a hole, and of an agent, whose log is a record that is read for it."""
    holed = outcome(f"a\n{LINE}\n", head="begin\n", total_bytes=900_000)
    assert diagnose_outcome(holed, NOW, runner="shell", zone=UTC).pattern.number is None
    agents = diagnose_outcome(outcome(LINE), NOW, runner="claude", zone=UTC).pattern
    assert (agents.number, agents.evidence) == (None, agents.lines)


def test_a_question_quotes_the_line() -> None:
    """With its number, so that a person finds it."""
    found = diagnose(f"a\n{LINE}", now=WHEN, exit_code=1)

    assert ask(task(), kind="human", why="w", now=NOW, diagnosis=found).evidence.startswith("line 2: worker-3 db:")
