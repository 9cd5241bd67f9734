"""How a run of an agent ended, from its own record and from how its process ended. Pure.

Rule: without the tool's own terminal record it is never a success, whatever its exit code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from msgspec.structs import replace

from medbay.core.agent import TOOLS, TOOLS_KEPT
from medbay.core.budget import MILLION
from medbay.core.outcome import Failed, Outcome, Output, OverBudget, Succeeded
from medbay.runners.agent.preset import Preset
from medbay.runners.agent.transcript import Transcript, record_in
from medbay.runners.result import answer_in

ASKED: Final = "unknown/asked"
_WORDS_OF_A_QUESTION: Final = 1_500
_SUMMARY_MAX: Final = 2_000
_QUESTION: Final = re.compile(
    r"(?i)\b(?:please (?:let me know|confirm|clarify|advise|specify|choose|tell me|provide)|let me know (?:which|how"
    r"|what|whether|when you|your (?:preference|choice|decision))|which (?:one|option|approach|of these|would you"
    r"|do you)|(?:could|can) you (?:please )?(?:clarify|confirm|tell me|specify|provide|share)|do you (?:want|prefer)"
    r"|would you (?:like|prefer)|should i|shall i|what (?:would|should|do) (?:you|i)|how (?:would you like|should i)"
    r"|i(?:'m| am) waiting for your|awaiting your|i need (?:your|to know|more information|you to)"
    r"|before i (?:proceed|continue|start|begin)|your (?:decision|preference|input) (?:is )?(?:needed|required)?)"
)
# Closing words of work that is done; nothing waits for an answer.
_OFFER: Final = re.compile(
    r"(?i)\b(?:anything else|any (?:other )?(?:questions|changes|adjustments|further)|let me know if"
    r"|if you(?:'d| would)? (?:like|want|need|have|prefer)|feel free|happy to|would you like me to (?:also|add|run"
    r"|commit|create|open|write|go ahead and)|want me to (?:also|add|run|commit|create|open))"
)


def feed(preset: Preset, transcript: Transcript, text: str) -> None:
    """Take lines of the record, in their order."""
    for each in text.split("\n"):
        _take(preset, transcript, each)


def _take(preset: Preset, transcript: Transcript, line: str) -> None:
    line = line.strip("\0\r\n\t ")
    if not line:
        return
    record = record_in(line) if preset.read is not None else None
    if record is not None and preset.read is not None:
        if preset.read(record, transcript):
            transcript.records += 1
        else:
            transcript.strange += 1
            transcript.note(line[:500])
    elif preset.line is not None:
        transcript.records += preset.line(line, transcript)
    else:
        transcript.note(line[:2_000])  # what it complains of on its other output


def question_in(text: str, *, worked: bool) -> str:
    """What an agent asks at the end of its last words, in its own words; empty when it asks nothing.

    Where it did its work, a polite offer at the end is no question.
    """
    paragraphs = [each.strip() for each in re.split(r"\n\s*\n", text.strip()) if each.strip()]
    if not paragraphs:
        return ""
    last = paragraphs[-1]
    ends_asking = last.rstrip("*_`\"') ").endswith("?")
    found = _QUESTION.search(last)
    if not ends_asking and found is None:
        return ""
    if _OFFER.search(last) and (worked or not ends_asking):
        return ""
    if worked and found is None:
        return ""
    asked = last
    for before in reversed(paragraphs[:-1]):  # the options it gives stand before
        belongs = before[:1] in "-*123456789" or "?" in before
        if not belongs or len(before) + len(asked) > _WORDS_OF_A_QUESTION:
            break
        asked = f"{before}\n\n{asked}"
    return asked


def judged(preset: Preset, transcript: Transcript, outcome: Outcome, *, over: str = "", turns: str = "") -> Outcome:
    """How it ended: what its process says, as its own record has it.

    `over` says that it was stopped because it used up its budget, `turns` because it used up its turns.
    """
    output = _output(preset, transcript, outcome.output)
    outcome = replace(outcome, output=output)
    if over:
        return OverBudget(why=over, output=output)
    if turns:
        used_up = {"outcome": "failed", "category": "unknown/max_turns", "summary": f"it {turns}"}
        return Failed(output=replace(output, result={**(output.result or {}), **used_up}))
    if not isinstance(outcome, Succeeded | Failed) or (isinstance(outcome, Failed) and _stopped(outcome)):
        return outcome
    said = _said(preset, transcript, outcome)
    if said is None:
        return Succeeded(output=replace(output, result=_done(transcript, output)))
    code = outcome.exit_code
    result = {**(output.result or {}), "outcome": "failed", **said}
    signal = outcome.signal if isinstance(outcome, Failed) else None
    # That it ended with 0 says nothing where its record says otherwise.
    return Failed(output=replace(output, result=result), exit_code=code or None, signal=signal)


def left(preset: Preset, transcript: Transcript) -> Output:
    """What a run that nobody saw end came to, from its own record."""
    if not transcript.records:
        return Output()
    text = transcript.text()
    return _output(preset, transcript, Output(total_bytes=len(text.encode("utf-8", "replace"))))


def _stopped(outcome: Failed) -> bool:
    return outcome.memory_limit_hit or outcome.cpu_limit_hit or outcome.log_limit_hit or bool(outcome.spawn_error)


def _output(preset: Preset, transcript: Transcript, output: Output) -> Output:
    """The readable form in place of the record, and what it cost."""
    result = {**(output.result or {})}
    if not preset.has_record:
        return output
    used: dict[str, Any] = {"tokens": {"input": transcript.tokens_in, "output": transcript.tokens_out}}
    cost = transcript.reckoned()
    if cost is not None:
        used["cost"] = cost / MILLION
    if transcript.tokens or cost:
        result["usage"] = used
    if used_tools := [each for each in transcript.calls[:TOOLS_KEPT] if each.at is not None]:
        result[TOOLS] = [{"tool": each.tool, "path": each.path, "at": each.at} for each in used_tools]
    result["agent"] = {
        "session": transcript.session,
        "model": transcript.model,
        "tokens_in": transcript.tokens_in,
        "tokens_out": transcript.tokens_out,
        "turns": transcript.turns,
        "calls": transcript.calls_total,
        "records": transcript.records,
    }
    return replace(output, head="", tail=transcript.text(), result=result)


def _said(preset: Preset, transcript: Transcript, outcome: Succeeded | Failed) -> Mapping[str, Any] | None:
    """How it failed, as it goes into the result; None when it succeeded."""
    result = outcome.output.result or {}
    answered = "answer" in result or bool(answer_in(transcript.said))  # a role's: what it asks stands in it
    if result.get("question") and not answered:
        return _asked(str(result["question"]))
    if not preset.has_record:
        return None if isinstance(outcome, Succeeded) else {}
    if transcript.resumed and any(each in transcript.text() for each in preset.forgotten):
        return {"category": "code_error/session", "summary": _line(transcript.error or transcript.text())}
    if transcript.failed:
        return _failed(transcript)
    if not transcript.ended:
        return _unfinished(preset, transcript, outcome)
    if isinstance(outcome, Failed):  # of its result file, or its exit code
        return {} if result.get("outcome") == "failed" else _line_said(transcript)
    if result.get("outcome") == "succeeded" or answered:
        return None
    asked = transcript.question or question_in(transcript.said, worked=transcript.done_total > 0)
    if asked:
        return _asked(asked)
    if transcript.denied and transcript.done_total == 0:
        tools = ", ".join(dict.fromkeys(transcript.denied))
        return {"category": "unknown/denied", "summary": f"it was not allowed to use {tools}, and did nothing"}
    return None


def _asked(question: str) -> Mapping[str, Any]:
    return {"category": ASKED, "summary": _line(question), "question": question}


def _failed(transcript: Transcript) -> Mapping[str, Any]:
    said: dict[str, Any] = {"summary": _line(transcript.error) or "it says that it failed, and not why"}
    if transcript.kind:
        said["category"] = transcript.kind
    if transcript.retry_after is not None:
        said["retry_after"] = transcript.retry_after
    return said


def _unfinished(preset: Preset, transcript: Transcript, outcome: Succeeded | Failed) -> Mapping[str, Any]:
    """It ended without its own terminal record."""
    if isinstance(outcome, Failed) and (outcome.signal is not None or not transcript.strange):
        said = transcript.kind and outcome.signal is None  # it complained of something that is known
        return {"category": transcript.kind} if said else {}  # else what its process and its words say
    why = f"{preset.title} ended without its own last record"
    if transcript.strange:
        why += f"; {transcript.strange} lines were of a form that is not known: another version of it?"
    return {"category": "unknown/malformed_output", "summary": why}


def _line_said(transcript: Transcript) -> Mapping[str, Any]:
    return {"summary": _line(transcript.said)} if transcript.said else {}


def _done(transcript: Transcript, output: Output) -> Mapping[str, Any] | None:
    result = {**(output.result or {})}
    if transcript.said and not result.get("summary"):
        result["summary"] = transcript.said[:_SUMMARY_MAX]
    if "answer" not in result and (answer := answer_in(transcript.said)):
        result["answer"] = answer
    return result or None


def _line(text: str) -> str:
    """The last words of a text on one line."""
    lines = [each.strip() for each in text.splitlines() if each.strip()]
    return " ".join(lines)[:500] if len(lines) < 4 else lines[-1][:500]
