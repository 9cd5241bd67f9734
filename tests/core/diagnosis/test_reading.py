"""What is read of a text, and what follows when findings compete: each a sentence of docs/explanation/diagnosis.md."""

from __future__ import annotations

import pytest

from medbay.core.diagnosis.text import ALIKE, clean
from tests.core.diagnosis.samples import why


def test_of_lines_that_differ_in_numbers_only_a_few_are_read() -> None:
    """A log of progress costs next to nothing, and what stands between its lines is seen."""
    log = "\n".join(f"step {number} of 400 done, 0 errors" for number in range(300))

    assert len(clean(f"{log}\nNo space left on device").telling) == 2 * ALIKE + 1
    assert why(f"{log}\nNo space left on device\n{log}").category == "resource_exhaustion"


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("cat: x: 没有那个文件或目录 " + "文" * 600, "dependency_missing"),
        ('{"a": "' + "x" * 600 + ' connection refused by the server"}', "transient"),
        ("x" * 600 + " error" * 40, "unknown"),
    ],
)
def test_of_a_long_line_the_surroundings_of_the_words_are_read(text: str, category: str) -> None:
    """Also in scripts without words, and with a word in many places."""
    assert why(text).category == category


@pytest.mark.parametrize(
    "text",
    [
        "src/main.zig:5:5: error: unused local constant\nBuild Summary: 0/3 steps succeeded; 1 failed",
        "App.swift:31:18: error: value has no member 'x'\n** BUILD FAILED **\n(1 failure)",
    ],
)
def test_steps_that_failed_are_no_tests(text: str) -> None:
    """Counts speak of tests only where the text does."""
    assert why(text).category == "code_error"


def test_who_refuses_the_credentials_closes_the_connection() -> None:
    """The last line is a consequence."""
    found = why("u@files.example.com: Permission denied (publickey,password).\nConnection closed.", exit_code=255)

    assert found.kind == "unknown/auth"


def test_runners_up_are_other_causes_that_came_near() -> None:
    """Each other kind once; what only agrees, knows no cause or was far off is not listed."""
    refused = "E   ConnectionRefusedError: [Errno 111] Connection refused\n"
    found = why(f"tests/test_a.py:3: in test_a\n{refused * 2}FAILED tests/test_a.py::test_a\n=== 1 failed in 0.1s ===")

    assert found.category == "test_failure"
    assert [(other.category, other.subcategory) for other in found.runners_up] == [("transient", "network")]
    assert why("error: something went wrong\nNo space left on device").runners_up == ()


def test_a_run_that_passed_has_no_runners_up() -> None:
    """However alarming its log reads."""
    assert why("retrying: connection refused\nNo space left on device\nall done", exit_code=0).runners_up == ()


def test_tex_names_the_line_and_the_file_apart() -> None:
    """The file that was opened last, and `l.` with the line."""
    found = why("(./paper.tex\n! Undefined control sequence.\nl.42 \\includegraphcs\n              {fig1}\n")

    assert found.category == "code_error"
    assert str(found.location) == "paper.tex:42"
    assert why("! Undefined control sequence.\nl.42 \\includegraphcs\n").location is None


@pytest.mark.parametrize(("signal", "category"), [(24, "timeout"), (25, "resource_exhaustion")])
def test_signals_of_limits_name_the_limit(signal: int, category: str) -> None:
    """SIGXCPU and SIGXFSZ, told as a signal or as a shell does."""
    assert why("", exit_code=None, signal=signal).category == category
    assert why("", exit_code=128 + signal).category == category


@pytest.mark.parametrize(
    ("text", "exit_code", "summary"),
    [
        ("/bin/sh: 1: foo: not found", 127, "Command missing: foo"),
        ("ModuleNotFoundError: No module named 'requests'", 1, "Module missing: requests"),
        ("E: Unable to locate package nope", 100, "Package not available: nope"),
    ],
)
def test_the_summary_names_what_is_missing(text: str, exit_code: int, summary: str) -> None:
    """Where the text names it."""
    assert why(text, exit_code=exit_code).summary == summary
