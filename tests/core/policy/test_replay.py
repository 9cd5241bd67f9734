"""Another policy over recorded failures: the stated guess to the letter, and figures that add up."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from medbay.core.policy.policy import Policy
from medbay.core.policy.presets import LADDER, Rungs
from medbay.core.policy.replay import Episode, FailedRun, Played, as_recorded, replay, score
from tests.core.builders import DAY, HOUR, MINUTE, NOW, SECOND, diagnosis, free, hopeless, task

LATER = NOW + 30 * DAY


def waiting(delay_ms: int, *, max_retries: int = 5) -> Policy:
    """The same wait for everything."""
    return Policy(rungs={name: Rungs(delays_ms=(delay_ms,), max_retries=max_retries) for name in LADDER})


def run(at: int, number: int = 1, **of: object) -> FailedRun:
    """An attempt that failed ten seconds after it started."""
    found = of.get("diagnosis") or free()
    return FailedRun(number=number, started_at=at - 10 * SECOND, ended_at=at, diagnosis=found)  # type: ignore[arg-type]


def episode(*failures: FailedRun, healed: int | None = None, question: str | None = None) -> Episode:
    """Failures in a row; the attempt that succeeded ran for five seconds."""
    ended = None if healed is None else (healed, healed + 5 * SECOND)
    return Episode(task=task(), failures=failures, healed=ended, question=question)


def test_as_it_was() -> None:
    """Healed, asked about, or neither; the time is from the first failure to the end of the success."""
    two = (run(NOW), run(NOW + MINUTE, 2))
    assert as_recorded(episode(*two, healed=NOW + HOUR)) == Played(end="healed", wasted=2, heal_ms=HOUR + 5 * SECOND)
    assert as_recorded(episode(*two)) == Played(end="open", wasted=2)
    asked = as_recorded(episode(*two, healed=NOW + DAY, question="q-1"))
    assert asked == Played(end="blocked", wasted=2, person="q-1")


def test_an_attempt_fails_before_the_recorded_success_and_succeeds_from_then_on() -> None:
    """A shorter wait tries in vain until then; a longer one comes later."""
    past = episode(run(NOW), healed=NOW + 10 * MINUTE)

    short, long = replay(past, waiting(2 * MINUTE), LATER), replay(past, waiting(HOUR), LATER)

    assert short.end == long.end == "healed"
    assert short.wasted in (5, 6) and short.guessed == short.wasted - 1  # nothing but the first is recorded
    assert (long.wasted, long.guessed) == (1, 0)
    assert short.heal_ms is not None and 10 * MINUTE <= short.heal_ms <= 13 * MINUTE
    assert long.heal_ms is not None and 54 * MINUTE <= long.heal_ms <= 67 * MINUTE


def test_what_failed_is_told_by_the_record() -> None:
    """The last failure recorded before an attempt says how it fails: charged ones end the ladder."""
    past = episode(
        run(NOW), *(run(NOW + at * MINUTE, at + 1, diagnosis=diagnosis()) for at in (1, 2)), healed=NOW + DAY
    )

    found = replay(past, waiting(MINUTE + 20 * SECOND), LATER)

    assert (found.end, found.wasted) == ("blocked", 5)  # one free, four charged
    assert found.person == "task t-1 at 5"


def test_a_cause_that_a_person_ended_lasts_until_one_is_asked() -> None:
    """Waiting longer would not have spared the person."""
    past = episode(run(NOW, diagnosis=diagnosis()), healed=NOW + HOUR, question="q-1")

    assert replay(past, waiting(2 * HOUR), LATER).end == "blocked"
    assert replay(past, waiting(2 * HOUR), NOW + HOUR).end == "open"


def test_what_nothing_ended_goes_on_to_the_end_of_the_record() -> None:
    """And is open there."""
    found = replay(episode(run(NOW)), waiting(HOUR), NOW + 10 * HOUR)
    assert found.end == "open" and 8 <= found.wasted <= 11 and found.guessed == found.wasted - 1


def test_what_cannot_heal_asks_at_once_and_shares_its_question() -> None:
    """Two tasks with the same refused key: one person."""
    past = episode(run(NOW, diagnosis=hopeless()))
    other = replace(past, task=task(id="t-2"))

    found = [replay(each, Policy(), LATER) for each in (past, other)]

    assert [(each.end, each.wasted) for each in found] == [("blocked", 1), ("blocked", 1)]
    assert score(found).people == 1


def test_a_recurring_task_backs_off_from_its_own_period() -> None:
    """The other policy's multiplier is used."""
    past = replace(episode(run(NOW), healed=NOW + 2 * HOUR), task=task(every_ms=HOUR))

    found = replay(past, Policy(), LATER)

    assert found.end == "healed" and found.heal_ms is not None and 1.8 * HOUR <= found.heal_ms <= 7 * HOUR


@given(
    st.lists(st.integers(1, 6 * HOUR), max_size=5),
    st.integers(1, DAY),
    st.integers(20 * MINUTE, 12 * HOUR),
    st.booleans(),
    st.booleans(),
)
def test_nothing_heals_sooner_than_it_was_seen_to(
    gaps: list[int], heals_after: int, delay: int, heals: bool, charged: bool
) -> None:
    """Whatever happened and whatever the policy."""
    at, failures = NOW, [run(NOW, diagnosis=diagnosis() if charged else free())]
    for gap in gaps:
        at += gap + 10 * SECOND
        failures.append(run(at, len(failures) + 1, diagnosis=diagnosis() if charged else free()))
    past = episode(*failures, healed=at + heals_after if heals else None)

    found = replay(past, waiting(delay), LATER)

    assert found.wasted >= 1 and 0 <= found.guessed < found.wasted
    if found.end == "healed":
        assert heals and found.heal_ms is not None and found.heal_ms >= at + heals_after - NOW
    assert (found.person is not None) == (found.end == "blocked")


def test_a_score_adds_up() -> None:
    """Median and 95th percentile of those that healed; questions are counted, not tasks."""
    healed = [Played(end="healed", wasted=1, heal_ms=ms, tokens=10) for ms in range(1, 101)]
    others = [Played(end="blocked", wasted=4, person="q"), Played(end="blocked", wasted=4, person="q")]

    found = score([*healed, *others, Played(end="open", wasted=7, guessed=2)])

    assert (found.tasks, found.healed, found.blocked, found.open) == (103, 100, 2, 1)
    assert (found.wasted, found.tokens, found.people, found.guessed) == (115, 1000, 1, 2)
    assert (found.median_ms, found.p95_ms) == (50, 95)
    assert (score([]).median_ms, score([]).p95_ms, score([]).tasks) == (None, None, 0)
    assert score(healed[:1]).p95_ms == 1
