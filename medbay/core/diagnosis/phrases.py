"""Words that a phrase cannot match without: what lets a search skip nearly all rules for nearly all lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

VARIANTS_MAX: Final = 48
_ANY: Final = "\x02"  # stands for text that a phrase leaves open
_EDGE: Final = "\x03"  # stands for what is no letter or digit
_PLAIN: Final = re.compile(r"(?:[\w \-:,;'\"/=!<>#@%&~`](?![?*+{]))+")  # each stands for itself
_GAP: Final = re.compile(f"[{_ANY}{_EDGE}]+")
NEEDLE_MIN: Final = 2
NEEDLES_MAX: Final = 16  # more are no cheaper to look for than the phrases
_WORD: Final = re.compile(rf"(?<![^\W_{_ANY}])(?<!{_ANY})[^\W_]+(?![^\W_])(?!{_ANY})")
_NO_SPACES: Final = "\u0e00"  # from here on scripts write words without spaces between them
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
    for variant in _variants(phrase):
        words = _WORD.findall(variant)
        if not words:
            return ()
        chosen.add(max(words, key=_rarity))
    return tuple(sorted(chosen))


def companions(phrases: tuple[str, ...], anchor: str) -> frozenset[str] | None:
    """Words of which every match that the anchor leads to holds at least one besides; None when it may stand alone.

    With an empty anchor: words of which every match holds at least one.
    """
    found: set[str] = set()
    for phrase in phrases:
        for variant in _variants(phrase):
            words = _WORD.findall(variant)
            if anchor and words and max(words, key=_rarity) != anchor:
                continue  # another word leads to this way of matching
            others = [word for word in words if word != anchor]
            if not others:
                return None
            found.add(max(others, key=_rarity))
    return frozenset(found)


def needles(phrases: tuple[str, ...]) -> tuple[str, ...]:
    """Texts in lower case of which every match holds at least one; nothing when a way to match shows none."""
    found: set[str] = set()
    for phrase in phrases:
        found |= {max(_GAP.split(variant), key=len) for variant in _variants(phrase)}
    shortest = [one for one in found if not any(other in one for other in found if other != one)]
    return tuple(sorted(shortest)) if min(map(len, shortest)) >= NEEDLE_MIN and len(shortest) <= NEEDLES_MAX else ()


def _rarity(word: str) -> tuple[bool, int, str]:
    return (word not in _COMMON, len(word), word)


def bounded(phrase: str) -> str:
    """The phrase held to a whole word at its end where it ends with a letter or digit.

    At its start the search itself looks (`findings`): an assertion there would keep the engine from skipping ahead.
    """
    whole = all(variant[-1:].isalnum() for variant in _variants(phrase))
    return rf"(?:{phrase})(?![^\W_])" if whole else phrase


def lowered(phrase: str) -> str:
    """The phrase for a text in lower case: what is written in it, not what stands for classes or names."""
    return _ESCAPED.sub(lambda match: match[1] or match[0].lower(), phrase)


@cache
def _variants(phrase: str) -> tuple[str, ...]:
    """The plain texts a phrase stands for, in lower case, with marks where it is open."""
    found = [""]
    at = 0
    while at < len(phrase):
        pieces, at = _piece(phrase, at)
        pieces, at = _repeated(phrase, at, pieces)
        if len(found) * len(pieces) > VARIANTS_MAX:
            pieces = [_ANY]
        found = [before + piece for before in found for piece in pieces]
    return tuple(variant.lower() for variant in found)


def _piece(phrase: str, at: int) -> tuple[list[str], int]:
    char = phrase[at]
    if char == "\\":
        after = phrase[at + 1]
        return [_EDGE if after in "bsn" else _ANY if after.isalnum() else after], at + 2
    if char == "(":
        end = _group_end(phrase, at)
        return _group(phrase[at + 1 : end - 1]), end
    if char == "[":
        end = _class_end(phrase, at)
        return _class(phrase[at + 1 : end - 1]), end
    if char == ".":
        return [_ANY], at + 1
    run = _PLAIN.match(phrase, at)
    if run is not None and (run[0].isascii() or max(run[0]) < _NO_SPACES):
        return [run[0]], run.end()
    return [_EDGE if char in "^$" else _ANY if char >= _NO_SPACES and char.isalnum() else char], at + 1


def _group(inner: str) -> list[str]:
    if inner.startswith(("?=", "?!", "?<")):
        return [_ANY]
    body = inner[inner.index(">") + 1 :] if inner.startswith("?P<") else inner.removeprefix("?:")
    return [variant for side in _sides(body) for variant in _variants(side)]


def _class(inner: str) -> list[str]:
    if len(inner) > 4 or inner[0] == "^" or "\\" in inner or "-" in inner[1:-1]:
        return [_ANY]
    return sorted({char if char.isalnum() else _EDGE for char in inner})


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
