"""What a rule is: one row of the tables in `rules/`. Plain data; phrases become patterns when they are first needed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Final
from zlib import crc32

from medbay.core.diagnosis.consequences import advice_for
from medbay.core.diagnosis.phrases import anchors, bounded, lowered

# How much a finding says: a record names its cause in a field; a verdict is a tool's own closing word; an exact rule
# knows the sentence of a cause; a shape knows only that something of a kind went wrong; a trace is the last straw.
TRACE: Final = 0.0
SHAPE: Final = 1.0
EXACT: Final = 2.0
VERDICT: Final = 3.0
RECORD: Final = 4.0

OTHER_SCRIPTS: Final = "\x00"  # stands for "any text beyond ASCII": scripts without spaces have no words to index
POSITIONED: Final = "\x01"  # stands for "every line with a number after a colon or bracket, as positions have"
STRONG: Final = SHAPE + 0.5  # from here on a finding may decide whatever weaker rules say
PART: Final = "~"  # a word that begins so may also be a part of a word


@dataclass(frozen=True, slots=True)
class Rule:
    """Phrases and what they mean. Every `hit` must match and `miss` must not; the tests hold each row to it."""

    id: str
    tool: str
    category: str
    subcategory: str | None
    phrases: tuple[str, ...]
    confidence: float
    advice: str
    hits: tuple[str, ...]
    miss: str
    words: tuple[str, ...]
    level: float
    first: bool
    in_code: bool
    case: bool
    lines: int
    strict: bool

    @property
    def strong(self) -> bool:
        """Whether it is looked for first; what says that a suite did not start is asked for at once, too."""
        return self.level >= STRONG or self.level < 0

    def by_word(self) -> str:
        """Each word that may start a search, with the numbers of the phrases that hold it, `^` for the start of a line.

        As one text, `word:^0,2 word:1`: it is written down beforehand (`rules/words.py`), for it takes long to tell.
        """
        grouped: dict[tuple[str, str], list[str]] = {}
        for number, phrase in enumerate(self.phrases):
            words = self.words if self.strict else anchors(phrase) or self.words
            if not words:
                raise ValueError(f"{self.id}: {phrase!r} shows no whole word; name some with on=")
            for word in words:
                grouped.setdefault((word, "^" if phrase.startswith("^") else ""), []).append(str(number))
        return " ".join(f"{word}:{starts}{','.join(numbers)}" for (word, starts), numbers in grouped.items())

    def digest(self) -> str:
        """What stands for everything that `by_word` is made from."""
        return f"{crc32(chr(10).join((*self.phrases, *self.words, str(self.strict))).encode()):08x}"


@cache
def pattern_of(phrases: tuple[str, ...], case: bool) -> re.Pattern[str]:
    """Phrases as one regular expression, made when a line first may hold one; `case` for the text as it is written."""
    sources = [bounded(phrase if case else lowered(phrase)) for phrase in phrases]
    # A name may stand once in a pattern, so what, what1, what2 ... mean the same.
    named = (source.replace("(?P<what>", f"(?P<what{at}>") for at, source in enumerate(sources))
    return re.compile("|".join(named), re.MULTILINE)


def rule(
    id: str,
    kind: str,
    *phrases: str,
    hit: str | tuple[str, ...],
    miss: str,
    on: str = "",
    confidence: float = 0.95,
    advice: str = "",
    tool: str = "any",
    level: float = EXACT,
    first: bool = False,
    in_code: bool = False,
    case: bool = False,
    lines: int = 1,
    strict: bool = False,
) -> Rule:
    """Make a rule. A phrase is a regular expression of whole words within one line (`lines` for more).

    `on`: words of which one must be in the line, for phrases that show no whole word themselves; with `strict` for all.
    `first`: the first match counts, not the last (compilers). `in_code`: also in compilers' messages, source excerpts
    and frames.
    """
    category, _, subcategory = kind.partition("/")
    return Rule(
        id=id,
        tool=tool,
        category=category,
        subcategory=subcategory or None,
        phrases=phrases,
        confidence=confidence,
        advice=advice or advice_for(category, subcategory or None),
        hits=(hit,) if isinstance(hit, str) else hit,
        miss=miss,
        words=tuple(on.split(" ")) if on else (),
        level=level,
        first=first,
        in_code=in_code,
        case=case,
        lines=lines,
        strict=strict,
    )


@cache
def compiled(source: str) -> re.Pattern[str]:
    """The pattern of a source, made once; flags stand at its start."""
    return re.compile(source)
