"""What a failure that no rule recognises is most likely about: the topic of the last lines that complain."""

from __future__ import annotations

from typing import Final

from medbay.core.diagnosis.compiled import compiled
from medbay.core.diagnosis.findings import Finding
from medbay.core.diagnosis.roles import MENTIONED, role_of
from medbay.core.diagnosis.rule import Rule
from medbay.core.diagnosis.rules.gist import GISTS, NAMES, TONE
from medbay.core.diagnosis.text import CleanText

SHORT: Final = 14  # of a text with no more lines every line may tell; of a longer one the last few
LAST: Final = 5
LINE_MAX: Final = 300
_HUMP: Final = r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_"
_EXCEPTION: Final = r"\b([A-Z]\w{3,80}?(?:Error|Exception|Fault)?)(?=[:\])(\s,]|$)"
_WELL: Final = (
    r"\b(?:0|no|without|zero) (?:\w{1,20} )?(?:errors?|failures?|failed|warnings?|problems?|issues?|conflicts?)\b"
)


def gist_of(text: CleanText) -> Finding | None:
    """The strongest topic of the complaint, or nothing when no line complains."""
    lines = _last_lines(text)
    tone = compiled(TONE)
    complaints = [(start, line) for start, line in lines if tone.search(compiled(_WELL).sub("", line))]
    for topic in GISTS:
        for start, line in reversed(lines if topic.id == "gist.place" else complaints):
            match = compiled(topic.phrases[0]).search(compiled(_WELL).sub("", line))
            if match is not None:
                return _finding(topic, start, line)
    return None


def named_gist(text: CleanText, finding: Finding) -> Finding | None:
    """What the name of an exception says that it is about: `RecordTooLargeException` is about size."""
    start = text.bounds(text.line_number(finding.start))[0]
    for match in compiled(_EXCEPTION).finditer(text.body, start, start + LINE_MAX):
        words = compiled(_HUMP).sub(" ", match[1]).lower()
        for topic in NAMES:
            if compiled(topic.phrases[0]).search(words):
                return Finding(topic, match.start(), match.end(), "", finding.score)
    return None


def _last_lines(text: CleanText) -> list[tuple[int, str]]:
    """Where the lines that may tell begin, and their start in lower case; warnings and passing tests tell nothing."""
    filled = [number for number in text.telling if text.low(number).strip()]
    few = filled if len(filled) <= SHORT else filled[-LAST:]
    told = [number for number in few if role_of(text, number).weight > MENTIONED]
    return [(text.bounds(number)[0], text.low(number)[:LINE_MAX].replace("_", " ")) for number in told]


def _finding(topic: Rule, start: int, line: str) -> Finding:
    return Finding(topic, start, start + len(line), "", topic.level)
