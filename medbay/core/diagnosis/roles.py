"""What a line is: an error, a warning, source code, a stack frame, a passing test. Words in passing decide nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from medbay.core.diagnosis.rule import compiled
from medbay.core.diagnosis.rules.compilers import POSITION, POSITION_COLUMN
from medbay.core.diagnosis.text import CleanText

IGNORED: Final = -9.0
WARNED: Final = -1.3
MENTIONED: Final = -0.5
PLAIN: Final = 0.0
SAID: Final = 0.25

_CODE: Final = (
    r"^\s{0,12}(?:>\s{0,4})?\d{1,6}\s{0,4}[|│┃:]\s(?!\d*\s*error)|^>\s{3,}\S|^\s{0,10}[|│┃]\s"
    r"|^\s*(?:\+\+|\$|>>>|\[command\]|Run|##\[group\]|[+$]) \S"
)
_FRAME: Final = r"^\s+at \S|^\s{2,}File \"|^\s+from \S+:\d+|^\s+\d{1,3}: [\w<{]|^#\d+ +0x|^\s+#\s?\d"
_PASS: Final = re.compile(
    r"^\s{0,12}(?:✓|✔|√|✅|ok\b|PASS\b|PASSED\b|Passed \S+ \[|--- PASS"
    r"|=== (?:RUN|CONT|PAUSE)\b|\[\s{0,8}(?:OK|PASS|RUN)\s{0,8}\]|\[\s{0,3}PASSED)"
)
_PASSED_AT_END: Final = re.compile(r"\.{3,} {1,12}(?:Passed|ok|OK|PASS)\b")  # ctest and others, with the time after it
_USED: Final = r"\bused \d{1,3} ?%"  # a share of a limit that is used up is no failure
_WARN: Final = r"^.{0,60}?\b(?:warn(?:ing)?|w\d{3,5}|deprecat\w{1,8})\b"
_CALL_WARNED: Final = r"(?:php )?warning: {1,2}\w{1,40}\("  # how PHP says why a function failed that goes on
_TRIES: Final = r"\bretry \d|\(attempt \d|\battempt \d{1,4} ?(?:of|/)|\bskipp(?:ed|ing)\b"
_LEVEL: Final = r"^.{0,40}?\b(?:info|debug|trace|notice)\b|^.{0,40}?\b(?:hint|note|help|tip):|^\s{0,20}(?:#|//) "
_WARN_WORDS: Final = (
    "retrying",
    "will retry",
    "using cached",
    "falling back",
    "ignoring",
    "non-fatal",
    "ignored",
    "defaulting to",
    "using default",
)
_CHATTER: Final = ("npm warn", "npm notice")  # npm prints them before every script, and its errors as errors
# What a shell or ssh remarks when there is no terminal: never why a run failed.
_REMARKS: Final = (
    "pseudo-terminal will not be allocated", "cannot set terminal process group", "no job control in this shell",
    "mesg: ttyname failed", "stdin: is not a tty",
)  # fmt: skip
_ERROR_WORDS: Final = ("error", "fail", "fatal", "exception", "err!", "panic", "critical", "cannot", "unable")
# Words a line must hold before the patterns about warnings and levels are worth a try.
_WARN_SIGNS: Final = ("warn", "deprecat")
_WARN_CODE: Final = " w000"  # where digits are zeros
_TRY_SIGNS: Final = ("attempt", "retry", "skipp")
_LEVEL_SIGNS: Final = ("info", "debug", "trace", "notice", "hint:", "note:", "help:", "tip:", "# ", "// ")
_CODE_LIKE: Final = r"^\s+File \"[^\"\n]{1,400}\", line \d+"
_DIAGNOSTIC: Final = rf"^{POSITION}\s{{0,2}}:\s{{0,4}}(?:fatal )?(?:error|warning|note)\b|^{POSITION_COLUMN}: \S"


@dataclass(frozen=True, slots=True)
class Role:
    """How far a match on a line counts, and whether only rules for code may look at it."""

    weight: float
    code: bool = False


_CODE_STARTS: Final = frozenset(" \t#>|│┃+$[R0123456789")
_ROLES: Final = {
    (weight, code): Role(weight, code) for weight in (IGNORED, WARNED, MENTIONED, PLAIN, SAID) for code in (False, True)
}


def role_of(text: CleanText, number: int) -> Role:
    """What the line with this number is."""
    line, low = text.lines[number], text.lows[number]
    if _passed(line, low) or low.startswith(_CHATTER) or _holds(low, _REMARKS):
        return _ROLES[IGNORED, False]
    code = _is_code(text, number, line)
    if _warns(low, text.zeros[number]):
        return _ROLES[MENTIONED if compiled(_CALL_WARNED).match(low) else WARNED, code]
    if _holds(low, _LEVEL_SIGNS) and compiled(_LEVEL).match(low):
        return _ROLES[MENTIONED, code]
    return _ROLES[SAID if _holds(low, _ERROR_WORDS) or line[:2] == "E " else PLAIN, code]


def _is_code(text: CleanText, number: int, line: str) -> bool:
    """Source code, a frame, a compiler's message; the first character tells most lines apart."""
    if line[:1] in _CODE_STARTS and (compiled(_FRAME).match(line) or compiled(_CODE).match(line)):
        return True
    if number in text.may_have_position and compiled(_DIAGNOSTIC).match(line):
        return True
    return _quoted(text, number)


def _passed(line: str, low: str) -> bool:
    if _PASS.match(line) or " PASSED" in line or line.endswith(("... ok", "...ok", "SUCCESS")):
        return True
    if "..." in line and _PASSED_AT_END.search(line):
        return True
    return "used " in low and bool(compiled(_USED).search(low))


def _warns(low: str, zeros: str) -> bool:
    if _holds(low, _WARN_WORDS):
        return True
    if (_holds(low, _WARN_SIGNS) or _WARN_CODE in zeros) and compiled(_WARN).match(low):
        return True
    return _holds(low, _TRY_SIGNS) and bool(compiled(_TRIES).search(low))


def _holds(low: str, words: tuple[str, ...]) -> bool:
    return any(map(low.__contains__, words))  # faster than a regular expression of alternatives


def _quoted(text: CleanText, number: int) -> bool:
    """Whether a Python trace repeats source code on this line."""
    return number > 0 and text.lines[number][:4] == "    " and bool(compiled(_CODE_LIKE).match(text.lines[number - 1]))
