"""Claude with its read-only tools as a judge, through its SDK: below the task's directory and its logs, no network."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any, Final

from claude_agent_sdk import (
    ClaudeAgentOptions,
    ClaudeSDKClient,
    ClaudeSDKError,
    PermissionResultAllow,
    PermissionResultDeny,
    ResultMessage,
    ToolPermissionContext,
)

from medbay.integrations.judges.program import TRIES, AnswerUnusable, Brief, JudgeAnswer, JudgeFailed

TOOLS: Final = ("Read", "Grep", "Glob")  # nothing that writes, runs or reaches a network
TURNS_MAX: Final = 20
REFUSAL: Final = "refusal"
_PATHS: Final = ("file_path", "path")


def judge(brief: Brief) -> JudgeAnswer:
    """Ask Claude, and again in the same session where its answer cannot be used; raises JudgeFailed when none came."""
    try:
        roots = [Path.cwd().resolve(), *([Path(brief.logs).resolve()] if brief.logs else [])]
        return asyncio.run(_judge(brief, roots))
    except ClaudeSDKError as error:
        raise JudgeFailed(f"{type(error).__name__}: {error}") from None


async def _judge(brief: Brief, roots: list[Path]) -> JudgeAnswer:
    async def may(
        tool: str, given: dict[str, Any], _: ToolPermissionContext
    ) -> PermissionResultAllow | PermissionResultDeny:
        if tool not in TOOLS:
            return PermissionResultDeny(message=f"{tool} is not among {', '.join(TOOLS)}")
        for name in _PATHS:
            if (path := given.get(name)) and not _is_below(str(path), roots):
                return PermissionResultDeny(message=f"{path} is outside the task's directory and its logs")
        return PermissionResultAllow()

    options = ClaudeAgentOptions(
        tools=list(TOOLS),
        can_use_tool=may,
        system_prompt=brief.system,
        model=brief.model or None,
        max_turns=TURNS_MAX,
        max_budget_usd=brief.max_cost,
        cwd=str(roots[0]),
        add_dirs=[str(each) for each in roots[1:]],
        setting_sources=[],
        strict_mcp_config=True,
        env={"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1"},
    )
    usage = {"input_tokens": 0, "output_tokens": 0, "cost": 0.0}
    async with ClaudeSDKClient(options) as client:
        asked = brief.prompt
        for _ in range(TRIES):
            await client.query(asked)
            result = await _result(client)
            _add(usage, result)
            if result.is_error or result.stop_reason == REFUSAL:
                raise JudgeFailed(_complaint(result), usage)
            found = JudgeAnswer(text=result.result or "", usage=usage)
            if not (why := brief.wrong(found.text)):
                return found
            if brief.max_tokens is not None and (used := _tokens(usage)) > brief.max_tokens:
                raise JudgeFailed(f"claude: over its budget: {used} of {brief.max_tokens} tokens", usage)
            asked = f"That answer cannot be used: {why}. Answer with one JSON object and nothing else."
    raise AnswerUnusable(found)


async def _result(client: ClaudeSDKClient) -> ResultMessage:
    found = None
    async for message in client.receive_response():
        if isinstance(message, ResultMessage):
            found = message
    if found is None:
        raise JudgeFailed("the session ended without a result")
    return found


def _add(usage: dict[str, Any], result: ResultMessage) -> None:
    said = result.usage or {}
    for name in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"):
        usage["input_tokens"] += int(said.get(name) or 0)
    usage["output_tokens"] += int(said.get("output_tokens") or 0)
    usage["cost"] = max(usage["cost"], result.total_cost_usd or 0.0)  # the session's total so far


def _tokens(usage: dict[str, Any]) -> int:
    return int(usage["input_tokens"] + usage["output_tokens"])


def _complaint(result: ResultMessage) -> str:
    status = getattr(result, "api_error_status", None)
    refused = f" stop_reason: {REFUSAL}" if result.stop_reason == REFUSAL else ""
    how = f" {result.subtype}" if result.subtype != "success" else ""  # as it calls every session that ended
    return f"claude:{how}{f' HTTP {status}' if status else ''}{refused}: {result.result or ''}"


def _is_below(path: str, roots: list[Path]) -> bool:
    """Whether a path is inside one of these folders, links followed."""
    found = Path(os.path.realpath(roots[0] / path))
    return any(found.is_relative_to(root) for root in roots)
