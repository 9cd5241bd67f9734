"""The two older text forms of a verdict: `ACTION: ...|DETAIL: ...` and `VERDICT=...` with its lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from medbay.core.model import TITLE_MAX
from medbay.core.triage.fields import PIECES_MAX, evidence, share, text
from medbay.core.triage.verdict import Action, Adjustment, Piece, Unreadable, Verdict, word_of
from medbay.core.untrusted import line

# How results were called before: read under their new names.
RENAMED: Final[Mapping[str, Action]] = {
    "triage_sdk_failed": "triage_failed",
    "triage_parse_failed": "verdict_unreadable",
    "escalated_to_tier3": "escalated_to_human",
}
_FAILED: Final = ("triage_failed", "verdict_unreadable")

_DIRECTIVE: Final = re.compile(
    r"^[ \t*`]*(?:ACTION:[ \t]*(?P<action>[\w-]+)[ \t]*(?:\|[ \t]*DETAIL:(?P<detail>.*))?|"
    r"VERDICT[ \t]*=[ \t]*(?P<verdict>[\w-]+).*)$",
    re.MULTILINE,
)
_LABEL: Final = re.compile(r"^[ \t*`]*(ROOT_CAUSE|EVIDENCE|ACTION_TAKEN|CONFIDENCE):", re.MULTILINE)
_ITEM: Final = re.compile(r"^[ \t]*(?:[-*•]|\(?\d{1,2}[.)])[ \t]+(.+)$", re.MULTILINE)
_LEAD: Final = re.compile(  # what is said before the parts are named
    r"^\s*split(?:ting)?\b(?:\s+\w+){0,3}?\s+(?:into|in)\b(?:\s+\w+\s+(?:parts|pieces|sub-?tasks|tasks)\b)?\s*:?\s*",
    re.IGNORECASE,
)
_INLINE_ITEM: Final = re.compile(r"(?:^|(?<=\s))\(?\d{1,2}[.)][ \t]+")


def read(said: str) -> Verdict | Unreadable | None:
    """The verdict of the last directive in a text; None when there is none."""
    found = list(_DIRECTIVE.finditer(said))
    if not found:
        return None
    last = found[-1]
    word = last["action"] or last["verdict"]
    failed = failed_as([word])
    if failed:
        return Unreadable(f"the agent says of itself: {failed}")
    if last["verdict"] is not None:
        before = found[-2].end() if len(found) > 1 else 0
        return _with_lines(word, said[before:])
    return _with_detail(word, f"{last['detail'] or ''}{said[last.end() :]}")


def failed_as(said: Iterable[str]) -> str:
    """The new name of a failure that an answer says of itself; empty when it says none."""
    known = (RENAMED.get(each.lower().replace("-", "_"), each.lower()) for each in said)
    return next((each for each in known if each in _FAILED), "")


def _with_detail(word: str, detail: str) -> Verdict | Unreadable:
    meant, why = word_of(word), text(detail)
    if meant == "ADJUST":
        return Verdict(word=meant, adjust=Adjustment(guidance=why))
    if meant == "SPLIT":
        listed = _listed(detail)
        if len(listed) < 2:
            return Unreadable("split without a list of parts")
        return Verdict(word=meant, parts=tuple(Piece(title=line(each, TITLE_MAX), description=each) for each in listed))
    if meant == "ESCALATE":
        return Verdict(word=meant, why=why)
    if meant is None:
        return Verdict(word="ESCALATE", why=why, orders=(f"verdict {line(word, 120)}",))
    return Unreadable(f"{meant} cannot be said as an ACTION with a DETAIL")


def _listed(detail: str) -> list[str]:
    """The parts in a detail: a list of lines, numbers or semicolons in one line, or `A, B and C`."""
    items = _ITEM.findall(detail)
    said = _LEAD.sub("", detail.strip().split("\n", 1)[0])
    ways = (
        items,
        _INLINE_ITEM.split(said)[1:],
        said.split(";"),
        [each for half in said.rsplit(" and ", 1)[:-1] for each in half.split(",")] + said.rsplit(" and ", 1)[1:],
    )
    found = ([each.strip(" \t,;.") for each in way] for way in ways)
    return next((parts for way in found if len(parts := [each for each in way if each]) > 1), [])[:PIECES_MAX]


def _with_lines(word: str, said: str) -> Verdict | Unreadable:
    labelled = _labelled(said)
    cause, done = text(labelled.get("ROOT_CAUSE")), text(labelled.get("ACTION_TAKEN"))
    shown = evidence(labelled.get("EVIDENCE"))
    meant = word_of(word)
    orders = () if meant is not None else (f"verdict {line(word, 120)}",)
    fixes: tuple[Piece, ...] = ()
    if meant == "FILE_FIX":
        if not cause:
            return Unreadable("FILE-FIX without a ROOT_CAUSE")
        fixes = (Piece(title=line(cause, TITLE_MAX), description="\n".join(part for part in (done, *shown) if part)),)
    if meant in ("ADJUST", "SPLIT"):
        return Unreadable(f"{meant} cannot be said as VERDICT={word}")
    return Verdict(
        word=meant or "ESCALATE",
        why=done or cause,
        root_cause=cause,
        evidence=shown,
        confidence=share(text(labelled.get("CONFIDENCE"))),
        fixes=fixes,
        unclear=(cause or done) if meant == "SPEC_REFRESH" else "",
        suggestion=(done or cause) if meant == "RECOMMEND_CONFIG" else "",
        orders=orders,
    )


def _labelled(said: str) -> dict[str, str]:
    """What stands behind each label up to the next one; the last of each counts."""
    marks = sorted([*_LABEL.finditer(said), *_DIRECTIVE.finditer(said)], key=lambda each: each.start())
    ends = [each.start() for each in marks[1:]] + [len(said)]
    return {mark[1]: said[mark.end() : end] for mark, end in zip(marks, ends, strict=True) if mark.re is _LABEL}
