"""Events in words: one sentence per change."""

from __future__ import annotations

import pytest

from medbay.core.model import Event
from medbay.views.event import as_json, data_words, lines


def test_a_failure_and_what_follows_are_one_line() -> None:
    """The events of one decision stand in one line, those of others in between notwithstanding."""
    found = {"category": "transient", "subcategory": "network", "confidence": 0.8, "summary": "no\x1b[2J route"}
    events = [
        Event(name="task:failed", task_id="a", attempt=2, data={"outcome": "failed", "diagnosis": found}),
        Event(name="task:completed", task_id="b", attempt=1, data={"failures": 0}),
        Event(name="task:retry_scheduled", task_id="a", attempt=2, data={"delay_s": 27.0}),
        Event(name="task:blocked", task_id="c", data={"kind": "human", "reason": "why"}),
    ]

    made = lines(events, lambda task_id: f"title of {task_id}")

    assert [(each.task_id, each.glyph) for each in made] == [("a", "✗"), ("b", "✓"), ("c", "!")]
    assert made[0].what == "attempt 2 failed: transient/network 0.80, no\\x1b[2J route"
    assert made[0].then == "◷ retry in 27s"


@pytest.mark.parametrize(
    ("event", "glyph", "what"),
    [
        (Event(name="task:started", task_id="a", attempt=3), "▶", "attempt 3"),
        (
            Event(name="delivery:failed", data={"channel": "desk", "why": "exit status 1", "key": "s:desk:7"}),
            "✗",
            "channel desk does not deliver: exit status 1",
        ),
        (
            Event(name="delivery:restored", data={"channel": "desk", "down_s": 61}),
            "✓",
            "channel desk delivers again after 1m",
        ),
        (
            Event(name="task:verifying", task_id="a", attempt=1, data={"checks": ["x", "y"]}),
            "◐",
            "attempt 1 succeeded, 2 checks to come",
        ),
        (Event(name="task:iteration_done", task_id="a", attempt=5, data={"iteration": 4}), "✓", "run 4 succeeded"),
        (
            Event(name="task:completed", task_id="a", data={"failures": 2}),
            "✓",
            "completed · healed after 2 failures",
        ),
        (Event(name="triage:started", task_id="a", data={"agent": "rules"}), "▣", "triaged by rules"),
        (Event(name="task:paused", task_id="a", data={"by": "person:ada"}), "‖", "paused by person:ada"),
        (Event(name="clock:jumped", data={"by_ms": -1500}), "‖", "the clock jumped by -1.5 s"),
    ],
)
def test_each_event_has_a_sentence(event: Event, glyph: str, what: str) -> None:
    """Glyph and words of what happens to a task or to the engine."""
    (line,) = lines([event], lambda task_id: "")

    assert (line.glyph, line.what) == (glyph, what)


def test_the_events_of_a_triages_own_task_are_left_out() -> None:
    """They are part of the task whose failure is examined."""
    looking = Event(name="task:started", task_id="m2xa", attempt=1)
    assert not lines([looking], lambda task_id: "", triages={"m2xa"})


def test_values_are_written_as_people_do() -> None:
    """Neither `True` nor brackets."""
    data = {"charged": True, "changed": ["guidance", "title"], "by": ""}

    assert data_words(data) == "charged=yes  changed=guidance, title"


def test_the_json_of_an_event_has_every_documented_field() -> None:
    """Additive only."""
    made = as_json(Event(name="task:started", task_id="a", attempt=1, seq=7, at=0))

    assert made == {
        "seq": 7,
        "at": "1970-01-01T00:00:00.000Z",
        "name": "task:started",
        "task": "a",
        "attempt": 1,
        "data": {},
    }
