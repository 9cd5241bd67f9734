"""The fields of a verdict, each read from whatever an answer holds there: bounded, printable, or said to be wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from medbay.core.durations import DURATION_FORMS, MAX_DURATION_MS, parse_duration
from medbay.core.model import TITLE_MAX
from medbay.core.triage.verdict import Adjustment, Piece
from medbay.core.untrusted import block, line, number
from medbay.errors import UsageError

TEXT_MAX: Final = 2_000
DESCRIPTION_MAX: Final = 8_000
NAME_MAX: Final = 120
EVIDENCE_LINES: Final = 20
EVIDENCE_MAX: Final = 500
PIECES_MAX: Final = 50  # kept to be refused; ten are allowed
CRITERIA_MAX: Final = 50
ORDERS_MAX: Final = 20
COUNT_MAX: Final = 10**12

_PIECE_KEYS: Final = frozenset("title name summary description detail details body root_cause why evidence".split())

# What a key says that wants something done; a verdict has no place for any of it.
_ORDERING: Final = frozenset(
    """
    command commands cmd exec execute run shell script sql patch write tool tools call calls spawn
    status close closed complete completed done finish finished resolve resolved success succeeded rescue
    delete remove drop kill cancel stop restart tasks ids target targets others also actions verdicts orders
    triage triages retriage create add schedule cron set update updates edit edits change changes
    apply env cwd runner tags priority queue depends dependencies after unblock block release answer approve grant
    budget policy config settings disable enable pause resume retry reset skip merge push deploy
    """.split()
)


class Bad(ValueError):
    """A field that cannot be read, and why."""


def text(value: Any, limit: int = TEXT_MAX) -> str:
    """Words, of a text, a number or a list of them; nothing for anything else."""
    if isinstance(value, str):
        return block(value, limit)
    if isinstance(value, list):
        return block("\n".join(text(each, limit) for each in value[:EVIDENCE_LINES] if isinstance(each, str)), limit)
    return str(value)[:NAME_MAX] if isinstance(value, int | float) and not isinstance(value, bool) else ""


def evidence(value: Any) -> tuple[str, ...]:
    """Quoted lines: a list of them, or a text with several."""
    given = value.split("\n") if isinstance(value, str) else value if isinstance(value, list) else []
    said = (line(each, EVIDENCE_MAX) for each in map(_quoted, given[: EVIDENCE_LINES * 10]))
    return tuple(each for each in said if each)[:EVIDENCE_LINES]


def _quoted(value: Any) -> str:
    if isinstance(value, dict):
        value = next((value[key] for key in ("line", "quote", "text", "excerpt") if key in value), "")
    return value if isinstance(value, str) else ""


def share(value: Any) -> float | None:
    """A confidence: between 0 and 1, or none at all."""
    found = number(value)
    return found if found is not None and 0.0 <= found <= 1.0 else None


def count(value: Any) -> int | None:
    """A whole number that makes sense, or none."""
    found = number(value)
    return int(found) if found is not None and 0 <= found <= COUNT_MAX else None


def duration_ms(name: str, value: Any) -> int | None:
    """A duration as people write it, or a number of seconds; None when there is none."""
    if value is None or value == "":
        return None
    seconds = number(value)
    try:
        found = parse_duration(value.strip().lower()) if seconds is None and isinstance(value, str) else None
    except UsageError:
        found = None
    if seconds is not None and 0 <= seconds * 1000 <= MAX_DURATION_MS:
        found = round(seconds * 1000)
    if found is None:
        raise Bad(f"{name} is no duration: write it like {DURATION_FORMS}, or in seconds")
    return found


def adjustment(given: Mapping[str, Any]) -> Adjustment:
    """What ADJUST wants changed."""
    kept = given.get("keep_criteria")
    return Adjustment(
        guidance=text(given.get("guidance")),
        timeout_ms=duration_ms("adjust timeout", given.get("timeout")),
        model=line(text(given.get("model"), NAME_MAX), NAME_MAX),
        profile=line(text(given.get("profile") or given.get("endpoint"), NAME_MAX), NAME_MAX),
        fresh_session=_flag("adjust fresh_session", given.get("fresh_session")),
        retry_delay_ms=duration_ms("adjust retry_delay", given.get("retry_delay")),
        keep_criteria=_criteria(kept) if kept is not None else None,
    )


def _criteria(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise Bad("adjust keep_criteria is no list")
    return tuple(line(text(each), TEXT_MAX) for each in value[:CRITERIA_MAX])


def _flag(name: str, value: Any) -> bool:
    said = value.strip().lower() if isinstance(value, str) else value
    if said in (True, "true", "yes"):
        return True
    if said in (None, False, "", "false", "no"):
        return False
    raise Bad(f"{name} is neither true nor false")


def pieces(name: str, given: Any, orders: list[str]) -> tuple[Piece, ...]:
    """The tasks it wants made: objects with a title and a description, or titles alone."""
    if given is None or given == "":
        return ()
    listed = given if isinstance(given, list) else [given]
    return tuple(_piece(name, each, orders) for each in listed[:PIECES_MAX])


def _piece(name: str, given: Any, orders: list[str]) -> Piece:
    if isinstance(given, str):
        given = {"title": given}
    if not isinstance(given, dict):
        raise Bad(f"{name} holds something that is no task")
    orders += [f"{name} {each}" for each in unasked(given, _PIECE_KEYS)]
    said = [text(given[key], DESCRIPTION_MAX) for key in ("description", "detail", "details", "body") if key in given]
    described = next((each for each in said if each), "")
    title = next((text(given[key]) for key in ("title", "name", "summary") if given.get(key)), "") or described
    if not title:
        raise Bad(f"{name} has a task without a title")
    return Piece(title=line(title, TITLE_MAX), description=described)


def unasked(given: Mapping[str, Any], known: Iterable[str]) -> list[str]:
    """The keys that want something done which no verdict can do."""
    return [name for name in names(given, but=known) if not _ORDERING.isdisjoint(re.split(r"[^a-z]+", name))]


def names(given: Mapping[str, Any], *, but: Iterable[str]) -> list[str]:
    """The keys beyond those that are known, where they hold something."""
    known = frozenset(but)
    found = (line(key, NAME_MAX) for key, value in given.items() if key not in known and value not in _NOTHING)
    return list(found)[:ORDERS_MAX]


_NOTHING: Final[tuple[Any, ...]] = (None, "", False, [], {}, 0)
