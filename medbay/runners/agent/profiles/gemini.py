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
_UNSAID: Final = "[API Error: "  # what follows is the provider's own text, without its status
_COMPLAINTS: Final = {
    "ModelNotFoundError": "code_error/config",
    "TypeError: terminated": "transient/network",
    "TypeError: fetch failed": "transient/network",
    "SocketError": "transient/network",
    "Please set an Auth method": "unknown/auth",
}
_DENIED: Final = frozenset(
    "permission_denied policy_violation user_cancelled not_allowed tool_not_allowed tool_not_registered".split()
)
# It stops by itself and says so in passing; its last record is that of a success all the same.
_STOPPED: Final = {
    "Loop detected": "unknown/loop",
    "Maximum session turns exceeded": "unknown/max_turns",
    "The model response was blocked": "unknown/refused",
}


def read(record: Mapping[str, Any], into: Transcript) -> bool:
    """Take one record; False when it is none of this tool's."""
    match record.get("type"):
        case "init":
            into.begins(session=record.get("session_id"), model=record.get("model"))
        case "message":
            _message(record, into)
        case "tool_use":
            into.retrying = ""
            into.goes_on = True
            into.uses(record.get("tool_name"), record.get("parameters"), at=moment(record.get("timestamp")))
        case "tool_result":
            if record.get("status") == "error" and part(record, "error", "type") in _DENIED:
                into.denies(_tool(record.get("tool_id")), part(record, "error", "message"))
        case "error":
            _error(str(record.get("message")), into)
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
    into.goes_on = False
    text = record.get("content")
    if record.get("delta") and isinstance(text, str) and into.seen == ["speaking"] and into.words:
        into.said = (into.said + text)[-8_000:]
        into.words[-1] = into.words[-1] + text
        into.length += len(text)
    else:
        into.says(text)
    into.seen = ["speaking"]


def _error(message: str, into: Transcript) -> None:
    kind = next((kind for words, kind in _STOPPED.items() if message.startswith(words)), "")
    if kind:
        into.fails(message, kind=kind)
    else:
        into.note(message[:1_000])


def _tool(call: object) -> str:
    """The name of a tool in the id of one of its calls."""
    return str(call).partition("__")[0]


def _result(record: Mapping[str, Any], into: Transcript) -> None:
    stats = record.get("stats")
    plain, out = count(part(stats, "input_tokens")), count(part(stats, "output_tokens"))
    if plain + out >= into.tokens:  # the whole run; its session had it message by message
        into.open, into.closed = {}, {}
        into.spends("session", Spent(into.model, plain, out, count(part(stats, "cached"))))
    into.turns = max(1, into.turns, count(part(stats, "tool_calls")))
    into.ends()
    if record.get("status") == "success" or (into.failed and not record.get("error")):
        return
    error, kind = part(record, "error", "message"), str(part(record, "error", "type"))
    found = _CODE.search(str(error))
    into.fails(
        error or "it says that it failed, and not why",
        status=int(found[1]) if found else None,
        kind=_REASONS.get(kind) or into.kind,
    )


def line(text: str, into: Transcript) -> bool:
    """Take a line of its complaints: they name what its last record leaves out, before it or after."""
    kind = next((kind for words, kind in _COMPLAINTS.items() if words in text), "")
    if kind and (not into.failed or into.error.startswith(_UNSAID)):
        into.kind = kind
    into.note(text[:2_000])
    return False


def read_session(record: Mapping[str, Any], into: Transcript) -> bool:
    """Take one record of its chat: a message is told of when it has come, and again when its tools have ended."""
    tokens, name = record.get("tokens"), str(record.get("id"))
    if record.get("type") != "gemini" or not isinstance(tokens, Mapping) or into.ended:  # its last record has the sums
        return False
    if name not in into.open:
        into.turns += 1
    out = count(tokens.get("output")) + count(tokens.get("thoughts"))
    into.spends(
        name, Spent(str(record.get("model") or ""), count(tokens.get("input")), out, count(tokens.get("cached")))
    )
    return True


PRESET: Final = Preset(
    name="gemini",
    title="Gemini CLI",
    provider="google",
    start=(*_BEGIN, "--session-id", "{session}"),
    resume=(*_BEGIN, "--resume", "{session}"),
    prompt="stdin",
    tools=("yolo",),
    models={"small": "flash-lite", "medium": "flash", "large": "pro"},
    accounts=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    account_files=("~/.gemini/oauth_creds.json",),
    install="npm install -g @google/gemini-cli",
    sign_in="gemini, then choose how to sign in; or set GEMINI_API_KEY",
    forgotten=("Error resuming session", "Invalid session identifier"),
    session_home=("", "~/.gemini"),
    session_file="tmp/*/chats/session-*-{beginning}.jsonl",
    read_session=read_session,
    read=read,
    line=line,
)
