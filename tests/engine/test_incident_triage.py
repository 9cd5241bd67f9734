"""The one triage of an incident: started once, shown what they share, and what its verdict does; on both databases."""

from __future__ import annotations

import json
from typing import Any

import pytest

from medbay.core.model import Task
from medbay.core.outcome import Outcome, Output, Succeeded
from medbay.engine.round import Engine
from medbay.engine.triage import SUPPRESSED
from medbay.service import breakers as breaker_service
from medbay.service import tasks
from medbay.store import tasks as task_rows
from medbay.store import triages
from medbay.store.database import Store
from tests.engine.test_outages import DEAD, MINUTE, SECOND, Outage, now_of
from tests.engine.test_triage import Says
from tests.worlds import ManualClock, ScriptedRunning, failed

MANY = 40


class Night(Outage):
    """A service that many tasks need is down until somebody mends it; an agent looks at it."""

    def __init__(self, store: Store, clock: ManualClock, *answers: dict[str, Any] | None) -> None:
        self.mended = False
        super().__init__(store, clock, lambda launch, now: Succeeded() if self.mended else failed(DEAD))
        self.agent = Says(*answers)

    def engine(self, **settings: Any) -> Engine:
        """An engine with the agent."""
        return super().engine(runners={"shell": self.weather, "triage": self.agent}, **settings)

    def begin(self, many: int = MANY, **more: Any) -> tuple[Engine, list[Task]]:
        """The outage, a quarter of a minute old."""
        added = [self.add(f"load {number}", **more) for number in range(many)]
        engine = self.engine(slots=5)
        engine.start()
        self.pass_time(engine, self.clock.wall_ms + 15 * SECOND)
        return engine, added

    def incident(self) -> Any:
        """The one incident."""
        (key,) = [each for each in self.open_keys() if each.startswith("incident:")]
        return self.breaker(key)

    def looked(self) -> list[Any]:
        """Every triage of incidents there was."""
        with self.store.read() as tx:
            rows = tx.rows("SELECT id FROM triage ORDER BY started_at, id")
            return [triages.get(tx, row[0]) for row in rows]

    def act_on_question(self, given: str, choice: str) -> None:
        """A person answers."""
        with self.store.write() as tx:
            tasks.answer(tx, given, choice, actor="person:test")

    def say(self, engine: Engine, answer: dict[str, Any]) -> None:
        """Let the agent that is still thinking answer."""
        (thinking,) = [each for key, each in engine.live.items() if key[0].startswith(".triage-incident-")]
        assert isinstance(thinking.running, ScriptedRunning)
        thinking.running.outcome = said(answer)
        self.pass_time(engine, self.clock.wall_ms + 2 * SECOND)


def said(answer: dict[str, Any]) -> Outcome:
    """What an agent answers."""
    return Succeeded(output=Output(result={"answer": json.dumps(answer)}))


def untouched(before: list[Task], after: list[Task]) -> bool:
    """Whether nothing that a verdict could change of tasks was changed."""
    names = ("timeout_ms", "model", "runner", "spec", "paused", "triages", "triaged_at", "questions", "block_kind")
    return [[getattr(each, name) for name in names] for each in before] == [
        [getattr(each, name) for name in names] for each in after
    ]


def test_an_outage_is_one_incident_one_triage_one_question(store: Store, clock: ManualClock) -> None:
    """However long it lasts and however many tasks it holds; the agent is shown what they share."""
    night = Night(store, clock, {"verdict": "NOOP", "why": "the database comes back"})
    engine, added = night.begin()
    night.pass_time(engine, clock.wall_ms + 60 * MINUTE)

    (looked,) = night.looked()
    assert (looked.action, looked.detail) == ("no_action", "the database comes back")
    assert len(night.events("incident:opened")) == len(night.events("triage:started")) == 1
    assert len(night.events("question:asked")) == len(night.questions()) == 1
    (shown,) = night.agent.asked
    assert shown["incident"]["key"] == night.incident().key
    assert "Connection refused" in shown["incident"]["excerpt"]
    assert set(shown["incident"]["tasks"]) <= {each.id for each in added}
    assert shown["incident"]["open_for_s"] < 15
    assert set(shown["verdicts"]) == {"NOOP", "FILE_FIX", "PAUSE", "RECOMMEND_CONFIG", "ESCALATE"}
    assert shown["task"]["id"] in {each.id for each in added}
    assert night.incident().failures >= 5  # the canaries went on
    assert untouched(added, now_of(night, added))
    night.mended = True
    night.pass_time(engine, clock.wall_ms + 40 * MINUTE)
    assert {each.status for each in now_of(night, added)} == {"completed"}
    assert night.questions() == []
    assert len(night.looked()) == 1


@pytest.mark.parametrize(
    ("answer", "action", "events"),
    [
        ({"verdict": "RECOMMEND_CONFIG", "suggestion": "raise max_connections"}, "config_recommended", 1),
        ({"verdict": "ESCALATE", "why": "it is full", "look_at": "raise max_connections"}, "escalated_to_human", 2),
    ],
)
def test_its_one_question_says_what_triage_found(
    store: Store, clock: ManualClock, answer: dict[str, Any], action: str, events: int
) -> None:
    """It blocks no task, only an escalation is told a second time, and it goes when the incident does."""
    night = Night(store, clock, {**answer, "evidence": ["port 5432 failed"]})
    engine, added = night.begin()

    (asked,) = night.questions()
    assert "raise max_connections" in asked.need
    assert "port 5432 failed" in asked.evidence
    assert asked.id == night.incident().question_id
    assert asked.task_ids == ()
    assert [each.action for each in night.looked()] == [action]
    assert len(night.events("question:asked")) == events
    night.mended = True
    night.pass_time(engine, clock.wall_ms + 20 * MINUTE)
    assert night.questions() == []
    assert {each.status for each in now_of(night, added)} == {"completed"}


def test_what_was_answered_is_asked_anew_when_triage_needs_a_person(store: Store, clock: ManualClock) -> None:
    """One open question at any time."""
    night = Night(store, clock, None)
    engine, _ = night.begin()
    (first,) = night.questions()
    night.act_on_question(first.id, "wait")
    night.say(engine, {"verdict": "ESCALATE", "why": "the disk of the database is full"})

    (second,) = night.questions()
    assert second.id != first.id
    assert night.incident().question_id == second.id
    assert "disk of the database" in second.why


@pytest.mark.parametrize(
    "answer",
    [
        {"verdict": "ADJUST", "adjust": {"timeout": 5}},
        {"verdict": "SPLIT", "parts": [{"title": "a"}, {"title": "b"}]},
        {"verdict": "SPEC_REFRESH", "unclear": "which database"},
        {"verdict": "PAUSE", "task": "somebody-else"},
    ],
)
def test_a_verdict_that_would_change_tasks_is_refused_and_recorded(
    store: Store, clock: ManualClock, answer: dict[str, Any]
) -> None:
    """Nothing may change many tasks at once; the question says that, and no second triage starts."""
    night = Night(store, clock, answer)
    engine, added = night.begin()
    night.pass_time(engine, clock.wall_ms + 10 * MINUTE)

    assert [each.action for each in night.looked()] == ["refused"]
    assert len(night.events("triage:refused")) == 1
    (asked,) = night.questions()
    assert "refused" in asked.why
    assert untouched(added, now_of(night, added))
    assert not night.incident().paused


def test_a_fix_is_filed_once_and_sends_the_canary_when_it_is_done(store: Store, clock: ManualClock) -> None:
    """No task waits for it by itself; without an agent for it a person answers `done`."""
    answer = {"verdict": "FILE_FIX", "root_cause": "no database", "fix": {"title": "start it", "description": "x"}}
    night = Night(store, clock, answer)
    engine, added = night.begin()
    night.pass_time(engine, clock.wall_ms + 20 * MINUTE)
    fix = night.incident().data["fix"]
    found = night.task(fix)
    assert (found.role, found.runner, found.status) == ("fix", "person", "blocked")
    assert "is one of them" in found.description
    assert len(night.looked()) == 1
    assert untouched(added, now_of(night, added))
    due = night.incident().probe_at
    assert due is not None and due > clock.wall_ms + MINUTE

    night.mended = True
    night.act_on_question(fix, "done")
    night.pass_time(engine, clock.wall_ms + 5 * SECOND)

    assert night.open_keys() == []
    assert clock.wall_ms < due
    night.pass_time(engine, clock.wall_ms + 15 * MINUTE)
    assert {each.status for each in now_of(night, added)} == {"completed"}


def test_a_cancelled_fix_leaves_the_tasks_alone(store: Store, clock: ManualClock) -> None:
    """The canaries find out by themselves."""
    night = Night(store, clock, {"verdict": "FILE_FIX", "fix": {"title": "start it"}})
    engine, added = night.begin()
    night.act(tasks.cancel, night.incident().data["fix"])
    night.pass_time(engine, clock.wall_ms + MINUTE)

    assert untouched(added, now_of(night, added))
    night.mended = True
    night.pass_time(engine, clock.wall_ms + 30 * MINUTE)
    assert {each.status for each in now_of(night, added)} == {"completed"}


def test_a_fix_that_is_done_after_the_incident_changes_nothing(store: Store, clock: ManualClock) -> None:
    """Somebody closed it by hand."""
    night = Night(store, clock, {"verdict": "FILE_FIX", "fix": {"title": "start it"}})
    engine, _ = night.begin()
    incident = night.incident()
    with store.write() as tx:
        breaker_service.close_one(tx, incident.key, actor="person:me")
    night.mended = True
    night.pass_time(engine, clock.wall_ms + MINUTE)
    night.act_on_question(incident.data["fix"], "done")

    assert night.breaker(incident.key).state == "closed"


@pytest.mark.parametrize(("choice", "at_once"), [("retry", True), ("wait", False)])
def test_a_pause_sends_nothing_ahead_until_a_person_answers(
    store: Store, clock: ManualClock, choice: str, at_once: bool
) -> None:
    """Then the canaries go on, at once or as before."""
    night = Night(store, clock, {"verdict": "PAUSE", "why": "every try fills the disk"})
    engine, added = night.begin()
    before = len(night.weather.started)
    night.pass_time(engine, clock.wall_ms + 120 * MINUTE)
    assert len(night.weather.started) == before
    paused = night.incident()
    assert (paused.paused, paused.only_a_person_ends, paused.probe_at) == (True, True, None)
    assert night.stands_still() == []
    (asked,) = night.questions()
    assert "fills the disk" in asked.why

    night.mended = True
    night.act_on_question(asked.id, choice)
    night.pass_time(engine, clock.wall_ms + 5 * SECOND)
    assert (night.open_keys() == []) is at_once
    night.pass_time(engine, clock.wall_ms + 30 * MINUTE)
    assert {each.status for each in now_of(night, added)} == {"completed"}


def test_a_verdict_that_comes_after_the_incident_is_dropped(store: Store, clock: ManualClock) -> None:
    """It is recorded as stale, and holds nothing back."""
    night = Night(store, clock, None)
    engine, added = night.begin()
    night.mended = True
    night.pass_time(engine, clock.wall_ms + 3 * MINUTE)
    assert night.open_keys() == []
    night.say(engine, {"verdict": "PAUSE", "why": "too late"})

    assert [each.action for each in night.looked()] == ["stale"]
    assert night.questions() == []
    night.pass_time(engine, clock.wall_ms + 15 * MINUTE)
    assert {each.status for each in now_of(night, added)} == {"completed"}


def test_a_triage_that_fails_is_told_once_and_not_repeated(store: Store, clock: ManualClock) -> None:
    """Lost with its engine: one event, the one question says so, the canaries go on."""
    night = Night(store, clock, None)
    first, added = night.begin()
    night.sightings[first.worker.pid] = "dead"
    second = night.engine(slots=5)
    second.start()
    night.pass_time(second, clock.wall_ms + 30 * MINUTE)

    assert [each.action for each in night.looked()] == ["triage_failed"]
    assert len(night.agent.asked) == 1
    assert len(night.events("triage:failed")) == 1
    assert len(night.events("question:asked")) == 1
    (asked,) = night.questions()
    assert "lost" in asked.why
    assert night.incident().failures >= 3
    assert untouched(added, now_of(night, added))


def test_a_triage_that_is_cancelled_before_it_runs_leaves_the_incident_to_its_question(
    store: Store, clock: ManualClock
) -> None:
    """The canaries go on, and no second one starts."""
    night = Night(store, clock)
    added = [night.add(f"load {number}") for number in range(MANY)]
    engine = night.engine(slots=5)
    engine.start()
    engine.claiming = True
    real = engine.triager.start
    engine.triager.start = lambda: 0  # type: ignore[method-assign]
    night.pass_time(engine, clock.wall_ms + 3 * SECOND)
    engine.triager.start = real  # type: ignore[method-assign]
    engine.release()
    assert engine.triager.start() == 1
    (looked,) = night.looked()
    night.act(tasks.cancel, looked.id)
    night.pass_time(engine, clock.wall_ms + 5 * MINUTE)

    assert [each.action for each in night.looked()] == ["triage_failed"]
    assert night.agent.asked == []
    assert "cancelled" in night.questions()[0].why
    assert untouched(added, now_of(night, added))


def test_the_agency_breaker_holds_it_back(store: Store, clock: ManualClock, caplog: pytest.LogCaptureFixture) -> None:
    """Until somebody closes that; then the incident is looked at, as it is still open."""
    night = Night(store, clock)
    with store.write() as tx:
        breaker_service.open_one(tx, "agency", actor="person:me", why="too dear", until=None)
    engine, _ = night.begin()
    assert night.looked() == []
    assert [each for each in caplog.messages if "suppressing triage" in each] == [SUPPRESSED % 1]
    with store.write() as tx:
        breaker_service.close_one(tx, "agency", actor="person:me")
    night.pass_time(engine, clock.wall_ms + 5 * SECOND)

    assert len(night.looked()) == 1


def test_tasks_that_want_no_triage_are_not_shown_to_one(store: Store, clock: ManualClock) -> None:
    """The incident is treated without; that is decided once."""
    night = Night(store, clock)
    engine, _ = night.begin(tag=["no-recurring-triage"])
    night.pass_time(engine, clock.wall_ms + 10 * MINUTE)

    assert night.looked() == []
    assert (night.incident().data["triage"], night.incident().data["triage_why"]) == ("", "its tasks want no triage")


def test_an_outage_that_comes_back_soon_is_not_looked_at_again(store: Store, clock: ManualClock) -> None:
    """Within the cooldown of triage the same failure has been looked at."""
    night = Night(store, clock)
    engine, added = night.begin()
    night.mended = True
    night.pass_time(engine, clock.wall_ms + 20 * MINUTE)
    assert {each.status for each in now_of(night, added)} == {"completed"}
    night.mended = False
    again = [night.add(f"again {number}") for number in range(MANY)]
    night.pass_time(engine, clock.wall_ms + 2 * MINUTE)

    assert len(night.looked()) == 1
    assert night.incident().data["triage"] == ""
    assert "examined the same failure" in night.incident().data["triage_why"]
    assert len(night.questions()) == 1
    assert {each.status for each in now_of(night, again)} <= {"pending", "failed"}


def test_a_task_at_rung_three_waits_while_the_incident_is_open(store: Store, clock: ManualClock) -> None:
    """No second triage for that fingerprint, whoever wants it."""
    night = Night(store, clock)
    engine, added = night.begin()
    with store.write() as tx:
        tx.execute("UPDATE task SET wants_triage = 1, waits_for = 'triage' WHERE id = ?", (added[0].id,))
    night.pass_time(engine, clock.wall_ms + 5 * MINUTE)

    assert len(night.looked()) == 1
    with store.read() as tx:
        assert task_rows.get(tx, added[0].id).wants_triage  # type: ignore[union-attr]
