"""The outbox at work: makes deliveries from the event log, begins some, asks how they are, records how they ended.

`deliver` is one round and never waits: the daemon calls it from a thread of its own, the simulator from its schedule.
A delivery that hangs holds up nothing but what follows it in its lane. Killed between a run and its record, the same
delivery is made again with the same key.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Final

from medbay.core.budget import Budget
from medbay.core.delivery import LEASE_BEYOND_MS, Channel, Delivery
from medbay.engine.heartbeat import Heartbeats, Pulse
from medbay.env import Clock
from medbay.errors import SpawnFailed, StoreError
from medbay.integrations.protocol import Sender, Sending
from medbay.service import deliveries, links
from medbay.store.database import Store

AT_ONCE: Final = 8  # deliveries under way
LOOK_EVERY_S: Final = 0.5  # at the event log
LONGEST_WAIT_S: Final = 60.0  # after failures in a row
DOUBLINGS: Final = 10
POLL_EVERY_S: Final = 0.05  # while something is under way
MOVE_AFTER: Final = 10_000  # events without a channel, until it is stored that they were read
FORGET_EVERY_S: Final = 3_600.0
_BROKEN_MAX: Final = 500  # characters of what a channel broke on

log = logging.getLogger("medbay.engine")


class Deliverer:
    """Delivers for one engine, under a name of its own."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        channels: Iterable[Channel],
        senders: Mapping[str, Sender],
        *,
        owner: str,
        heartbeats: Heartbeats | None = None,
        budget: Budget | None = None,
        link_key: str = "",
    ) -> None:
        self.under_way: dict[str, tuple[Delivery, Sending]] = {}  # by key
        self._store = store
        self._clock = clock
        self._channels = {each.name: each for each in channels}
        self._senders = senders
        self._owner = owner
        self._heartbeats = heartbeats
        self._budget = budget or Budget()
        self._link_key = link_key  # for a store that has none yet
        self._read: dict[str, int] = {}  # how far each channel has read
        self._stored: dict[str, int] = {}  # how much of that is stored
        self._ended: list[tuple[Delivery, str]] = []  # and not recorded yet
        self._forget_at_s = clock.monotonic_s()

    def begin(self) -> None:
        """Read on where the channels were, new ones from now on. Nothing that happens after this is missed."""
        with self._store.write() as tx:
            self._stored = {each.name: deliveries.begin_reading(tx, each) for each in self._channels.values()}
            if self._link_key and any(each.page for each in self._channels.values()):
                links.keep_key(tx, self._link_key)
        self._read = dict(self._stored)

    def deliver(self) -> None:
        """One round. Raises StoreError when the store is away; the next round carries on."""
        self._look()
        self._record()
        self._make()
        self._start()
        if self._heartbeats is not None:  # last: where the store is away, no heartbeat is sent
            self._heartbeats.look(self._clock.monotonic_s(), self._clock.now_ms())

    @property
    def is_done(self) -> bool:
        """Whether nothing is under way, and nothing can be delivered now."""
        if self.under_way or self._ended:
            return False
        with self._store.read() as tx:
            ahead = [each for each in self._channels.values() if deliveries.has_more(tx, self._read[each.name])]
            return not ahead and not deliveries.are_due(tx, sorted(self._channels))

    def stop(self) -> None:
        """End what is under way and hand it back; if the store is away, others take it when its lease is over."""
        for _, sending in self.under_way.values():
            sending.kill()
        if self._heartbeats is not None:
            self._heartbeats.stop()
        try:
            self._record()
            if self.under_way:
                with self._store.write() as tx:
                    deliveries.hand_back(tx, (each for each, _ in self.under_way.values()))
        except StoreError as error:
            log.info("deliveries are left to another engine: %s", error)
        self.under_way.clear()

    def _look(self) -> None:
        now_s = self._clock.monotonic_s()
        for key, (delivery, sending) in list(self.under_way.items()):
            try:
                error = sending.poll(now_s)
            except Exception as broken:  # of one channel: the others go on
                with suppress(Exception):
                    sending.kill()
                error = f"{type(broken).__name__}: {broken}"[:_BROKEN_MAX]
            if error is not None:
                del self.under_way[key]
                self._ended.append((delivery, error))

    def _record(self) -> None:
        if not self._ended:
            return
        with self._store.write() as tx:
            for delivery, error in self._ended:
                if not deliveries.record(tx, delivery, error):
                    log.info("%s was taken over by another engine", delivery.key)
        self._ended.clear()

    def _make(self) -> None:
        """Make deliveries of what happened; what no channel wants costs a read and no commit."""
        found = {}
        with self._store.read() as tx:
            for channel in self._channels.values():
                at = self._read[channel.name]
                events, until = deliveries.read_on(tx, channel, at)
                if events or until - self._stored[channel.name] >= MOVE_AFTER:
                    found[channel.name] = events, until
                else:
                    self._read[channel.name] = until
        if found:
            with self._store.write() as tx:
                for name, (events, until) in found.items():
                    deliveries.make(tx, self._channels[name], events, until)
            for name, (_, until) in found.items():
                self._read[name] = self._stored[name] = until

    def _start(self) -> None:
        room, now_s = AT_ONCE - len(self.under_way), self._clock.monotonic_s()
        with self._store.read() as tx:
            due = room > 0 and deliveries.are_due(tx, sorted(self._channels))
        forget = now_s >= self._forget_at_s
        if not due and not forget:
            return
        asked_s = self._clock.boottime_s()
        with self._store.write() as tx:
            begin = partial(deliveries.begin, owner=self._owner, room=room, budget=self._budget)
            begun = begin(tx, self._channels) if due else []
            if forget:
                deliveries.forget_old(tx)
        if forget:
            self._forget_at_s = now_s + FORGET_EVERY_S
        for each in begun:
            channel = self._channels[each.channel]
            if self._clock.boottime_s() - asked_s >= LEASE_BEYOND_MS / 1000:
                continue  # suspended since: by now another may have begun it
            try:
                self.under_way[each.key] = each, self._senders[each.kind].start(channel, each, now_s)
            except SpawnFailed as error:
                self._ended.append((each, str(error)))
            except Exception as error:
                self._ended.append((each, f"{type(error).__name__}: {error}"[:_BROKEN_MAX]))


class DeliveryThread:
    """Rounds of deliveries in a thread of a daemon, on a connection of their own."""

    def __init__(self, made: Callable[[Store], Deliverer], clock: Clock, pulse: Pulse | None = None) -> None:
        self.pulse = pulse or Pulse()  # of the loop beside it
        self._made = made  # on the connection it is given
        self._clock = clock
        self._finishing = threading.Event()
        self._until_s = 0.0
        self._thread: threading.Thread | None = None
        self._failures = 0  # in a row

    def start(self, store: Store) -> None:
        """Begin; raises StoreError when the store is away."""
        own = store.sibling()
        deliverer = self._made(own)
        deliverer.begin()
        close = own.close if own is not store else lambda: None
        self._thread = threading.Thread(target=self._run, args=(deliverer, close), name="medbay-deliver", daemon=True)
        self._thread.start()

    def finish(self, within_s: float) -> None:
        """Deliver what is due, for at most so long; then end."""
        if self._thread is not None:
            self._until_s = self._clock.monotonic_s() + within_s
            self._finishing.set()
            self._thread.join()
            self._thread = None

    def _run(self, deliverer: Deliverer, close: Callable[[], None]) -> None:
        pause = threading.Event()  # never set
        try:
            while not (self._round(deliverer) and self._finishing.is_set()):
                if self._finishing.is_set() and self._clock.monotonic_s() >= self._until_s:
                    return
                soon = deliverer.under_way or self._finishing.is_set()
                pause.wait(POLL_EVERY_S) if soon else self._finishing.wait(LOOK_EVERY_S)
        finally:
            deliverer.stop()
            close()

    def _round(self, deliverer: Deliverer) -> bool:
        """One round; whether nothing is left to deliver now."""
        try:
            deliverer.deliver()
            done = self._finishing.is_set() and deliverer.is_done
        except StoreError as error:
            return self._failed("deliveries wait for the store: %s", error)
        except Exception as error:  # whatever it is: what is due is delivered later, and the thread goes on
            return self._failed("deliveries failed, and are tried again: %r", error)
        self._failures = 0
        return done

    def _failed(self, words: str, error: Exception) -> bool:
        """Report it once, and wait longer after each failure in a row; nothing is known to be delivered."""
        if not self._failures:
            log.warning(words, error)
        self._failures += 1
        self._finishing.wait(min(LONGEST_WAIT_S, LOOK_EVERY_S * 2 ** min(self._failures, DOUBLINGS)))
        return False
