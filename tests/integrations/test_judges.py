"""The programs that let a model or Claude judge: what they accept, refuse, and say where an extra is missing."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from medbay.integrations.judges import program
from medbay.integrations.judges.program import Brief, JudgeAnswer, JudgeFailed


def judged(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], answer: Any, *words: str) -> Any:
    """Run the program with a judge that gives this answer; its exit code, output and complaints."""
    from medbay.integrations.judges import model

    def judge(brief: Brief) -> JudgeAnswer:
        if isinstance(answer, Exception):
            raise answer
        assert brief.wrong(answer) == "", brief.wrong(answer)
        return JudgeAnswer(text=answer, usage={"input_tokens": 3})

    monkeypatch.setattr(model, "judge", judge)
    monkeypatch.setattr(sys, "stdin", io.StringIO('{"verdict": "asked"}'))
    code = program.main(["--agent", "model", "--model", "anthropic:x", *words])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_a_verdict_is_printed_with_what_it_used(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One JSON object, also where the answer stood in a fence."""
    answer = '```json\n{"verdict": "NOOP", "why": "it passes", "root_cause": "x"}\n```'

    code, out, _ = judged(monkeypatch, capsys, answer)

    assert code == 0
    assert json.loads(out) == {"verdict": "NOOP", "why": "it passes", "root_cause": "x", "usage": {"input_tokens": 3}}


def test_a_provider_that_fails_is_quoted_for_the_diagnosis(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On stderr, with exit 1."""
    code, out, err = judged(monkeypatch, capsys, JudgeFailed("anthropic: HTTP 429: rate limit"))

    assert (code, out, err) == (1, "", "anthropic: HTTP 429: rate limit\n")


@pytest.mark.parametrize("said", ["no object", '{"score": 2}', '{"score": true}', "[1]", '{"score": "high"}'])
def test_a_score_that_is_none_is_sent_back(said: str) -> None:
    """It has to be a number from 0 to 1."""
    assert program._wrong_score(said)
    assert program._wrong_score('{"score": 0.8, "why": "tests pass"}') == ""


@pytest.mark.parametrize("said", ["VERDICT=NOOP", "{}"])
def test_an_answer_that_is_no_verdict_is_sent_back(said: str) -> None:
    """With what was wrong."""
    assert program._wrong_verdict(said)


def test_an_extra_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is imported, and the remedy can be typed."""
    monkeypatch.setattr(program, "find_spec", lambda name: None)

    code, _, err = judged(monkeypatch, capsys, "{}")

    assert code == 1
    assert "pip install 'medbay[ai]'" in err


def test_claude_reads_below_its_folders_only(tmp_path: Path) -> None:
    """Links are followed before it is decided."""
    from medbay.integrations.judges.claude import _is_below

    inside, outside = tmp_path / "task", tmp_path / "other"
    inside.mkdir()
    outside.mkdir()
    (inside / "link").symlink_to(outside)

    assert _is_below("a/b.py", [inside])
    assert _is_below(str(inside), [inside])
    assert not _is_below("../other/x", [inside])
    assert not _is_below("link/x", [inside])
    assert _is_below(str(outside / "x"), [inside, outside])


def test_a_bundle_is_checked_before_it_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What does not fit its schema is sent back with the reason; which captures there are is for the gate."""
    content = [{"title": "x", "acceptance_criteria": ["y"]}]
    answer = {"title": "t", "metadata": {"capture_ids": ["cap-a"]}, "content": content}

    code, out, _ = judged(monkeypatch, capsys, json.dumps(answer), "--answers", "bundle")

    assert code == 0 and json.loads(out)["content"] == content
    assert "schema" in program._wrong_bundle('{"title": "t"}')
    assert "candidate objectives" in Brief(model="", prompt="", wrong=str, answers="bundle").system
