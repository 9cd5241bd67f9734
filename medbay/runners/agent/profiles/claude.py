"""Claude Code: `claude -p` with its stream of JSON records. Never trust its exit code or subtype alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from medbay.runners.agent.preset import Preset
from medbay.runners.agent.prices import USUAL, price_of
from medbay.runners.agent.transcript import Spent, Transcript, count, moment, part

_BEGIN: Final = (
    "claude",
    "-p",
    "--output-format",
    "stream-json",
    "--verbose",
    "--include-partial-messages",  # the usage of each message as it ends, and a sign of life while it thinks
    "--model",
    "{model}",
    "--allowedTools",
    "{tools}",
    "--max-turns",
    "{turns}",
    "--max-budget-usd",
    "{cost}",
)
_QUIET: Final = frozenset({"status", "init", "hook_started", "hook_progress", "hook_response", "task_progress"})
_REASONS: Final[Mapping[str, str]] = {
    "error_max_turns": "unknown/max_turns",
    "error_max_budget_usd": "resource_exhaustion/budget",
    "max_turns": "unknown/max_turns",
    "budget_exhausted": "resource_exhaustion/budget",
    "prompt_too_long": "resource_exhaustion/context_window",
    "error_max_structured_output_retries": "unknown/malformed_output",
}


def read(record: Mapping[str, Any], into: Transcript) -> bool:
    """Take one record; False when it is none of this tool's."""
    match record.get("type"):
        case "system":
            _system(record, into)
        case "stream_event":
            _event(record, into)
        case "assistant":
            _assistant(record, into)
        case "user":
            into.retrying = ""
        case "rate_limit_event":
            _limit(record.get("rate_limit_info"), into)
        case "result":
            _result(record, into)
        case "tool_progress" | "tool_use_summary" | "auth_status" | "prompt_suggestion" | "control_request":
            pass
        case _:
            return False
    return True


def _system(record: Mapping[str, Any], into: Transcript) -> None:
    match record.get("subtype"):
        case "init":
            into.begins(session=record.get("session_id"), model=record.get("model"))
        case "api_retry":
            status, why = record.get("error_status"), record.get("error")
            tries = f"{record.get('attempt')} of {record.get('max_retries')}"
            into.retries(f"the API answered {status or why}; Claude Code tries again itself ({tries})")
        case "permission_denied":
            into.denies(record.get("tool_name"), record.get("message"))
        case subtype if subtype not in _QUIET:
            into.note(f"[{str(subtype)[:50]}]")


def _event(record: Mapping[str, Any], into: Transcript) -> None:
    """Parts of a message as they come: what it costs is in its start and its end."""
    event = record.get("event")
    match part(event, "type"):
        case "message_start":
            message = part(event, "message")
            into.retrying = ""
            into.spends(str(part(message, "id")), _spent(part(message, "usage"), str(part(message, "model") or "")))
        case "message_delta":
            name = str(record.get("api_message_id") or next(reversed(into.open), ""))
            model = into.open[name].model if name in into.open else into.model
            into.spends(name, _spent(part(event, "usage"), model))


def _assistant(record: Mapping[str, Any], into: Transcript) -> None:
    message, own = record.get("message"), record.get("parent_tool_use_id") is None
    name, model = str(part(message, "id")), str(part(message, "model") or "")
    if name not in into.open and model != "<synthetic>":  # without partial messages this is all there is
        into.spends(name, _spent(part(message, "usage"), model))
    content = part(message, "content")
    for block in content if isinstance(content, list) else ():
        match part(block, "type"):
            case "text" if own:
                into.says(part(block, "text"))
            case "tool_use":
                _use(block, record, into)


def _use(block: Mapping[str, Any], record: Mapping[str, Any], into: Transcript) -> None:
    given = block.get("input")
    into.uses(block.get("name"), given, at=moment(record.get("timestamp")))
    asked = part(given, "questions") if block.get("name") == "AskUserQuestion" else None
    if isinstance(asked, list):
        into.asks("\n\n".join(map(_question, asked)))


def _question(each: object) -> str:
    """A question with the options it offers, by number."""
    options = part(each, "options")
    labels = (
        [str(part(option, "label")) for option in options if part(option, "label")] if isinstance(options, list) else []
    )
    lines = (f"{number}. {label}" for number, label in enumerate(labels, start=1))
    return "\n".join((str(part(each, "question") or ""), *lines))


def _limit(info: object, into: Transcript) -> None:
    if part(info, "status") == "rejected" and (at := count(part(info, "resetsAt"))):
        into.retry_after = at


def _result(record: Mapping[str, Any], into: Transcript) -> None:
    into.begins(session=record.get("session_id"))
    into.turns = count(record.get("num_turns"))
    denials = record.get("permission_denials")
    for each in denials[len(into.denied) :] if isinstance(denials, list) else ():
        into.denies(part(each, "tool_name"))
    _reckon(record, into)
    said, status = record.get("result"), record.get("api_error_status")
    errors = record.get("errors")
    into.ends(said=said if not record.get("is_error") else None)
    if record.get("stop_reason") == "refusal":
        into.fails(said or "the model refused", kind="unknown/refused")
        return
    if not record.get("is_error") and record.get("subtype") == "success":
        return
    text = said or "\n".join(map(str, errors if isinstance(errors, list) else ())) or str(record.get("subtype"))
    reason = str(record.get("terminal_reason"))
    kind = _REASONS.get(reason) or _REASONS.get(str(record.get("subtype"))) or ""
    into.fails(text, status=status, kind=kind)
    if into.kind == "transient/rate_limit" and into.retry_after is not None:
        into.kind = "transient/usage_limit"


def _reckon(record: Mapping[str, Any], into: Transcript) -> None:
    """What this run cost: of a session that was continued the tool's sums hold more than this run."""
    total, used = record.get("total_cost_usd"), record.get("modelUsage")
    if not isinstance(total, int | float) or isinstance(total, bool) or not isinstance(used, Mapping):
        return
    whole = {str(model): _of_model(str(model), each) for model, each in used.items()}
    if not into.resumed:
        if sum(each.tokens_in + each.tokens_out for each in whole.values()) >= into.tokens:
            into.open, into.closed = {}, whole
        into.cost = round(total * 1_000_000)
        return
    own, cost = into.by_model(), 0.0
    for model, each in whole.items():
        price = price_of(model) or USUAL
        said = part(used, model, "costUSD")
        if model in own and each.at(price) > 0 and isinstance(said, int | float):
            cost += said * min(1.0, own[model].at(price) / each.at(price))
    into.cost = round(cost * 1_000_000)


def _of_model(model: str, each: object) -> Spent:
    cached, written = count(part(each, "cacheReadInputTokens")), count(part(each, "cacheCreationInputTokens"))
    plain, out = count(part(each, "inputTokens")), count(part(each, "outputTokens"))
    return Spent(model, plain + cached + written, out, cached, written)


def _spent(usage: object, model: str) -> Spent:
    plain, out = count(part(usage, "input_tokens")), count(part(usage, "output_tokens"))
    cached, written = (count(part(usage, f"cache_{name}_input_tokens")) for name in ("read", "creation"))
    return Spent(model, plain + cached + written, out, cached, written)


PRESET: Final = Preset(
    name="claude",
    title="Claude Code",
    provider="anthropic",
    start=(*_BEGIN, "--session-id", "{session}"),
    resume=(*_BEGIN, "--resume", "{session}"),
    prompt="stdin",
    tools=("Bash", "Edit", "Write", "NotebookEdit", "WebFetch", "WebSearch"),
    env={"DISABLE_AUTOUPDATER": "1"},
    models={"small": "haiku", "medium": "sonnet", "large": "opus"},
    accounts=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"),
    account_files=("~/.claude/.credentials.json",),
    install="npm install -g @anthropic-ai/claude-code",
    sign_in="claude, then /login; or set ANTHROPIC_API_KEY",
    forgotten=("No conversation found",),
    limits_turns=True,
    read=read,
)
