"""The result file is hostile input."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medbay.core.triage.reading import ANSWER_MAX, read
from medbay.core.triage.verdict import Unreadable, Verdict
from medbay.runners.result import RESULT_BYTES_MAX, answer_in, read_answer, read_result


def test_a_good_result_is_read(tmp_path: Path) -> None:
    """The five fields; others are left out."""
    said = {
        "outcome": "Success",
        "category": "timeout",
        "summary": "all well",
        "retry_after": 12.5,
        "artifacts": ["a.txt", "b/c.bin"],
        "unknown": 1,
    }
    path = tmp_path / "1.json"
    path.write_text(json.dumps(said))

    result = read_result(path)

    assert result.fields == {**{k: said[k] for k in said if k != "unknown"}, "outcome": "succeeded"}
    assert (result.ignored, result.says_failed, result.retry_after) == ("", False, 12.5)


@pytest.mark.parametrize("number", ["9" * 400, "-" + "9" * 5_000, "1e999", "1" + "0" * 18, "true", "[1]"])
def test_a_time_that_no_clock_has_is_left_out_alone(tmp_path: Path, number: str) -> None:
    """However long the number is; what else the file says counts."""
    path = tmp_path / "1.json"
    path.write_text(f'{{"summary": "said", "retry_after": {number}}}')

    result = read_result(path)

    assert (result.fields, result.ignored) == ({"summary": "said"}, "wrong value for retry_after")


def test_an_answer_that_is_no_file_is_empty(tmp_path: Path) -> None:
    """A pipe or a link in its place is neither waited for nor followed."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "secret").write_text("NOOP")
    (tmp_path / "link").symlink_to(tmp_path / "secret")

    assert [read_answer(tmp_path / name) for name in ("pipe", "link", "nothing")] == ["", "", ""]


def test_no_file_or_an_empty_one_is_no_result(tmp_path: Path) -> None:
    """And no complaint."""
    (tmp_path / "empty").write_text(" \n")

    for name in ("nothing", "empty"):
        assert (read_result(tmp_path / name).fields, read_result(tmp_path / name).ignored) == (None, "")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("[1]", "a JSON object is expected, not list"),
        ("{", "cannot be read"),
        ('{"retry_after": NaN}', "NaN is not JSON"),
        ("[" * 100_000, "cannot be read"),
        ("9" * 10_000, "a JSON object is expected, not float"),
        ("\xff", "a JSON object|cannot be read"),
        ("{" + " " * RESULT_BYTES_MAX + "}", "larger than"),
    ],
)
def test_a_bad_file_is_ignored_with_a_reason(tmp_path: Path, content: str, reason: str) -> None:
    """Never raised."""
    path = tmp_path / "1.json"
    path.write_text(content, encoding="latin-1")

    result = read_result(path)

    assert result.fields is None
    assert any(part in result.ignored for part in reason.split("|"))


@pytest.mark.parametrize("kind", ["fifo", "directory", "link"])
def test_what_is_no_regular_file_is_ignored_at_once(tmp_path: Path, kind: str) -> None:
    """A FIFO would hang whoever reads it."""
    path = tmp_path / "1.json"
    match kind:
        case "fifo":
            os.mkfifo(path)
        case "directory":
            path.mkdir()
        case _:
            path.symlink_to("/etc/hostname")

    result = read_result(path)

    assert result.fields is None
    assert result.ignored


def test_wrong_fields_are_left_out_and_named(tmp_path: Path) -> None:
    """The good ones stay."""
    path = tmp_path / "1.json"
    path.write_text('{"outcome": "maybe", "retry_after": true, "artifacts": [1], "summary": "s\\ud800\\u0000"}')

    result = read_result(path)

    assert result.fields == {"summary": "s?\ufffd"}
    assert result.ignored == "wrong value for outcome, retry_after, artifacts"


@given(
    content=st.binary(max_size=200)
    | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(repr).map(str.encode)
)
def test_any_content_gives_a_result(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    """Property: nothing in the file can raise."""
    path = tmp_path_factory.mktemp("any") / "1.json"
    path.write_bytes(content)

    result = read_result(path)

    assert result.fields is None or isinstance(result.fields, dict)


def test_an_answer_that_is_too_long_is_refused_and_never_read_in_part(tmp_path: Path) -> None:
    """Whatever its letters take in bytes: a verdict at its beginning is not the one it ends with."""
    path = tmp_path / "answer"
    for letter in ("x", "\u4e2d", "\U0001f600"):
        path.write_text('{"verdict": "PAUSE"}\n' + letter * ANSWER_MAX + '\n{"verdict": "NOOP"}', encoding="utf-8")
        found = read(read_answer(path))
        assert isinstance(found, Unreadable) and "longer than 256 KB" in found.why
        path.write_text('{"verdict": "NOOP", "why": "' + letter * (ANSWER_MAX - 100) + '"}', encoding="utf-8")
        assert isinstance(read(read_answer(path)), Verdict)
    path.write_bytes(b'\xff{"verdict": "NOOP"}')
    assert isinstance(read(read_answer(path)), Verdict)
    assert read_answer(tmp_path / "nothing") == ""


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ('{"verdict": "PASS"}', '{"verdict": "PASS"}'),
        (
            'Done {all of it}.\n\n```json\n{"verdict": "FAIL", "evidence": []}\n```\n',
            '{"verdict": "FAIL", "evidence": []}',
        ),
        ('{"verdict": "PASS"} and that is all', ""),
        ('{"summary": "no verdict"}', ""),
        ("[1]}", ""),
        ("{" * 60 + "}", ""),
        ('{"verdict": "PASS"', ""),
        ("", ""),
    ],
)
def test_the_answer_of_a_role_may_be_its_last_words(words: str, answer: str) -> None:
    """A JSON object with a verdict at their very end, fenced or not."""
    assert answer_in(words) == answer
