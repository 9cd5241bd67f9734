"""Which shell runs a command line, and how; and what a command line that succeeded says against itself in its log.

The shell is stored with the task, so that what a line means does not change under it.
"""

from __future__ import annotations

import re
import shlex
from pathlib import PurePath
from typing import Final

from medbay.core.untrusted import line as one_line

SH: Final = "/bin/sh"
BASH: Final = "bash"
_PIPEFAIL: Final = ("-o", "pipefail", "-c")
_PIPE: Final = re.compile(r"(?<!\|)\|(?![|&])(?P<rest>.*)", re.DOTALL)
# `yes | head -1`: that the first part was ended by a closed pipe is no failure, where the last part succeeded. Only at
# the end of the line: where something was to follow it by && or under `set -e`, that did not run.
_GUARD: Final = (
    'trap \'{ __m=($? "${PIPESTATUS[@]}"); [[ $__m == 141 && ${__m[-1]} == 0 && $- != *e*'
    ' && " ${__m[*]:1} " =~ ^(" 0"|" 141")+" "$ && " ${__m[*]:1}" == *" 141 "* ]] && exit 0; } 2>/dev/null\' EXIT; '
)


def shell_words(shell: str, line: str) -> list[str]:
    """The argument list that runs a line. Nothing is `sh`, as tasks of before have it; `bash` is with pipefail."""
    words = shlex.split(shell)
    if not words or words == ["sh"]:
        return [SH, "-c", line]
    if len(words) == 1:
        words += _PIPEFAIL if PurePath(words[0]).name == BASH else ("-c",)
    elif words[-1] != "-c":
        words.append("-c")
    return [*words, _guarded(line) if "pipefail" in words else line]


def shown_shell(shell: str) -> str:
    """The shell as a person would write it: `bash -o pipefail -c`."""
    return shlex.join(shell_words(shell, "")[:-1])


def _guarded(line: str) -> str:
    piped = _PIPE.search(line)
    return line if piped is None or "&&" in piped["rest"] else _GUARD + line


WARNING_MAX: Final = 200
_LOOKED_AT: Final = 8_000  # characters at the end of a log
_TRACE: Final = "Traceback (most recent call last):"
# What no program writes that did what it was asked for: a missing command, a full disk, a crash.
_STRONG: Final = re.compile(
    r"(?m)^(?:\S{1,80}: (?:line )?\d{1,6}: |(?:/\S{1,60}/)?(?:ba|da|z|k)?sh: )?(?P<said>"
    r"[^\s:]{1,80}: (?:command )?not found"
    r"|[^\n]{0,160}(?:No space left on device|Disk quota exceeded|Read-only file system|Input/output error)[^\n]{0,40}"
    r"|(?:fatal|FATAL|panic|PANIC|[Ff]atal error)(?::| error:)[^\n]{1,160}"
    r"|[\w./-]{1,60}: (?:cannot|can't|could not|failed to) [^\n]{1,120}"
    r"|[\w./-]{1,60}: (?:error|ERROR|Error|Got error): ?[^\n]{1,160}"
    r"|[^\n]{0,80}(?:Segmentation fault|Bus error|Illegal instruction|core dumped)[^\n]{0,60}"
    r")\s*$"
)
_STRONG_WORDS: Final = (
    "not found", "No space", "quota exceeded", "Read-only", "Input/output", "atal", "FATAL", "anic", "PANIC", "cannot",
    "can't", "could not", "failed to", "rror", "ERROR", "Segmentation", "Illegal", "core dumped", _TRACE,
)  # fmt: skip


def strong_failure(text: str) -> str:
    """The last line in the log of a success that speaks of a failure, without the name of the shell; or nothing."""
    text = text[-_LOOKED_AT:]
    if not any(map(text.__contains__, _STRONG_WORDS)):
        return ""
    found = [(match.start(), match["said"]) for match in _STRONG.finditer(text)]
    if (at := text.rfind(_TRACE)) >= 0:
        thrown = [each for each in text[at:].split("\n")[1:] if each[:1].isalpha()]
        found += [(at, thrown[0])] if thrown else []
    return one_line(max(found)[1], WARNING_MAX) if found else ""
