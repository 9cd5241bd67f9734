"""A Temporal cluster as a place: one standalone activity per attempt, its id the key of the attempt.

An engine only watches. What was started goes on without it and is found again by its id; a start whose answer was
lost is attached to, never repeated. Temporal's own retries are off: what it means that an attempt ended is decided
by the engine. All calls to the server are made by a thread of this place, never by the loop.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Collection
from concurrent.futures import Future
from concurrent.futures import TimeoutError as WaitedTooLong
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from medbay.core.cluster import Cluster
from medbay.core.outcome import Cancelled, Failed, Lost, Outcome, Output, Requeued
from medbay.errors import ConfigError
from medbay.places.orders import AttemptReport, read_report, write_order
from medbay.places.protocol import CONNECTING, AttemptKey, Identity, Launch, Running

if TYPE_CHECKING:
    from temporalio.client import ActivityExecutionStatus, ActivityHandle, Client

ACTIVITY: Final = "medbay.attempt"
REFUSED: Final = "medbay.refused"  # the type of the failure of a worker that does not understand what it was sent
BARRED: Final = "medbay.barred"  # what stands at the cluster in place of an attempt that must not be started any more
_ASKED_AT_ONCE: Final = 50
_ANSWER_S: Final = 10.0  # how long one call may take
_RESULT_S: Final = 60.0  # how long one call may wait for an end
_AGAIN_S: Final = 1.0
_PROGRESS_S: Final = 3.0  # how often the newest output is asked for, while there is any
_PROGRESS_MAX_S: Final = 12.0  # and where there was none: many may wait for a worker
_LONGEST: Final = timedelta(days=30)  # of an attempt without a time limit
_MARGIN_S: Final = 120.0  # beyond the limits that the worker enforces itself


async def connect(settings: Cluster) -> Client:
    """Connect to the cluster; raises ConfigError with what to change where the settings are wrong."""
    try:
        from temporalio.client import Client
        from temporalio.service import TLSConfig
    except ImportError as error:
        raise ConfigError(
            f"the place {settings.name} needs the extra: temporal", hint="pip install 'medbay[temporal]'"
        ) from error

    key = os.environ.get(settings.api_key_env, "") if settings.api_key_env else ""
    if settings.api_key_env and not key:
        raise ConfigError(f"[places.{settings.name}] api_key_env: {settings.api_key_env} is not set")
    given = _certificates(settings)
    tls: Any = TLSConfig(**given) if given or settings.tls else False
    return await Client.connect(settings.address, namespace=settings.namespace, tls=tls, api_key=key or None)


async def reach(settings: Cluster, client: Client) -> None:
    """Ask whether the namespace is there; raises what keeps us from it."""
    from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest

    request = DescribeNamespaceRequest(namespace=settings.namespace)
    await client.workflow_service.describe_namespace(request, timeout=timedelta(seconds=_ANSWER_S))


def probe(settings: Cluster) -> str:
    """Why a cluster cannot be used; empty where it can."""

    async def ask() -> None:
        await reach(settings, await connect(settings))

    try:
        asyncio.run(asyncio.wait_for(ask(), _ANSWER_S))
    except Exception as error:
        return in_words(error, settings)
    return ""


def _certificates(settings: Cluster) -> dict[str, Any]:
    files = {"server_root_ca_cert": settings.server_ca, "client_cert": settings.client_cert}
    files["client_private_key"] = settings.client_key
    try:
        return {name: Path(path).expanduser().read_bytes() for name, path in files.items() if path}
    except OSError as error:
        raise ConfigError(f"[places.{settings.name}]: {error.filename}: {error.strerror}") from error


def in_words(error: BaseException, settings: Cluster) -> str:
    """What keeps us from the cluster, and what to change."""
    said = " ".join(str(error).split())[:300]
    where = f"{settings.address}, [places.{settings.name}]"
    if isinstance(error, ConfigError):
        return said
    if "amespace" in said and "not found" in said.lower():
        return f'namespace "{settings.namespace}" does not exist at {where} namespace'
    if "client cert and private key" in said:
        return f"[places.{settings.name}]: client_cert and client_key go together, and one is missing"
    # Which of the two depends on whether the other side hung up before or after we wrote.
    broke = "transport error" in said or "transport::Error" in said
    if "call error after connection" in said and broke and not settings.tls:
        plain = "takes connections, but no plain ones: set tls = true where it speaks TLS, or check address"
        return f"{where} {plain} ({said})"
    if "certificate" in said.lower() or "tls" in said.lower() or "InvalidContentType" in said:
        return f"TLS does not match what {where} speaks: check tls and its files ({said})"
    if "nauthor" in said or "ermission" in said:
        return f"{where} refuses the credentials: check api_key_env ({said})"
    return f"no answer from {where} address ({said})"


class _NeverStarted(Exception):
    """The cluster had not heard of an attempt, and will not any more."""


@dataclass(slots=True)
class _Watched:
    """One attempt of an engine, as far as its thread and its loop share it."""

    key: str
    launch: Launch
    part: str = ""
    outcome: Outcome | None = None
    cancelled: bool = False
    left: bool = False
    job: Future[None] | None = None
    asked: asyncio.Event = field(default_factory=asyncio.Event)


class RunningElsewhere:
    """One attempt at the cluster, as its engine sees it. It ends with a report, or by a person's cancel."""

    def __init__(self, place: TemporalPlace, watched: _Watched) -> None:
        self._place = place
        self._watched = watched

    @property
    def identity(self) -> Identity | None:
        """Its process is one of another machine."""
        return None

    def fileno(self) -> int:
        """Readable when any attempt of the place has ended."""
        return self._place.fileno()

    def poll(self, monotonic_s: float) -> Outcome | None:
        """How it ended, as soon as that is known here."""
        self._place.heard()
        return self._watched.outcome

    def deadline_s(self) -> float | None:
        """Its limits are enforced where it runs."""
        return None

    def cancel(self, monotonic_s: float) -> None:
        """Ask its worker to end it, and wait until that has."""
        self._place.cancel(self._watched)

    def hand_back(self, monotonic_s: float, *, why: str) -> None:
        """It goes on without this engine; how its checks ended is read again by the next."""
        if self._watched.part:
            self.kill()

    def kill(self) -> None:
        """Watch it no longer; it goes on, and the next engine takes it up."""
        self._place.leave(self._watched)
        if self._watched.part:  # nothing of it runs: an engine that stops does not wait until it could be read
            self._watched.outcome = self._watched.outcome or Requeued(asked=False, why="it is read again")


class TemporalPlace:
    """The attempts of one engine at one cluster."""

    def __init__(self, settings: Cluster, *, store_id: str) -> None:
        self._settings = settings
        self._store_id = store_id
        self._away = CONNECTING
        self._loop: asyncio.AbstractEventLoop | None = None
        self._client: Client | None = None
        self._connecting: asyncio.Lock | None = None
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._guard = threading.Lock()
        self._submit(self._look())

    def start(self, launch: Launch, monotonic_s: float) -> Running:
        """Start it there; a part of an attempt ended there already, and is only read."""
        order = b"" if launch.part else write_order(launch)
        return self._watch(launch, order)

    def reattach(self, launch: Launch, monotonic_s: float) -> Running:
        """Watch one that goes on, or has ended there meanwhile."""
        return self._watch(launch, b"")

    def still_running(self, attempts: Collection[AttemptKey]) -> frozenset[AttemptKey]:
        """Those the cluster knows. Where it does not answer all of them may be: a later look finds out."""
        if not attempts:
            return frozenset()
        asked = self._submit(self._known(sorted(attempts)))
        try:
            return frozenset(asked.result(_ANSWER_S))
        except (WaitedTooLong, Exception):
            asked.cancel()
            return frozenset(attempts)

    def unreachable(self) -> str:
        """Why nothing can be started there now."""
        return self._away

    def fileno(self) -> int:
        """Readable when an attempt has ended."""
        return self._wake

    def heard(self) -> None:
        """The loop looks at all attempts after it was woken."""
        with suppress(BlockingIOError, OSError):
            os.eventfd_read(self._wake)

    def cancel(self, watched: _Watched) -> None:
        """Ask for the end of one."""
        watched.cancelled = True
        if self._loop is not None:
            self._loop.call_soon_threadsafe(watched.asked.set)

    def leave(self, watched: _Watched) -> None:
        """Watch one no longer."""
        watched.left = True
        if watched.job is not None:
            watched.job.cancel()

    def close(self) -> None:
        """End the thread; what runs at the cluster goes on."""
        with self._guard:
            loop, self._loop = self._loop, None
        if loop is not None:
            asyncio.run_coroutine_threadsafe(_end_all(loop), loop)

    def _watch(self, launch: Launch, order: bytes) -> RunningElsewhere:
        key = f"{launch.store_id}:{launch.task_id}:{launch.number}"
        watched = _Watched(key=key, launch=launch, part=launch.part)
        watched.job = self._submit(self._follow(watched, order))
        return RunningElsewhere(self, watched)

    def _submit(self, work: Any) -> Future[Any]:
        with self._guard:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(
                    target=self._loop.run_forever, name=f"medbay-place-{self._settings.name}", daemon=True
                ).start()
            return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def _connected(self) -> Client:
        self._connecting = self._connecting or asyncio.Lock()
        async with self._connecting:
            if self._client is None:
                self._client = await connect(self._settings)
            return self._client

    async def _look(self) -> None:
        """Ask again and again whether the namespace is there; what waits for its end notices sooner."""
        while True:
            try:
                client = await asyncio.wait_for(self._connected(), _ANSWER_S)
                await reach(self._settings, client)
                self._away = ""
            except Exception as error:
                self._is_away(error)
            await asyncio.sleep(_AGAIN_S if self._away else _ANSWER_S)

    def _is_away(self, error: BaseException) -> None:
        self._away = in_words(error, self._settings)

    async def _known(self, attempts: list[AttemptKey]) -> list[AttemptKey]:
        client, asking = await self._connected(), asyncio.Semaphore(_ASKED_AT_ONCE)

        async def ask(attempt: AttemptKey) -> bool:
            async with asking:
                return not await self._barred(client, f"{self._store_id}:{attempt[0]}:{attempt[1]}")

        there = await asyncio.gather(*map(ask, attempts))
        return [attempt for attempt, known in zip(attempts, there, strict=True) if known]

    async def _barred(self, client: Client, key: str) -> bool:
        """Whether the cluster has never heard of it, and from now on will not: nobody can start it any more.

        An engine that was suspended before it sent its order must not send it after another took its task over.
        """
        from temporalio.common import ActivityIDConflictPolicy, ActivityIDReusePolicy
        from temporalio.exceptions import ActivityAlreadyStartedError

        handle: ActivityHandle[Any] = client.get_activity_handle(key)
        if await self._status(handle) is not None:
            return False
        try:
            handle = await client.start_activity(
                BARRED,
                id=key,
                task_queue=BARRED,
                schedule_to_close_timeout=timedelta(seconds=1),
                id_reuse_policy=ActivityIDReusePolicy.REJECT_DUPLICATE,
                id_conflict_policy=ActivityIDConflictPolicy.FAIL,
                rpc_timeout=timedelta(seconds=_ANSWER_S),
            )
        except ActivityAlreadyStartedError:
            return False
        return True

    async def _status(self, handle: ActivityHandle[Any]) -> ActivityExecutionStatus | None:
        """How it stands there; None where the cluster does not know it."""
        from temporalio.service import RPCError

        try:
            return (await handle.describe(rpc_timeout=timedelta(seconds=_ANSWER_S))).status
        except RPCError as error:
            if _is_unknown(error):
                return None
            raise

    async def _follow(self, watched: _Watched, order: bytes) -> None:
        """Start it where it is not started yet, and wait for its end, through every outage of the cluster."""
        handle: ActivityHandle[bytes] | None = None
        while watched.outcome is None and not watched.left:
            try:
                client = await self._connected()
                if handle is None and order:
                    await self._end_earlier(client, watched.launch)
                    handle = await self._start(client, watched, order)
                elif not order and not watched.part and await self._barred(client, watched.key):
                    raise _NeverStarted
                handle = handle or client.get_activity_handle(watched.key, result_type=bytes)
                await self._await_end(watched, handle)
            except asyncio.CancelledError:
                raise
            except Exception as error:
                ended = self._end_of(watched, error)
                if ended is not None:
                    self._ended(watched, ended)
                    return
                self._is_away(error)
                await asyncio.sleep(_AGAIN_S)

    async def _end_earlier(self, client: Client, launch: Launch) -> None:
        """The attempt before must not go on beside this one; it saw to all before it."""
        from temporalio.client import ActivityExecutionStatus

        if launch.number <= 1:
            return
        key = f"{launch.store_id}:{launch.task_id}:{launch.number - 1}"
        handle: ActivityHandle[Any] = client.get_activity_handle(key)
        while not await self._barred(client, key):
            if await self._status(handle) != ActivityExecutionStatus.RUNNING:
                return
            await handle.cancel(reason="its next attempt begins", rpc_timeout=timedelta(seconds=_ANSWER_S))
            await asyncio.sleep(_AGAIN_S)

    async def _start(self, client: Client, watched: _Watched, order: bytes) -> ActivityHandle[bytes] | None:
        from temporalio.common import ActivityIDConflictPolicy, ActivityIDReusePolicy, RetryPolicy
        from temporalio.exceptions import ActivityAlreadyStartedError

        launch, settings = watched.launch, self._settings
        limit_s = launch.timeout_s
        checks_s = len(launch.checks) * launch.check_timeout_s
        longest = timedelta(seconds=limit_s + checks_s + _MARGIN_S) if limit_s is not None else _LONGEST
        with suppress(ActivityAlreadyStartedError):  # it has ended by now: how is read by its id
            return await client.start_activity(
                ACTIVITY,
                order,
                id=watched.key,
                task_queue=settings.task_queue,
                result_type=bytes,
                start_to_close_timeout=longest,
                schedule_to_start_timeout=timedelta(milliseconds=settings.start_within_ms),
                heartbeat_timeout=timedelta(milliseconds=settings.heartbeat_ms),
                retry_policy=RetryPolicy(maximum_attempts=1),
                id_reuse_policy=ActivityIDReusePolicy.REJECT_DUPLICATE,
                id_conflict_policy=ActivityIDConflictPolicy.USE_EXISTING,
                rpc_timeout=timedelta(seconds=_ANSWER_S),
            )
        return None

    async def _await_end(self, watched: _Watched, handle: ActivityHandle[bytes]) -> None:
        """Wait for its report; meanwhile hand on a cancel, and its newest output."""
        result = asyncio.ensure_future(handle.result(rpc_timeout=timedelta(seconds=_RESULT_S)))
        asked = asyncio.ensure_future(watched.asked.wait())
        every_s = _PROGRESS_S
        try:
            while not result.done():
                waits = {result} if watched.cancelled and asked.done() else {result, asked}
                await asyncio.wait(waits, timeout=every_s, return_when=asyncio.FIRST_COMPLETED)
                if result.done():
                    break
                if asked.done():
                    await handle.cancel(reason="a person cancelled it", rpc_timeout=timedelta(seconds=_ANSWER_S))
                    await asyncio.sleep(_AGAIN_S)
                shown = await self._show_progress(watched, handle)
                every_s = _PROGRESS_S if shown else min(every_s * 2, _PROGRESS_MAX_S)
            self._ended(watched, _outcome_of(read_report(result.result()), watched))
        finally:
            result.cancel()
            asked.cancel()

    async def _show_progress(self, watched: _Watched, handle: ActivityHandle[bytes]) -> bool:
        """Keep the newest output of one that runs where `log` looks for it; whether there was any."""
        if watched.part or not watched.launch.log_path:
            return False
        seen = await handle.describe(include_heartbeat_details=True, rpc_timeout=timedelta(seconds=_ANSWER_S))
        self._away = ""
        details = await seen.heartbeat_details() or []
        beat = details[0] if details and isinstance(details[0], dict) else {}
        if tail := str(beat.get("tail", "")):
            _keep_output(watched.launch.log_path, tail)
        return bool(tail)

    def _end_of(self, watched: _Watched, error: BaseException) -> Outcome | None:
        """What an error says of an attempt; None where it says something of the cluster alone."""
        from temporalio.client import ActivityFailureError
        from temporalio.exceptions import ApplicationError, TimeoutError, TimeoutType
        from temporalio.exceptions import CancelledError as CancelledThere

        if isinstance(error, _NeverStarted) or _is_unknown(error):
            return Cancelled() if watched.cancelled else Lost(why=f"{self._settings.name} knows nothing of it any more")
        if _is_refused(error):
            said = f"{self._settings.name} does not take it: {' '.join(str(error).split())[:300]}"
            return Failed(spawn_error=said, output=Output(tail=said, total_bytes=len(said)))
        if not isinstance(error, ActivityFailureError):
            return None
        cause = error.__cause__
        match cause:
            case CancelledThere():
                return Cancelled()
            case TimeoutError(type=TimeoutType.SCHEDULE_TO_START):
                within_s = self._settings.start_within_ms // 1000
                return Lost(why=f"no worker of {self._settings.name} took it within {within_s}s ({cause})")
            case TimeoutError(type=TimeoutType.HEARTBEAT):
                # One that was never heard of may have gone to a worker that was dead already: not its doing.
                begun = bool(cause.last_heartbeat_details)
                return Lost(why=f"its worker at {self._settings.name} fell silent ({cause})", hard_crash=begun)
            case ApplicationError(type=kind) if kind == REFUSED:
                said = cause.message
                return Failed(spawn_error=said, output=Output(tail=said, total_bytes=len(said)))
            case _:
                return Lost(why=f"{self._settings.name} lost it ({cause or error})")

    def _ended(self, watched: _Watched, outcome: Outcome) -> None:
        self._away = ""
        if not watched.part and outcome.output.tail and watched.launch.log_path:
            _keep_output(watched.launch.log_path, outcome.output.text())
        watched.outcome = outcome
        with suppress(OSError):
            os.eventfd_write(self._wake, 1)


def _is_unknown(error: BaseException) -> bool:
    """Whether the cluster says that it knows nothing of an attempt; a namespace that is not there says nothing."""
    from temporalio.service import RPCError, RPCStatusCode

    unknown = isinstance(error, RPCError) and error.status == RPCStatusCode.NOT_FOUND
    return unknown and "amespace" not in str(error)


def _is_refused(error: BaseException) -> bool:
    """Whether the cluster answers that it will never take this, as what is larger than its operators allow."""
    from temporalio.service import RPCError, RPCStatusCode

    return isinstance(error, RPCError) and error.status == RPCStatusCode.INVALID_ARGUMENT


def _outcome_of(report: AttemptReport, watched: _Watched) -> Outcome:
    outcome = report.of_part(watched.part) if watched.part else report.outcome
    return replace(outcome, output=replace(outcome.output, log_path=watched.launch.log_path))


async def _end_all(loop: asyncio.AbstractEventLoop) -> None:
    """Cancel what is still watched, then end the loop."""
    rest = [each for each in asyncio.all_tasks(loop) if each is not asyncio.current_task()]
    for each in rest:
        each.cancel()
    await asyncio.gather(*rest, return_exceptions=True)
    loop.stop()


def _keep_output(path: str, text: str) -> None:
    """The newest output of an attempt elsewhere, in place of its log on this machine; 0600 like every log."""
    with suppress(OSError):
        Path(path).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with open(descriptor, "wb") as file:
            file.write(text.encode("utf-8", "replace"))
            file.truncate()
