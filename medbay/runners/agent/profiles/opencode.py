"""OpenCode: `opencode run --format json`, one JSON record a line; the step that stops without a tool is the last."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from medbay.runners.agent.preset import Preset
from medbay.runners.agent.transcript import Spent, Transcript, count, moment, part

_BEGIN: Final = ("opencode", "run", "--format", "json", "-m", "{model}")
_GOES_ON: Final = frozenset({"tool-calls", "tool_calls"})
_CUT: Final = {
    "length": "resource_exhaustion/context_window",
    "content-filter": "unknown/refused",
    "error": "",
}
_REASONS: Final[Mapping[str, str]] = {
    "ContextOverflowError": "resource_exhaustion/context_window",
    "MessageOutputLengthError": "resource_exhaustion/context_window",
    "ProviderAuthError": "unknown/auth",
    "ProviderModelNotFoundError": "code_error/config",
    "MessageAbortedError": "unknown/interrupted",
}


def read(record: Mapping[str, Any], into: Transcript) -> bool:
    """Take one record; False when it is none of this tool's."""
    kind, body = record.get("type"), record.get("part")
    match kind:
        case "step_start" | "text" | "reasoning" | "tool_use" | "step_finish" | "error":
            into.begins(session=record.get("sessionID"))
            into.retrying = ""
        case _:
            return False
    match kind:
        case "text":
            into.says(part(body, "text"))
        case "tool_use":
            _tool(body, record, into)
        case "step_finish":
            _step(body, into)
        case "error":
            _error(record.get("error"), into)
    return True


def _tool(body: object, record: Mapping[str, Any], into: Transcript) -> None:
    state = part(body, "state")
    into.uses(part(body, "tool"), part(state, "input"), at=moment(part(state, "time", "start")))
    error = str(part(state, "error") or "")
    if part(state, "status") == "error" and ("rejected permission" in error or "prevents you from using" in error):
        into.denies(part(body, "tool"), error)


def _step(body: object, into: Transcript) -> None:
    tokens = part(body, "tokens")
    read_, written = count(part(tokens, "cache", "read")), count(part(tokens, "cache", "write"))
    plain, out = count(part(tokens, "input")), count(part(tokens, "output")) + count(part(tokens, "reasoning"))
    into.spends(str(part(body, "id")), Spent(into.model, plain + read_ + written, out, read_, written))
    cost = part(body, "cost")
    if isinstance(cost, int | float) and not isinstance(cost, bool) and cost > 0:
        into.cost = (into.cost or 0) + round(cost * 1_000_000)
    into.turns += 1
    reason = str(part(body, "reason"))
    into.goes_on = reason in _GOES_ON
    if into.goes_on:
        return
    into.ends()
    if reason in _CUT:
        into.fails(f"the model stopped: {reason}", kind=_CUT[reason] or "transient/service")


def _error(error: object, into: Transcript) -> None:
    name = str(part(error, "name"))
    text = part(error, "data", "message") or name
    into.ends()
    into.fails(text, status=part(error, "data", "statusCode"), kind=_REASONS.get(name, ""))


PRESET: Final = Preset(
    name="opencode",
    title="OpenCode",
    start=_BEGIN,
    resume=(*_BEGIN, "--session", "{session}"),
    prompt="stdin",
    accounts=("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENROUTER_API_KEY"),
    account_files=("~/.local/share/opencode/auth.json", "~/.config/opencode/opencode.json"),
    install="npm install -g opencode-ai",
    sign_in="opencode auth login",
    forgotten=("Session not found",),
    read=read,
)
