"""The rules of deliveries: what a channel wants, in which order, how long a failure waits, when a channel is down."""

from __future__ import annotations

from dataclasses import replace

import pytest

from medbay.core.delivery import (
    GIVEN_UP_AFTER_MS,
    LONGEST_WAIT_MS,
    Channel,
    ChannelState,
    Delivery,
    channel,
    made,
    on_channel,
    on_ended,
    subject,
    wait_ms,
)
from medbay.core.model import Event, changed

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
    assert channel(name="desk", other="there", on=("task:failed",)).kind == "other"


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
