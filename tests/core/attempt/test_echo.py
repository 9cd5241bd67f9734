"""What was handed to an attempt is taken out of its output, however it is printed; a repeated failure is not."""

from __future__ import annotations

import json
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medbay.core.attempt import guidance
from medbay.core.attempt.echo import without_echo
from medbay.core.outcome import Output
from tests.core.builders import diagnosis

SUMMARY = "connect ECONNREFUSED 10.0.0.7:5432"
HANDED = guidance.render(
    (
        guidance.guide(diagnosis(summary="row 77 looks odd"), next_attempt=2, advice="look at C:\\new rows — again"),
        guidance.guide(diagnosis(summary=SUMMARY), next_attempt=3, advice="check that the host is up"),
    ),
    attempt=3,
)
OWN = "the totals differ"


def left(text: str, handed: str = HANDED) -> str:
    """What is left of a log."""
    return without_echo(Output(tail=text, total_bytes=len(text)), handed).tail


ECHOES = {
    "as it is": HANDED,
    "env": f"MEDBAY_GUIDANCE={HANDED}",
    "set -x": f"+ echo '{HANDED}'\n{HANDED}",
    "quoted": "\n".join(f"> {line}" for line in HANDED.splitlines()),
    "JSON": json.dumps({"prompt": HANDED}),
    "declare": "declare -x MEDBAY_GUIDANCE=" + json.dumps(HANDED),
    "wrapped": textwrap.fill(HANDED, 30),
    "wrapped inside words": "\n".join(HANDED[at : at + 17] for at in range(0, len(HANDED), 17)),
    "in a box": "\n".join(f"│ {line:<40} │" for line in textwrap.wrap(HANDED, 40)),
    "with times, wrapped": "\n".join(f"2026-11-17T01:02:03Z INFO {line}" for line in textwrap.wrap(HANDED, 40)),
    "by compose, wrapped": "\n".join(f"web_1  | {line}" for line in textwrap.wrap(HANDED, 40)),
    "coloured": "\n".join(f"\x1b[2m{line}\x1b[0m" for line in HANDED.splitlines()),
    "cut off": "\n".join(line[:38] for line in HANDED.splitlines()),
}


@pytest.mark.parametrize("echo", ECHOES.values(), ids=ECHOES)
def test_what_was_handed_is_taken_out(echo: str) -> None:
    """In every form a job prints it; its own line stays."""
    kept = left(f"{echo}\n{OWN}\n{echo}\n")

    assert "ECONNREFUSED" not in kept.replace("\n", "")
    assert "host is up" not in kept
    assert OWN in kept


def test_a_failure_that_repeats_the_last_one_stays() -> None:
    """The words of the failure before are no echo of the guidance that quotes them."""
    assert left(f"Error: {SUMMARY}\n") == f"Error: {SUMMARY}\n"


def test_short_lines_and_empty_texts_are_left_alone() -> None:
    """A title of one word stands in any output."""
    assert left("build failed", handed="build\nthe fix\n") == "build failed"
    assert left("", handed=HANDED) == ""


def test_head_and_result_are_read_without_it_too() -> None:
    """Everything that is diagnosed; what is no text stays as it is."""
    output = Output(head=HANDED, tail=OWN, total_bytes=99_999, result={"summary": HANDED, "retry_after": 3})

    kept = without_echo(output, HANDED)

    assert (kept.head, kept.tail, kept.result) == ("", OWN, {"summary": "", "retry_after": 3})


@given(st.text(max_size=200), st.text(max_size=200))
def test_no_text_breaks_it_and_nothing_is_added(text: str, handed: str) -> None:
    """Whatever is printed, whatever was handed."""
    kept = left(text, handed)

    assert set(kept) <= {*text, " "}
    assert len(kept) <= len(text)
