"""The intake agent that is always there: it groups captures that share words and writes plain candidates.

What it answers depends on the captures alone, never on their order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from medbay.core.intake.prompt import captures_in
from medbay.core.untrusted import line

ALIKE: Final = 0.5  # the share of the shorter one's words that two captures have in common
SHARED_MIN: Final = 2  # words, unless one of them has fewer than three
ALONE: Final = 0.5  # how sure it is of a candidate from one capture
SEVERAL: Final = 0.6
TITLE_MAX: Final = 120
CRITERION_MAX: Final = 400
_WORD: Final = re.compile(r"[^\W_]{2,}")
_ENDINGS: Final = ("ing", "ed", "es", "s")
_STOP: Final = frozenset(
    """
    a about after again all also always am an and any are as at be because been before but by can cannot could did do
    does doesn don for from get gets had has have he her here him his how if in into is it its just like me more most
    my need needs no not now of off on only or other our out over please she should so some sometimes still such than
    that the their them then there these they this those to too up us very want was we were what when where which
    while who why will with would you your
    """.split()
)


def answer(prompt: str) -> dict[str, Any]:
    """The bundle for a prompt."""
    captures = sorted(captures_in(prompt), key=lambda each: (str(each["text"]), str(each["id"])))
    groups = _groups([_words(str(each["text"])) for each in captures])
    content = [_candidate([captures[at] for at in group]) for group in groups]
    ids = sorted(str(each["id"]) for each in captures)
    many = "1 candidate" if len(content) == 1 else f"{len(content)} candidates"
    return {
        "title": f"{many} from {len(ids)} capture{'' if len(ids) == 1 else 's'}",
        "metadata": {"capture_ids": ids, "suggested_target": "task"},
        "content": content,
        "notes": {"confidence": ALONE, "ambiguities": []},
    }


def _words(text: str) -> frozenset[str]:
    return frozenset(_stem(each) for each in _WORD.findall(text.casefold()) if each not in _STOP)


def _stem(word: str) -> str:
    """The word without a common ending, so that `logins` and `login` are the same."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


def _alike(one: frozenset[str], two: frozenset[str]) -> bool:
    shorter, shared = min(len(one), len(two)), len(one & two)
    return bool(shorter) and shared >= min(SHARED_MIN, shorter) and shared / shorter >= ALIKE


def _groups(words: Sequence[frozenset[str]]) -> list[list[int]]:
    """What is alike by way of others belongs together."""
    group = list(range(len(words)))
    for one in range(len(words)):
        for two in range(one):
            if group[one] != group[two] and _alike(words[one], words[two]):
                old, new = max(group[one], group[two]), min(group[one], group[two])
                group = [new if each == old else each for each in group]
    return [[at for at, each in enumerate(group) if each == first] for first in sorted(set(group))]


def _candidate(captures: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    texts = list(dict.fromkeys(str(each["text"]).strip() for each in captures))
    main = min(texts, key=lambda each: (-len(_words(each)), each))
    return {
        "title": line(main, TITLE_MAX),
        "description": "\n\n".join(texts)[:20_000],
        "acceptance_criteria": [f"This is resolved: {line(each, CRITERION_MAX)}" for each in texts[:50]],
        "captures": sorted(str(each["id"]) for each in captures),
        "confidence": ALONE if len(captures) == 1 else SEVERAL,
    }
