"""A worker of a Temporal cluster: its one activity runs what an engine ordered, by the runners of this machine.

It never retries and decides nothing. While it cannot reach the cluster it ends what it runs before the cluster gives
that to another; a guardian does so when the worker itself cannot.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from medbay.core.cluster import Cluster
from medbay.core.outcome import Cancelled
from medbay.env import Clock
from medbay.errors import SpawnFailed
from medbay.places.orders import AttemptReport, write_report
from medbay.places.protocol import Launch
from medbay.places.temporal import ACTIVITY, REFUSED, connect, in_words, reach

if TYPE_CHECKING:
    from temporalio.client import Client

log = logging.getLogger("medbay.place")

CUT_OFF: Final = "medbay.cut_off"
_LATE: Final = 1 / 4  # of the heartbeat time: an order that took longer may have been given up meanwhile
_LOOK_S: Final = 0.5  # how often one that says nothing is polled
CUT_OFF_AT: Final = 2 / 3  # of the heartbeat time without an answer: then what runs is ended
# The cluster counts from the last heartbeat it got, the guardian from the last answer, and it strikes at five sixths:
# a heartbeat may never be as old as the sixth that is left. It is written this often, and sent at most this late.
BEATS: Final = 1 / 16
_POLLED_S: Final = 0.05  # where there is no descriptor to wait on
_KEPT_S: Final = 7 * 86_400.0  # how long the logs of what ran here are kept
_SWEPT_EVERY_S: Final = 3_600.0


class OrderedAttempt(Protocol):
    """One ordered attempt that runs on this machine."""

    def fileno(self) -> int:
        """Readable when there is something to poll; -1 when it has to be polled."""
        ...

    def deadline_s(self) -> float | None:
        """Monotonic time at which it must be polled even if nothing happens."""
        ...

    def progress(self) -> tuple[int, str]:
        """How much it has printed by now, and the newest of that; no secret is in it."""
        ...

    def poll(self, monotonic_s: float) -> AttemptReport | None:
        """How it ended, once it did."""
        ...

    def cancel(self, monotonic_s: float) -> None:
        """End it because a person asked."""
        ...

    def hand_back(self, monotonic_s: float, *, why: str) -> None:
        """End it because this worker stops."""
        ...

    def kill(self) -> None:
        """End the whole of it at once."""
        ...


class Guard(Protocol):
    """What ends the trees of this worker when it cannot."""

    def begin(self, renewed_s: float) -> None:
        """Guard from now on."""
        ...

    def tend(self, renewed_s: float) -> None:
        """The cluster was last reached at this time."""
        ...

    def close(self, *, in_order: bool) -> None:
        """Guard no longer."""
        ...


class TemporalWorker:
    """Takes orders from one task queue until it is asked to stop."""

    def __init__(
        self,
        settings: Cluster,
        *,
        read: Callable[[bytes], Launch],
        begin: Callable[[Launch], OrderedAttempt],
        guard: Guard,
        slots: int,
        folder: Path,
        host: str,
        clock: Clock,
        notice: Callable[[str], None],
        close: Callable[[], None],
    ) -> None:
        self._settings = settings
        self._read = read
        self._begin = begin
        self._guard = guard
        self._slots = slots
        self._folder = folder
        self._host = host
        self._clock = clock
        self._notice = notice
        self._close = close
        self._beat_s = settings.heartbeat_ms / 1000
        self._reached_s = 0.0
        self._doubtful_until_s = 0.0
        self._client: Client | None = None
        self._errands: set[OrderedAttempt] = set()
        self._given_up: set[OrderedAttempt] = set()  # those of a time in which the cluster could not be reached
        self._stopping = asyncio.Event()

    def run(self) -> None:
        """Serve until SIGTERM or SIGINT; raises ConfigError where the cluster cannot be used as configured."""
        try:
            asyncio.run(self._serve())
        finally:
            self._close()

    async def _serve(self) -> None:
        from temporalio import activity
        from temporalio.worker import Worker

        @activity.defn(name=ACTIVITY)
        async def attempt(order: bytes) -> bytes:
            return await self._attempt(order)

        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stopping.set)
        client = await self._connect()
        if client is None:
            return
        self._client = client
        self._reached_s = self._clock.boottime_s()
        self._guard.begin(self._reached_s)
        beside = [asyncio.ensure_future(each) for each in (self._stay_in_touch(client), self._sweep())]
        worker = Worker(
            client,
            task_queue=self._settings.task_queue,
            activities=[attempt],
            identity=f"medbay@{self._host}",
            max_concurrent_activities=self._slots,
            graceful_shutdown_timeout=timedelta(seconds=self._beat_s),
            max_heartbeat_throttle_interval=timedelta(seconds=min(2.0, self._beat_s * BEATS)),
            default_heartbeat_throttle_interval=timedelta(seconds=min(2.0, self._beat_s * BEATS)),
        )
        self._notice(f"serving {self._settings.task_queue} at {self._settings.address}, {self._slots} slots")
        try:
            async with worker:
                await self._stopping.wait()
                for errand in list(self._errands):
                    errand.hand_back(self._clock.monotonic_s(), why="its worker is stopping")
        finally:
            for each in beside:
                each.cancel()
            self._guard.close(in_order=not self._errands)

    async def _connect(self) -> Client | None:
        """The cluster, once it answers; None when it was stopped before. What is configured wrong is said at once."""
        said = ""
        while not self._stopping.is_set():
            try:
                client = await connect(self._settings)
                await reach(self._settings, client)
                return client
            except Exception as error:
                words = in_words(error, self._settings)
                if words != said:
                    self._notice(f"waits: {words}")
                said = words
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), 2.0)
        return None

    async def _attempt(self, order: bytes) -> bytes:
        """Run one attempt to its end. Whatever happens here ends this attempt alone."""
        from temporalio.exceptions import ApplicationError

        try:
            launch = self._read(order)
        except SpawnFailed as error:
            raise ApplicationError(f"{self._host}: {error}", type=REFUSED, non_retryable=True) from error
        if await self._is_given_away():
            raise ApplicationError("it arrived here after it was given up", type=CUT_OFF, non_retryable=True)
        errand = self._begin(launch)
        self._errands.add(errand)
        try:
            return await self._until_it_ends(errand)
        finally:
            self._errands.discard(errand)
            self._given_up.discard(errand)

    async def _is_given_away(self) -> bool:
        """Whether an order comes too late: it was on its way while this worker was cut off, or suspended.

        Most come at once, and nobody is asked. Clocks of two machines may differ: then the cluster is asked in vain.
        """
        from temporalio import activity
        from temporalio.client import ActivityExecutionStatus

        told = activity.info()
        late_s = abs(self._clock.now_ms() / 1000 - told.started_time.timestamp())
        if late_s < self._beat_s * _LATE and self._clock.boottime_s() >= self._doubtful_until_s:
            return False
        try:
            assert self._client is not None
            handle: Any = self._client.get_activity_handle(told.activity_id)
            seen = await handle.describe(rpc_timeout=timedelta(seconds=max(0.5, self._beat_s * _LATE)))
        except Exception:
            return True
        return bool(seen.status != ActivityExecutionStatus.RUNNING)

    async def _until_it_ends(self, errand: OrderedAttempt) -> bytes:
        from temporalio import activity
        from temporalio.exceptions import ApplicationError

        cancelled, beat_at_s, every_s = False, 0.0, min(2.0, self._beat_s * BEATS)
        while True:
            report = errand.poll(self._clock.monotonic_s())
            if (
                errand in self._given_up or self._is_cut_off()
            ):  # it was ended here, and may run elsewhere by now: how it ended says nothing
                errand.kill()
                raise ApplicationError("its worker was cut off from the cluster", type=CUT_OFF, non_retryable=True)
            if report is not None:
                if cancelled and isinstance(report.outcome, Cancelled):
                    raise asyncio.CancelledError
                return write_report(report)
            if self._clock.monotonic_s() >= beat_at_s:
                activity.heartbeat(self._progress(errand))
                beat_at_s = self._clock.monotonic_s() + every_s
            try:
                await _readable(errand.fileno(), self._wait_s(errand, every_s))
            except asyncio.CancelledError:
                if not activity.is_worker_shutdown():
                    cancelled = True
                    errand.cancel(self._clock.monotonic_s())
                asyncio.current_task().uncancel()  # type: ignore[union-attr]

    def _wait_s(self, errand: OrderedAttempt, every_s: float) -> float:
        due = errand.deadline_s()
        left_s = every_s if due is None else due - self._clock.monotonic_s()
        return max(0.0, min(left_s, every_s, _LOOK_S))

    def _progress(self, errand: OrderedAttempt) -> dict[str, Any]:
        total, tail = errand.progress()
        return {"host": self._host, "bytes": total, "tail": tail}

    def _is_cut_off(self) -> bool:
        return self._clock.boottime_s() - self._reached_s >= self._beat_s * CUT_OFF_AT

    async def _stay_in_touch(self, client: Client) -> None:
        """Heartbeats say nothing of whether they arrive: ask, and end what runs before it is given to another."""
        from temporalio.api.workflowservice.v1 import GetSystemInfoRequest

        told = False
        while True:
            if self._is_cut_off():  # before it asks: an answer now does not undo what the guardian has ended meanwhile
                self._give_up()
            asked_s = self._clock.boottime_s()
            try:
                answer_s = timedelta(seconds=max(0.5, self._beat_s / 4))
                await client.workflow_service.get_system_info(GetSystemInfoRequest(), timeout=answer_s)
                if self._clock.boottime_s() - asked_s < self._beat_s * CUT_OFF_AT:  # else it was suspended meanwhile
                    if asked_s - self._reached_s >= self._beat_s / 3:  # what was on its way since may still arrive
                        self._doubtful_until_s = self._clock.boottime_s() + self._beat_s
                    self._reached_s = asked_s
                    self._guard.tend(asked_s)
                    told = False
            except Exception as error:
                if not told:
                    self._notice(f"cut off: {in_words(error, self._settings)}")
                told = True
            if self._is_cut_off():
                self._give_up()
            await asyncio.sleep(self._beat_s / 6)

    def _give_up(self) -> None:
        """What runs here may be another's soon: it is ended, and how it ends says nothing."""
        self._given_up |= self._errands
        for errand in list(self._errands):
            errand.kill()

    async def _sweep(self) -> None:
        """Remove what ran here long ago."""
        while True:
            before_s = self._clock.now_ms() / 1000 - _KEPT_S
            for path in sorted(self._folder.rglob("*"), reverse=True):
                with suppress(OSError):
                    if path.is_dir():
                        path.rmdir()
                    elif path.lstat().st_mtime < before_s:
                        path.unlink()
            await asyncio.sleep(_SWEPT_EVERY_S)


async def _readable(descriptor: int, timeout_s: float) -> None:
    """Wait until a descriptor can be read, at most for so long."""
    if descriptor < 0:
        await asyncio.sleep(_POLLED_S)
        return
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    try:
        loop.add_reader(descriptor, ready.set)
    except (OSError, ValueError):  # closed since
        await asyncio.sleep(_POLLED_S)
        return
    try:
        async with asyncio.timeout(timeout_s):
            await ready.wait()
    except TimeoutError:
        pass
    finally:
        loop.remove_reader(descriptor)
