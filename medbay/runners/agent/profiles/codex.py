"""Codex CLI: `codex exec --json`, one JSON record a line; the turn that ended last says how it went."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from medbay.runners.agent.preset import Preset
from medbay.runners.agent.transcript import Spent, Transcript, count, part

SESSION: Final = "session"
_OPTIONS: Final = ("--json", "--skip-git-repo-check", "--model", "{model}", "-c", 'sandbox_mode="{tools}"')
_RECONNECTS: Final = re.compile(r"Reconnecting\.{3} \d+/\d+")
_QUIET: Final = frozenset({"turn.started", "item.updated", "thread.name_updated"})
_ITEM_CALLS: Final = frozenset({"function_call", "custom_tool_call", "local_shell_call", "web_search_call"})
_CALLS: Final = ("command_execution", "file_change", "mcp_tool_call", "web_search", "patch_apply", "custom_tool_call")


def read(record: Mapping[str, Any], into: Transcript) -> bool:
    """Take one record; False when it is none of this tool's."""
    match record.get("type"):
        case "thread.started":
            into.begins(session=record.get("thread_id"))
        case "item.started":
            into.retrying = ""
            _call(record.get("item"), into)
        case "item.completed":
            _item(record.get("item"), into)
        case "turn.completed":
            _spend(record.get("usage"), into)
            into.turns = max(1, into.turns)
            into.ends()
        case "turn.failed":
            into.ends()
            into.fails(part(record, "error", "message"), status=_status(part(record, "error", "message")))
        case "error":
            _error(record.get("message"), into)
        case kind if kind in _QUIET:
            pass
        case _:
            return False
    return True


def _item(item: object, into: Transcript) -> None:
    into.retrying = ""
    match part(item, "type"):
        case "agent_message":
            into.says(part(item, "text"))
        case "error":
            into.note(str(part(item, "message"))[:1_000])
        case _:
            _call(item, into)


def _call(item: object, into: Transcript) -> None:
    """A call is told of when it begins and when it has ended; it is counted once."""
    kind = part(item, "type")
    if kind not in _CALLS or not into.counts(str(part(item, "id"))):
        return
    if kind == "file_change":
        changes = part(item, "changes")
        for each in changes if isinstance(changes, list) else ():
            into.uses(f"file_change:{part(each, 'kind')}", each)
        return
    into.uses(part(item, "tool") or kind, item)


def _error(message: object, into: Transcript) -> None:
    text = str(message or "")
    if _RECONNECTS.match(text):
        into.retries(f"{text}; Codex tries again itself")
    else:
        into.note(text[:1_000])


def _status(message: object) -> int | None:
    found = re.search(r"status:? (\d{3})\b", str(message))
    return int(found[1]) if found else None


def _spend(usage: object, into: Transcript) -> None:
    """The sums are those of the whole session, also where this run continues one."""
    if any(name != SESSION for name in into.open):
        return  # its session told of every call
    plain = max(0, count(part(usage, "input_tokens")) - into.before.tokens_in)
    out = max(0, count(part(usage, "output_tokens")) - into.before.tokens_out)
    cached = min(plain, count(part(usage, "cached_input_tokens")))
    into.spends(SESSION, Spent(into.model, plain, out, cached))


def read_session(record: Mapping[str, Any], into: Transcript) -> bool:
    """Take one record of its rollout: what each call of the model used, when it has ended."""
    body = record.get("payload")
    match record.get("type"), part(body, "type"):
        case "turn_context", _:
            into.begins(model=part(body, "model"))
        case "token_usage_record", _:
            _call_ended(str(part(body, "response_id")), part(body, "usage"), into)
        case "event_msg", "token_count":
            _sums(part(body, "info", "total_token_usage"), part(body, "info", "last_token_usage"), into)
        case "response_item", kind if kind in _ITEM_CALLS:
            into.goes_on = True
        case "response_item", "message" if part(body, "role") == "assistant":
            into.goes_on = False
        case _:
            return False
    return True


def _call_ended(name: str, usage: object, into: Transcript) -> None:
    """What one call of the model used: of a turn that was stopped the sums leave it out."""
    into.turns += name not in into.open
    into.open.pop(SESSION, None)
    into.spends(name, _spent(usage, into.model))


def _sums(whole: object, last: object, into: Transcript) -> None:
    """The sums of the session, and what its newest call added, where the calls are not told of one by one."""
    before = into.tokens
    _spend(whole, into)
    if into.tokens > before:
        into.turns += 1
        into.step = _spent(last, into.model)


def _spent(usage: object, model: str) -> Spent:
    plain, out = count(part(usage, "input_tokens")), count(part(usage, "output_tokens"))
    return Spent(model, plain, out, min(plain, count(part(usage, "cached_input_tokens"))))


PRESET: Final = Preset(
    name="codex",
    title="Codex CLI",
    provider="openai",
    start=("codex", "exec", *_OPTIONS, "-"),
    resume=("codex", "exec", "resume", *_OPTIONS, "{session}", "-"),
    prompt="stdin",
    tools=("workspace-write",),
    models={"small": "gpt-6-luna", "medium": "gpt-6.1-sol", "large": "gpt-6-astra"},
    accounts=("OPENAI_API_KEY", "CODEX_API_KEY"),
    account_files=("~/.codex/auth.json",),
    install="npm install -g @openai/codex",
    sign_in="codex login",
    forgotten=("no rollout found",),
    handing_back=("read-only",),
    session_home=("CODEX_HOME", "~/.codex"),
    session_file="sessions/*/*/*/rollout-*-{session}.jsonl",
    read_session=read_session,
    read=read,
)
