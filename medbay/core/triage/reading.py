"""What an agent printed becomes a verdict, or it is said what was wrong with it. Any text may come; nothing is guessed.

What no verdict can carry (other words, commands, other tasks) is kept by name, so that it is refused and recorded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Any, Final, TypeVar, cast

from medbay.core.redaction import redact
from medbay.core.triage import older
from medbay.core.triage.fields import (
    ORDERS_MAX,
    Bad,
    adjustment,
    count,
    evidence,
    names,
    pieces,
    share,
    text,
    unasked,
)
from medbay.core.triage.verdict import Adjustment, Piece, Unreadable, Verdict, Word, word_of
from medbay.core.untrusted import decoder, line

ANSWER_MAX: Final = 256 * 1024
TRIES_MAX: Final = 200  # how many places of a text are tried for an object
SHOWN_MAX: Final = 120

_FENCE: Final = re.compile(r"```[\w-]*[ \t]*\r?\n(.*?)```", re.DOTALL)
_WORD: Final = re.compile(r"[A-Za-z]\w{0,39}(?:[ -]\w{1,39}){0,2}")
_ADJUST_KEYS: Final = frozenset(
    "guidance timeout model profile fresh_session retry_delay keep_criteria endpoint".split()
)
_KNOWN: Final = _ADJUST_KEYS | frozenset(
    """
    verdict action why reason root_cause cause evidence confidence adjust adjustment change parts subtasks sub_tasks
    sub_issues fix fixes fix_task unclear suggestion look_at task task_id issue issue_id attempt usage title description
    """.split()
)


def read(answer: str) -> Verdict | Unreadable:
    """The verdict in an answer: JSON (all of it, in a fence, or the last object in it) or one of two older forms."""
    if len(answer) > ANSWER_MAX:
        return Unreadable(f"the answer is longer than {ANSWER_MAX // 1024} KB")
    said = answer.strip()
    if not said:
        return Unreadable("the answer is empty")
    try:
        return _redacted(_read(said))
    except Bad as error:
        return Unreadable(redact(str(error)))


_T = TypeVar("_T")


def _redacted(value: _T) -> _T:
    """The same without secrets in any of its texts: a verdict is stored, shown and sent."""
    made: Any = value
    if isinstance(value, str):
        made = redact(value)
    elif isinstance(value, tuple):
        made = tuple(map(_redacted, value))
    elif isinstance(value, Verdict | Unreadable | Adjustment | Piece):
        made = replace(value, **{each.name: _redacted(getattr(value, each.name)) for each in fields(value)})
    return cast(_T, made)


def _read(said: str) -> Verdict | Unreadable:
    whole = _decoded(said)
    if whole is not None:
        return _from(whole)
    fenced = [value for value in map(_decoded, _FENCE.findall(said)) if value is not None]
    meant = _last_verdict(fenced)
    told = older.read(said) if meant is None else None
    if told is not None:
        return told
    found = [*fenced, *_inside(said)]
    if not found:
        return Unreadable(f'the answer is no verdict: "{line(said, SHOWN_MAX)}"')
    meant = meant or _last_verdict(found) or found[-1]
    return _warned(_from(meant), meant, found)


def _warned(
    read_: Verdict | Unreadable, meant: _Object | list[Any], found: list[_Object | list[Any]]
) -> Verdict | Unreadable:
    """One of several verdicts in an answer counts; that there were others is not lost."""
    others = [each for each in found if isinstance(each, _Object) and _words(each) and each != meant]
    if isinstance(read_, Unreadable) or not others:
        return read_
    words = dict.fromkeys(word for each in others for word in _words(each))
    return replace(read_, warning=f"the answer holds other verdicts as well: {', '.join(list(words)[:ORDERS_MAX])}")


class _Object(dict[str, Any]):
    """A JSON object with its keys in one spelling; what it says twice, and differently, is not lost."""

    twice: tuple[str, ...] = ()


def _object(pairs: list[tuple[str, Any]]) -> _Object:
    made, twice = _Object(), []
    for key, value in pairs:
        name = spelled(key)
        if name in made and made[name] != value:
            twice.append(name)
        made[name] = value
        twice += _twice_inside(name, value)
    made.twice = tuple(dict.fromkeys(twice))[:ORDERS_MAX]
    return made


def _twice_inside(name: str, value: Any) -> list[str]:
    """What the objects below a key say twice."""
    objects = value if isinstance(value, list) else [value]
    return [line(f"{name} {each}", SHOWN_MAX) for one in objects if isinstance(one, _Object) for each in one.twice]


def spelled(key: str) -> str:
    """`rootCause`, `Root-Cause` and `root cause` are one name."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key.strip()[:SHOWN_MAX])
    return re.sub(r"[\s-]+", "_", parted).lower()


_DECODER: Final = decoder(object_pairs_hook=_object, parse_constant=float)


def _decoded(said: str) -> _Object | list[Any] | None:
    """The object or list that the whole of a text is."""
    try:
        value = _DECODER.decode(said.strip())
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, _Object | list) else None


def _inside(said: str) -> list[_Object]:
    """The objects that stand in a text one after the other; not tried at every brace of a hostile one."""
    found: list[_Object] = []
    at = said.find("{")
    for _ in range(TRIES_MAX):
        if at < 0:
            break
        try:
            value, end = _DECODER.raw_decode(said, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            found.append(value)
        at = said.find("{", end)
    return found


def _last_verdict(found: Iterable[_Object | list[Any]]) -> _Object | list[Any] | None:
    """The last of several that names a verdict."""
    named = [each for each in found if isinstance(each, _Object) and _words(each)]
    return named[-1] if named else None


def _from(value: _Object | list[Any]) -> Verdict | Unreadable:
    """The verdict that a decoded answer is; a list of several is kept to be refused."""
    if isinstance(value, _Object):
        return _verdict(value)
    objects = [each for each in value if isinstance(each, _Object)]
    if not objects:
        return Unreadable("the answer is a list, not a verdict")
    if len(value) == 1:
        return _verdict(objects[0])
    words = dict.fromkeys(word for each in objects for word in _words(each))
    return _refusable([f"several verdicts: {', '.join(words)}" if words else f"{len(value)} things at once"])


def _words(value: _Object) -> list[str]:
    """What it says as its verdict, as it is spelled there; nothing that is not a word or two."""
    said: list[Any] = []
    for key in ("verdict", "action", "verdicts"):
        given = value.get(key)
        said += given if isinstance(given, list) else [given]
    return list(dict.fromkeys(each.strip() for each in said if isinstance(each, str) and _WORD.fullmatch(each.strip())))


def _refusable(orders: list[str], **fields: Any) -> Verdict:
    """What can be read well enough to be refused."""
    return Verdict(word="ESCALATE", orders=tuple(dict.fromkeys(orders))[:ORDERS_MAX], **fields)


def _verdict(value: _Object) -> Verdict | Unreadable:
    said = _words(value)
    words = list(dict.fromkeys(word for each in said if (word := word_of(each)) is not None))
    orders = [f"verdict {each}" for each in said if word_of(each) is None]
    if len(words) > 1:
        orders.append(f"several verdicts: {', '.join(words)}")
    orders += [f"{name} said twice" for name in value.twice]
    orders += unasked(value, _KNOWN | {"verdicts"})
    if not said and not orders:
        return Unreadable("the answer names no verdict")
    failed = older.failed_as(said)
    if failed:
        return Unreadable(f"the agent says of itself: {failed}")
    if not words:
        return _refusable(orders, why=_why(value), task_id=_task(value, orders))
    return _filled(words[0], value, orders)


def _why(value: _Object) -> str:
    return text(value.get("why") or value.get("reason"))


def _filled(word: Word, value: _Object, orders: list[str]) -> Verdict:
    fixes, cause = _fixes(word, value, orders)
    root_cause = text(value.get("root_cause") or value.get("cause")) or cause
    why = _why(value)
    if word == "FILE_FIX" and not fixes:
        fixes = (_fix_of(value, root_cause, why),)
    task_id = _task(value, orders)
    return Verdict(
        word=word,
        why=why,
        root_cause=root_cause,
        evidence=evidence(value.get("evidence")),
        confidence=share(value.get("confidence")),
        adjust=_adjust(word, value, orders),
        parts=_parts(word, value, orders),
        fixes=fixes,
        unclear=_needed(word, "SPEC_REFRESH", text(value.get("unclear")) or why or root_cause, "what is unclear"),
        suggestion=_needed(word, "RECOMMEND_CONFIG", text(value.get("suggestion")) or why, "a suggestion"),
        look_at=text(value.get("look_at")),
        task_id=task_id,
        attempt=count(value.get("attempt")),
        orders=tuple(dict.fromkeys(orders))[:ORDERS_MAX],
    )


def _needed(word: Word, of: Word, said: str, what: str) -> str:
    """What this one verdict has to carry; of the others nothing."""
    if word != of:
        return ""
    if not said:
        raise Bad(f"{word} without {what}")
    return said


def _adjust(word: Word, value: _Object, orders: list[str]) -> Any:
    given = next((value[key] for key in ("adjust", "adjustment", "change") if value.get(key)), None)
    if given is None and word == "ADJUST":
        given = {key: value[key] for key in _ADJUST_KEYS if key in value}
    if isinstance(given, str):
        given = {"guidance": given}
    if given is not None and not isinstance(given, dict):
        raise Bad("adjust is no object")
    if given is None:
        return None
    orders += [f"adjust {name}" for name in names(given, but=_ADJUST_KEYS)]
    return adjustment(given)


def _parts(word: Word, value: _Object, orders: list[str]) -> tuple[Piece, ...]:
    given = next((value[key] for key in ("parts", "subtasks", "sub_tasks", "sub_issues") if key in value), None)
    if given is None and word == "SPLIT":
        raise Bad("SPLIT without parts")
    return pieces("parts", given, orders)


def _fixes(word: Word, value: _Object, orders: list[str]) -> tuple[tuple[Piece, ...], str]:
    """The fixes it names, and the root cause that the first of them names."""
    found: list[Piece] = []
    cause = ""
    for key in ("fix", "fixes", "fix_task"):
        given = value.get(key)
        found += pieces(key, given, orders)
        if isinstance(given, dict):
            cause = cause or text(given.get("root_cause"))
    return tuple(found), cause


def _fix_of(value: _Object, root_cause: str, why: str) -> Piece:
    """A fix without an object of its own: the verdict's own title, or its root cause."""
    title = text(value.get("title")) or root_cause
    if not title:
        raise Bad("FILE_FIX without a fix: no title and no root cause")
    return Piece(title=line(title, SHOWN_MAX * 2), description=text(value.get("description")) or why)


def _task(value: _Object, orders: list[str]) -> str:
    """Whom it names: one task, and only by its id."""
    named: list[str] = []
    for key in ("task", "task_id", "issue", "issue_id"):
        given = value.get(key)
        for each in given if isinstance(given, list) else [given]:
            named.append(text(each.get("id") if isinstance(each, dict) else each, SHOWN_MAX))
    said = list(dict.fromkeys(each for each in named if each))
    if len(said) > 1:
        orders.append(f"several tasks: {', '.join(said[:ORDERS_MAX])}")
    return said[0] if said else ""
