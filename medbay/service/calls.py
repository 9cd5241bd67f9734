"""Calls of Python functions: from the words people use to the command of a task, and back."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, NoReturn

from medbay.core.agent import TOOLS
from medbay.core.model import ISOLATED, Task
from medbay.core.people import question
from medbay.errors import NotFound, UsageError
from medbay.store import attempts, history
from medbay.store.database import Tx

ARGUMENTS_MAX: Final = 1_000_000  # characters of JSON
_TARGET_MAX: Final = 4_000
_OF_AGENTS: Final = ("agent", TOOLS)  # facts about who worked, which are no result
# `json.dumps` would make one for each call. What contains itself is noticed before.
_as_json: Final = json.JSONEncoder(allow_nan=False, check_circular=False).encode
_PLAIN: Final = frozenset({str, int, float, bool, type(None)})  # nothing is inside of them
_TARGET: Final = re.compile(r"(?:[^\W\d]\w*(?:\.[^\W\d]\w*)*|[^\0\n]+\.py):[^\W\d]\w*(?:\.[^\W\d]\w*)*")


def command_of(target: Any, arguments: Any = None, *, isolated: Any = False) -> tuple[str, ...]:
    """The command of a task that calls `module:function` or `FILE.py:function`."""
    if not isinstance(target, str) or not _names_function(target):
        raise UsageError(f"{target!r} names no function", hint="write module:function, or FILE.py:function")
    if not isinstance(isolated, bool):
        raise UsageError(f"isolated is true or false, not {isolated!r}")
    return (target, _arguments(arguments), *((ISOLATED,) if isolated else ()))


@lru_cache(maxsize=64)
def _names_function(target: str) -> bool:
    return len(target) <= _TARGET_MAX and _TARGET.fullmatch(target) is not None


def result_of(tx: Tx, task: Task) -> Any:
    """What the last successful attempt said: a function's value, a command's own result, or a person's note."""
    if question.is_persons(task):
        return _note_of(tx, task)
    found = attempts.last_result(tx, task.id)
    if found is not None and "value" in found:
        return found["value"]
    return None if found is None else {name: each for name, each in found.items() if name not in _OF_AGENTS}


def value_of(tx: Tx, task: Task) -> Any:
    """The same, for a caller that needs it; raises NotFound when no attempt succeeded."""
    ended_well = task.status == "completed" if question.is_persons(task) else attempts.has_succeeded(tx, task.id)
    if not ended_well:
        raise NotFound(f"{task.id} has no result, no attempt of it succeeded", hint=f"medbay explain {task.id}")
    return result_of(tx, task)


def _note_of(tx: Tx, task: Task) -> str | None:
    """What a person wrote when they had done it."""
    ends = [each for each in history.of_task(tx, task.id) if each.target == "completed"]
    return str(ends[-1].context.get("result", "")) or None if ends else None


def _arguments(given: Any) -> str:
    if isinstance(given, str):
        given = _parsed(given)
    given = [] if given is None else given
    if isinstance(given, tuple):
        given = list(given)
    if not isinstance(given, (list, Mapping)):  # a union would be made anew for each task
        raise UsageError(f"args is a list, or an object by name, not {given!r}", hint='for example [1, "two"]')
    try:
        _refuse_other_keys(given)
        text = _as_json(given)
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"args cannot be written as JSON: {error}") from None
    if len(text) > ARGUMENTS_MAX:
        raise UsageError(f"args is longer than {ARGUMENTS_MAX} characters", hint="put it into a file")
    return text


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"args is not JSON: {error}", hint="""for example --args '[1, "two"]'""") from None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _refuse_other_keys(value: Any) -> None:
    """JSON would turn them into text without a word."""
    if isinstance(value, Mapping):
        for name in value:
            if not isinstance(name, str):
                raise TypeError(f"the key {name!r} is not text")
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        return
    for each in value:
        if type(each) not in _PLAIN:
            _refuse_other_keys(each)
