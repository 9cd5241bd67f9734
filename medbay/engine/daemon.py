"""The loop around an engine: waits for processes, time and other commits; renews its lease; stops gracefully."""

from __future__ import annotations

import contextlib
import logging
import os
import select
import signal
import threading
from collections.abc import Callable
from typing import Final, Literal, Protocol

from medbay.engine.deliver import DeliveryThread
from medbay.engine.lease import GUARD_SHARE
from medbay.engine.round import Engine
from medbay.engine.slots import GATHER_S
from medbay.env import Clock
from medbay.errors import StoreBusy, StoreError, StoreRemoved, StoreTooNew
from medbay.integrations.passes import Passes
from medbay.service import idle
from medbay.store.database import Store

LOOK_EVERY_S: Final = 0.05  # how soon another process's commit is noticed where nothing notifies of it
FIRST_LOOK_S: Final = 0.002  # a commit can be seen a moment after it was notified of
LOOKS_GROW: Final = 4
EMIT_EVERY_S: Final = 0.05  # what happens in the middle of work is emitted this often, not after each of many rounds
NOTIFIED_LOOK_S: Final = 1.0  # how long the store is not polled where commits are notified
AWAY_S: Final = 0.5  # how long to wait before a store that is away is tried again
DELIVER_S: Final = 30.0  # how long a run that is over goes on with deliveries that are due
DELIVER_STOPPING_S: Final = 2.0  # the same where a stop was asked for
FINISH_SHARE: Final = 0.5  # how much of the grace period attempts have to finish by themselves

Heard = Literal["nothing", "commit", "end"]  # "end": of a process, or of the run

log = logging.getLogger("medbay.engine")


class DoorLike(Protocol):
    """What the agents of an engine reach it by."""

    passes: Passes

    def stop(self) -> None:
        """Close it, if it was opened."""
        ...


class Daemon:
    """Runs an engine until it is stopped, or until nothing is left to do."""

    def __init__(
        self,
        engine: Engine,
        clock: Clock,
        *,
        on_round: Callable[[], object] | None = None,
        round_every_s: float = LOOK_EVERY_S,
        deliveries: DeliveryThread | None = None,
        door: DoorLike | None = None,
    ) -> None:
        """`on_round` is called after a tick, once for many in a moment, and this often while nothing happens.

        Where it returns True it has made work, on the same connection, which `changed` does not tell of.
        """
        self.engine = engine
        self._clock = clock
        self._on_round = on_round or (lambda: None)
        self._round_every_s = round_every_s if on_round else NOTIFIED_LOOK_S
        self._rounded_s, self._unemitted, self._made_work = 0.0, False, False
        self._stops = 0
        self._away_since_s: float | None = None
        self._drained_by_s = 0.0
        self._wake_read, self._wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._beating = threading.Event()
        self._broken: set[str] = set()  # threads beside the loop whose last step failed
        self._deliveries = deliveries
        self._door = door

    def run(self, *, until_idle: bool = False, until: Callable[[], bool] | None = None) -> int:
        """Go on until idle, until `until` says so, or until stopped; the exit code of the run."""
        # Opened here: a store that is away now is the caller's error, not a thread without beats.
        beats = self.engine.store.sibling()
        _take_back_exit_codes()
        self.engine.guardian.begin(self.engine.lease.renewed_s)  # before anything is started that it may have to end
        in_order = False
        beside = [
            threading.Thread(target=self._beat, args=(beats,), name="medbay-beat", daemon=True),
            threading.Thread(target=self._guard, name="medbay-guard", daemon=True),
        ]
        for thread in beside:
            thread.start()
        try:
            if self._deliveries is not None:
                self._deliveries.start(self.engine.store)
            self.engine.start()
            while not self._stops:
                over = self._round() and self._is_over(until_idle=until_idle, until=until)
                if over or self.engine.outdated:
                    break
                self._wait()
            self._drain()
            self._finish_deliveries(DELIVER_S if not self._stops else DELIVER_STOPPING_S)
            in_order = True
            return self._close()
        finally:
            self._finish_deliveries(0)
            if self._door is not None:
                self._door.stop()
            self._beating.set()
            for thread in beside:
                thread.join()
            self.engine.guardian.close(in_order=in_order)
            os.close(self._wake_read)
            os.close(self._wake_write)

    def _finish_deliveries(self, within_s: float) -> None:
        if self._deliveries is not None:
            self._deliveries.finish(0 if self._stops > 1 else within_s)

    def stop(self) -> None:
        """Ask for a stop, from a signal handler or another thread: once in order, twice at once."""
        self._stops += 1
        with contextlib.suppress(OSError):
            os.write(self._wake_write, b"x")

    def _round(self) -> bool:
        """One tick; whether the store was there for it."""
        try:
            self._made_work = False
            self.engine.tick()
            self._unemitted = True
            if not self.engine.live or self._clock.monotonic_s() >= self._emit_at_s():
                self._emit()
        except StoreRemoved:
            self.engine.kill_all()
            raise
        except StoreBusy as error:
            log.info("a step was undone and comes again: %s", error)
            return False
        except StoreError as error:
            now_s = self._clock.monotonic_s()
            if self._away_since_s is None:
                log.warning("the store is away: %s", error)
                self._away_since_s = now_s
            return False
        if self._away_since_s is not None:
            log.warning("the store is back after %.1f s", self._clock.monotonic_s() - self._away_since_s)
            self._away_since_s = None
            self.engine.hold_reaping()
        self._looked()
        return True

    def _looked(self) -> None:
        """The loop goes round: it was there for its store at this moment."""
        if self._deliveries is not None:
            self._deliveries.pulse.looked_s = self._clock.monotonic_s()

    def _emit(self) -> None:
        self._rounded_s, self._unemitted = self._clock.monotonic_s(), False
        self._made_work = self._on_round() is True

    def _emit_at_s(self) -> float:
        """When to emit next: soon, if a round was not emitted."""
        return self._rounded_s + (min(EMIT_EVERY_S, self._round_every_s) if self._unemitted else self._round_every_s)

    def _is_over(self, *, until_idle: bool, until: Callable[[], bool] | None) -> bool:
        """Whether the run has reached its end; a store that went away this moment has not said so."""
        try:
            return (until_idle and self.engine.is_idle()) or (until is not None and until())
        except StoreError as error:
            log.warning("the store is away: %s", error)
            self._away_since_s = self._clock.monotonic_s()
            return False

    def _wait(self) -> None:
        """Sleep until a process ends, a time comes, another process commits, or a stop is asked for."""
        if self._away_since_s is not None:
            self._sleep(AWAY_S)
            return
        try:
            wake_s, look_s = self.engine.next_wake_s(), FIRST_LOOK_S
            store, gathered_s = self.engine.store, self._clock.monotonic_s() + GATHER_S
            while not (self._made_work or store.changed()):
                self._looked()
                notified = store.fileno()
                left_s = wake_s - self._clock.monotonic_s() if wake_s is not None else look_s
                if left_s <= 0:
                    return
                emit_in_s = self._emit_at_s() - self._clock.monotonic_s() if self._unemitted else look_s
                heard = self._sleep(min(look_s, left_s, emit_in_s), notified=notified)
                if heard == "end":
                    if self._stops or not self.engine.slots.turn_over():
                        return
                    wake_s = gathered_s if wake_s is None else min(wake_s, gathered_s)
                longest_s = LOOK_EVERY_S if notified < 0 else min(NOTIFIED_LOOK_S, self._round_every_s)
                look_s = FIRST_LOOK_S if heard == "commit" else min(look_s * LOOKS_GROW, longest_s)
                if self._clock.monotonic_s() >= self._emit_at_s():
                    self._emit()
        except StoreRemoved:
            self.engine.kill_all()
            raise
        except StoreError:
            self._sleep(AWAY_S)

    def _sleep(self, seconds: float, *, notified: int = -1) -> Heard:
        """What happened before the time was up; commits only where their descriptor is given, and is read after."""
        poller = select.poll()
        poller.register(self._wake_read, select.POLLIN)
        if notified >= 0:
            poller.register(notified, select.POLLIN)
        for each in self.engine.live.values():
            if (descriptor := each.running.fileno()) >= 0:
                poller.register(descriptor, select.POLLIN)
        happened = poller.poll(max(1, round(seconds * 1000)))
        with contextlib.suppress(BlockingIOError):
            os.read(self._wake_read, 64)
        if not happened:
            return "nothing"
        return "commit" if [descriptor for descriptor, _ in happened] == [notified] else "end"

    def _drain(self) -> None:
        """Let attempts finish for half of the grace period, hand the rest back, and end what resists."""
        engine = self.engine
        engine.claiming = False
        begun_s = self._clock.monotonic_s()
        grace_s = engine.settings.grace_ms / 1000
        self._drained_by_s = begun_s + grace_s
        asked = False
        engine.leave_elsewhere()
        engine.hand_back_all("the worker is stopping", waiting_only=True)
        while engine.live or not engine.collect():
            spent_s = self._clock.monotonic_s() - begun_s
            if self._stops > 1 or spent_s >= grace_s:
                engine.kill_all()
            elif not asked and spent_s >= grace_s * FINISH_SHARE:
                engine.hand_back_all("the worker is stopping")
                asked = True
            stored = engine.collect()
            self._on_round()
            if engine.live:
                self._sleep(LOOK_EVERY_S)
            elif not stored and engine.lease.state() == "gone":  # then this identity never writes again
                log.warning("the lease is gone: how the last attempts ended is left to the next engine")
                return
            elif not stored and (self._stops > 1 or spent_s >= grace_s):
                log.warning("the store is away: how the last attempts ended is left to the next engine")
                return
            elif not stored:
                self._sleep(AWAY_S)

    def _close(self) -> int:
        """Close this worker in the store, which may be away for a while; the exit code of the run."""
        give_up_s = self._drained_by_s
        while True:
            try:
                self.engine.stop()
                with self.engine.store.read() as tx:
                    code = idle.exit_code(tx, self.engine.worker_ids)
                if self.engine.outdated is not None:
                    raise self.engine.outdated
                return code
            except StoreTooNew:
                raise
            except StoreError:
                if self._stops > 1 or self._clock.monotonic_s() >= give_up_s:
                    raise
                self._sleep(AWAY_S)

    def _beat(self, store: Store) -> None:
        """Renew the lease from a thread of its own, where a busy loop cannot starve it."""
        try:
            while not self._beating.wait(self._beat_interval_s()):
                self._survive("the lease", lambda: self.engine.lease.beat(store))
        finally:
            if store is not self.engine.store:
                store.close()

    def _guard(self) -> None:
        """End the trees of a lease that runs out; not behind a beat that waits for a locked store."""
        while not self._beating.wait(self.engine.settings.lease_ms / 1000 * GUARD_SHARE):
            self._survive("the guardian", lambda: self.engine.guardian.tend(self.engine.lease.renewed_s))
            self._survive("the guard", lambda: self.engine.lease.guard(self.engine.running))

    def _survive(self, name: str, step: Callable[[], object]) -> None:
        """One step of a thread beside the loop: what it breaks on is logged once, and the thread goes on."""
        try:
            step()
            self._broken.discard(name)
        except Exception as error:  # without its thread the lease would run out, or trees outlive it
            if name not in self._broken:
                log.error("%s failed, and is tried again: %r", name, error)
            self._broken.add(name)

    def _beat_interval_s(self) -> float:
        lease = self.engine.lease
        return lease.interval_s if lease.state() == "held" else min(1.0, lease.interval_s)


def _take_back_exit_codes() -> None:
    """A parent that ignored SIGCHLD hands that on, and the kernel would then throw every exit code away."""
    in_main = threading.current_thread() is threading.main_thread()
    if in_main and signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
