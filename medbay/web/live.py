"""The stream of events: one reader of the log for all who listen, each resuming from a number and missing nothing."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from functools import partial
from typing import Any, Final

import msgspec
from fastapi import APIRouter, Query, WebSocket
from starlette.websockets import WebSocketDisconnect

from medbay.bay import Bay
from medbay.env import Clock
from medbay.errors import MedbayError
from medbay.views import moments
from medbay.web.bays import Bays

LOOK_EVERY_S: Final = 0.1
AWAY_S: Final = 1.0
BEAT_S: Final = 15.0
BATCHES_MAX: Final = 200  # of events that a slow listener has not taken yet; then it comes back by itself
CATCH_UP_LATER: Final = 4013

log = logging.getLogger("medbay.web")
router = APIRouter()
Batch = tuple[int, int, str]  # where it begins, how far it reaches, and the message


class Hub:
    """Reads the event log in a thread of its own while anybody listens, and hands every batch to each of them."""

    def __init__(self, bays: Bays, clock: Clock) -> None:
        self.bays = bays
        self.clock = clock
        self.seq = 0
        self._queues: set[asyncio.Queue[Batch | None]] = set()
        self._wanted = threading.Event()
        self._ended = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._read, name="medbay-live", daemon=True)

    def start(self) -> None:
        """Begin, inside the loop of the server."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    def stop(self) -> None:
        """End the thread, and let all who listen go."""
        self._ended.set()
        self._wanted.set()
        for each in self._queues:
            _put(each, None)
        self._thread.join()  # it holds a connection that is closed next

    async def listen(self) -> asyncio.Queue[Batch | None]:
        """Return where batches arrive from now on."""
        queue: asyncio.Queue[Batch | None] = asyncio.Queue(BATCHES_MAX)
        if not self._queues:
            newest = await self.bays.call(lambda bay: bay.last_seq())
            if not self._queues:  # another may have come meanwhile, and is owed what happened since
                self.seq = newest
        self._queues.add(queue)
        self._wanted.set()
        return queue

    def leave(self, queue: asyncio.Queue[Batch | None]) -> None:
        """Send nothing there any more."""
        self._queues.discard(queue)
        if not self._queues:
            self._wanted.clear()

    def message(self, events: list[dict[str, Any]], seq: int) -> str:
        """Return what is sent of some events."""
        now = moments.iso(self.clock.now_ms())
        return msgspec.json.encode({"type": "events", "seq": seq, "now": now, "events": events}).decode()

    def _read(self) -> None:
        bay = self.bays.open()
        while not self._ended.is_set():
            self._wanted.wait()
            if self._ended.is_set():
                return
            try:
                if not bay.store.changed() and self.seq:
                    self._ended.wait(LOOK_EVERY_S)
                    continue
                found, until = bay.page.settled(self.seq)
            except MedbayError as error:
                log.info("the stream of events waits for the store: %s", error)
                self._ended.wait(AWAY_S)
                continue
            if until > self.seq and self._loop is not None and not self._ended.is_set():
                batch = self.seq, until, self.message(found, until)
                self.seq = until
                with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
                    self._loop.call_soon_threadsafe(self._hand_out, batch)
            self._ended.wait(LOOK_EVERY_S)

    def _hand_out(self, batch: Batch) -> None:
        for each in list(self._queues):
            _put(each, batch)


def _put(queue: asyncio.Queue[Batch | None], batch: Batch | None) -> None:
    """One that is full gets an end instead: it comes back and reads on from where it was."""
    if queue.full():
        queue.get_nowait()
        batch = None
    queue.put_nowait(batch)


@router.websocket("/api/live")
async def live(socket: WebSocket, since: int | None = Query(default=None, alias="from", ge=0)) -> None:
    """Events as they happen, after a number: first what was missed, then what comes."""
    hub: Hub = socket.app.state.hub
    await socket.accept()
    queue = await hub.listen()
    gone = asyncio.create_task(_until_gone(socket))
    gone.add_done_callback(lambda _: _put(queue, None))  # wakes whoever waits for the next batch
    try:
        at = hub.seq if since is None else since
        hello = {"type": "hello", "seq": hub.seq, "now": moments.iso(hub.clock.now_ms())}
        await socket.send_text(msgspec.json.encode(hello).decode())
        at = await _catch_up(socket, hub, at)
        await _pass_on(socket, hub, queue, at, gone)
    except (WebSocketDisconnect, RuntimeError):
        return
    finally:
        gone.cancel()
        hub.leave(queue)


async def _until_gone(socket: WebSocket) -> None:
    """Whatever a listener sends is not read; that it leaves is noticed."""
    with contextlib.suppress(WebSocketDisconnect, RuntimeError):
        while True:
            await socket.receive_text()


async def _catch_up(socket: WebSocket, hub: Hub, at: int) -> int:
    """Send what happened before the hub began to listen."""
    while at < hub.seq:
        found, until = await hub.bays.call(partial(_settled, after=at))
        if until <= at:
            break
        await socket.send_text(hub.message(found, until))
        at = until
    return at


def _settled(bay: Bay, *, after: int) -> tuple[list[dict[str, Any]], int]:
    return bay.page.settled(after)


async def _pass_on(
    socket: WebSocket, hub: Hub, queue: asyncio.Queue[Batch | None], at: int, gone: asyncio.Task[None]
) -> None:
    while not gone.done():
        try:
            batch = await asyncio.wait_for(queue.get(), BEAT_S)
        except TimeoutError:
            now = moments.iso(hub.clock.now_ms())
            await socket.send_text(msgspec.json.encode({"type": "beat", "seq": at, "now": now}).decode())
            continue
        if gone.done():
            return
        if batch is None:
            await socket.close(CATCH_UP_LATER)
            return
        begin, until, message = batch
        if until <= at:
            continue
        if begin < at:  # part of it was sent before
            found, until = await hub.bays.call(partial(_settled, after=at))
            message = hub.message(found, until)
        await socket.send_text(message)
        at = until
