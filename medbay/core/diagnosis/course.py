"""The course of a run, as its output shows it: steps that passed, retries that succeeded, objects that were dumped.

What happened before something passed, or stands inside a dump, rarely ended the run.
"""

from __future__ import annotations

import re
from typing import Final

from medbay.core.diagnosis.rule import compiled
from medbay.core.diagnosis.text import CleanText

STEPS_MIN: Final = 2  # one line that begins with a plus may be anything
_STEP: Final = re.compile(r"^\++ \S.{0,400}", re.MULTILINE)
_NO_TRACE: Final = re.compile(r"^(?:@@ |--- |- \S)", re.MULTILINE)  # differences have lines with a plus, too
# Steps that a script takes after the one that failed: to clean up, to say so, to leave.
_CLOSING: Final = (
    r"^\++ (?:exit|return|echo|printf|rm|rmdir|set|true|false|trap|cleanup|clean_up|on_exit|on_error|kill|wait|popd|cd"
    r"|unset|umount|docker (?:rm|stop|compose down)|local|\[|\[\[|test|rc=|status=|code=|ret=|exit_code="
    r"|die|fail|error|err|log|logger|warn|cat <<)\b"
    r"|^\++ (?:\[|:|\w{1,40}=\S{0,80}$)"
)
_CI_LOG: Final = "##["
# After these a CI service only cleans up.
_CLEAN_UP: Final = (
    "##[error]Process completed with exit code", "\nPost job cleanup.", "\nRunning after script...",
    "\nRunning after_script\n", "\nCleaning up project directory and file based variables",
    "skipped due to earlier failure(s)",
)  # fmt: skip
_RETRY_SIGNS: Final = ("tries", "retr", "attempt", " try", "reconnected", "established", "back online", "recovered")
_GOOD: Final = (
    "(?:ok|succeeded|success|successful|successfully|connected|recovered|healthy|ready|done|passed|reachable|worked|up)"
)
_RECOVERED: Final = (
    rf"\b{_GOOD}\b[^\n]{{0,40}}\b(?:after|on|at|in)\b[^\n]{{0,20}}\b(?:retry|retries|try|tries|attempts?)\b"
    rf"|\b(?:retry|attempt|try) ?#?\d{{1,4}}(?: ?(?:of|/) ?\d{{1,4}})?\b[^\n]{{0,20}}\b{_GOOD}\b"
    r"|\breconnected\b|\bconnection (?:re-?)?established\b|\bback online\b"
    r"|\b(?:retry|retries) (?:was |were |has )?succe\w{1,8}"
)
_NOT_RECOVERED: Final = r"\b(?:not|no|never|fail\w{0,5}|giving up|gave up|unable|cannot|could not)\b"
_DUMP_STARTS: Final = r"^(?:\s{1,12}at .{1,300}|(?:\S{1,40} )?[\w.]{0,60}(?:Error|Exception)\b.{0,300}) \{$"
_CAUSES: Final = ("[cause]:", "cause:", "code:", "[errors]:", "reason:")  # fields that say why, unlike all the others
_DUMP_SIGN: Final = " {\n"
DUMP_MAX: Final = 400  # lines
_TRANSCRIPT_SIGNS: Final = ("⎿", "⏺")  # how agents set off what their tools returned
_MARKS: Final = ("●", "✗", "✘", "✕", "×", "⏺", "⎿", "✖", "❌")
_WENT_ON: Final = (
    r"^\W{0,6}(?:✓|✔|√|✅)"
    r"|\b(?:succeeded|successfully|success|passed|passing|completed|finished|all good|up to date|done|ok)\b[.! ]{0,3}$"
)
_ALL_PASSED: Final = (
    r"(?m)\b[1-9]\d{0,6} (?:tests? |specs? |checks? |examples? )?(?:passed|passing|ok)\b"
    r"|\b0 (?:failures|failed|failing|errors)\b"
    r"|^\W{0,4}ok(?: \(|$)|\bbuild success|\ball (?:tests|checks) (?:passed|ok)"
)


def last_step(text: CleanText) -> int:
    """Return where the last real step of a traced script begins (`set -x`); 0 where nothing is traced."""
    if "\n+" not in text.body and not text.body.startswith("+"):
        return 0
    if _CI_LOG in text.body:
        return 0  # traces of many scripts, and of those that clean up
    steps = list(_STEP.finditer(text.body))
    if len(steps) < STEPS_MIN or _NO_TRACE.search(text.body):
        return 0
    closing = compiled(_CLOSING)
    real = [match.start() for match in steps if not closing.match(match[0])]
    return real[-1] if real else 0


def clean_up(text: CleanText) -> int:
    """Return where the clean-up of a CI service begins; the end of the text where there is none."""
    found = [at for at in map(text.body.find, _CLEAN_UP) if at >= 0]
    return min(found, default=len(text.body))


def last_recovery(text: CleanText) -> int:
    """Return where the output says last that a retry succeeded; 0 where it never does."""
    if not any(map(text.lowered.__contains__, _RETRY_SIGNS)):
        return 0
    failed = compiled(_NOT_RECOVERED)
    for match in reversed(list(compiled(_RECOVERED).finditer(text.lowered))):
        number = text.line_number(match.start())
        if not failed.search(text.low(number)):
            return match.start()
    return 0


def dumped_lines(text: CleanText) -> frozenset[int]:
    """Return the lines of objects that an exception dumps after its message and frames, as JavaScript does."""
    if _DUMP_SIGN not in text.body:
        return frozenset()
    found: set[int] = set()
    starts = compiled(_DUMP_STARTS)
    for number, line in enumerate(text.lines):
        if line.endswith(" {") and number not in found and starts.match(line):
            found.update(_until_closed(text, number + 1))
    return frozenset(number for number in found if not text.lines[number].lstrip().startswith(_CAUSES))


def _until_closed(text: CleanText, first: int) -> range:
    last = min(text.line_count, first + DUMP_MAX)
    for number in range(first, last):
        if text.lines[number][:1] == "}":
            return range(first, number + 1)
    return range(first, last)


def is_transcript(text: CleanText) -> bool:
    """Whether an agent's transcript was printed: its bullets and crosses are no marks of tests."""
    return not text.plain and any(map(text.body.__contains__, _TRANSCRIPT_SIGNS))


def is_marked(line: str) -> bool:
    """Whether a line begins with a bullet or cross, which in a transcript means nothing."""
    return line.lstrip().startswith(_MARKS)


def went_well(text: CleanText, number: int) -> bool:
    """Whether something passed after this line, or the output counts what passed: a good end may be believed."""
    if compiled(_ALL_PASSED).search(text.lowered):
        return True
    search = compiled(_WENT_ON).search
    return any(search(line) for line in text.lows[number + 1 :])
