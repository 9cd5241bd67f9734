"""What is written into a tracker: named and kept while it is refused, never over what others wrote, exact in time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.postgres_server import Server
from tests.trackers.tracker_world import TrackerWorld
from tests.worlds import ManualClock, failed

BROKEN = failed('app.py:3: NameError: name "totals" is not defined')
MINE = "a person's note\nover two lines\n"
FOREIGN = "ADWS_FAILED|attempt=2|last_failure=2026-01-01T00:00:00Z|error_class=SdkCallError|step=implement|summary=x"
MINUTE = 60_000
ESCALATE = {"verdict": "ESCALATE", "why": "nobody knows", "look_at": "the proxy"}


@pytest.fixture
def world(tmp_path: Path, clock: ManualClock) -> Iterator[TrackerWorld]:
    """A project with a store and a tracker."""
    made = TrackerWorld(tmp_path / "project", clock, verdicts=(ESCALATE,))
    yield made
    made.close()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def any_world(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> Iterator[TrackerWorld]:
    """The same on every kind of database there is."""
    url = ""
    if request.param == "postgres":
        server: Server = request.getfixturevalue("postgres")
        url = server.url(request.getfixturevalue("database"))
    made = TrackerWorld(tmp_path / "project", clock, url, verdicts=(ESCALATE,))
    yield made
    made.close()


def failing(world: TrackerWorld, times: int = 1) -> str:
    """An issue of ours whose first attempts fail, taken up."""
    issue = world.create("login", MINE)
    world.scripts["work"] = [BROKEN] * times
    world.cycle()
    return issue


def test_the_walk_of_an_issue_waits_to_the_millisecond(any_world: TrackerWorld) -> None:
    """Fail, 30m, fail, 2h, fail, triage, person, answer, success; numbers go on, a person's notes stay."""
    world = any_world
    issue, engine = failing(world, 3), world.engine()

    for attempt, wait in ((1, 30 * MINUTE), (2, 120 * MINUTE)):
        world.run(engine)
        world.cycle()
        assert f"ADWS_FAILED|attempt={attempt}|" in world.notes(issue)
        world.clock.advance(wait - 1)
        engine.lease.beat(world.bay.store)
        assert world.bay.trackers.triage(world.tracker).counts["tier1_pending"] == 1
        assert world.bay.trackers.dispatch(world.tracker, run=False).skipped["active_record"] == [issue]
        world.clock.advance(1)
        assert world.bay.trackers.triage(world.tracker).counts["tier1_cleared"] == 1
        assert world.notes(issue) == MINE
    world.run(engine)
    world.cycle()
    world.run(engine)
    world.cycle()
    assert world.notes(issue).startswith(f"{MINE}needs_human|reason=")
    assert len(world.judge.asked) == 1
    (question,) = world.bay.inbox()

    world.bay.answer(question.id, "1")
    world.cycle()
    world.run(engine)
    world.cycle()

    closed = world.issue(issue)
    assert (closed["status"], closed["notes"]) == ("closed", MINE)
    assert (len(world.world.runner.started), world.tasks()[0].attempts) == (4, 4)
    assert world.cycle() == []


def test_a_record_that_the_tracker_refuses_is_named_kept_and_no_release(world: TrackerWorld) -> None:
    """Without its record the issue looks free; it is not worked on again before its cooldown all the same."""
    issue, engine = failing(world, 2), world.engine()
    world.run(engine)
    world.fault(f"update {issue} exit 1")

    for _ in range(2):
        (error,) = set(world.cycle())
        assert error.startswith(f"{issue}: bd update {issue}") and "connection refused" in error
        world.run(engine)
    assert world.notes(issue) == MINE
    assert len(world.world.runner.started) == 1
    world.fault()

    assert world.cycle() == []
    assert "ADWS_FAILED|attempt=1|" in world.notes(issue)
    assert len(world.world.runner.started) == 1


def test_a_list_that_is_older_than_the_record_releases_nothing(world: TrackerWorld) -> None:
    """Another process wrote the record after this one had listed the issues."""
    issue, engine = failing(world), world.engine()
    listed = world.tracker.open_issues()
    world.run(engine)
    world.bay.trackers.sync(world.tracker)
    world.tracker.open_issues = lambda: listed  # type: ignore[method-assign]

    assert world.bay.trackers.dispatch(world.tracker, run=False).dispatched == []
    assert world.tasks()[0].status == "failed"
    assert "ADWS_FAILED|attempt=1|" in world.notes(issue)


def test_the_triage_names_what_is_still_refused(world: TrackerWorld) -> None:
    """Once, beside its counts; nothing of the store is lost by it."""
    issue, engine = failing(world), world.engine()
    world.run(engine)
    world.fault(f"update {issue} garbage", f"show {issue} exit 1")

    found = world.bay.trackers.triage(world.tracker)

    assert (found.as_data()["issues_found"], len(found.errors)) == (0, 1)
    assert found.line().endswith("errors 1")


def test_what_another_tool_wrote_is_left_alone(world: TrackerWorld) -> None:
    """A record beside our running task is neither cleared nor triaged, and is still there when the task is done."""
    issue = failing(world, 0)
    notes = f"{MINE}{FOREIGN}"
    world.bd("update", issue, f"--notes={notes}")

    (item,) = world.bay.trackers.triage(world.tracker).items
    world.run(world.engine())
    world.cycle()

    assert (item.action, world.judge.asked) == ("no_action", [])
    assert (world.issue(issue)["status"], world.notes(issue)) == ("closed", notes)


def test_a_record_that_goes_on_counting_elsewhere_is_not_taken_for_ours(world: TrackerWorld) -> None:
    """Ours is taken back when the task is retried by hand; one with a higher number stays."""
    issue, engine = failing(world), world.engine()
    world.run(engine)
    world.cycle()
    ours = world.notes(issue)
    world.bd("update", issue, f"--notes={ours.rstrip()}\n{FOREIGN}")

    world.bay.retry(world.tasks()[0].id)
    world.bay.trackers.sync(world.tracker)

    assert world.notes(issue) == f"{MINE}{FOREIGN}"


def test_an_edited_mark_is_taken_back_with_its_answer(world: TrackerWorld) -> None:
    """A person who wrote into the reason is not left with it."""
    issue = world.create("login", f"mine\n{FOREIGN.replace('SdkCallError', 'unknown')}")
    world.cycle()
    edited = world.notes(issue).replace("needs_human|reason=", "needs_human|reason=I am on it: ")
    world.bd("update", issue, f"--notes={edited}")
    (question,) = world.bay.inbox()

    world.bay.answer(question.id, "1")
    world.cycle()

    assert world.notes(issue) == "mine"
    assert world.tasks()[0].status == "pending"


def test_a_dry_run_changes_neither_tracker_nor_store(world: TrackerWorld) -> None:
    """Nothing is written, claimed or asked, whatever there is to do."""
    ours, engine = failing(world), world.engine()
    world.run(engine)
    for notes in (FOREIGN, FOREIGN.replace("=2|", "=3|"), FOREIGN.replace("SdkCallError", "unknown"), "ADWS_FAILED|x"):
        world.create("other", notes)
    before = (world.every(), world.tasks(), len(world.fuse.steps))

    found = world.bay.trackers.triage(world.tracker, dry_run=True)

    assert sorted((each.tier, each.action) for each in found.items) == [
        (1, "cleared_for_retry"),
        (2, "triage_started"),
        (3, "escalated_to_human"),
        (3, "record_unreadable"),
    ]
    assert (world.every(), world.tasks()) == before[:2]
    assert "before commit" not in world.fuse.steps[before[2] :] and "before set_notes" not in world.fuse.steps
    assert world.notes(ours) == MINE and world.bay.inbox() == []


@pytest.mark.parametrize("text", ["half \ud800 of a character", "a\0b", "x" * 200_000], ids=["half", "nul", "long"])
def test_what_no_program_can_be_given_is_refused_in_words(world: TrackerWorld, text: str) -> None:
    """Before anything runs: it is an error of that issue alone."""
    from medbay.integrations.trackers.beads import Beads
    from medbay.integrations.trackers.protocol import TrackerError

    real = Beads("/bin/true", world.folder / ".beads")

    with pytest.raises(TrackerError) as raised:
        real.set_notes("demo-1", text)

    assert raised.value.kind == "refused"
    assert "bd update demo-1 --notes" in str(raised.value)
