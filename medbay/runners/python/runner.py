"""The python runner: functions called in worker processes that are kept, reused and handed calls ahead.

Every call is in one place: with one process, where it is being made or not yet received, or here, waiting for one.
What a process has not received can be taken back, so it is always known what was begun.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from medbay.errors import SpawnFailed
from medbay.places.files import move, result_beside
from medbay.places.protocol import Launch, Running
from medbay.places.spawn import explain_directory, new_log
from medbay.places.spools import Spools
from medbay.places.tree import ProcessTree, Trees
from medbay.places.usage import UsageLimit, limit_process, limit_softly
from medbay.runners.python.call import PythonRunning
from medbay.runners.python.pool import Pool
from medbay.runners.python.process import Call, CallAnswer, Closed, Lifetime, WorkerProcess, start_process

LOOK_EVERY_S: Final = 0.05  # what is handed ahead waits longer than this for the directory it was checked for


class PythonRunner:
    """Calls functions; keeps up to `workers` processes for the next calls until it is closed."""

    def __init__(
        self,
        trees: Trees,
        *,
        workers: int = 4,
        lifetime: Lifetime = Lifetime(),
    ) -> None:
        self.lock = threading.RLock()  # a call may be ended from beside the loop
        self._trees = trees
        self._lifetime = lifetime
        self._pool = Pool(workers)
        self._spools = Spools()
        self._handed: dict[str, PythonRunning] = {}  # by attempt key: what a process has
        self._waiting: deque[PythonRunning] = deque()
        self._usable_until_s: dict[Path, float] = {}  # the directory that was found to be there just now
        weakref.finalize(self, self._pool.close)

    def start(self, launch: Launch, monotonic_s: float) -> PythonRunning:
        """Hand the call to a process, behind others if it is for ahead; raises SpawnFailed."""
        try:
            call = Call.of(launch)
        except (ValueError, RecursionError) as error:
            raise SpawnFailed(f"not a Python call: {error}") from error
        if monotonic_s >= self._usable_until_s.get(launch.cwd, 0.0):
            if wrong := explain_directory(launch.cwd):
                raise SpawnFailed(wrong)
            self._usable_until_s = {launch.cwd: monotonic_s + LOOK_EVERY_S}
        running = PythonRunning(self, call, launch, monotonic_s)
        with self.lock:
            if not launch.ahead:
                self._begin(running, monotonic_s)
            elif not self._feed(running):
                self._waiting.append(running)
        return running

    def begin_waiting(self, free: int, monotonic_s: float) -> None:
        """Begin as many of the calls that only wait as there are free slots."""
        with self.lock:
            for worker in self._pool.with_unsent():
                if worker.at_work:
                    worker.send_gathered()
                elif free > 0:
                    worker.send_gathered()
                    free -= self._begin_sent(worker, monotonic_s)
            self._dispatch(monotonic_s, slots=free)

    def room_ahead(self, free: int) -> Mapping[str, int]:
        """How many calls may be handed ahead; none while some wait for a process as it is."""
        with self.lock:
            return {} if self._waiting else self._pool.room_ahead(free)

    def waits(self, running: Running) -> bool:
        """Whether it is a call that is not begun, as far as is known."""
        return isinstance(running, PythonRunning) and running.waiting

    def count_waiting(self) -> int:
        """How many are, with a process or without one."""
        with self.lock:
            return sum(each.waiting for each in (*self._handed.values(), *self._waiting))

    def left_nothing(self, running: Running) -> bool:
        """Whether it is a call whose process said so, or that was never begun."""
        return isinstance(running, PythonRunning) and running.left_nothing

    def close(self) -> None:
        """End every process that waits."""
        with self.lock:
            self._pool.close()

    # What a call asks for

    def listen(self, worker: WorkerProcess, monotonic_s: float) -> None:
        """Hear what a process that makes calls has answered."""
        try:
            if self._hear(worker, monotonic_s) or not worker.is_over():
                return
            if self._hear(worker, monotonic_s):  # it answered before it ended
                return
        except Closed:
            pass
        self._lost(worker, monotonic_s)

    def clear_behind(self, worker: WorkerProcess, monotonic_s: float) -> None:
        """Its call lasts: what waits behind that is given to others."""
        worker.overdue = True
        taken = worker.take_back()
        if taken and not worker.keys:  # it is still starting, and the first of them stays with it
            first = self._handed.pop(taken.pop(0))
            if not self._hand(first, worker):
                first.not_started("the call could not be handed to its process")
        self._wait_again(taken)
        self._dispatch(monotonic_s, slots=0)

    def withdraw(self, running: PythonRunning) -> bool:
        """Whether a call was not begun; then no process has it any more."""
        if running in self._waiting:
            self._waiting.remove(running)
            return True
        worker = running.worker
        if worker is None or running.key not in worker.keys:
            return False
        taken = worker.take_back()
        withdrawn = running.key in taken
        if withdrawn:
            taken.remove(running.key)
            del self._handed[running.key]
        self._hand_again(taken, worker)
        return withdrawn

    def watch(self, call: Call, launch: Launch, worker: WorkerProcess, begun_s: float) -> ProcessTree:
        """The process of a call under the limits of its task."""
        usage = None
        if launch.memory_bytes is not None or launch.cpu_s is not None:
            usage = UsageLimit(begun_s, memory_bytes=launch.memory_bytes, cpu_s=launch.cpu_s)
            if call.isolated:
                limit_process(worker.pid, memory_bytes=launch.memory_bytes, cpu_s=launch.cpu_s)
            else:
                limit_softly(worker.pid, memory_bytes=launch.memory_bytes)
        return self._trees.watch(launch, worker.child, begun_s, usage=usage)

    def trim_log(self, launch: Launch) -> None:
        """Keep the log of a call that ended before it was watched to its limit."""
        self._trees.log_cap(launch.log_path, 0.0).close()

    def give_up(self, worker: WorkerProcess) -> None:
        """It is being killed, and perhaps it is not asked for any more."""
        for key in worker.keys:
            self._handed.pop(key, None)
        self._pool.forget(worker)

    def bury(self, worker: WorkerProcess, launch: Launch) -> None:
        """Its process is gone, in or after this call: what that left is the call's."""
        for key in worker.keys:
            self._handed.pop(key, None)
        self._pool.forget(worker)
        if worker.spool:
            with suppress(OSError):
                move(result_beside(worker.spool), launch.result_path)
        worker.clean_up()

    # Who gets which call

    def _begin(self, running: PythonRunning, monotonic_s: float, *, fresh: bool = False) -> None:
        """Hand it to a process that waits, or to a new one; raises SpawnFailed."""
        launch = running.launch
        if not running.call.isolated and not fresh:
            while (worker := self._pool.take(launch.cwd, memory_bytes=launch.memory_bytes)) is not None:
                if self._hand(running, worker):
                    running.begin(monotonic_s)
                    return
                self._pool.end(worker)  # it was just ending by itself
        worker = self._start_process(running.call, launch)
        self._pool.admit(worker)
        if not self._hand(running, worker):
            self._pool.end(worker)
            raise SpawnFailed("the call could not be handed to its process")
        running.begin(monotonic_s)

    def _feed(self, running: PythonRunning) -> bool:
        """Hand it to a process behind the call that makes; False when none takes it."""
        if running.call.isolated or running.launch.memory_bytes is not None:
            return False
        worker = self._pool.with_room(running.launch.cwd)
        if worker is None or not self._hand(running, worker):
            return False
        if worker.has_gathered_enough:
            worker.send_gathered()
        self._prepare_successor(worker, running.launch)
        return True

    def _hand(self, running: PythonRunning, worker: WorkerProcess) -> bool:
        if not worker.hand(running.key, running.call.message(running.launch, worker.spool)):
            return False
        self._handed[running.key] = running
        running.handed_to(worker)
        return True

    def _hand_again(self, keys: Sequence[str], worker: WorkerProcess) -> None:
        """What was taken back goes to its process again, behind what that makes; where that makes nothing, it waits."""
        if not worker.keys and all(self._handed[key].waiting for key in keys):
            self._pool.keep_ready(worker)
            self._wait_again(keys)
            return
        for key in keys:
            each = self._handed.pop(key)
            if not self._hand(each, worker):
                each.handed_to(None)
                self._waiting.append(each)

    def _prepare_successor(self, worker: WorkerProcess, launch: Launch) -> None:
        """No call should wait for a process to start when this one has made its last."""
        if worker.handed >= self._lifetime.calls_max // 2 and not worker.has_successor:
            worker.has_successor = True
            with suppress(SpawnFailed, OSError):  # then it is tried again when it is needed
                successor = self._start_process(None, launch)
                successor.average_s = worker.average_s
                self._pool.keep_ready(successor)

    def _dispatch(self, monotonic_s: float, *, slots: int) -> None:
        """Begin what waits in this many slots, and hand the rest ahead as far as there is room."""
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, deque()
        for running in waiting:
            if slots > 0:
                slots -= 1
                self._begin_or_fail(running, monotonic_s)
            elif not self._feed(running):
                self._waiting.append(running)

    def _begin_or_fail(self, running: PythonRunning, monotonic_s: float, *, fresh: bool = False) -> None:
        try:
            self._begin(running, monotonic_s, fresh=fresh)
        except SpawnFailed as error:
            running.not_started(str(error))

    def _wait_again(self, keys: Iterable[str]) -> None:
        """What was taken back waits before all that came later."""
        taken = [self._handed.pop(key) for key in keys]
        for each in taken:
            each.handed_to(None)
        self._waiting.extendleft(reversed(taken))

    # What processes say

    def _hear(self, worker: WorkerProcess, monotonic_s: float) -> bool:
        """Take all answers that are there; whether any was. Nothing is sent: who asks knows whether it may begin."""
        heard = False
        while worker.keys:
            key = worker.keys[0]
            answer = worker.listen()
            if answer is None:
                break
            heard = True
            running = self._handed.pop(key)
            if not answer.keep:
                self._retire(worker, running, answer, monotonic_s)
                return True
            running.answered(answer)
            if running.launch.memory_bytes is not None:
                limit_softly(worker.pid, memory_bytes=None)
            self._begin_sent(worker, monotonic_s)
        if not worker.keys:
            self._pool.keep_ready(worker)
        return heard

    def _begin_sent(self, worker: WorkerProcess, monotonic_s: float) -> bool:
        """The first call that a process has is being made, if it was sent; whether it was."""
        if worker.at_work:
            self._handed[worker.keys[0]].begin(monotonic_s)
        return worker.at_work

    def _retire(self, worker: WorkerProcess, running: PythonRunning, answer: CallAnswer, monotonic_s: float) -> None:
        """That was its last call, or it knows older code than the files have now: then a new one makes the call."""
        worker.overdue = True
        self._wait_again(worker.take_back())
        if answer.begun:
            running.answered(answer)
            if answer.clean:
                self._pool.see_off(worker)
            self._dispatch(monotonic_s, slots=0)
            return
        self._pool.see_off(worker)
        if running.begun_afresh:
            running.not_started("a new worker process could not begin the call")
        else:
            running.begun_afresh = True
            running.handed_to(None)
            self._begin_or_fail(running, monotonic_s, fresh=True)
        self._dispatch(monotonic_s, slots=0)

    def _lost(self, worker: WorkerProcess, monotonic_s: float) -> None:
        """It died or closed the connection: in the call it had received, if there is one."""
        taken = worker.take_back()
        if not worker.keys and not worker.answered and taken:
            worker.keys.append(taken.pop(0))  # it could not even start: the first call says so, or this had no end
        self._wait_again(taken)
        worker.overdue = True
        if worker.keys:
            self._handed[worker.keys[0]].lost(monotonic_s)
        else:
            self._pool.end(worker)
        self._dispatch(monotonic_s, slots=0)

    def _start_process(self, call: Call | None, launch: Launch) -> WorkerProcess:
        alone = call is not None and call.isolated
        spool = "" if alone else self._spools.name(launch)
        log = new_log(launch) if alone else self._spools.open(spool)
        variables = launch.env if alone else {}
        try:
            return start_process(
                launch,
                self._trees.inherited,
                stdin=self._trees.stdin,
                log=log,
                spool=spool,
                variables=variables,
                lifetime=self._lifetime,
            )
        finally:
            os.close(log)
