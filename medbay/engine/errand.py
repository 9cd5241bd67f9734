"""One attempt that an engine elsewhere ordered: its work, then its checks, on this machine, as one thing that runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from medbay.core import workspace
from medbay.core.attempt import checks as gate
from medbay.core.model import CheckResult
from medbay.core.outcome import Cancelled, Checked, Failed, Outcome, Output, Requeued, Succeeded, redacted
from medbay.core.redaction import Redaction
from medbay.engine.verification import Verification
from medbay.errors import SpawnFailed
from medbay.places.environment import known_variables
from medbay.places.logs import read_ends
from medbay.places.orders import AttemptReport, within_bounds
from medbay.places.protocol import Identity, Launch, Place, Running

SHOWN_CHARS: Final = 4_096  # of the newest output, while it runs


class _NotStarted:
    """What cannot be started has ended already."""

    identity: Identity | None = None

    def __init__(self, error: SpawnFailed) -> None:
        said = str(error)
        self._outcome = Failed(spawn_error=said, output=Output(tail=said, total_bytes=len(said)))

    def fileno(self) -> int:
        """There is nothing to wait for."""
        return -1

    def poll(self, monotonic_s: float) -> Outcome | None:
        """Why it could not."""
        return self._outcome

    def deadline_s(self) -> float | None:
        """At once."""
        return 0.0

    def cancel(self, monotonic_s: float) -> None:
        """There is nothing to end."""

    def hand_back(self, monotonic_s: float, *, why: str) -> None:
        """There is nothing to end."""

    def kill(self) -> None:
        """There is nothing to end."""


def _started(launch: Launch, place: Place, monotonic_s: float) -> Running:
    try:
        return place.start(launch, monotonic_s)
    except SpawnFailed as error:
        return _NotStarted(error)


class Errand:
    """Runs the work and then, where it succeeded, its checks. What leaves this machine has no secrets."""

    def __init__(
        self,
        launch: Launch,
        place: Place,
        *,
        host: str,
        redaction: Redaction,
        now_ms: Callable[[], int],
        monotonic_s: float,
    ) -> None:
        variables = known_variables(tuple(launch.env.items()), launch.env_file, str(launch.cwd))
        self._launch = launch
        self._place = place
        self._host = host
        self._redaction = redaction.knowing(variables)
        self._now_ms = now_ms
        self._work: Outcome | None = None
        self._handed_back = ""
        self._cancelled = False
        self._shown = (0, "")  # how much there was to see when it was last looked at, and what that was
        self._running = _started(launch, place, monotonic_s)

    def fileno(self) -> int:
        """Readable when there is something to poll; -1 when it has to be polled."""
        return self._running.fileno()

    def deadline_s(self) -> float | None:
        """Monotonic time at which it must be polled even if nothing happens."""
        return self._running.deadline_s()

    def progress(self) -> tuple[int, str]:
        """How much it has printed by now, and the newest of that; no secret is in it."""
        _, tail, total = read_ends(self._launch.log_path)
        if total != self._shown[0]:
            self._shown = (total, self._redaction.text(tail)[-SHOWN_CHARS:])
        return self._shown

    def poll(self, monotonic_s: float) -> AttemptReport | None:
        """How all of it ended, once it did."""
        outcome = self._running.poll(monotonic_s)
        if outcome is None:
            return None
        if self._work is None:
            self._place.ended((self._launch.task_id, self._launch.number), self._running)
            if self._cancelled and isinstance(outcome, Succeeded) and self._launch.checks:
                return self._report(Cancelled(output=outcome.output))  # it ended before that, and is not judged now
            if self._launch.checks and isinstance(outcome, Succeeded) and not self._handed_back:
                self._work = outcome
                self._running = self._verification(outcome, monotonic_s)
                return self.poll(monotonic_s)
            return self._report(outcome)
        if isinstance(outcome, Checked):
            return self._report(self._work, outcome.results)
        return self._report(outcome)  # stopped while it was checked: that says nothing of the work

    def cancel(self, monotonic_s: float) -> None:
        """End it because a person asked."""
        self._cancelled = True
        self._running.cancel(monotonic_s)

    def hand_back(self, monotonic_s: float, *, why: str) -> None:
        """End it because this worker stops."""
        self._handed_back = why
        self._running.hand_back(monotonic_s, why=why)

    def kill(self) -> None:
        """End the whole of it at once."""
        self._running.kill()

    def _report(self, outcome: Outcome, results: tuple[CheckResult, ...] = ()) -> AttemptReport:
        if self._handed_back and isinstance(outcome, Succeeded) and not results and self._launch.checks:
            outcome = Requeued(asked=False, why=self._handed_back)  # its work is done, its checks were not begun
        shown = redacted(workspace.kept(outcome), self._redaction)
        judged = redacted(Checked(results=results), self._redaction)
        assert isinstance(judged, Checked)
        output = within_bounds(shown.output, host=self._host, result_path=self._launch.result_path)
        return AttemptReport(outcome=replace(shown, output=output), host=self._host, checks=judged.results)

    def _verification(self, outcome: Succeeded, monotonic_s: float) -> Verification:
        launch, seen = self._launch, workspace.seen(outcome.output.result)
        directory = Path(seen.directory) if seen is not None else launch.cwd
        planned = gate.planned(launch.checks, launch.task_id, launch.number)
        began = self._now_ms()
        return Verification(
            [(replace(each, round=1, started_at=began), self._check(each, directory)) for each in planned],
            self._place,
            fail_fast=launch.fail_fast,
            threshold=launch.threshold,
            now_ms=self._now_ms,
            monotonic_s=monotonic_s,
        )

    def _check(self, check: CheckResult, directory: Path) -> Launch:
        launch = self._launch
        base = launch.log_path.removesuffix(".log")
        part = f"check-{check.position}"
        return Launch(
            store_id=launch.store_id,
            task_id=launch.task_id,
            number=launch.number,
            part=part,
            runner="shell",
            command=check.command,
            shell=launch.shell,
            cwd=directory,
            log_path=f"{base}.{part}.log",
            result_path=f"{base}.{part}.result.json",
            idempotency_key=launch.idempotency_key,
            env=launch.env,
            guidance=launch.guidance,
            timeout_s=launch.check_timeout_s or None,
        )
