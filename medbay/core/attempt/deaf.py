"""Commands that cannot take advice: nobody reads guidance when the task is `ls`, `tar` or `pytest`.

They get one repetition of what only a change can cure. The second failure of the same kind is a person's.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Final

from medbay.core.attempt.counting import record_of
from medbay.core.diagnosis.record import Diagnosis
from medbay.core.model import SHELL, Task
from medbay.core.policy.policy import category_acted_on

ONLY_A_CHANGE: Final = ("code_error", "test_failure", "dependency_missing")
_HEARS: Final = ("MEDBAY_GUIDANCE", "MEDBAY_RESULT")
TIERS: Final = "tiers"  # the policy of issues; their module decides about attempts and cannot be asked here
_WORDS_MAX: Final = 40
_WORD: Final = re.compile(r"[\w./~+@%-]{1,300}")


def why_ask(task: Task, found: Diagnosis, *, takes_advice: bool, charged: bool) -> str:
    """Why a person is asked at once; empty where the ladder decides. `task` is as it was before this failure."""
    if takes_advice or not charged or task.streak == 0 or task.recurs or record_of(task).under_grant:
        return ""
    if task.policy == TIERS:  # an issue waits by its tier, and is triaged
        return ""
    if category_acted_on(found) not in ONLY_A_CHANGE or found.fingerprint != task.last_fingerprint:
        return ""
    return f"failed the same way twice, and the command takes no advice: {found.summary}"


def mentions(text: str) -> bool:
    """Whether a command line or a script speaks of what an attempt is handed."""
    return any(map(text.__contains__, _HEARS))


def is_known(task: Task) -> bool | None:
    """Whether it can take advice, as far as the task itself says; None: what its command starts has to be read."""
    if task.runner != SHELL or task.advice:
        return task.advice != "none"
    return True if mentions(task.command if isinstance(task.command, str) else " ".join(task.command)) else None


def may_be_scripts(command: Sequence[str] | str) -> list[str]:
    """The words of a command that may name the script it starts, in their order."""
    if not isinstance(command, str):
        return list(command)[:_WORDS_MAX]
    try:
        split = shlex.shlex(command, posix=True, punctuation_chars=True)
        split.whitespace_split = True
        words = list(split)
    except ValueError:
        words = []
    found = [*words, *_WORD.findall(command)]
    return list(dict.fromkeys(found))[:_WORDS_MAX]
