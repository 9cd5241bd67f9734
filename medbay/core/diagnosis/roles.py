"""What a line is: an error, a warning, source code, a stack frame, a passing test. Words in passing decide nothing."""

from __future__ import annotations

import re
from typing import Final

from medbay.core.diagnosis.rules.compilers import POSITION
from medbay.core.diagnosis.text import CleanText

IGNORED: Final = -9.0
WARNED: Final = -1.3
MENTIONED: Final = -0.5
PLAIN: Final = 0.0
SAID: Final = 0.25

_CODE: Final = re.compile(
    r"^\s{0,12}(?:>\s{0,4})?\d{1,6}\s{0,4}[|│┃:]\s(?!\d*\s*error)|^>\s{3,}\S|^\s{0,10}[|│┃]\s"
    r"|^\s*(?:\+\+|\$|>>>|\[command\]|Run|##\[group\]|[+$]) \S"
)
_FRAME: Final = re.compile(r"^\s+at \S|^\s{2,}File \"|^\s+from \S+:\d+|^\s+\d{1,3}: [\w<{]|^#\d+ +0x|^\s+#\s?\d")
_PASS: Final = re.compile(
    r"^\s{0,12}(?:✓|✔|√|ok\b|PASS\b|PASSED\b|--- PASS|\[\s{0,8}OK\s{0,8}\]|\[\s{0,3}PASSED)|\bPASSED\b|\.{3} ?ok$"
    r"|\bSUCCESS$|\bused \d{1,3} ?%"
)
_WARN: Final = re.compile(
    r"^.{0,60}?\b(?:warn(?:ing)?|W\d{3,5}|deprecat\w+)\b|\bretrying\b|\bwill retry\b|\bretry \d+|\(attempt \d+"
    r"|using cached|falling back|ignored\)?$"
    r"|\battempt \d+ ?(?:of|/)|\bskipp(?:ed|ing)\b|\bignoring\b|non-fatal",
    re.IGNORECASE,
)
_INFO: Final = re.compile(
    r"^.{0,40}?\b(?:INFO|DEBUG|TRACE|NOTICE|hint:|note:|help:|tip:)(?:\b|(?<=:))|^\s*(?:#|//) ", re.IGNORECASE
)
_ERROR: Final = re.compile(
    r"\berror\b|\bfatal\b|\bfailed\b|\bfailure\b|exception\b|\w(?:Error|Exception)\b|\berr!|\bpanic|\bcritical\b|^E\s|\bFAIL\b|\bcannot\b|\bunable\b",
    re.IGNORECASE,
)
_CODE_LIKE: Final = re.compile(r"^\s+File \"[^\"\n]{1,400}\", line \d+")
_DIAGNOSTIC: Final = re.compile(rf"^{POSITION}\s{{0,2}}:\s{{0,4}}(?:fatal )?(?:error|warning|note)\b")


def role_of(text: CleanText, position: int, *, in_code: bool = False) -> float:
    """How far a match on the line at this position counts, as an addition to its score."""
    number = text.line_number(position)
    line = text.line(number)
    if _PASS.search(line):
        return IGNORED
    if not in_code and (_FRAME.match(line) or _CODE.match(line) or _DIAGNOSTIC.match(line) or _quoted(text, number)):
        return IGNORED
    if _WARN.search(line):
        return WARNED
    if _INFO.match(line):
        return MENTIONED
    return SAID if _ERROR.search(line) else PLAIN


def _quoted(text: CleanText, number: int) -> bool:
    """Whether a Python trace repeats source code on this line."""
    return number > 0 and text.line(number)[:4] == "    " and bool(_CODE_LIKE.match(text.line(number - 1)))
