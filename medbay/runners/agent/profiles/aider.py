"""aider: plain text and exit 0 whatever happened; its line of costs is the only sign that a model answered."""

from __future__ import annotations

import re
from typing import Final

from medbay.runners.agent.preset import Preset
from medbay.runners.agent.transcript import SAID_MAX, Spent, Transcript

_TOKENS: Final = re.compile(r"^Tokens: ([\d.,]+[kM]?) sent(?:, [^.]*?)??, ([\d.,]+[kM]?) received\.(.*)")
_COST: Final = re.compile(r"Cost: \$([\d.]+) message")
_EDIT: Final = re.compile(r"^(?:Applied edit to|Commit) (\S.*)")
_RETRY: Final = re.compile(r"^Retrying in ([\d.]+) seconds")
_ERROR: Final = re.compile(
    r"(?i)^(?:litellm\.)?(?:\w{1,40}\.){0,4}\w{0,60}(?:Error|Exception)\b|^(?:The API provider|Model \S+ has hit)"
)
# What the tool itself says beside the words of the model.
_OWN: Final = re.compile(
    r"^(?:Aider v\d|Weak model: |Editor model: |Git repo: |Repo-map: |Added .{1,200} to (?:the chat|\.gitignore)"
    r"|Analytics have been|Detected dumb terminal|Update git |You can skip this check|HTTPSConnectionPool\(|Warning"
    r"|Creating empty file |Use /help|https?://\S+$|# \d+ SEARCH/REPLACE block)"
)
_AGAIN: Final = ("The LLM did not conform", "Exception while updating files:")
_UNITS: Final = {"k": 1_000, "M": 1_000_000}


def line(text: str, into: Transcript) -> bool:
    """Take one line."""
    if found := _TOKENS.match(text):
        sent, received = _number(found[1]), _number(found[2])
        into.spends(f"message {into.turns}", Spent(into.model, sent, received))
        into.turns += 1
        if cost := _COST.search(found[3]):
            into.cost = (into.cost or 0) + round(float(cost[1]) * 1_000_000)
        into.ended, into.failed, into.error, into.kind, into.retrying = True, False, "", "", ""
        into.goes_on = False
        into.said, into.unsaid = into.unsaid.strip(), ""  # the words of a message stand before what it cost
        return True
    if found := _EDIT.match(text):
        into.uses("edit", found[1])
    elif _RETRY.match(text):
        into.retries(f"{text}; aider tries again itself")
    elif _ERROR.match(text):
        into.fails(text)
    elif text.startswith(("Model: ", "Main model: ")):
        into.begins(model=text.partition(": ")[2].split()[0])
        into.note(text)
    elif _OWN.match(text):
        into.note(text)
    elif text.startswith(_AGAIN):  # the model is asked once more
        into.note(text)
        into.ended, into.goes_on = False, True
    elif text.startswith("Only ") and text.endswith("reflections allowed, stopping."):
        into.note(text)
        into.goes_on = False
    else:
        into.note(text)
        into.unsaid = f"{into.unsaid}\n{text}"[-SAID_MAX:]
    return True


def _number(said: str) -> int:
    unit = _UNITS.get(said[-1], 1)
    digits = said.rstrip("kM").replace(",", "")
    return int(float(digits) * unit) if digits.replace(".", "", 1).isdigit() else 0


PRESET: Final = Preset(
    name="aider",
    title="aider",
    start=(
        "aider",
        "--message-file",
        "{prompt_file}",
        "--model",
        "{model}",
        "--yes-always",
        "--no-pretty",
        "--no-stream",
        "--no-check-update",
        "--no-show-release-notes",
        "--analytics-disable",
    ),
    prompt="file",
    env={"COLUMNS": "1000"},  # it breaks lines, also in the middle of an error
    accounts=("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENROUTER_API_KEY", "GEMINI_API_KEY"),
    account_files=("~/.aider.conf.yml",),
    install="pip install aider-chat",
    sign_in="set the key of the model's provider, as OPENAI_API_KEY",
    line=line,
)
