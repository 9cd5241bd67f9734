"""What a command says about itself in the file named by MEDBAY_RESULT. The file is hostile input:
a wrong one is ignored with a reason, never raised.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from medbay.core.budget import TOKEN_PARTS, read_usage
from medbay.core.model import TEXT_MAX
from medbay.core.untrusted import parsed
from medbay.foreign import open_regular, read_regular

RESULT_BYTES_MAX: Final = 1_000_000
ANSWER_CHARS_MAX: Final = 256 * 1024  # what is longer is refused by its reader, never read in part
_SUMMARY_CHARS_MAX: Final = 10_000
_WORD_CHARS_MAX: Final = 200
_ARTIFACTS_MAX: Final = 1_000
_PATH_CHARS_MAX: Final = 4_096
_BEGINNINGS_MAX: Final = 50  # braces in last words at which an answer may begin
_SUCCEEDED: Final = frozenset({"succeeded", "success", "completed", "ok"})
_FAILED: Final = frozenset({"failed", "failure", "fail", "error", "asked", "question"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The fields that were good, as they go into the record, and why anything was left out."""

    fields: Mapping[str, Any] | None = None
    ignored: str = ""
    unclear: bool = False  # it is there, and how the work ended cannot be read from it

    @property
    def says_failed(self) -> bool:
        """Whether the command calls itself failed, whatever its exit code."""
        return self.fields is not None and self.fields.get("outcome") == "failed"

    @property
    def summary(self) -> str:
        """What it says happened, in its own words."""
        return str((self.fields or {}).get("summary", ""))

    @property
    def retry_after(self) -> str | int | float | None:
        """When it wants to be tried again, as it said it; `core` reads durations and dates."""
        value: str | int | float | None = (self.fields or {}).get("retry_after")
        return value


def read_result(path: str | Path) -> Result:
    """Read the result file; no file is no result and no complaint."""
    try:
        raw = read_regular(path, RESULT_BYTES_MAX).strip()
        said = parsed(raw) if raw else None
    except FileNotFoundError:
        return Result()
    except (OSError, ValueError) as error:
        return Result(ignored=f"cannot be read: {str(error)[:_WORD_CHARS_MAX]}", unclear=True)
    if said is None:
        return Result()
    if not isinstance(said, dict):
        return Result(ignored=f"a JSON object is expected, not {type(said).__name__}", unclear=True)
    return _checked(said)


def taken_as_failed(unclear: Result) -> Result:
    """What counts where the exit status is good and the result cannot be read: how the work ended is not known."""
    why = f"It ended with status 0, but its result file does not say how: {unclear.ignored}"
    said = {**(unclear.fields or {}), "outcome": "failed", "category": "malformed_output", "summary": why}
    return Result(fields=said, ignored=unclear.ignored)


def read_answer(path: Path) -> str:
    """What a process that was asked something printed; too much of it is cut, for its reader to refuse."""
    try:
        with open(open_regular(path), "rb") as handle:
            raw = handle.read(4 * (ANSWER_CHARS_MAX + 1))  # a character takes four bytes at most
            return raw.decode("utf-8", "replace")[: ANSWER_CHARS_MAX + 1]
    except (OSError, ValueError):
        return ""


def answer_in(words: str) -> str:
    """The answer of a role that an agent gives as its last words: a JSON object with a verdict at their end."""
    text = words.strip().removesuffix("```").rstrip()
    if not text.endswith("}") or len(text) > ANSWER_CHARS_MAX:
        return ""
    at = text.find("{")
    for _ in range(_BEGINNINGS_MAX):
        if at < 0:
            break
        try:
            said = parsed(text[at:])
        except ValueError:
            at = text.find("{", at + 1)
            continue
        return _text(text[at:], ANSWER_CHARS_MAX) or "" if isinstance(said, dict) and "verdict" in said else ""
    return ""


def _checked(said: Mapping[str, Any]) -> Result:
    readers: dict[str, Callable[[Any], Any]] = {
        "outcome": _outcome,
        "category": lambda value: _text(value, _WORD_CHARS_MAX),
        "summary": lambda value: _text(value, _SUMMARY_CHARS_MAX),
        "question": lambda value: _text(value, _SUMMARY_CHARS_MAX),
        "retry_after": retry_after,
        "artifacts": _artifacts,
        "usage": _usage,
        "spec": lambda value: _text(value, TEXT_MAX),
    }
    fields: dict[str, Any] = {}
    wrong = []
    for name, reader in readers.items():
        if said.get(name) is None:
            continue
        value = reader(said[name])
        if value is None:
            wrong.append(name)
        else:
            fields[name] = value
    if "verdict" in said:  # the answer of a role: read as a whole, by its own rules, so that nothing of it is dropped
        fields["answer"] = _text(json.dumps(said, ensure_ascii=False), RESULT_BYTES_MAX)
    ignored = f"wrong value for {', '.join(wrong)}" if wrong else ""
    return Result(fields=fields, ignored=ignored, unclear="outcome" in wrong)


def _outcome(value: object) -> str | None:
    word = value.strip().lower() if isinstance(value, str) else ""
    if word in _SUCCEEDED:
        return "succeeded"
    return "failed" if word in _FAILED else None


def retry_after(value: object) -> str | int | float | None:
    """When something wants to be tried again: a text, or seconds that can be; None for anything else."""
    if isinstance(value, str):
        return _text(value.strip(), _WORD_CHARS_MAX) or None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if 0 <= value < 1e12 and math.isfinite(value) else None  # compared first: not every int is a float


def _usage(value: object) -> dict[str, Any] | None:
    """What it cost, in tokens and money; each may be left out."""
    if read_usage(value) is None or not isinstance(value, dict):
        return None
    return {name: value[name] for name in ("tokens", *TOKEN_PARTS, "cost") if name in value}


def _artifacts(value: object) -> list[str] | None:
    if not isinstance(value, list) or len(value) > _ARTIFACTS_MAX:
        return None
    if not all(isinstance(item, str) for item in value):
        return None
    return [text for item in value if (text := _text(item, _PATH_CHARS_MAX))]


def _text(value: object, chars_max: int) -> str | None:
    if not isinstance(value, str):
        return None
    # No database takes lone surrogates, and PostgreSQL takes no NUL.
    return value[:chars_max].encode("utf-8", "replace").decode("utf-8").replace("\0", "\ufffd")
