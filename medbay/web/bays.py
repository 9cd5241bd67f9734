"""The library for many requests at once: a few threads, each with a Bay of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, Generic, TypeVar

from medbay.app import StoreLocation
from medbay.bay import Bay

T = TypeVar("T")
THREADS: Final = 4


class Bays:
    """Calls on one store. A Bay is used in one thread only, so each thread opens its own."""

    def __init__(self, place: StoreLocation) -> None:
        self.place = place
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="medbay-page")
        self._own = threading.local()
        self._opened: list[Bay] = []

    async def call(self, work: Callable[[Bay], T], *, actor: str = "") -> T:
        """Do something with the store in the name of a person."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._work, work, actor)

    def open(self) -> Bay:
        """Open the store once more, for a thread that keeps it; closed with the others."""
        made = Bay(self.place, create=False)
        self._opened.append(made)
        return made

    def close(self) -> None:
        """Give everything back."""
        self._threads.shutdown(wait=True, cancel_futures=True)
        while self._opened:
            self._opened.pop().close()

    def _work(self, work: Callable[[Bay], T], actor: str) -> T:
        bay: Bay | None = getattr(self._own, "bay", None)
        if bay is None:
            bay = self._own.bay = self.open()
        bay.actor = actor or "web"
        return work(bay)


class Shared(Generic[T]):
    """One question that many windows ask at once: whoever asks while it is being answered shares the next answer.

    An answer never began before it was asked for, so that who changed something sees it.
    """

    def __init__(self, bays: Bays, work: Callable[[Bay], T]) -> None:
        self._bays, self._work = bays, work
        self._running: asyncio.Future[T] | None = None
        self._next: asyncio.Future[T] | None = None

    async def get(self) -> T:
        """Return an answer that is begun from now on."""
        if self._next is None:
            self._next = asyncio.ensure_future(self._after(self._running))
        return await asyncio.shield(self._next)

    async def _after(self, running: asyncio.Future[T] | None) -> T:
        if running is not None:
            await asyncio.wait([running])
        self._running, self._next = self._next, None
        return await self._bays.call(self._work)
