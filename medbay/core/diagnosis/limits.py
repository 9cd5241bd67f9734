"""When a limit ends, read from the many shapes in which services say it. The clock and its zone are handed in."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cache
from typing import Final

from medbay.core.diagnosis.rule import compiled
from medbay.core.untrusted import number

_Reader = Callable[[re.Match[str], datetime], datetime]

UNKNOWN_ZONE_BUFFER: Final = timedelta(minutes=10)
JUST_PASSED: Final = timedelta(minutes=10)  # it was still ahead when it was written, before the command had ended
SOON: Final = timedelta(seconds=1)
AHEAD_MAX: Final = timedelta(days=45)  # later than that is no limit's reset but a misreading

_ZONE: Final = (
    r"(?:\s{0,2}\(?(?P<zone>[A-Z][A-Za-z]{1,20}/[A-Za-z_/+-]{2,30}|UTC|GMT|Z|[ECMP][SD]?T|CES?T|BST|IST|JST)\b\)?)?"
)
_MONTHS: Final = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_ABBREVIATED: Final = {
    "utc": "UTC", "gmt": "UTC", "z": "UTC", "est": "America/New_York", "edt": "America/New_York",
    "et": "America/New_York", "cst": "America/Chicago", "cdt": "America/Chicago", "ct": "America/Chicago",
    "mst": "America/Denver", "mdt": "America/Denver", "mt": "America/Denver", "pst": "America/Los_Angeles",
    "pdt": "America/Los_Angeles", "pt": "America/Los_Angeles", "cet": "Europe/Berlin", "cest": "Europe/Berlin",
    "bst": "Europe/London", "ist": "Asia/Kolkata", "jst": "Asia/Tokyo",
}  # fmt: skip
_UNITS: Final = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_SAYS_WHEN: Final = (
    r"(?:resets?|reset at|try again|retry|available again|until|resume|regain access)(?: (?:at|on|after|by))?:?\s{0,2}"
)

_EPOCH: Final = (
    r"(?i)(?:limit reached\s{0,2}\||\bresets?_?(?:at|time)?[\"']?\s{0,2}[:=]\s{0,2}[\"']?"
    r"|x-ratelimit-reset[\w-]{0,20}[\"']?: ?[\"']?)"
    r"(?P<epoch>\d{10}(?:\d{3})?)\b"
)
_IN_SECONDS: Final = (
    r"(?i)\b(?:retry[-_ ]after|resets?_in_seconds|retry_in|(?:x-)?ratelimit-reset)(?P<ms>[-_]ms)?"
    r"[\"']?\s{0,2}[:=]\s{0,2}[\"']?"
    r"(?P<seconds>\d{1,9}(?:\.\d{1,6})?)"
    r"(?:s|seconds)?\b(?![:-])|\bretry_delay_ms[\"']?\s{0,2}:\s{0,2}(?P<delay>\d{1,9})"
)
_HTTP_DATE: Final = (
    r"(?i)\bretry-after[\"']?\s{0,2}[:=]\s{0,2}[\"']?(?P<date>\w{3}, \d{1,2} \w{3} \d{4} \d\d:\d\d:\d\d GMT)"
)
_DURATION: Final = (
    r"(?i)(?:again|retry(?:ing)?|wait|resets?|retrydelay|retry after|available)[\"']?(?: again)?"
    r"(?: for| in| after|[\"']?:)? ?[\"']?(?:about |approximately |~)?"
    r"(?P<span>(?:\d{1,6}(?:\.\d{1,9})? ?(?:days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s"
    r"|milliseconds?|ms)\b[ ,]{0,2}(?:and )?){1,5}"
    r"|(?:\d{1,4}(?:\.\d{1,9})?(?:d|h|ms|m|s)){1,4})"
)
_PART: Final = r"(?i)(?P<n>\d{1,6}(?:\.\d{1,9})?) ?(?P<unit>ms|milliseconds?|d|h|m|s)"
_ISO: Final = (
    rf"(?i){_SAYS_WHEN}(?P<date>\d{{4}}-\d\d-\d\d)(?:T| (?:at )?)(?P<clock>\d\d:\d\d(?::\d\d)?)(?:\.\d{{1,9}})?"
    rf"(?P<offset>Z|\s?[+-]\d\d:?\d\d)?{_ZONE}"
)
_MONTH_DAY: Final = (
    rf"(?i){_SAYS_WHEN}(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{{0,6}}\.? (?P<day>\d{{1,2}})"
    r"(?:st|nd|rd|th)?"
    rf"(?:,? (?P<year>\d{{4}}))?(?:,| at|,? at)? ?(?P<hour>\d{{1,2}})(?::(?P<minute>\d\d))? ?(?P<half>[ap]m)?{_ZONE}"
)
_CLOCK: Final = (
    rf"(?i){_SAYS_WHEN}(?P<hour>\d{{1,2}})(?:(?::(?P<minute>\d\d)) ?(?P<half>[ap]m)?| ?(?P<half2>[ap]m)){_ZONE}"
)

# Whether a text in lower case says when a limit ends, whatever the shape.
NAMES_A_TIME: Final = (
    r"(?:resets?|try again|retry|available again|regain access)(?: again)? ?(?:at|in|on|after|:)? ?[\"']?(?:about )?"
    r"(?:\d|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.? \d)"
)


def reset_at_ms(text: str, now: datetime) -> int | None:
    """UTC milliseconds before which trying again is pointless, as the text names it last; nothing if it names none.

    A time that has just passed was ahead when it was written: then there is nothing left to wait for but a moment.
    """
    found: list[tuple[int, datetime]] = []
    for source, read in _SHAPES:
        matches = list(compiled(source).finditer(text))
        if matches:
            moment = _guarded(read, matches[-1], now)
            if moment is not None and now - JUST_PASSED < moment <= now + AHEAD_MAX:
                found.append((matches[-1].start(), max(moment, now + SOON)))
    return to_ms(max(found)[1]) if found else None


def said_ms(value: object, now: datetime) -> int | None:
    """The same for a field: seconds from now, an epoch, or any text with a time."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return _from_number(number(value), now)
    text = str(value).strip()[:200]
    try:
        return _from_number(float(text), now)
    except ValueError:
        return reset_at_ms(f"retry after {text}", now) or reset_at_ms(f"Retry-After: {text}", now)


def to_ms(moment: datetime) -> int:
    """UTC milliseconds of a moment, in whole numbers."""
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def _from_number(found: float | None, now: datetime) -> int | None:
    if found is None or not 0 <= found < 1e14:  # NaN too
        return None
    if found > 1e9:
        at = int(found if found > 1e11 else found * 1000)
        return max(at, to_ms(now + SOON)) if at > to_ms(now - JUST_PASSED) else at
    return to_ms(now) + int(found * 1000) if found <= AHEAD_MAX.total_seconds() else None


def _guarded(read: _Reader, match: re.Match[str], now: datetime) -> datetime | None:
    try:
        return read(match, now)
    except (ValueError, OverflowError, TypeError):  # February 30th, hour 77: no time after all
        return None


def _epoch(match: re.Match[str], now: datetime) -> datetime:
    found = int(match["epoch"])
    return datetime.fromtimestamp(found / 1000 if found > 10**11 else found, UTC)


def _seconds(match: re.Match[str], now: datetime) -> datetime:
    if match["delay"]:
        return now + timedelta(milliseconds=int(match["delay"]))
    return now + timedelta(seconds=float(match["seconds"]) * (0.001 if match["ms"] else 1))


def _http_date(match: re.Match[str], now: datetime) -> datetime:
    # Its module loads sockets and more, and hardly any failure names a date in that form.
    from email.utils import parsedate_to_datetime

    return parsedate_to_datetime(match["date"])


def _duration(match: re.Match[str], now: datetime) -> datetime:
    seconds = 0.0
    for part in compiled(_PART).finditer(match["span"]):
        unit = part["unit"].lower()
        seconds += float(part["n"]) * _UNITS["ms" if unit.startswith("mi") else unit]
    return now + timedelta(seconds=seconds)


def _iso(match: re.Match[str], now: datetime) -> datetime:
    naive = datetime.fromisoformat(f"{match['date']}T{match['clock']}")
    offset = (match["offset"] or "").strip().upper()
    if offset == "Z":
        return naive.replace(tzinfo=UTC)
    if offset:
        minutes = int(offset[1:3]) * 60 + int(offset[-2:])
        return naive.replace(tzinfo=timezone(timedelta(minutes=-minutes if offset[0] == "-" else minutes)))
    zone, buffer = _zone(match, now)
    return naive.replace(tzinfo=zone) + buffer


def _month_day(match: re.Match[str], now: datetime) -> datetime:
    zone, buffer = _zone(match, now)
    local = now.astimezone(zone)
    month = _MONTHS.index(match["month"].lower()) + 1
    hour = _hour(int(match["hour"]), match["half"])
    year = int(match["year"]) if match["year"] else local.year
    moment = datetime(year, month, int(match["day"]), hour, int(match["minute"] or 0), tzinfo=zone)
    if not match["year"] and moment < now - JUST_PASSED:
        moment = moment.replace(year=year + 1)
    return moment + buffer


def _clock(match: re.Match[str], now: datetime) -> datetime:
    zone, buffer = _zone(match, now)
    local = now.astimezone(zone)
    hour = _hour(int(match["hour"]), match["half"] or match["half2"])
    moment = local.replace(hour=hour, minute=int(match["minute"] or 0), second=0, microsecond=0)
    if moment <= local - JUST_PASSED:  # a time of day that has passed means tomorrow
        moment += timedelta(days=1)
    return moment + buffer


def _hour(hour: int, half: str | None) -> int:
    if not half:
        return hour
    if hour > 12:
        raise ValueError(f"no hour: {hour} {half}")
    return hour % 12 + (12 if half.lower() == "pm" else 0)


def _zone(match: re.Match[str], now: datetime) -> tuple[tzinfo, timedelta]:
    """The zone named, or that of the clock handed in with a buffer, because the writer may have meant another."""
    zone = _named_zone(match["zone"] or "")
    return (zone, timedelta(0)) if zone is not None else (now.tzinfo or UTC, UNKNOWN_ZONE_BUFFER)


@cache
def _named_zone(name: str) -> tzinfo | None:
    key = _ABBREVIATED.get(name.lower(), name)
    if key == "UTC":
        return UTC
    from zoneinfo import ZoneInfo  # here, because few texts name a zone

    try:
        return ZoneInfo(key) if key else None
    except (KeyError, ValueError, OSError):
        return None


_SHAPES: Final[tuple[tuple[str, _Reader], ...]] = (
    (_EPOCH, _epoch),
    (_IN_SECONDS, _seconds),
    (_HTTP_DATE, _http_date),
    (_DURATION, _duration),
    (_ISO, _iso),
    (_MONTH_DAY, _month_day),
    (_CLOCK, _clock),
)


_WORDS: Final = (
    # The last are how Claude Code says it without its name.
    ("anthropic", r"anthropic|\bclaude\b|hour limit reached|hit your limit ?[·∙]|limit reached ?[∙|]"),
    ("azure", r"\bazure\b|windows\.net"),
    ("openrouter", r"openrouter"),
    ("openai", r"openai|\bcodex\b|\bgpt-\d|chatgpt"),
    ("google", r"\bgemini\b|generativelanguage|googleapis|vertex ?ai|\bgcloud\b"),
    ("github", r"github|\bghcr\.io"),
    ("gitlab", r"gitlab"),
    ("aws", r"amazonaws|\baws\b|\bboto(?:core|3)|bedrock|when calling the \w{3,60} operation"),
    ("docker", r"docker\.(?:io|com)|docker hub|toomanyrequests: you have reached"),
    ("npm", r"registry\.npmjs|\bnpm (?:err!|error)"),
    ("pypi", r"pypi\.org|pythonhosted"),
    ("rubygems", r"rubygems\.org"),
    ("crates", r"crates\.io"),
    ("maven", r"repo\.maven|repo1\.maven"),
    ("huggingface", r"huggingface|\bhf\.co"),
    ("mistral", r"mistral"),
    ("groq", r"\bgroq"),
    ("xai", r"\bxai\b|api\.x\.ai|\bgrok\b"),
    ("cohere", r"\bcohere"),
    ("deepseek", r"deepseek"),
    ("together", r"together\.(?:ai|xyz)"),
    ("fireworks", r"fireworks\.(?:ai|client)"),
    ("perplexity", r"perplexity"),
    ("cerebras", r"cerebras"),
    ("slack", r"slack(?:\.com|_sdk|api)"),
    ("discord", r"discord(?:\.|app|py)"),
    ("telegram", r"telegram"),
    ("cloudflare", r"cloudflare"),
)
# With each the letters that a match begins with: a plain search for those is far cheaper.
PROVIDERS: Final = tuple(
    (name, tuple(re.findall(r"(?:^|\|)(?:\\b)?([a-z]{2,})", words)), words) for name, words in _WORDS
)
_CONCERNED: Final = frozenset(
    {"rate_limit", "usage_limit", "overloaded", "service", "network", "quota", "auth", "context_window"}
)


def provider_of(subcategory: str | None, line: str, runner: str | None, body: str) -> str | None:
    """The provider named by the deciding line, else by the runner, else by the end of the text."""
    if subcategory not in _CONCERNED:
        return None
    for text in (line, runner or "", body[-4_000:] if subcategory != "network" else ""):
        low = text.lower()
        for name, stems, words in PROVIDERS:
            if any(stem in low for stem in stems) and compiled(words).search(low):
                return name
    return None
