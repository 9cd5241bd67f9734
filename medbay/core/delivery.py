"""What leaves the store: which events a channel wants, in which order they are delivered, when they are tried again.

A delivery is made at least once and known by its key. Deliveries about the same thing (a task, a question, a breaker)
follow each other; those about different things never wait for each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any, Final, Literal

from medbay.core.holds.breaker import Breaker
from medbay.core.model import Event, Question, Task

Status = Literal["pending", "done", "given_up"]

ON: Final = ("question:asked", "question:answered", "incident:opened", "incident:closed", "budget:warning")
"""What a channel wants unless it says otherwise; a question that is asked again is asked."""

MESSAGES: Final = (
    "question:asked",
    "incident:opened",
    "incident:closed",
    "hold:placed",
    "hold:released",
    "budget:warning",
)
"""The same for a channel with an address, which people read: each is one message, also where `digest` is set."""

DIGEST: Final = "digest"  # one message for what a channel held back; never an event of the store
REPORT: Final = "report"  # the report of the day; never an event of the store
TEST: Final = "test"
HEARTBEAT: Final = "heartbeat"  # what a channel hears at every period of its own; never an event of the store
TIMEOUT_MS: Final = 30_000
LEASE_BEYOND_MS: Final = 15_000  # how much longer than its time limit a delivery belongs to the engine that began it
FIRST_WAIT_MS: Final = 5_000
LONGEST_WAIT_MS: Final = 15 * 60_000
GIVEN_UP_AFTER_MS: Final = 72 * 3_600_000
KEPT_MS: Final = 7 * 24 * 3_600_000  # how long a delivery that is over is remembered, so that none is made twice
ERROR_MAX: Final = 2_000  # characters
SHORT_MS: Final = 2 * 60_000  # an incident that is over within this time is not worth a message
REPORT_LATE_MS: Final = 6 * 3_600_000  # an engine that was away sends the report up to so long after its time
LONGEST_ASKED_MS: Final = 24 * 3_600_000  # the longest wait that is granted to a service which asks for one
_BEGINNINGS: Final = ("incident:opened", "hold:placed")
_ENDS: Final = ("incident:closed", "hold:released")


OVER: Final = ("question:answered", "question:withdrawn")
"""After these, how a question ended is written into its messages, silently: at any hour, whatever a channel wants."""


class Arrived(str):
    """That something arrived, from a service that can change it later: `place` is where. Empty, as no error is."""

    place: str = ""

    @classmethod
    def at(cls, place: str) -> Arrived:
        """An arrival with its place."""
        made = cls("")
        made.place = place
        return made


class Later(str):
    """Why something did not arrive, from a service that said how long to wait."""

    wait_ms: int = 0

    @classmethod
    def after(cls, why: str, wait_ms: int) -> Later:
        """A refusal with its wait."""
        made = cls(why)
        made.wait_ms = min(max(0, wait_ms), LONGEST_ASKED_MS)
        return made


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """One way out, as it is configured: `[notify.NAME]`."""

    name: str
    kind: str  # what delivers for it: the module of this name in `medbay.integrations`
    target: Any  # what that delivers to: of `command` its words, of `url` the address, or $NAME of its variable
    on: tuple[str, ...] = ON
    timeout_ms: int = TIMEOUT_MS
    heartbeat_ms: int | None = None
    category: tuple[str, ...] = ()  # only what is about tasks like this; empty: whatever they are
    tag: tuple[str, ...] = ()
    priority: int | None = None  # only tasks that are at least as urgent
    quiet: tuple[int, int] | None = None  # in minutes of the day, from when to when nothing is sent
    zone: tzinfo | None = None  # of the quiet hours; None: of the machine
    urgent: bool = False  # sent in quiet hours too
    digest_ms: int | None = None  # how often the rest comes as one message
    page: str = ""  # where the reader reaches the page

    @property
    def filter(self) -> str:
        """The names it wants, as one text: a cursor belongs to a channel and its filter."""
        return " ".join(sorted(set(self.on)))

    @property
    def lease_ms(self) -> int:
        """How long a delivery belongs to the engine that began it."""
        return self.timeout_ms + LEASE_BEYOND_MS

    @property
    def heard(self) -> tuple[str, ...]:
        """The events that it reads: those it wants, and those after which its messages are changed."""
        return (*self.on, *(each for each in OVER if each not in self.on)) if self.kind == "url" else self.on

    def only_changes(self, event: Event) -> bool:
        """Whether an event sends nothing, and is at most written into messages that were sent before."""
        return event.name in OVER and event.name not in self.on

    def wants(self, event: Event) -> bool:
        """Whether it is to hear of this; never of its own failures, which could not be delivered."""
        of_its_own = event.name.startswith("delivery:") and event.data["channel"] == self.name
        return event.name in self.heard and not of_its_own

    @property
    def is_narrow(self) -> bool:
        """Whether the task decides if it is told."""
        return bool(self.category or self.tag) or self.priority is not None

    def concerns(self, task: Task) -> bool:
        """Whether it is told of this task."""
        category = not self.category or any(_is_kind(task.last_category, each) for each in self.category)
        tag = not self.tag or bool({*self.tag} & {*task.tags})
        return category and tag and (self.priority is None or task.priority <= self.priority)

    @property
    def shown(self) -> str:
        """Where it delivers to, without what is secret in an address."""
        if self.kind == "command":
            return " ".join(self.target)
        return shown_url(str(self.target))


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One event on its way out through one channel. A field here is a column of the store."""

    key: str
    kind: str
    channel: str
    lane: str  # in which deliveries follow each other
    seq: int  # of the event
    event: Event
    status: Status = "pending"
    tries: int = 0  # counted when one begins
    due_at: int = 0
    created_at: int = 0
    error: str = ""  # of the last try
    owner: str = ""  # the engine that began the last try
    lease_until: int = 0
    ended_at: int | None = None
    facts: MessageFacts | None = None  # for a message, when its try begins; never stored


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageFacts:
    """What a message says beyond its event, as it is at the moment of sending. Of what is sent, not stored."""

    now: int
    task: Task | None = None
    question: Question | None = None
    breaker: Breaker | None = None
    held: int = 0  # tasks under the breaker
    behind: int = 0  # tasks that wait for the task
    done: int = 0  # of a digest, since it began
    healed: int = 0
    waiting: tuple[Question, ...] = ()
    cost: int = 0  # of the day, in millionths
    daily_cost: int | None = None
    places: tuple[str, ...] = ()  # of earlier messages about a question that is over
    link: str = ""  # signed, answers the question; only where the channel's readers reach the page


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelState:
    """How a channel is doing."""

    name: str
    delivered_at: int | None = None  # the last one that arrived
    failing_since: int | None = None
    error: str = ""


def channel(*, name: str, on: tuple[str, ...] | None = None, **given: Any) -> Channel:
    """The channel of a table: the one way out that it names (`command`, `url`, `url_env`) is its kind."""
    (way,) = {*given} & {"command", "url", "url_env"}
    target = given.pop(way)
    kind, target = ("url", f"${target}") if way == "url_env" else (way, target)
    wanted = on if on is not None else (MESSAGES if kind == "url" else ON)
    return Channel(name=name, kind=kind, target=target, on=wanted, **given)


def shown_url(url: str) -> str:
    """An address without user, password, path and options: any of them may be a secret."""
    if url.startswith("$"):
        return url
    scheme, _, rest = url.partition("://")
    host = re.split(r"[/?#]", rest)[0].rpartition("@")[2] if scheme in ("smtp", "smtps", "http", "https") else ""
    return f"{scheme}://{host or '***'}" + ("/***" if host and rest != host else "")


def _is_kind(found: str, wanted: str) -> bool:
    return found == wanted or found.partition("/")[0] == wanted


def made(channel: Channel, events: Iterable[Event], *, store_id: str, now: int) -> list[Delivery]:
    """The deliveries of the events that a channel wants; of those it holds back, one for all of them together."""
    found: dict[str, Delivery] = {}
    for event in events:
        if channel.wants(event):
            each = _made(channel, event, f"{store_id}:{channel.name}", now)
            found.setdefault(each.key, each)
    return [*found.values()]


def _made(channel: Channel, event: Event, prefix: str, now: int) -> Delivery:
    key, about, due = f"{prefix}:{event.seq}", subject(event), now
    if span := None if channel.only_changes(event) else held_back(channel, event, now):
        since, due = span
        key, about = f"{prefix}:{DIGEST}:{due}", DIGEST
        event = Event(name=DIGEST, seq=event.seq, at=event.at, data={"since": since})
    elif channel.kind == "url" and event.name in _BEGINNINGS:
        due = now + SHORT_MS
    return Delivery(
        key=key,
        kind=channel.kind,
        channel=channel.name,
        lane=f"{channel.name}/{about}",
        seq=event.seq,
        event=event,
        due_at=due,
        created_at=now,
    )


def held_back(channel: Channel, event: Event, now: int) -> tuple[int, int] | None:
    """From when to when what happens goes into one message, where this does not go at once."""
    if channel.kind == "command":
        return None
    if (span := quiet_span(channel, now)) and not channel.urgent:
        return span
    if channel.digest_ms is None or event.name in MESSAGES:
        return None
    began = now - now % channel.digest_ms
    return began, began + channel.digest_ms


def quiet_span(channel: Channel, now: int) -> tuple[int, int] | None:
    """The quiet hours that it is in, from when to when; by the clock on the wall, whatever summer time does."""
    if channel.quiet is None:
        return None
    zone = channel.zone or UTC
    begins, ends = channel.quiet
    today = datetime.fromtimestamp(now / 1000, tz=zone).date()
    for day in (today - timedelta(days=1), today):
        until = day if begins < ends else day + timedelta(days=1)
        start, end = (
            round(datetime(at.year, at.month, at.day, clock // 60, clock % 60, tzinfo=zone).timestamp() * 1000)
            for at, clock in ((day, begins), (until, ends))
        )
        if start <= now < end:
            return start, end
    return None


def report_due(at: int, zone: tzinfo, now: int) -> int | None:
    """The moment the report of today was due, `at` in minutes of the day; None before it, and long after it."""
    today = datetime.fromtimestamp(now / 1000, tz=zone).date()
    for day in (today, today - timedelta(days=1)):
        moment = datetime(day.year, day.month, day.day, at // 60, at % 60, tzinfo=zone)
        due = round(moment.timestamp() * 1000)
        if due <= now < due + REPORT_LATE_MS:
            return due
    return None


def report_key(channel: Channel, due: int, *, store_id: str) -> str:
    """The key of the report of a day through a channel: two engines make one."""
    return f"{store_id}:{channel.name}:{REPORT}:{due}"


def report_delivery(channel: Channel, due: int, *, key: str, now: int, said: dict[str, str]) -> Delivery:
    """The report of a day through a channel; `said` is its title and its text."""
    return Delivery(
        key=key,
        kind=channel.kind,
        channel=channel.name,
        lane=f"{channel.name}/{REPORT}",
        seq=due,
        event=Event(name=REPORT, at=due, data=dict(said)),
        due_at=now,
        created_at=now,
    )


def is_moot(event: Event, facts: MessageFacts) -> bool:
    """Whether there is nothing to say any more, or something else says it."""
    asked, of = facts.question, facts.breaker
    if event.name == "question:asked":
        if asked is None or asked.status != "open":
            return True
        # An incident's own message has its question; only if nobody answers it is sent by itself.
        return asked.owner is not None and asked.owner.kind == "incident" and not event.data.get("again")
    if event.name == "hold:placed" and event.data.get("extended"):
        return True
    if event.name in _BEGINNINGS:
        return of is None or of.state == "closed"
    if event.name in _ENDS:
        return of is not None and event.at - of.opened_at < SHORT_MS
    return False


def subject(event: Event) -> str:
    """What an event is about; those about the same thing are delivered in their order."""
    data = event.data
    return str(event.task_id or data.get("key") or data.get("question") or event.name.partition(":")[0])


def on_ended(delivery: Delivery, error: str, now: int) -> Delivery:
    """A delivery after a try; without an error it arrived. What failed for three days is given up."""
    if not error:
        return replace(delivery, status="done", error="", ended_at=now, lease_until=0)
    failed = replace(delivery, error=error[:ERROR_MAX], lease_until=0)
    if now - delivery.created_at >= GIVEN_UP_AFTER_MS:
        return replace(failed, status="given_up", ended_at=now)
    asked_ms = error.wait_ms if isinstance(error, Later) else 0
    return replace(failed, due_at=now + max(wait_ms(delivery.tries), asked_ms))


def wait_ms(tries: int) -> int:
    """How long to wait after so many tries that failed."""
    return min(FIRST_WAIT_MS << min(tries - 1, 20), LONGEST_WAIT_MS)


def on_channel(
    state: ChannelState, ended: Delivery, now: int, *, others_failing: bool
) -> tuple[ChannelState, Event | None]:
    """How a channel is doing after a try, and the event about it: once when it goes down, once when it is back.

    It is back when something arrived and nothing else still waits to be tried again.
    """
    if ended.error:
        down = replace(state, error=ended.error, failing_since=state.failing_since or now)
        told = {"channel": state.name, "why": ended.error, "key": ended.key}
        return down, None if state.failing_since is not None else Event(name="delivery:failed", data=told)
    if state.failing_since is None or others_failing:
        return replace(state, delivered_at=now), None
    down_s = max(0, now - state.failing_since) // 1000
    back = Event(name="delivery:restored", data={"channel": state.name, "down_s": down_s})
    return ChannelState(name=state.name, delivered_at=now), back
