"""What an agent's own record says so far: a reader of a profile fills it, record by record. No clock, no files.

Without the record that the tool itself writes at its end (`ended`) nothing here is ever a success.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from msgspec import Struct, field

from medbay.core.diagnosis import diagnose
from medbay.core.outcome import TAIL_BYTES
from medbay.core.untrusted import parsed
from medbay.runners.agent.prices import Price, price_of

log = logging.getLogger("medbay.engine")
CALLS_MAX: Final = 1_000  # tool calls that are kept one by one; the rest is counted
DENIED_MAX: Final = 20
WORDS_MAX: Final = TAIL_BYTES // 2  # characters of the readable form
PATH_MAX: Final = 300
SAID_MAX: Final = 8_000
OPEN_MAX: Final = 20  # messages whose usage may still change
_SESSION: Final = re.compile(r"[A-Za-z0-9_.:-]{1,200}")
_PLACES: Final = ("file_path", "path", "notebook_path", "filePath", "absolute_path", "dir_path", "url", "pattern")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)  # what a text is read at that says no more than its kind

# What a status of the provider means where its text does not say more.
_STATUSES: Final[Mapping[int, str]] = {
    400: "code_error/config",
    401: "unknown/auth",
    402: "resource_exhaustion/quota",
    403: "unknown/permission",
    404: "code_error/config",
    408: "transient/network",
    413: "resource_exhaustion/context_window",
    429: "transient/rate_limit",
    529: "transient/overloaded",
}
_SHARPENED: Final = frozenset({400, 403, 429})  # of which the text tells more


class ToolCall(Struct, frozen=True):
    """One use of a tool: on what, and when (milliseconds, where the record says)."""

    tool: str
    path: str = ""
    at: int | None = None


class Spent(Struct):
    """What was spent with one model: tokens in (the cached and the written ones among them) and out."""

    model: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    cached: int = 0
    written: int = 0

    def add(self, other: Spent) -> None:
        """What was spent besides."""
        self.tokens_in += other.tokens_in
        self.tokens_out += other.tokens_out
        self.cached += other.cached
        self.written += other.written

    def at(self, price: Price) -> float:
        """What it costs at a price, in millionths."""
        plain = max(0, self.tokens_in - self.cached - self.written)
        cached, written = self.cached * price.cached, self.written * price.written
        return plain * price.plain + cached + written + self.tokens_out * price.out


class Transcript(Struct, kw_only=True):
    """What is known of one run of an agent."""

    session: str = ""
    model: str = ""
    resumed: bool = False  # it continues a session: what the tool sums up over the session is not all of this run
    records: int = 0  # lines that were understood
    strange: int = 0  # lines of its form that were not

    ended: bool = False  # the tool's own terminal record was there
    failed: bool = False
    kind: str = ""  # of the failure, category/subcategory
    said: str = ""  # the result, its last words
    unsaid: str = ""  # words of a message of which nobody knows yet whether it came to its end
    error: str = ""  # what it says went wrong
    question: str = ""  # what it asks, in its own words
    retry_after: int | None = None  # epoch seconds, where a limit named them
    retrying: str = ""  # the retry the tool itself is doing now

    calls: list[ToolCall] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)  # the last calls that were counted, where a tool tells of them twice
    calls_total: int = 0
    done_total: int = 0  # calls that were carried out
    denied: list[str] = field(default_factory=list)
    turns: int = 0

    before: Spent = field(default_factory=Spent)  # what earlier attempts spent in the session that it continues
    closed: dict[str, Spent] = field(default_factory=dict)  # by model
    open: dict[str, Spent] = field(default_factory=dict)  # by message, as long as they may change
    cost: int | None = None  # in millionths, as the tool reckons it
    words: list[str] = field(default_factory=list)  # the readable form, bounded
    length: int = 0
    offset: int = 0  # how far the log was read
    session_path: str = ""  # the file in which the tool keeps its session
    session_offset: int = 0
    step: Spent | None = None  # what the newest call of the model took, where the record only has sums
    goes_on: bool = False  # its newest turn uses a tool: another one follows

    @property
    def tokens_in(self) -> int:
        """Tokens that went in so far."""
        return sum(each.tokens_in for each in (*self.closed.values(), *self.open.values()))

    @property
    def tokens_out(self) -> int:
        """Tokens that came out so far."""
        return sum(each.tokens_out for each in (*self.closed.values(), *self.open.values()))

    @property
    def tokens(self) -> int:
        """All tokens so far."""
        return self.tokens_in + self.tokens_out

    @property
    def last_turn(self) -> Spent:
        """What its newest message took."""
        return self.step or next(reversed(self.open.values()), Spent())

    def by_model(self) -> dict[str, Spent]:
        """What was spent so far with each model."""
        sums: dict[str, Spent] = {}
        for each in (*self.closed.values(), *self.open.values()):
            sums.setdefault(each.model, Spent(each.model)).add(each)
        return sums

    def reckoned(self) -> int | None:
        """What it has cost so far in millionths: as the tool says, else by our prices; None where they are unknown."""
        if self.cost is not None:
            return self.cost
        total = 0.0
        for model, each in self.by_model().items():
            price = price_of(model or self.model)
            if price is None:
                return None
            total += each.at(price)
        return round(total)

    def text(self) -> str:
        """The readable form."""
        return "\n".join(self.words)

    def begins(self, *, session: object = "", model: object = "") -> None:
        """The session and the model it works with."""
        if isinstance(session, str) and _SESSION.fullmatch(session):
            self.session = session
        if isinstance(model, str) and 0 < len(model) <= 200 and model.isprintable():
            self.model = model

    def spends(self, message: str, spent: Spent) -> None:
        """What a message cost, as far as it is known now; the newest word counts."""
        self.open[message] = spent
        while len(self.open) > OPEN_MAX:
            self._close(self.open.pop(next(iter(self.open))))

    def _close(self, spent: Spent) -> None:
        self.closed.setdefault(spent.model, Spent(spent.model)).add(spent)

    def says(self, text: object) -> None:
        """Words of the agent."""
        if isinstance(text, str) and text.strip():
            self.said = text.strip()[-SAID_MAX:]
            self.note(text.strip())

    def uses(self, tool: object, given: object, *, at: int | None = None) -> None:
        """It uses a tool."""
        name, path = str(tool)[:100], place_in(given)
        log.debug("tool call: %s %s", name, path)
        self.calls_total += 1
        self.done_total += 1
        if len(self.calls) < CALLS_MAX:
            self.calls.append(ToolCall(name, path, at))
        self.note(f"→ {name} {path}".rstrip())

    def counts(self, call: str) -> bool:
        """Whether a call is told of for the first time."""
        if call in self.seen:
            return False
        self.seen = [*self.seen[-OPEN_MAX:], call]
        return True

    def denies(self, tool: object, why: object = "") -> None:
        """A tool it wanted was not allowed."""
        self.done_total = max(0, self.done_total - 1)
        if len(self.denied) < DENIED_MAX:
            self.denied.append(str(tool)[:100])
        self.note(f"✗ {tool} was not allowed: {why}"[:1_000])

    def retries(self, why: str) -> None:
        """The tool itself tries again: a sign of life."""
        self.retrying = why[:300]
        self.note(f"… {why}"[:300])

    def note(self, line: str) -> None:
        """Add to the readable form; the oldest lines make room."""
        line = line[:WORDS_MAX]
        self.words.append(line)
        self.length += len(line) + 1
        while self.length > WORDS_MAX and len(self.words) > 1:
            self.length -= len(self.words.pop(0)) + 1

    def ends(self, *, said: object = None) -> None:
        """The terminal record of the tool says that it is done."""
        self.ended, self.retrying = True, ""
        if isinstance(said, str) and said.strip():
            self.said = said.strip()[-SAID_MAX:]

    def fails(self, error: object, *, status: object = None, kind: str = "") -> None:
        """The tool says that it failed, and how."""
        self.failed = True
        self.error = (error.strip() if isinstance(error, str) else str(error or ""))[:SAID_MAX]
        self.kind = kind or kind_of(self.error, status)
        self.note(self.error)

    def asks(self, question: str) -> None:
        """It cannot go on without an answer."""
        self.question = question.strip()[-SAID_MAX:]


def kind_of(error: str, status: object = None) -> str:
    """What kind of failure an error is, by the status of the provider and by its words; empty when neither says."""
    code = status if isinstance(status, int) and not isinstance(status, bool) else None
    if code is not None and code not in _SHARPENED:
        known = _STATUSES.get(code)
        if known is not None or code >= 500:
            return known or "transient/service"
    found = diagnose(error, now=_EPOCH, exit_code=1)
    sure = found.confidence >= 0.5 and found.pattern.rule not in ("none", "fact.exit_0")
    if code == 429 and found.subcategory not in ("usage_limit", "quota"):
        return "transient/rate_limit"
    if sure and (found.category != "unknown" or found.subcategory is not None):
        return found.kind
    return _STATUSES.get(code or 0, "")


def place_in(given: object) -> str:
    """What a tool was used on: a path, a command, an address; bounded, on one line."""
    if isinstance(given, str):
        return " ".join(given.split())[:PATH_MAX]
    if not isinstance(given, Mapping):
        return ""
    found = next((given[name] for name in (*_PLACES, "command", "cmd", "query") if given.get(name)), "")
    if isinstance(found, list):
        found = " ".join(map(str, found))
    return " ".join(str(found).split())[:PATH_MAX]


def moment(said: object) -> int | None:
    """A time of a record in milliseconds: ISO 8601 text, or milliseconds already."""
    if isinstance(said, int) and not isinstance(said, bool):
        return said
    if isinstance(said, str):
        try:
            return int(datetime.fromisoformat(said).timestamp() * 1000)
        except ValueError:
            return None
    return None


def count(said: object) -> int:
    """A number of tokens; what is none counts as nothing."""
    return said if isinstance(said, int) and not isinstance(said, bool) and 0 <= said < 10**12 else 0


def record_in(line: str) -> Mapping[str, Any] | None:
    """A line as a record of the tool; None when it is no JSON object."""
    if not line.startswith("{"):
        return None
    try:
        found = parsed(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def part(record: object, *names: str) -> Any:
    """What stands at a path of names in a record; None when any of them is not there."""
    for name in names:
        record = record.get(name) if isinstance(record, Mapping) else None
    return record
