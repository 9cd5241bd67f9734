"""The rules of deliveries: what a channel wants, in which order, how long a failure waits, when a channel is down."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from medbay.core.delivery import (
    DIGEST,
    GIVEN_UP_AFTER_MS,
    LONGEST_ASKED_MS,
    LONGEST_WAIT_MS,
    MESSAGES,
    SHORT_MS,
    Arrived,
    Channel,
    ChannelState,
    Delivery,
    Later,
    MessageFacts,
    channel,
    is_moot,
    made,
    on_channel,
    on_ended,
    quiet_span,
    report_delivery,
    report_due,
    report_key,
    shown_url,
    subject,
    wait_ms,
)
from medbay.core.holds.breaker import Breaker
from medbay.core.model import Event, Owner, Question, Task, changed

NOW = 1_800_000_000_000
ASKED = Event(name="question:asked", task_id="k7f2", data={"question": "q-k7f2-1"}, seq=7, at=NOW)
DESK = Channel(name="desk", kind="command", target=("./hook.sh",))


def delivery() -> Delivery:
    """A delivery of the question, begun once."""
    (found,) = made(DESK, [ASKED], store_id="store", now=NOW)
    return replace(found, tries=1, owner="engine", lease_until=NOW + DESK.lease_ms)


def test_a_channel_is_told_of_what_it_names_and_of_nothing_else() -> None:
    """By default questions, incidents and the budget."""
    told = [ASKED, changed(ASKED, name="task:failed", seq=8), changed(ASKED, name="incident:closed", seq=9)]

    assert [each.seq for each in made(DESK, told, store_id="store", now=NOW)] == [7, 9]
    only_failures = replace(DESK, on=("task:failed",))
    assert [each.seq for each in made(only_failures, told, store_id="store", now=NOW)] == [8]


def test_the_way_out_that_a_table_names_is_the_kind_of_its_channel() -> None:
    """What delivers is found by that name."""
    assert channel(name="desk", command=("./hook.sh",)) == DESK
    assert channel(name="desk", url="https://example.org/x", on=("task:failed",)).on == ("task:failed",)
    assert channel(name="desk", url="https://example.org/x").on == MESSAGES
    assert channel(name="desk", url_env="HOOK").target == "$HOOK"


def test_a_channel_never_hears_of_its_own_failure() -> None:
    """Of another's it may."""
    down = Event(name="delivery:failed", data={"channel": "desk"})

    assert not replace(DESK, on=("delivery:failed",)).wants(down)
    assert replace(DESK, name="phone", on=("delivery:failed",)).wants(down)


def test_the_filter_of_a_channel_does_not_depend_on_how_it_is_written() -> None:
    """The cursor belongs to it."""
    assert replace(DESK, on=("b", "a", "b")).filter == replace(DESK, on=("a", "b")).filter == "a b"


@pytest.mark.parametrize(
    ("event", "about"),
    [
        (ASKED, "k7f2"),
        (Event(name="question:asked", data={"question": "q-1"}), "q-1"),
        (Event(name="incident:opened", data={"key": "incident:ab", "question": "q-1"}), "incident:ab"),
        (Event(name="budget:warning", data={"day": "2027-01-15"}), "budget"),
    ],
)
def test_what_is_about_the_same_thing_is_in_one_lane(event: Event, about: str) -> None:
    """A task, else a breaker, a question, or the kind of event."""
    assert subject(event) == about


def test_a_delivery_is_known_by_store_channel_and_event() -> None:
    """So that a repeated one is recognised, by whatever receives it."""
    found = delivery()

    assert found.key == "store:desk:7"
    assert found.lane == "desk/k7f2"
    assert found.event == ASKED


def test_waits_double_up_to_a_quarter_of_an_hour() -> None:
    """However often it failed."""
    assert [wait_ms(tries) // 1000 for tries in (1, 2, 3, 8, 9, 1_000)] == [5, 10, 20, 640, 900, 900]
    assert wait_ms(1_000) == LONGEST_WAIT_MS


def test_an_arrival_ends_a_delivery() -> None:
    """Nothing is due any more, and no engine has it in hand."""
    ended = on_ended(delivery(), "", NOW + 5)

    assert (ended.status, ended.ended_at, ended.lease_until, ended.error) == ("done", NOW + 5, 0, "")


def test_a_failure_waits_and_after_three_days_is_given_up() -> None:
    """With what went wrong, cut to a limit."""
    failed = on_ended(delivery(), "x" * 9_999, NOW + 5)
    long_ago = on_ended(delivery(), "exit status 1", NOW + GIVEN_UP_AFTER_MS)

    assert (failed.status, failed.due_at, failed.lease_until, len(failed.error)) == ("pending", NOW + 5_005, 0, 2_000)
    assert (long_ago.status, long_ago.ended_at) == ("given_up", NOW + GIVEN_UP_AFTER_MS)


def test_a_channel_goes_down_once_and_comes_back_once() -> None:
    """It is back when something arrived and nothing waits to be tried again."""
    fresh, failed, arrived = ChannelState(name="desk"), on_ended(delivery(), "no", NOW), on_ended(delivery(), "", NOW)

    down, told = on_channel(fresh, failed, NOW, others_failing=True)
    assert told == Event(name="delivery:failed", data={"channel": "desk", "why": "no", "key": "store:desk:7"})
    still, told = on_channel(down, failed, NOW + 1, others_failing=True)
    assert (still.failing_since, told) == (NOW, None)
    partly, told = on_channel(still, arrived, NOW + 2, others_failing=True)
    assert (partly.failing_since, partly.delivered_at, told) == (NOW, NOW + 2, None)
    back, told = on_channel(partly, arrived, NOW + 3_000, others_failing=False)
    assert back == ChannelState(name="desk", delivered_at=NOW + 3_000)
    assert told == Event(name="delivery:restored", data={"channel": "desk", "down_s": 3})
    assert on_channel(back, arrived, NOW + 4_000, others_failing=False)[1] is None


# Messages

PHONE = channel(name="phone", url="https://example.org/hook")


def at(text: str) -> int:
    """A moment in UTC."""
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("$HOOK", "$HOOK"),
        ("https://me:pw@example.org:8443/T0/B1?k=v", "https://example.org:8443/***"),
        ("http://example.org", "http://example.org"),
        ("smtp://u:p@mail.example.org/?to=a@example.org", "smtp://mail.example.org/***"),
        ("tgram://123:token/chat", "tgram://***"),
    ],
)
def test_an_address_is_shown_without_what_may_be_secret(url: str, shown: str) -> None:
    """Of what only apprise can read, nothing but its name."""
    assert shown_url(url) == shown
    assert replace(PHONE, target=url).shown == shown
    assert DESK.shown == "./hook.sh"


def test_a_channel_for_some_tasks() -> None:
    """By category or its whole kind, by tag, by priority."""
    task = Task(id="a", title="a", tags=("nightly", "db"), priority=2, last_category="unknown/auth")

    assert not PHONE.is_narrow and PHONE.concerns(task)
    for told in ({"category": ("unknown",)}, {"category": ("unknown/auth",)}, {"tag": ("db",)}, {"priority": 2}):
        assert replace(PHONE, **told).is_narrow and replace(PHONE, **told).concerns(task)
    for silent in ({"category": ("transient",)}, {"tag": ("web",)}, {"priority": 1}):
        assert not replace(PHONE, **silent).concerns(task)


def test_what_begins_is_worth_a_message_only_if_it_lasts() -> None:
    """A command is told at once all the same."""
    opened = Event(name="incident:opened", data={"key": "incident:ab"}, seq=3, at=NOW)

    (message,) = made(PHONE, [opened], store_id="s", now=NOW)
    (told,) = made(DESK, [opened], store_id="s", now=NOW)

    assert (message.due_at, told.due_at) == (NOW + SHORT_MS, NOW)


def test_quiet_hours_hold_everything_back_for_one_message() -> None:
    """It comes when they end; an urgent channel and a command have none."""
    night = replace(PHONE, quiet=(22 * 60, 7 * 60))
    now = at("2027-01-15T23:30")
    events = [changed(ASKED, seq=seq, at=now) for seq in (7, 8, 9)]

    (digest,) = made(night, events, store_id="s", now=now)

    assert digest.event.name == DIGEST and digest.event.data == {"since": at("2027-01-15T22:00")}
    assert digest.due_at == at("2027-01-16T07:00")
    (again,) = made(night, [changed(ASKED, seq=10)], store_id="s", now=at("2027-01-16T03:00"))
    assert again.key == digest.key == f"s:phone:digest:{digest.due_at}"
    assert len(made(replace(night, urgent=True), events, store_id="s", now=now)) == 3
    assert len(made(replace(DESK, quiet=night.quiet), events, store_id="s", now=now)) == 3
    assert len(made(night, events, store_id="s", now=at("2027-01-15T12:00"))) == 3


def test_quiet_hours_go_by_the_clock_on_the_wall() -> None:
    """In the night in which summer time begins they are an hour shorter; midday ones stay on their day."""
    berlin = replace(PHONE, quiet=(22 * 60, 7 * 60), zone=ZoneInfo("Europe/Berlin"))

    assert quiet_span(berlin, at("2027-03-28T03:00")) == (at("2027-03-27T21:00"), at("2027-03-28T05:00"))
    assert quiet_span(berlin, at("2027-10-31T03:00")) == (at("2027-10-30T20:00"), at("2027-10-31T06:00"))
    assert quiet_span(berlin, at("2027-03-28T05:00")) is None
    assert quiet_span(replace(PHONE, quiet=(720, 780)), at("2027-03-28T12:30")) is not None
    assert quiet_span(PHONE, NOW) is None


def test_a_digest_has_what_is_no_message_of_its_own() -> None:
    """A question goes at once."""
    hourly = replace(PHONE, on=(*MESSAGES, "task:completed"), digest_ms=3_600_000)
    now = at("2027-01-15T09:20")
    events = [ASKED, *(Event(name="task:completed", task_id="b", seq=seq) for seq in (8, 9))]

    question, digest = made(hourly, events, store_id="s", now=now)

    assert question.event == ASKED and question.due_at == now
    assert (digest.event.data["since"], digest.due_at) == (at("2027-01-15T09:00"), at("2027-01-15T10:00"))


def test_a_service_that_asks_for_time_is_left_alone_that_long() -> None:
    """But never longer than a day."""
    assert on_ended(delivery(), Later.after("HTTP 429", 120_000), NOW).due_at == NOW + 120_000
    assert on_ended(delivery(), Later.after("HTTP 429", 10), NOW).due_at == NOW + wait_ms(1)
    assert Later.after("HTTP 429", 10**12).wait_ms == LONGEST_ASKED_MS


def test_nothing_is_said_that_is_over_or_said_elsewhere() -> None:
    """An answered question, an incident's first question, a hold that was only extended, what was short."""
    question = Question(id="q-1", need="x", why="y")
    of = Breaker(key="incident:ab", kind="incident", opened_at=NOW)
    opened, closed = Event(name="incident:opened"), Event(name="incident:closed", at=NOW + SHORT_MS)

    def moot(event: Event, **facts: object) -> bool:
        return is_moot(event, MessageFacts(now=NOW, **facts))  # type: ignore[arg-type]

    assert not moot(ASKED, question=question)
    assert moot(ASKED)
    assert moot(ASKED, question=changed(question, status="answered"))
    incident = changed(question, owner=Owner("incident", "incident:ab"))
    assert moot(ASKED, question=incident)
    assert not moot(changed(ASKED, data={"again": 1}), question=incident)
    assert moot(Event(name="hold:placed", data={"extended": True}), breaker=of)
    assert not moot(opened, breaker=of) and moot(opened) and moot(opened, breaker=changed(of, state="closed"))
    assert not moot(closed, breaker=of) and moot(changed(closed, at=NOW + 1), breaker=of) and not moot(closed)
    assert not moot(Event(name="budget:warning"))


BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("now", "due"),
    [
        ("2026-03-28T06:59:59+00:00", None),
        ("2026-03-28T07:00:00+00:00", "2026-03-28T08:00:00+01:00"),
        ("2026-03-29T05:59:59+00:00", None),  # an hour earlier: summer time began
        ("2026-03-29T06:00:00+00:00", "2026-03-29T08:00:00+02:00"),
        ("2026-03-29T12:00:00+00:00", None),  # too late to be of the morning
        ("2026-10-25T07:00:00+00:00", "2026-10-25T08:00:00+01:00"),
    ],
)
def test_the_report_is_due_by_the_clock_on_the_wall(now: str, due: str | None) -> None:
    """Whatever summer time does."""
    found = report_due(8 * 60, BERLIN, round(datetime.fromisoformat(now).timestamp() * 1000))

    wanted = None if due is None else datetime.fromisoformat(due).astimezone(UTC)
    assert (None if found is None else datetime.fromtimestamp(found / 1000, tz=UTC)) == wanted


def test_the_report_of_a_day_has_one_key_for_each_channel() -> None:
    """So that two engines make it once."""
    wall = channel(name="wall", url="https://example.org")

    key = report_key(wall, 1_000, store_id="s")
    found = report_delivery(wall, 1_000, key=key, now=2_000, said={"title": "a", "text": "b"})

    assert key == "s:wall:report:1000" == found.key
    assert (found.channel, found.kind, found.due_at, found.event.data) == (
        "wall",
        "url",
        2_000,
        {"title": "a", "text": "b"},
    )


def test_how_a_question_ended_is_heard_by_every_channel_with_an_address_and_sends_nothing() -> None:
    """At any hour: it is at most written into messages that are there."""
    answered = replace_event(ASKED, "question:answered")
    wall = channel(name="wall", url="https://example.org", quiet=(0, 1439), zone=ZoneInfo("UTC"))
    told = channel(name="told", url="https://example.org", on=("question:answered",))

    (found,) = made(wall, [answered], store_id="s", now=NOW)

    assert found.event.name == "question:answered" and found.due_at == NOW
    assert wall.only_changes(answered) and not told.only_changes(answered) and not wall.only_changes(ASKED)
    assert told.heard == ("question:answered", "question:withdrawn")
    assert DESK.heard == DESK.on


def replace_event(event: Event, name: str) -> Event:
    """The same event under another name."""
    return Event(name=name, task_id=event.task_id, data=event.data, seq=event.seq, at=event.at)


def test_an_arrival_with_a_place_is_no_error() -> None:
    """It reads as the empty text that stands for an arrival."""
    found = Arrived.at("42/7")

    assert not found and found == "" and found.place == "42/7"
    assert on_ended(delivery(), found, NOW).status == "done"
