"""From captures to a task, the process ending before and after every commit: nothing is lost, nothing is made twice."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from medbay import app
from medbay.bay import Bay
from medbay.core.intake import rules_agent
from medbay.core.intake.records import Candidate, Capture, Workorder
from medbay.core.outcome import Output, Succeeded
from medbay.core.policy.policy import Policy
from medbay.errors import NotAllowed
from medbay.places.protocol import Launch
from medbay.store.database import Store, Tx
from tests.trackers.tracker_world import Crash, Fuse
from tests.worlds import ManualClock, ScriptedRunning, World

THOUGHTS = ("login is flaky on Safari", "Safari login fails sometimes", "export the report as CSV")
AFTER_A_CRASH_MS = 10 * 60_000  # claims and leases of the dead are over
ROUNDS_MAX = 6


class FusedStore:
    """A store whose process may end before and after each of its commits."""

    def __init__(self, store: Store, fuse: Fuse) -> None:
        self._store, self._fuse = store, fuse

    @contextmanager
    def write(self, *given: Any, **more: Any) -> Iterator[Tx]:
        """A transaction."""
        with self._store.write(*given, **more) as tx:
            yield tx
            self._fuse.step("before commit")
        self._fuse.step("after commit")

    def __getattr__(self, name: str) -> Any:
        """Everything else is the store's."""
        return getattr(self._store, name)


class RulesIntake:
    """The agent that groups captures, without a process."""

    def start(self, launch: Launch, monotonic_s: float) -> ScriptedRunning:
        """It answers at once."""
        answer = json.dumps(rules_agent.answer(launch.stdin_text))
        return ScriptedRunning(launch, Succeeded(output=Output(result={"answer": answer})))


class Process:
    """One process: a worker of intake, an engine, and a person who promotes what it proposes."""

    def __init__(self, folder: Path, clock: ManualClock, at: int = 0) -> None:
        place = app.find_place(folder, store_url=f"sqlite:///{folder}/medbay.db", environ={"HOME": str(folder)})
        self.fuse = Fuse(at)
        self.bay = Bay(place, clock=clock, actor="person:test")
        self._store = self.bay.store
        self.bay.store = FusedStore(self._store, self.fuse)
        self.world = World(self.bay.store, clock, policy=Policy())

    def run(self) -> None:
        """Everything there is to do; ends at the step of the fuse."""
        engine = self.world.engine(runners={"intake": RulesIntake()})
        engine.start()
        for _ in range(ROUNDS_MAX):
            assert self.bay.intake.cycle("default") == []
            engine.tick()
        for each in self.bay.intake.page(Candidate, status=("PROPOSED",)).rows:
            try:
                self.bay.intake.promote(each.id, run="true")
            except NotAllowed:
                continue
        engine.tick()
        engine.tick()

    def close(self) -> None:
        """The process is gone."""
        self._store.close()


def test_a_crash_before_and_after_every_commit_loses_nothing(tmp_path: Path, clock: ManualClock) -> None:
    """One workorder per event with captures, one run record each, two candidates, two tasks, no try counted."""
    steps = 0
    while _survives(tmp_path / str(steps), clock, at=steps + 1):
        steps += 1

    assert steps > 12


def _survives(folder: Path, clock: ManualClock, *, at: int) -> bool:
    """Whether the process ended at this step; another one went on then, and everything is as it should be."""
    folder.mkdir()
    before = Process(folder, clock)
    for each in THOUGHTS:
        before.bay.intake.capture(each)
    before.close()
    dying, crashed = Process(folder, clock, at), ""
    try:
        dying.run()
    except Crash as crash:
        crashed = f"{crash} at step {at}"
    dying.close()
    if crashed:
        clock.advance(AFTER_A_CRASH_MS)
        after = Process(folder, clock)
        after.world.engine()  # takes the number of the process that died
        after.world.sightings.clear()  # which is seen nowhere
        after.run()
        after.close()
    _check(folder, clock, crashed)
    return bool(crashed)


def _check(folder: Path, clock: ManualClock, crashed: str) -> None:
    last = Process(folder, clock)
    intake = last.bay.intake
    captures, orders = intake.page(Capture).rows, intake.page(Workorder).rows
    candidates = intake.page(Candidate).rows
    with last.bay.store.read() as tx:
        records = tx.rows("SELECT workorder_id, gate_result FROM run_record")
        events = tx.rows("SELECT reason, COUNT(*) FROM capture_event GROUP BY reason ORDER BY reason")
        taken = tx.one("SELECT COUNT(*), COUNT(DISTINCT capture_id) FROM workorder_capture")
        tasks = tx.rows("SELECT status, COUNT(*) FROM task WHERE role = '' GROUP BY status")
    last.close()

    assert [each.status for each in orders] == ["PASSED"], crashed
    done = ("PROCESSED", 0, orders[0].id)
    assert [(each.status, each.tries, each.workorder) for each in captures] == [done] * 3, crashed
    assert records == [(orders[0].id, "PASS")], crashed
    assert events == [("NO_PENDING_CAPTURES", 2), ("SCHEDULED", 1)], crashed
    assert taken == (3, 3), crashed
    assert [each.status for each in candidates] == ["PROMOTED", "PROMOTED"], crashed
    assert len({each.task_id for each in candidates}) == 2 and tasks == [("completed", 2)], crashed
