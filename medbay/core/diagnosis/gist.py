"""What a failure that no rule recognises is most likely about: the topic of the last lines that complain."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from medbay.core.diagnosis.findings import Finding
from medbay.core.diagnosis.roles import IGNORED, MENTIONED, role_of
from medbay.core.diagnosis.rule import Rule, compiled
from medbay.core.diagnosis.rules.gist import GISTS, NAMES, TELLS_NOTHING, TONE
from medbay.core.diagnosis.text import CleanText

SHORT: Final = 14  # of a text with no more lines every line may tell; of a longer one the last few
LAST: Final = 5
LINE_MAX: Final = 300
_HUMP: Final = r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_"
_EXCEPTION: Final = r"\b([A-Z]\w{3,80}?(?:Error|Exception|Fault)?)(?=[:\])(\s,]|$)"


def gist_of(text: CleanText) -> Finding | None:
    """The strongest topic of the complaint, or nothing when no line complains."""
    for lines in _where_it_may_tell(text):
        found = _topic_of(lines)
        if found is not None:
            return found
    return None


def _topic_of(lines: list[tuple[int, str]]) -> Finding | None:
    """The first topic, in the order of the table, that one of the lines which complain is about."""
    tone = compiled(TONE)
    complaints = [(start, line) for start, line in lines if tone.search(compiled(TELLS_NOTHING).sub("", line))]
    for topic in GISTS:
        for start, line in reversed(lines if topic.id == "gist.place" else complaints):
            match = compiled(topic.phrases[0]).search(compiled(TELLS_NOTHING).sub("", line))
            if match is not None:
                return _finding(topic, start, line)
    return None


def named_gist(text: CleanText, finding: Finding) -> Finding | None:
    """What the name of an exception says that it is about: `RecordTooLargeException` is about size."""
    start = text.bounds(_thrown_at(text, finding))[0]
    for match in compiled(_EXCEPTION).finditer(text.body, start, start + LINE_MAX):
        words = compiled(_HUMP).sub(" ", match[1]).lower()
        for topic in NAMES:
            if compiled(topic.phrases[0]).search(words):
                return Finding(topic, match.start(), match.end(), "", finding.score)
    return None


def _thrown_at(text: CleanText, finding: Finding) -> int:
    """The line that names the exception: a Python trace names it at its end."""
    number = text.line_number(finding.start)
    if finding.rule.id != "trace.python":
        return number
    return next((at for at in range(number + 1, text.line_count) if text.line(at)[:1] not in ("", " ", "\t")), number)


def _where_it_may_tell(text: CleanText) -> Iterator[list[tuple[int, str]]]:
    """Where the lines that may tell begin, and their start in lower case: the last ones; before a list of indented
    lines to the end (what could have been meant instead) the ones it follows; warnings where there is nothing else."""
    filled = [number for number in text.telling if text.low(number).strip()]
    few = filled if len(filled) <= SHORT else filled[-LAST:]
    yield _told(text, few, MENTIONED)
    if few is not filled and text.lines[filled[-1]][:1].isspace():
        yield _told(text, [number for number in filled if not text.lines[number][:1].isspace()][-LAST:], MENTIONED)
    if few is filled:
        yield _told(text, few, IGNORED)


def _told(text: CleanText, numbers: list[int], above: float) -> list[tuple[int, str]]:
    told = [number for number in numbers if role_of(text, number).weight > above]
    return [(text.bounds(number)[0], text.low(number)[:LINE_MAX].replace("_", " ")) for number in told]


def _finding(topic: Rule, start: int, line: str) -> Finding:
    return Finding(topic, start, start + len(line), "", topic.level)
