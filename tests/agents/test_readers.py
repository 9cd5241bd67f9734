"""The readers of agents over what the real command lines printed against the imitation: each transcript and its end.

A transcript is `NAME.EXITCODE.txt`: standard output, then what it complained of.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from medbay.core.outcome import Failed, Outcome, Output, OverBudget, Succeeded
from medbay.places.protocol import Launch
from medbay.runners.agent import ending, record
from medbay.runners.agent.ending import question_in
from medbay.runners.agent.prices import PRICES, price_of
from medbay.runners.agent.profiles import codex, names, preset
from medbay.runners.agent.running import over_budget, over_turns
from medbay.runners.agent.transcript import Spent, ToolCall, Transcript

FOLDER = Path(__file__).parent / "transcripts"
CASES = sorted(path.relative_to(FOLDER) for path in FOLDER.rglob("*.txt"))
SUCCEEDED = frozenset({"says", "tool", "tools", "tool_fails", "offers", "long_words", "unicode", "flaky", "cut"})
ASKS = frozenset({"asks", "asks_list"})
# What each scenario fails with, by the part of the diagnosis that every tool lets one know.
KINDS = {
    "limit": ("transient/usage_limit", "transient/rate_limit"),  # Codex keeps the words of a 429 to itself
    "rate": ("transient/rate_limit",),
    "overloaded": ("transient/overloaded", "transient/service", "transient"),
    "server": ("transient/service", "transient/overloaded", "transient"),
    "auth": ("unknown/auth",),
    "billing": ("resource_exhaustion/quota",),
    "forbidden": ("unknown/permission", "unknown/auth"),
    "missing": ("code_error/config", "dependency_missing/file", "dependency_missing"),
    "context": ("resource_exhaustion/context_window", "code_error/config"),
    "cut": ("transient/network", "transient"),
    "flaky": ("transient/service", "transient"),
    "loop": ("unknown/loop",),
    "denied": ("unknown/denied",),
    "refused": ("unknown/refused",),
    "turns": ("unknown/max_turns",),
}


def read(agent: str, text: str, code: int) -> tuple[Transcript, Outcome]:
    """What a transcript says, and how it ended."""
    transcript = Transcript()
    ending.feed(preset(agent), transcript, text)
    output = Output(tail=text[-1_000:], total_bytes=len(text))
    raw: Outcome = Succeeded(output=output) if code == 0 else Failed(output=output, exit_code=code)
    return transcript, ending.judged(preset(agent), transcript, raw)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_each_transcript_is_read_as_it_ended(case: Path) -> None:
    """Success with its words, session and tokens; a question in its own words; a failure with its kind."""
    agent, (name, code, _) = case.parts[0], case.name.split(".")
    transcript, outcome = read(agent, (FOLDER / case).read_text(encoding="utf-8"), int(code))
    result = outcome.output.result or {}

    if isinstance(outcome, Succeeded):
        assert name in SUCCEEDED
        assert transcript.ended and transcript.said and transcript.tokens > 0
        assert transcript.session or agent == "aider"
        assert bool(transcript.calls) is (name in ("tool", "tools", "tool_fails", "offers"))
    elif name in ASKS:
        assert (result["category"], "SQLite" in result["question"]) == ("unknown/asked", True)
    else:
        assert name in KINDS, (name, outcome)
        assert result.get("category", "") in (*KINDS[name], "")
        assert result.get("category") or transcript.text()


def test_there_are_twenty_transcripts_of_each_agent() -> None:
    """Of every one that has a record of its own, failing ones and fine ones."""
    for agent in names():
        found = [each.name.split(".")[0] for each in CASES if each.parts[0] == agent]
        assert len(found) >= 20 or agent == "custom"
        assert len({*found} - SUCCEEDED) >= 10 or agent == "custom"


@pytest.mark.parametrize("case", [each for each in CASES if each.name.endswith(".0.txt")], ids=str)
def test_without_its_last_record_nothing_is_a_success(case: Path) -> None:
    """Cut off before its end, whatever the exit code says."""
    agent = case.parts[0]
    lines = (FOLDER / case).read_text(encoding="utf-8").splitlines()
    ends = [at for at, line in enumerate(lines) if any(word in line for word in ENDS[agent])]

    transcript, outcome = read(agent, "\n".join(lines[: max(ends, default=len(lines))]), 0)

    assert isinstance(outcome, Failed)
    said = (outcome.output.result or {})["category"]
    assert said in ("unknown/malformed_output", "unknown/asked") or transcript.failed


ENDS = {
    "claude": ('"type":"result"',),
    "codex": ("turn.completed",),
    "gemini": ('"type":"result"',),
    "opencode": ('"reason":"stop"',),
    "aider": ("Tokens: ",),
}


@pytest.mark.parametrize("agent", [name for name in names() if name not in ("custom", "aider")])
def test_a_changed_form_is_malformed_and_never_a_success(agent: str) -> None:
    """Records that nobody knows, with exit 0 and with 1."""
    text = '{"kind":"finished","ok":true}\n{"kind":"bye"}\n'

    for code in (0, 1):
        _, outcome = read(agent, text, code)
        assert isinstance(outcome, Failed)
        assert (outcome.output.result or {})["category"] == "unknown/malformed_output"


AIDER = "Aider v0.86\nMain model: gpt-5 with diff edit format\nI change it.\nApplied edit to app.py\n"


def test_aider_is_judged_by_its_text() -> None:
    """Its line of tokens is the only sign that a model answered; an error after it counts."""
    spent = "Tokens: 2.5k sent, 150 received. Cost: $0.01 message, $0.01 session.\n"

    transcript, fine = read("aider", AIDER + spent, 0)
    _, silent = read("aider", AIDER, 0)
    _, refused = read("aider", "litellm.AuthenticationError: 401 invalid api key\n", 0)

    assert isinstance(fine, Succeeded)
    assert (transcript.tokens_in, transcript.tokens_out, transcript.cost) == (2_500, 150, 10_000)
    assert isinstance(silent, Failed)
    assert (refused.output.result or {})["category"] == "unknown/auth"


@pytest.mark.parametrize(
    ("text", "worked", "asks"),
    [
        ("Postgres or SQLite? Please let me know.", False, True),
        ("Done.\n\nWhich option do you prefer, A or B?", True, True),
        ("All tests pass. Let me know if you need anything else!", True, False),
        ("I fixed it. Would you like me to also add tests?", True, False),
        ("I need more information before I proceed: which port?", False, True),
        ("It works. Why did it fail? A typo.", True, False),
        ("", False, False),
    ],
)
def test_a_question_is_told_from_a_polite_offer(text: str, worked: bool, asks: bool) -> None:
    """By its words, and by whether anything was done."""
    assert bool(question_in(text, worked=worked)) is asks


def test_a_result_file_speaks_for_itself_and_a_used_up_budget_is_said() -> None:
    """`asked` with its question; a success that was written down is no question; over is over."""
    asked = Output(result={"outcome": "failed", "question": "Which?"})
    over = ending.judged(preset("claude"), Transcript(), Failed(exit_code=143), over="used 9 of 5")
    custom = ending.judged(preset("custom"), Transcript(), Failed(output=asked, exit_code=1))

    assert isinstance(over, OverBudget)
    assert (custom.output.result or {})["category"] == "unknown/asked"
    assert isinstance(ending.judged(preset("custom"), Transcript(), Succeeded()), Succeeded)


def called(response: str, **more: int) -> dict[str, object]:
    """What the rollout of Codex says of one call of the model."""
    usage = {"input_tokens": 120, "cached_input_tokens": 20, "output_tokens": 17, **more}
    return {"type": "token_usage_record", "payload": {"response_id": response, "usage": usage}}


def test_what_codex_used_is_known_while_it_runs_from_its_rollout(tmp_path: Path) -> None:
    """Call by call, whether another turn follows; its last record adds nothing to that."""
    rollout = tmp_path / "sessions" / "2026" / "11" / "18" / "rollout-2026-11-18T12-00-00-abc.jsonl"
    rollout.parent.mkdir(parents=True)
    transcript, env = Transcript(session="abc"), {"CODEX_HOME": str(tmp_path)}
    call = {"type": "response_item", "payload": {"type": "function_call"}}
    first = [{"type": "turn_context", "payload": {"model": "gpt-5"}}, call, called("r1")]
    rollout.write_text("".join(f"{json.dumps(each)}\n" for each in first) + '{"type":"token_us', encoding="utf-8")

    record.read_session(preset("codex"), transcript, env)
    at_work = (
        transcript.tokens,
        transcript.turns,
        transcript.goes_on,
        transcript.model,
        transcript.last_turn.tokens_in,
    )
    words = {"type": "response_item", "payload": {"type": "message", "role": "assistant"}}
    rollout.write_text("".join(f"{json.dumps(each)}\n" for each in [*first, words, called("r2")]), encoding="utf-8")
    record.read_session(preset("codex"), transcript, env)
    ending.feed(
        preset("codex"), transcript, '{"type":"turn.completed","usage":{"input_tokens":240,"output_tokens":34}}'
    )

    assert at_work == (137, 1, True, "gpt-5", 120)
    assert (transcript.tokens, transcript.turns, transcript.goes_on) == (274, 2, False)
    assert over_turns(Transcript(turns=2, goes_on=True), 2) == "used up its 2 turns"
    assert over_turns(transcript, 2) == over_turns(Transcript(turns=9, goes_on=True), None) == ""


def test_the_sums_of_an_older_rollout_are_taken_where_calls_are_not_told_of() -> None:
    """What earlier attempts used in the session is not this one's; the same sum twice is one turn."""
    transcript = Transcript(session="abc", before=Spent(tokens_in=100, tokens_out=10))
    last = {"input_tokens": 120, "output_tokens": 17}
    info = {"total_token_usage": {"input_tokens": 220, "output_tokens": 27}, "last_token_usage": last}
    counted = {"type": "event_msg", "payload": {"type": "token_count", "info": info}}

    for _ in range(2):
        codex.read_session(counted, transcript)

    assert (transcript.tokens, transcript.turns, transcript.last_turn.tokens_in) == (137, 1, 120)


def test_a_continued_session_counts_from_where_it_was(tmp_path: Path) -> None:
    """What stands in the file of Gemini before it begins is passed over; a message that is told again counts once."""
    chat = tmp_path / ".gemini" / "tmp" / "work" / "chats" / "session-2026-11-18T12-00-0f0f0f0f.jsonl"
    chat.parent.mkdir(parents=True)
    tokens = {"input": 100, "output": 20, "thoughts": 7, "cached": 10}
    said = json.dumps({"id": "m1", "type": "gemini", "tokens": tokens, "model": "gemini-2.5-pro"})
    chat.write_text(f"{said}\n", encoding="utf-8")
    transcript, env = Transcript(session="0f0f0f0f-1111"), {"HOME": str(tmp_path)}

    record.pass_over(preset("gemini"), transcript, env)
    chat.write_text(f"{said}\n" + 2 * f"{said.replace('m1', 'm2')}\n", encoding="utf-8")
    record.read_session(preset("gemini"), transcript, env)

    assert (transcript.tokens_in, transcript.tokens_out, transcript.turns) == (100, 27, 1)
    record.read_session(preset("claude"), transcript, env)  # it says everything on its output


def test_aider_is_held_to_a_limit_where_it_says_that_it_goes_on() -> None:
    """It asks the model again after an edit that does not fit; when a message has ended it may be done."""
    spent = "Tokens: 1.2k sent, 300 received.\n"
    again = "The LLM did not conform to the edit format.\n"
    limited = Launch(
        store_id="s",
        task_id="t",
        number=1,
        runner="agent:aider",
        command=(),
        cwd=Path(),
        log_path="l",
        result_path="r",
        idempotency_key="k",
        max_tokens=3_500,
    )

    once, twice, done = (read("aider", AIDER + text, 0)[0] for text in (spent + again, 2 * (spent + again), 2 * spent))

    assert (once.goes_on, once.turns, over_budget(once, limited)) == (True, 1, "")
    assert over_budget(twice, limited) == "used 3000 tokens of 3500"
    assert over_turns(twice, 2) == "used up its 2 turns"
    assert not done.goes_on and over_turns(done, 2) == ""
    stopped, _ = read("aider", AIDER + spent + again + "Only 3 reflections allowed, stopping.\n", 0)
    assert not stopped.goes_on and not stopped.ended


def test_a_model_has_the_price_of_its_own_name_or_none() -> None:
    """An edition does not matter, another version does: what is not listed is said to be unknown."""
    assert price_of("anthropic/claude-haiku-4-5-20251001") == price_of("claude-haiku-4-5") is not None
    assert price_of("gpt-6.1-sol") != price_of("gpt-6-sol") is not None
    assert price_of("claude-sonnet-9") is price_of("gpt-7") is price_of("") is None
    assert all(price.cached <= price.plain <= price.out for price in PRICES.values())
    listed = [model for name in ("codex",) for model in preset(name).models.values()]
    assert all(price_of(model) is not None for model in listed)


def test_a_record_is_shown_as_a_person_reads_it() -> None:
    """What it said and did, line by line, also where the bytes come in pieces and the last line is not whole."""
    text = (FOLDER / "codex" / "tools.0.txt").read_bytes()
    readable = record.Readable(preset("codex"))

    shown = b"".join(readable.feed(text[at : at + 100]) for at in range(0, len(text), 100))
    shown += readable.feed(b'{"type":"turn.failed","error":{"message":"at last"}}', final=True)

    lines = shown.decode().splitlines()
    assert "→ command_execution /bin/bash -lc 'echo 1'" in lines
    assert lines[-2:] == ["Three.", "at last"]
    assert not any(line.startswith("{") for line in lines)


def test_the_answer_of_a_role_is_no_question() -> None:
    """Its last words, or its file, may hold what it wants decided; that stands in the answer."""
    words = '{"verdict": "PASS", "decisions": [{"question": "Which one would you prefer?"}]}'
    said = Transcript(ended=True, said=words, records=1, calls=[ToolCall("Read", "a.py", 5), ToolCall("Bash", "x")])
    left = Output(result={"answer": '{"verdict": "FAIL"}', "question": "Which one would you prefer?"})

    by_words = ending.judged(preset("claude"), said, Succeeded())
    by_file = ending.judged(preset("claude"), Transcript(ended=True, records=1), Succeeded(output=left))

    assert isinstance(by_words, Succeeded) and (by_words.output.result or {})["answer"] == words
    assert (by_words.output.result or {})["tools"] == [{"tool": "Read", "path": "a.py", "at": 5}]
    assert isinstance(by_file, Succeeded) and (by_file.output.result or {})["answer"] == '{"verdict": "FAIL"}'
