"""The kinds of value a setting may have: what is accepted, how a refusal is worded, how a value is shown."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, tzinfo
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from medbay.core.agent import CUSTOM, PLACEHOLDERS, PROMPT_FILE, unknown_placeholder
from medbay.core.budget import MILLION
from medbay.core.delivery import shown_url
from medbay.core.durations import MAX_DURATION_MS, parse_duration, write_duration
from medbay.core.events import EVENT_NAMES, exists
from medbay.core.redaction import own_pattern
from medbay.errors import UsageError

_MONEY_MAX = 1_000_000_000
_NUMBER_SHOWN_MAX = 10**18
_TEXT_SHOWN_MAX = 60
_INTEGER = re.compile(r"-?[0-9]{1,18}")
_DECIMAL = re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,18})?")

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]{0,30}://[^\s\x00-\x1f\x7f]{1,4000}")
_CLOCK = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])")
_HOURS = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])-([01][0-9]|2[0-3]):([0-5][0-9])")


class Wrong(ValueError):
    """A value was refused: which entry of a list, and what to do if that is not obvious."""

    def __init__(self, *, entry: int | None = None, hint: str = "") -> None:
        super().__init__(hint)
        self.entry = entry
        self.hint = hint


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """How a value is read; `says` completes "must be ..."."""

    says: str
    read: Callable[[object], object]
    entry_says: str = ""
    from_text: Callable[[str], object] | None = None  # without it a variable cannot set the value
    show: Callable[[object], str] = lambda raw: shown(raw)
    write: Callable[[Any], object] = lambda value: list(value) if isinstance(value, tuple) else value  # undoes `read`
    suffix: str = ""  # of the field that holds the value: its unit


def whole(low: int, high: int) -> Kind:
    """A whole number between two bounds."""

    def read(raw: object) -> int:
        if isinstance(raw, bool) or not isinstance(raw, int) or not low <= raw <= high:
            raise Wrong
        return raw

    def from_text(text: str) -> object:
        return int(text) if _INTEGER.fullmatch(text) else text

    return Kind(says=f"a whole number from {low} to {high}", read=read, from_text=from_text)


def share() -> Kind:
    """A part of the whole: above 0, at most 1."""

    def read(raw: object) -> float:
        if isinstance(raw, bool) or not isinstance(raw, int | float) or not 0 < raw <= 1:
            raise Wrong
        return float(raw)

    return Kind(says="a number above 0 and at most 1", read=read, from_text=_decimal)


def _decimal(text: str) -> object:
    return float(text) if _DECIMAL.fullmatch(text) else text


def factor(low: float, high: float) -> Kind:
    """A number between two bounds."""

    def read(raw: object) -> float:
        if isinstance(raw, bool) or not isinstance(raw, int | float) or not low <= raw <= high:
            raise Wrong
        return float(raw)

    return Kind(says=f"a number from {low:g} to {high:g}", read=read, from_text=_decimal)


def duration(*, low_ms: int = 0) -> Kind:
    """A time span, kept as milliseconds."""
    says = _says_duration(low_ms)

    def read(raw: object) -> int:
        found = _milliseconds(raw)
        if found < low_ms:
            raise Wrong
        return found

    return Kind(says=says, read=read, from_text=str, write=write_duration, suffix="_ms")


def durations() -> Kind:
    """A list of time spans, kept as milliseconds."""

    def read(raw: object) -> tuple[int, ...]:
        if not isinstance(raw, list | tuple) or not raw:
            raise Wrong
        return tuple([_milliseconds(entry, at) for at, entry in enumerate(raw)])

    return Kind(
        says='a list of one or more durations like ["30s", "2m"]',
        entry_says=_says_duration(0),
        read=read,
        write=lambda found: [write_duration(each_ms) for each_ms in found],
        suffix="_ms",
    )


def text() -> Kind:
    """A word or a line."""

    def read(raw: object) -> str:
        if not isinstance(raw, str):
            raise Wrong
        return raw

    return Kind(says="a text", read=read, from_text=lambda text: text)


def shell() -> Kind:
    """A shell: one name, or words that can be split as a command line."""

    def read(raw: object) -> object:
        try:
            words = shlex.split(raw) if isinstance(raw, str) else []
        except ValueError:
            words = []
        if not words:
            raise Wrong(hint='write "bash", or "bash -eu -c"')
        return raw

    return Kind(says="a shell", read=read)


def texts() -> Kind:
    """A list of texts."""

    return Kind(says='a list of texts like ["A", "B_*"]', entry_says="a text that is not empty", read=_words)


def command_words() -> Kind:
    """The words a program is started with, without a shell."""

    def read(raw: object) -> tuple[str, ...]:
        words = _words(raw)
        if not words:
            raise Wrong
        return words

    says = 'a list of one or more words like ["./notify.sh", "urgent"]'
    return Kind(says=says, entry_says="a text that is not empty", read=read)


def channel_url() -> Kind:
    """The address of a channel. Only its scheme and host are ever shown."""
    hint = 'for example "smtp://mail.example.org/?to=you@example.org" or "https://example.org/hook"'

    def read(raw: object) -> str:
        if not isinstance(raw, str) or not _ADDRESS.fullmatch(raw):
            raise Wrong(hint=hint)
        if raw.startswith(("smtp://", "smtps://")) and not re.search(r"[?&]to=[^&]*@", raw):
            raise Wrong(hint="it needs ?to=you@example.org")
        return raw

    def show(raw: object) -> str:
        return shown(shown_url(raw)) if isinstance(raw, str) else shown(raw)

    return Kind(says="an address", read=read, show=show)


def variable() -> Kind:
    """The name of a variable of the environment."""

    def read(raw: object) -> str:
        if not isinstance(raw, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,99}", raw):
            raise Wrong
        return raw

    return Kind(says='the name of a variable like "NTFY_URL"', read=read)


def quiet_hours() -> Kind:
    """From when to when nothing is sent, kept as minutes of the day."""

    def read(raw: object) -> tuple[int, int]:
        found = _HOURS.fullmatch(raw) if isinstance(raw, str) else None
        begins, ends = (int(found[at]) * 60 + int(found[at + 1]) for at in (1, 3)) if found else (0, 0)
        if begins == ends:
            raise Wrong
        return begins, ends

    return Kind(says='hours like "22:00-07:00"', read=read)


def time_of_day() -> Kind:
    """A time on the clock, kept as minutes of the day."""

    def read(raw: object) -> int:
        found = _CLOCK.fullmatch(raw) if isinstance(raw, str) else None
        if found is None:
            raise Wrong
        return int(found[1]) * 60 + int(found[2])

    def write(value: object) -> object:
        return f"{value // 60:02}:{value % 60:02}" if isinstance(value, int) else value

    return Kind(says='a time like "08:00"', read=read, write=write)


def event_names() -> Kind:
    """A list of events."""

    def read(raw: object) -> tuple[str, ...]:
        names = _words(raw)
        for at, name in enumerate(names):
            if not exists(name):
                near = get_close_matches(name[:100], sorted(EVENT_NAMES), n=1)
                raise Wrong(entry=at, hint=f"did you mean {shown(near[0])}?" if near else "docs/reference/events.md")
        return names

    return Kind(says='a list of events like ["question:asked"]', entry_says="the name of an event", read=read)


def agent_command() -> Kind:
    """The words an agent is started with; where its prompt stands has to be among them."""

    def read(raw: object) -> tuple[str, ...]:
        words = _words(raw)
        for at, word in enumerate(words):
            if unknown := unknown_placeholder(word):
                raise Wrong(entry=at, hint=f"{unknown} means nothing here")
        if not any(PROMPT_FILE in word for word in words):
            raise Wrong(hint=f"{PROMPT_FILE} stands for the file its prompt is in")
        return words

    return Kind(
        says=f"a list of words with {PROMPT_FILE} among them",
        entry_says=f"a text that is not empty, with no placeholders but {' and '.join(PLACEHOLDERS)}",
        read=read,
    )


@cache
def preset_names() -> tuple[str, ...]:
    """The agents that are known by name: each is a file of the package, which nothing here loads."""
    folder = Path(__file__).parents[1] / "runners" / "agent" / "profiles"
    return tuple(sorted(each.stem for each in folder.glob("[a-z]*.py")))


def preset() -> Kind:
    """An agent that is known by name."""

    def read(raw: object) -> str:
        if not isinstance(raw, str) or raw not in preset_names() or raw == CUSTOM:
            raise Wrong
        return raw

    says = " or ".join(shown(each) for each in preset_names() if each != CUSTOM)
    return Kind(says=says, read=read)


def account() -> Kind:
    """A provider, or one account of it."""

    def read(raw: object) -> str:
        if not isinstance(raw, str) or (raw and not re.fullmatch(r"[^\s/]{1,100}(/[^\s/]{1,100})?", raw)):
            raise Wrong
        return raw

    return Kind(says="a provider like NAME or NAME/ACCOUNT", read=read)


def evaluator() -> Kind:
    """What evaluates failed attempts: a command line, or nothing."""

    def read(raw: object) -> str | bool | None:
        if raw is True:
            return True
        if raw is False:
            return None
        if not isinstance(raw, str) or not raw.strip() or "\0" in raw:
            raise Wrong
        return raw

    return Kind(says="false, true (the agent of triage) or a command line", read=read, write=lambda line: line or False)


def money() -> Kind:
    """An amount of money, read as millionths."""

    def read(raw: object) -> int:
        if isinstance(raw, bool) or not isinstance(raw, int | float) or not 0 < raw <= _MONEY_MAX:
            raise Wrong
        return round(raw * MILLION)

    return Kind(says="an amount of money above 0, like 0.5 or 20", read=read, write=lambda cost: cost / MILLION)


def zone() -> Kind:
    """A time zone."""

    def read(raw: object) -> tzinfo:
        if not isinstance(raw, str):
            raise Wrong
        if raw == "UTC":
            return UTC
        from zoneinfo import ZoneInfo

        try:
            return ZoneInfo(raw)
        except (KeyError, ValueError, OSError):
            raise Wrong(hint='for example "Europe/Berlin"') from None

    return Kind(says='a time zone like "UTC" or "Europe/Berlin"', read=read, write=str)


def patterns() -> Kind:
    """A list of regular expressions."""

    def read(raw: object) -> tuple[re.Pattern[str], ...]:
        if not isinstance(raw, list | tuple):
            raise Wrong
        found = []
        for at, entry in enumerate(raw):
            try:
                found.append(own_pattern(str(entry)))
            except ValueError as error:
                raise Wrong(entry=at, hint=f"it {error}") from None
        return tuple(found)

    says = 'a list of regular expressions like ["ACME-[0-9]+"]'
    return Kind(says=says, entry_says="a regular expression that can be used", read=read)


def choice(*words: str, later: tuple[str, ...] = ()) -> Kind:
    """One of some words; `later` are known but not built yet."""

    def read(raw: object) -> str:
        if not isinstance(raw, str) or raw not in words:
            raise Wrong(hint=f"{shown(raw)} is not available in this version" if raw in later else "")
        return raw

    return Kind(says=" or ".join(shown(word) for word in words), read=read, from_text=str)


def switch() -> Kind:
    """On or off."""

    def read(raw: object) -> bool:
        if not isinstance(raw, bool):
            raise Wrong
        return raw

    def from_text(text: str) -> object:
        return {"true": True, "false": False}.get(text, text)

    return Kind(says="true or false", read=read, from_text=from_text)


def address() -> Kind:
    """What a server listens on: an address or a name of this machine."""
    form = re.compile(r"[0-9A-Za-z.:_-]{1,253}")

    def read(raw: object) -> str:
        if not isinstance(raw, str) or not form.fullmatch(raw):
            raise Wrong
        return raw

    return Kind(says='an address like "127.0.0.1" or "0.0.0.0"', read=read, from_text=str)


def token() -> Kind:
    """What opens a door: made for us, or chosen by a person. It is never shown."""
    form = re.compile(r"auto|[!-~]{16,200}")

    def read(raw: object) -> str:
        if not isinstance(raw, str) or not form.fullmatch(raw):
            raise Wrong
        return raw

    says = '"auto" or a token of 16 and more characters without blanks'
    return Kind(says=says, read=read, from_text=str, show=lambda raw: shown(raw if raw == "auto" else "***"))


def store_url() -> Kind:
    """The address of a store. A password in it is never shown."""
    scheme = re.compile(r"(sqlite|postgresql|postgres)://\S*")

    def read(raw: object) -> str:
        if not isinstance(raw, str) or not scheme.fullmatch(raw):
            raise Wrong
        return raw

    says = 'an address like "sqlite:///.medbay/medbay.db" or "postgresql://host/name"'
    return Kind(says=says, read=read, from_text=str, show=lambda raw: shown(without_password(str(raw))))


def without_password(url: str) -> str:
    """The address with `***` where its password is."""
    hidden = re.sub(r"(://[^/?#\s:]*):.*@", r"\1:***@", url)
    return re.sub(r"(?i)\b(password=)[^&\s]+", r"\1***", hidden)


def shown(raw: object) -> str:
    """A value as it would stand in the file, short, on one line, without control characters."""
    match raw:
        case str():
            cut = raw if len(raw) <= _TEXT_SHOWN_MAX else raw[: _TEXT_SHOWN_MAX - 1] + "…"
            return json.dumps(cut, ensure_ascii=not cut.isprintable())
        case bool():
            return "true" if raw else "false"
        case int():
            return str(raw) if abs(raw) < _NUMBER_SHOWN_MAX else "a number that large"
        case float():
            return str(raw)
        case dict():
            return "a table"
        case list() | tuple():
            flat = all(isinstance(entry, str | int | float) for entry in raw)
            text = f"[{', '.join(map(shown, raw[:_TEXT_SHOWN_MAX]))}]" if flat else "a nested list"
            return text if len(text) <= 4 * _TEXT_SHOWN_MAX else "a list that long"
    return "a date or time"


def _says_duration(low_ms: int) -> str:
    bounds = f"from {write_duration(low_ms)} to {write_duration(MAX_DURATION_MS)}"
    return f'a duration like "30s" or "1h30m", {bounds}'


def _as_list(raw: object) -> str:
    """What was meant by a command line where a list of words is expected."""
    words = raw.split() if isinstance(raw, str) else []
    return f"write {shown(words)}" if 0 < len(words) < 5 else ""


def _words(raw: object) -> tuple[str, ...]:
    if not isinstance(raw, list | tuple):
        raise Wrong(hint=_as_list(raw))
    for at, entry in enumerate(raw):
        if not isinstance(entry, str) or not entry:
            raise Wrong(entry=at)
    return tuple(raw)


def _milliseconds(raw: object, entry: int | None = None) -> int:
    if not isinstance(raw, str):
        raise Wrong(entry=entry)
    try:
        return parse_duration(raw)
    except UsageError:
        raise Wrong(entry=entry) from None
