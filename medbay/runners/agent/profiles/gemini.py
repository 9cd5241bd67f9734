"""Gemini CLI: `gemini -o stream-json`, one JSON record a line, the last of them the result."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from medbay.runners.agent.preset import Preset
from medbay.runners.agent.transcript import Spent, Transcript, count, moment, part

_BEGIN: Final = ("gemini", "-p", "", "-o", "stream-json", "--approval-mode", "{tools}", "--skip-trust", "-m", "{model}")
_CODE: Final = re.compile(r'"code"\s*:\s*(\d{3})\b')
_REASONS: Final[Mapping[str, str]] = {
    "FatalTurnLimitedError": "unknown/max_turns",
    "MaxSessionTurnsError": "unknown/max_turns",
    "FatalAuthenticationError": "unknown/auth",
    "FatalConfigError": "code_error/config",
    "FatalInputError": "code_error/config",
}
_DENIED: Final = ("permission_denied", "policy_violation", "user_cancelled", "not_allowed", "tool_not_allowed")


def read(record: Mapping[str, Any], into: Transcript) -> bool:
    """Take one record; False when it is none of this tool's."""
    match record.get("type"):
        case "init":
            into.begins(session=record.get("session_id"), model=record.get("model"))
        case "message":
            _message(record, into)
        case "tool_use":
            into.retrying = ""
            into.uses(record.get("tool_name"), record.get("parameters"), at=moment(record.get("timestamp")))
        case "tool_result":
            if record.get("status") == "error" and part(record, "error", "type") in _DENIED:
                into.denies(record.get("tool_id"), part(record, "error", "message"))
        case "error":
            into.note(str(record.get("message"))[:1_000])
        case "result":
            _result(record, into)
        case _:
            return False
    return True


def _message(record: Mapping[str, Any], into: Transcript) -> None:
    """Only the agent's own words: what it was told is echoed as well. Pieces of one message follow each other."""
    if record.get("role") != "assistant":
        into.seen = []
        return
    text = record.get("content")
    if record.get("delta") and isinstance(text, str) and into.seen == ["speaking"] and into.words:
        into.said = (into.said + text)[-8_000:]
        into.words[-1] = into.words[-1] + text
        into.length += len(text)
    else:
        into.says(text)
    into.seen = ["speaking"]


def _result(record: Mapping[str, Any], into: Transcript) -> None:
    stats = record.get("stats")
    plain, out = count(part(stats, "input_tokens")), count(part(stats, "output_tokens"))
    into.spends("session", Spent(into.model, plain, out, count(part(stats, "cached"))))
    into.turns = max(1, count(part(stats, "tool_calls")))
    into.ends()
    if record.get("status") == "success":
        return
    error, kind = part(record, "error", "message"), str(part(record, "error", "type"))
    found = _CODE.search(str(error))
    into.fails(error or kind, status=int(found[1]) if found else None, kind=_REASONS.get(kind, ""))


PRESET: Final = Preset(
    name="gemini",
    title="Gemini CLI",
    provider="google",
    start=(*_BEGIN, "--session-id", "{session}"),
    resume=(*_BEGIN, "--resume", "{session}"),
    prompt="stdin",
    tools=("yolo",),
    models={"small": "gemini-2.5-flash", "medium": "gemini-2.5-pro", "large": "gemini-2.5-pro"},
    accounts=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    account_files=("~/.gemini/oauth_creds.json",),
    install="npm install -g @google/gemini-cli",
    sign_in="gemini, then choose how to sign in; or set GEMINI_API_KEY",
    forgotten=("Error resuming session", "Invalid session identifier"),
    read=read,
)
