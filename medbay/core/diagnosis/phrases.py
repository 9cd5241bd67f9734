"""Words that a phrase cannot match without: what lets a search skip nearly all rules for nearly all lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final

VARIANTS_MAX: Final = 48
_ANY: Final = "\x02"  # stands for text that a phrase leaves open
_EDGE: Final = "\x03"  # stands for what is no letter or digit
_DIGIT: Final = "\x04"  # stands for one digit
_DIGITS: Final = f"{_DIGIT}{_ANY}{_DIGIT}"  # for some: the first and the last may be the same one
_TO_ZEROS: Final = str.maketrans(f"{_DIGIT}123456789", "0" * 10)
_NUMBER: Final = re.compile(r"(?:\[[01]-9\]|\\d)(?:\\d\{0,\d+\}|\+|\{1,\d+\})")
_PLAIN: Final = re.compile(r"(?:[\w \-:,;'\"/=!<>#@%&~`](?![?*+{]))+")  # each stands for itself
_GAP: Final = re.compile(f"[{_ANY}{_EDGE}]+")
TEXT_MIN: Final = 2
TEXTS_MAX: Final = 16  # more are no cheaper to look for than the phrases
_OPEN: Final = f"{_ANY}{_DIGIT}"
_WORD: Final = re.compile(rf"(?<![^\W_])(?<![{_OPEN}])[^\W_]+(?![^\W_])(?![{_OPEN}])")
_NO_SPACES: Final = "\u0e00"  # from here on scripts write words without spaces between them
_ESCAPES: Final = {"b": _EDGE, "s": _EDGE, "n": _EDGE, "d": _DIGIT}
_ESCAPED: Final = re.compile(r"(\\.|\(\?P<\w+>)|[^\\(]+|\(")
_COMMON: Final = frozenset(
    "a an and are at be been by can cannot could error errors failed fail failure file for found from has have in is "
    "it line no not of on or out test tests that the this to too unable was were with you your exception code "
    "run build command request connection connect module process task function call use package packages object "
    "session response http https version script server t s o 0 d e host name value type key set get read write load "
    "data user project image worker step job action start open close message output input text time path directory "
    "network socket option options argument all any if then new one two by end last first expected warning warnings "
    "info python node".split()
)


def anchors(phrase: str) -> tuple[str, ...]:
    """Words of which every match holds at least one, the rarest there are; nothing when a way to match shows none."""
    chosen: set[str] = set()
    for words in _words(phrase):
        if not words:
            return ()
        chosen.add(_rarest(words))
    return tuple(sorted(chosen))


def companions(phrases: tuple[str, ...], anchor: str) -> frozenset[str] | None:
    """Words of which every match that the anchor leads to holds at least one besides; None when it may stand alone.

    With an empty anchor: words of which every match holds at least one.
    """
    found: set[str] = set()
    for phrase in phrases:
        for words in _words(phrase):
            if anchor and words and _rarest(words) != anchor:
                continue  # another word leads to this way of matching
            others = [word for word in words if word != anchor]
            if not others:
                return None
            found.add(_rarest(others))
    return frozenset(found)


@cache
def clauses(phrase: str, case: bool) -> tuple[tuple[str, ...], ...]:
    """Sets of texts, the most telling first: every match holds one text of each set. Digits are zeros.

    In lower case, unless `case` asks for the text as it is written.
    """
    found: list[list[str]] = []
    current, at = [""], 0
    while at < len(phrase):
        pieces, at = _piece(phrase, at)
        pieces, at = _repeated(phrase, at, pieces)
        if pieces == [_ANY] or len(current) * len(pieces) > TEXTS_MAX:
            found.append(current)
            current = [_ANY]
            if len(pieces) > TEXTS_MAX:
                continue
        current = [before + piece for before in current for piece in pieces]
    found.append(current)
    texts = (_shown(variants if case else [one.lower() for one in variants]) for variants in found)
    return tuple(sorted(filter(None, texts), key=_rarity, reverse=True))


def covering(phrases: Iterable[str], case: bool) -> tuple[str, ...]:
    """Texts of which every match of any of the phrases holds one; nothing when a phrase shows none, or for too many."""
    telling = [next(iter(clauses(phrase, case)), ()) for phrase in phrases]
    return _fewest({text for texts in telling for text in texts}) if all(telling) else ()


def _shown(variants: list[str]) -> tuple[str, ...]:
    return _fewest({max(_GAP.split(variant), key=len).translate(_TO_ZEROS) for variant in variants})


def _rarity(texts: tuple[str, ...]) -> float:
    """How seldom a line holds one of these texts: long ones, few ones, none that every log is full of."""
    return min(TEXT_MIN if text.strip(" :").lower() in _COMMON else len(text) for text in texts) - len(texts) / 4


def _fewest(texts: set[str]) -> tuple[str, ...]:
    shortest = [one for one in texts if not any(other in one for other in texts if other != one)]
    return tuple(sorted(shortest)) if min(map(len, shortest)) >= TEXT_MIN and len(shortest) <= TEXTS_MAX else ()


def _rarest(words: list[str]) -> str:
    """The longest of the words that are not common; of several the last in the alphabet."""
    rare = [word for word in words if word not in _COMMON] or words
    return rare[0] if len(rare) == 1 else max(rare, key=lambda word: (len(word), word))


def _words(phrase: str) -> list[list[str]]:
    """The whole words of each way to match."""
    if phrase.isascii() and phrase.replace(" ", "").isalnum():  # the shape of most, and far cheaper
        return [phrase.lower().split()]
    return [
        [word for word in _WORD.findall(variant) if word.isascii() or max(word) < _NO_SPACES]
        for variant in _low_variants(phrase)
    ]


def bounded(phrase: str) -> str:
    """The phrase held to a whole word at its end where it ends with a letter or digit.

    At its start the search itself looks (`findings`): an assertion there would keep the engine from skipping ahead.
    """
    whole = all(variant[-1:].isalnum() and variant[-1] < _NO_SPACES for variant in _variants(phrase))
    return rf"(?:{phrase})(?![^\W_])" if whole else phrase


def lowered(phrase: str) -> str:
    """The phrase for a text in lower case: what is written in it, not what stands for classes or names."""
    return _ESCAPED.sub(lambda match: match[1] or match[0].lower(), phrase)


@cache
def _low_variants(phrase: str) -> tuple[str, ...]:
    return tuple(variant.lower() for variant in _variants(phrase))


@cache
def _variants(phrase: str) -> tuple[str, ...]:
    """The plain texts a phrase stands for, with marks where it is open."""
    found = [""]
    at = 0
    while at < len(phrase):
        pieces, at = _piece(phrase, at)
        pieces, at = _repeated(phrase, at, pieces)
        if len(found) * len(pieces) > VARIANTS_MAX:
            found, pieces = ([_ANY], pieces) if _shows_nothing(found) else (found, [_ANY])
        found = [before + piece for before in found for piece in pieces]
    return tuple(found)


def _shows_nothing(variants: list[str]) -> bool:
    return any(len(max(_GAP.split(variant), key=len)) < TEXT_MIN for variant in variants)


def _piece(phrase: str, at: int) -> tuple[list[str], int]:
    char = phrase[at]
    number = _NUMBER.match(phrase, at) if char in "[\\" else None
    if number is not None:
        return [_DIGITS], number.end()
    if char == "\\":
        after = phrase[at + 1]
        return [_ESCAPES.get(after) or (_ANY if after.isalnum() else after)], at + 2
    if char == "(":
        end = _group_end(phrase, at)
        return _group(phrase[at + 1 : end - 1]), end
    if char == "[":
        end = _class_end(phrase, at)
        return _class(phrase[at + 1 : end - 1]), end
    if char == ".":
        return [_ANY], at + 1
    run = _PLAIN.match(phrase, at)
    if run is not None:
        return [run[0]], run.end()
    return [_EDGE if char in "^$" else char], at + 1


def _group(inner: str) -> list[str]:
    if inner.startswith(("?=", "?!", "?<", "?i")):
        return [_ANY]
    body = inner[inner.index(">") + 1 :] if inner.startswith("?P<") else inner.removeprefix("?:")
    return [variant for side in _sides(body) for variant in _variants(side)]


def _class(inner: str) -> list[str]:
    if len(inner) > 4 or inner[0] == "^" or "\\" in inner or "-" in inner[1:-1]:
        return [_ANY]
    return sorted(set(inner))


def _repeated(phrase: str, at: int, pieces: list[str]) -> tuple[list[str], int]:
    char = phrase[at : at + 1]
    if char == "?":
        return [*pieces, ""], at + 1
    if char in ("*", "+"):
        return [_ANY], at + 1
    if char == "{":
        at = phrase.index("}", at) + 1
        return [_ANY], at + (phrase[at : at + 1] == "?")
    return pieces, at


def _sides(body: str) -> Iterator[str]:
    start = at = 0
    while at < len(body):
        char = body[at]
        if char == "|":
            yield body[start:at]
            start = at + 1
        at = _group_end(body, at) if char == "(" else _class_end(body, at) if char == "[" else at + 1 + (char == "\\")
    yield body[start:]


def _group_end(phrase: str, at: int) -> int:
    at += 1
    while phrase[at] != ")":
        char = phrase[at]
        at = (
            _group_end(phrase, at)
            if char == "("
            else _class_end(phrase, at)
            if char == "["
            else at + 1 + (char == "\\")
        )
    return at + 1


def _class_end(phrase: str, at: int) -> int:
    at += 2
    while phrase[at] != "]":
        at += 1 + (phrase[at] == "\\")
    return at + 1
