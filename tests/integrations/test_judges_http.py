"""Models and Claude as judges over HTTP, against an imitation of their vendors' APIs: every verdict, every failure."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from medbay.core.diagnosis import diagnose
from medbay.core.triage import reading
from medbay.core.triage.verdict import Unreadable, Verdict
from medbay.integrations.judges import program
from medbay.integrations.judges.program import AnswerUnusable, Brief, JudgeAnswer, JudgeFailed
from tests.agents.conftest import QUIET, claude
from tests.agents.imitation import CACHED, INPUT, OUTPUT, Imitation

ANTHROPIC = "anthropic:claude-haiku-4-5"
OPENAI = "openai:gpt-5-mini"
PACKAGE = str(Path(program.__file__).parents[3])
VERDICTS: dict[str, dict[str, Any]] = {
    "NOOP": {"why": "it passes when run again"},
    "ADJUST": {"adjust": {"guidance": "read it in pages", "timeout": "20m"}},
    "SPLIT": {"parts": [{"title": "A", "description": "a"}, {"title": "B", "description": "b"}]},
    "SPEC_REFRESH": {"unclear": "which browsers"},
    "FILE_FIX": {"fix": {"title": "pin the driver", "description": "1.2 breaks it"}},
    "PAUSE": {"why": "the vendor is away until Monday"},
    "RECOMMEND_CONFIG": {"suggestion": "a bigger pool"},
    "ESCALATE": {"why": "nobody knows", "look_at": "the proxy"},
}
NOOP = {"verdict": "NOOP", "why": "wait", "root_cause": "x"}
TURN = {"input_tokens": INPUT + CACHED, "output_tokens": OUTPUT}


@pytest.fixture(scope="module")
def imitation() -> Iterator[Imitation]:
    """The APIs of both vendors."""
    with Imitation() as server:
        yield server


@pytest.fixture
def model(imitation: Imitation, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clients of both vendors talk to the imitation only."""
    pytest.importorskip("pydantic_ai", reason="NO MODELS: their tests are skipped; pip install 'medbay[ai]'")
    for name, path in (("ANTHROPIC", ""), ("OPENAI", "/v1")):
        monkeypatch.setenv(f"{name}_BASE_URL", imitation.url + path)
        monkeypatch.setenv(f"{name}_API_KEY", "dummy")


def asked(steps: str, name: str = ANTHROPIC, **limits: Any) -> JudgeAnswer:
    """What a model answers to a context that says what it answers."""
    from medbay.integrations.judges.model import judge

    return judge(Brief(model=name, prompt=f"context of a task {steps}", wrong=program._wrong_verdict, **limits))


def called(*answers: dict[str, Any]) -> str:
    """Answers as values of the tool that pydantic-ai offers."""
    return " ".join(f"[[tool final_result {json.dumps(each)}]]" for each in answers)


def kind_of(said: str) -> tuple[str, float | None]:
    """What the diagnosis makes of a judge's end: the kind, and the wait that was named."""
    found = diagnose(said, now=datetime.now(UTC), exit_code=1)
    return found.kind, found.retry_after_ms


@pytest.mark.parametrize("word", VERDICTS)
def test_each_verdict_of_a_model_is_read(model: None, word: str) -> None:
    """With what it carries, and with what it took."""
    found = asked(called({"verdict": word, "root_cause": "x", **VERDICTS[word]}))

    verdict = reading.read(found.text)
    assert isinstance(verdict, Verdict) and verdict.word == word
    assert {name: found.usage[name] for name in TURN} == TURN
    assert 0 < found.usage["cost"] < 0.01


def test_a_model_of_another_vendor_is_asked_in_its_own_way(model: None) -> None:
    """Any provider, by its name in the configuration."""
    found = asked(f"[[say {json.dumps(NOOP)}]]", OPENAI)

    assert json.loads(found.text)["verdict"] == "NOOP"
    assert (found.usage["input_tokens"], found.usage["model"]) == (INPUT, OPENAI)


def test_a_malformed_answer_is_sent_back_twice_with_what_was_wrong(model: None, imitation: Imitation) -> None:
    """No object, then a verdict without what it needs, then a good one; all three are paid for."""
    before = imitation.bill.calls

    found = asked(f"[[say I would wait.]] {called({'verdict': 'SPLIT'}, NOOP)}")

    assert json.loads(found.text)["verdict"] == "NOOP"
    assert imitation.bill.calls - before == 3
    assert found.usage["input_tokens"] == 3 * TURN["input_tokens"]


def test_a_model_that_never_answers_in_form_is_unreadable_and_paid_for(model: None, imitation: Imitation) -> None:
    """Asked three times and no more; its last words are kept for the reader."""
    before = imitation.bill.calls

    with pytest.raises(AnswerUnusable) as raised:
        asked("[[say a]] [[say b]] [[say I would split it]] [[say d]]")

    assert imitation.bill.calls - before == 3
    printed = program._printed(raised.value.last)
    assert printed.startswith("I would split it\n")
    assert isinstance(reading.read(printed), Unreadable)
    assert json.loads(printed.splitlines()[-1])["usage"]["output_tokens"] == 3 * OUTPUT


@pytest.mark.parametrize(
    ("steps", "kind", "waits"),
    [
        ("[[err 401]]", "unknown/auth", False),
        ("[[err 402]]", "resource_exhaustion/quota", False),
        ("[[err 429]]", "transient/rate_limit", True),
        ("[[limit 100]]", "transient/usage_limit", False),
        ("[[err 500]]", "transient/service", False),
        ("[[err 529]]", "transient/overloaded", True),
        ("[[err 400]]", "resource_exhaustion/context_window", False),
        ("[[cut]]", "transient/network", False),
        ("[[refuse]]", "unknown/refused", False),
    ],
)
def test_what_a_provider_says_is_diagnosed(
    model: None, imitation: Imitation, steps: str, kind: str, waits: bool
) -> None:
    """In its own words, with the time it names, without retries below ours."""
    before = imitation.bill.calls + imitation.bill.errors

    with pytest.raises(JudgeFailed) as raised:
        asked(steps)

    found, after = kind_of(str(raised.value))
    assert (found, str(raised.value).startswith("anthropic: ")) == (kind, True), raised.value
    assert (after is not None) == (waits or "[[limit" in steps), after
    assert imitation.bill.calls + imitation.bill.errors - before <= 3


def test_a_provider_that_is_not_there_is_a_matter_of_the_network(model: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing listens where it should."""
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")

    with pytest.raises(JudgeFailed) as raised:
        asked("[[say x]]")

    assert kind_of(str(raised.value))[0] == "transient/network"


def test_a_model_stops_at_its_budget(model: None) -> None:
    """What it used up to then is paid for."""
    with pytest.raises(JudgeFailed, match="total_tokens_limit of 1200") as raised:
        asked(f"[[say no]] {called(NOOP)}", max_tokens=1_200)

    assert raised.value.usage["output_tokens"] == 2 * OUTPUT


def test_a_verdict_that_names_another_task_keeps_that_name_for_its_refusal(model: None) -> None:
    """Whether it may is not the judge's to say."""
    verdict = reading.read(asked(called({**NOOP, "task": "k7f2"})).text)

    assert isinstance(verdict, Verdict) and verdict.task_id == "k7f2"


# Claude, through its SDK and its real program

LONG = pytest.mark.long


def claude_says(imitation: Imitation, folder: Path, steps: str, *more: str) -> subprocess.CompletedProcess[str]:
    """What the program of the judge prints, as triage starts it."""
    claude()
    (folder / "home").mkdir(exist_ok=True)
    kept = {"PATH": os.environ["PATH"], "HOME": str(folder / "home"), "ANTHROPIC_BASE_URL": imitation.url}
    return subprocess.run(
        [*program.start_command(PACKAGE, "claude", "haiku", logs=str(folder / "home")), *more],
        input=f"context of a task {steps}",
        cwd=folder,
        env={**QUIET, **kept},
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.parametrize("word", [each if each == "ADJUST" else pytest.param(each, marks=LONG) for each in VERDICTS])
def test_each_verdict_of_claude_is_read(imitation: Imitation, tmp_path: Path, word: str) -> None:
    """With what it carries, and with what it took."""
    said = {"verdict": word, "root_cause": "x", **VERDICTS[word]}

    ran = claude_says(imitation, tmp_path, f"[[say {json.dumps(said)}]]")

    assert ran.returncode == 0, ran
    verdict = reading.read(ran.stdout)
    assert isinstance(verdict, Verdict) and verdict.word == word
    assert {name: json.loads(ran.stdout)["usage"][name] for name in TURN} == TURN


@LONG
def test_claude_is_asked_again_twice_and_no_more(imitation: Imitation, tmp_path: Path) -> None:
    """In one session; what is unusable to the end is printed for the reader, and paid for."""
    mended = claude_says(imitation, tmp_path, f'[[say no]] [[say {{"verdict": "SPLIT"}}]] [[say {json.dumps(NOOP)}]]')
    never = claude_says(imitation, tmp_path, "[[say a]] [[say b]] [[say c]] [[say d]]")

    assert (mended.returncode, json.loads(mended.stdout)["verdict"]) == (0, "NOOP")
    assert (never.returncode, never.stdout.splitlines()[0]) == (0, "c")
    assert isinstance(reading.read(never.stdout), Unreadable)
    assert json.loads(never.stdout.splitlines()[-1])["usage"]["output_tokens"] == 3 * OUTPUT


@LONG
@pytest.mark.parametrize(
    ("steps", "kind"),
    [
        ("[[err 401]]", "unknown/auth"),
        ("[[err 429]]", "transient/rate_limit"),
        ("[[limit 101]]", "transient/usage_limit"),
        ("[[err 529]]", "transient/overloaded"),
        ("[[err 400]]", "resource_exhaustion/context_window"),
        ("[[refuse]] [[refuse]] [[refuse]] [[refuse]]", "unknown/refused"),
    ],
)
def test_what_claude_says_of_its_provider_is_diagnosed(
    imitation: Imitation, tmp_path: Path, steps: str, kind: str
) -> None:
    """On stderr, with exit 1."""
    ran = claude_says(imitation, tmp_path, steps)

    assert (ran.returncode, kind_of(ran.stderr)[0]) == (1, kind), ran


@LONG
def test_a_stream_that_is_cut_is_no_verdict_of_claude(imitation: Imitation, tmp_path: Path) -> None:
    """Its program goes on with the half that came, which nobody can read."""
    ran = claude_says(imitation, tmp_path, "[[cut]] [[cut]] [[cut]] [[cut]] [[cut]]")

    assert ran.returncode == 1 or isinstance(reading.read(ran.stdout), Unreadable), ran


@LONG
def test_claude_stops_at_its_budget(imitation: Imitation, tmp_path: Path) -> None:
    """Before it is asked again."""
    ran = claude_says(imitation, tmp_path, f"[[say no]] [[say {json.dumps(NOOP)}]]", "--max-tokens", "1000")

    assert (ran.returncode, "over its budget: 1137 of 1000 tokens" in ran.stderr) == (1, True), ran


@LONG
def test_claude_reads_nothing_outside_and_changes_nothing(imitation: Imitation, tmp_path: Path) -> None:
    """What it asks of a tool beyond its folders, or of a tool it has not, is denied; its answer counts all the same."""
    steps = (
        '[[tool Read {"file_path": "/etc/hostname"}]] [[bash touch changed]]'
        f' [[tool WebFetch {{"url": "{imitation.url}/bill", "prompt": "x"}}]] [[say {json.dumps(NOOP)}]]'
    )

    ran = claude_says(imitation, tmp_path, steps)

    assert json.loads(ran.stdout)["verdict"] == "NOOP", ran
    assert not (tmp_path / "changed").exists()
    assert not any(Path("/etc/hostname").read_text().strip() in each for each in imitation.bill.prompts)
