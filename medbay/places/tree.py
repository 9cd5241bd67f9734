"""The process tree of one attempt on this machine: started, watched under its limits, ended as a whole.

It says how the tree ended and never what that means. Nothing here waits: the owner calls `poll` when `fileno` is
readable or `deadline_s` has come. While a tree is ended its main process stays unreaped, so that its pid and group
number cannot belong to another process.
"""

from __future__ import annotations

import os
import signal
import weakref
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from medbay.errors import SpawnFailed
from medbay.places.environment import inheritable
from medbay.places.log_cap import LogCap
from medbay.places.processes import Census, Process, Snapshot, group_exists, look, send, send_group
from medbay.places.progress import Progress
from medbay.places.protocol import LASTING_S, Identity, Launch
from medbay.places.spawn import Child, spawn, spawn_into
from medbay.places.spools import CommandSpool, CommandSpools, keep_result
from medbay.places.usage import Exceeded, UsageLimit, limit_files, limit_process

UNKILLABLE_S: Final = 30.0  # after SIGKILL a process runs no more code, even if the kernel keeps it longer
_LOOKS_NEEDED: Final = 2  # one look can miss a process that forked and died while it was taken
_DRAIN_S: Final = 5.0
_DRAIN_LOOK_S: Final = 0.005
_BLIND_S: Final = 0.05  # without a pidfd it has to be polled


class Why(Enum):
    """Why we ended a tree."""

    TIME = auto()
    STALL = auto()
    MEMORY = auto()
    CPU = auto()
    LOG = auto()
    CANCEL = auto()
    HAND_BACK = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Exit:
    """How the main process ended; neither code nor signal when another took its status."""

    code: int | None = None
    signal: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeEnd:
    """How a tree ended, and where what it left is."""

    exit: Exit
    why: Why | None = None  # None: by itself
    words: str = ""  # why it was handed back
    note: str = ""  # for a reader of its log
    log: str | None  # None: it wrote nothing
    has_result: bool = True  # it may have left a result file
    took_s: float | None = None  # about how long it ran, where it ended by itself


class Trees:
    """Starts trees for what runners describe; what they inherit is the engine's environment when this was made."""

    def __init__(
        self,
        grace_s: float,
        secrets: Sequence[str] = (),
        *,
        guard: str = "",
        head_bytes: int = 1_000_000,
        tail_bytes: int = 4_000_000,
    ) -> None:
        self.grace_s = grace_s
        self.census = Census()
        self.inherited = inheritable(os.environ, secrets, guard=guard)
        self.stdin = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)  # one for all that are started
        weakref.finalize(self, os.close, self.stdin)
        self.spools = CommandSpools()
        weakref.finalize(self, self.spools.close)
        self._head_bytes = head_bytes
        self._tail_bytes = tail_bytes

    def start(self, launch: Launch, monotonic_s: float, *, brief: bool = False) -> ProcessTree:
        """Start it; raises SpawnFailed. One that is brief is likely to be over in a moment, and to write nothing."""
        spool = None
        if brief and not (launch.keep_log or launch.part or launch.answer_path or launch.stdin_path):
            child, spool = self._spawn_spooled(launch)
        else:
            child = spawn(launch, self.inherited, stdin=self.stdin)
        usage = None
        if launch.answer_path is not None:
            limit_files(child.pid)
        if launch.memory_bytes is not None or launch.cpu_s is not None:
            limit_process(child.pid, memory_bytes=launch.memory_bytes, cpu_s=launch.cpu_s)
            usage = UsageLimit(monotonic_s, memory_bytes=launch.memory_bytes, cpu_s=launch.cpu_s)
        return self.watch(launch, child, monotonic_s, usage=usage, spool=spool)

    def watch(
        self,
        launch: Launch,
        child: Child,
        monotonic_s: float,
        *,
        usage: UsageLimit | None,
        spool: CommandSpool | None = None,
    ) -> ProcessTree:
        """The tree of a process that is there already."""
        answer = self.log_cap(launch.answer_path, monotonic_s) if launch.answer_path is not None else None
        cap = self.log_cap(spool.path if spool else launch.log_path, monotonic_s, beside=answer)
        return ProcessTree(launch, child, monotonic_s=monotonic_s, trees=self, cap=cap, usage=usage, spool=spool)

    def log_cap(self, path: str | Path, monotonic_s: float, *, beside: LogCap | None = None) -> LogCap:
        """The size limit of an attempt's log, or of its answer."""
        return LogCap(path, monotonic_s, head_bytes=self._head_bytes, tail_bytes=self._tail_bytes, beside=beside)

    def close(self) -> None:
        """Remove the files that wait for the next brief command."""
        self.spools.close()

    def _spawn_spooled(self, launch: Launch) -> tuple[Child, CommandSpool]:
        spool, log = self.spools.take(launch)
        try:
            asked = replace(launch, result_path=self.spools.result(launch))
            return spawn_into(log, asked, self.inherited, stdin=self.stdin), spool
        except SpawnFailed:
            self.spools.settle(spool, launch.log_path, needed=True)
            raise
        finally:
            os.close(log)


class ProcessTree:
    """One live main process and all below it."""

    def __init__(
        self,
        launch: Launch,
        child: Child,
        *,
        monotonic_s: float,
        trees: Trees,
        cap: LogCap,
        usage: UsageLimit | None,
        spool: CommandSpool | None,
    ) -> None:
        self.launch = launch
        self._spool = spool
        self._child = child
        self._pidfd = child.pidfd
        self._trees = trees
        self._cap = cap
        self._usage = usage
        self._progress = launch.stall_s and Progress(
            monotonic_s, stall_s=launch.stall_s, cwd=launch.files or launch.cwd
        )
        self._limit_at_s = None if launch.timeout_s is None else monotonic_s + launch.timeout_s
        self._begun_s = self._seen_s = monotonic_s
        self._why: Why | None = None
        self._words = ""
        self._ending: TreeEnding | None = None
        self._exit: Exit | None = None  # set once it is reaped
        self._silent = False
        self._drain_until_s = 0.0
        self._drain_serial = 0
        self._took_s: float | None = None
        self._over: TreeEnd | None = None

    @property
    def identity(self) -> Identity:
        """The main process; it leads its session and group."""
        return self._child.identity

    @property
    def lasting(self) -> bool:
        """Whether it was seen to run for more than a moment."""
        return self._seen_s - self._begun_s >= LASTING_S

    def fileno(self) -> int:
        """A pidfd: readable once the main process ended, silent while only its tree is left, then -1."""
        return self._pidfd

    @property
    def is_ending(self) -> bool:
        """Whether we are ending it: a limit struck, or it was asked for."""
        return self._ending is not None

    def release(self) -> None:
        """Stop watching: the attempt is over and its process goes on to the next one."""
        self._cap.close()

    def poll(self, monotonic_s: float) -> TreeEnd | None:
        """Enforce the limits and say how it ended; when we ended it, never before its tree is gone."""
        alive_s, self._seen_s = self._seen_s, monotonic_s
        if self._over is not None:
            return self._over
        if self._ending is not None:
            return self._go_on_ending(self._ending, monotonic_s)
        if self._exit is not None:
            return self._drain(monotonic_s)
        if self._main_ended():
            # Some time since the last look: the engine may have had other things to do.
            self._took_s = (alive_s + monotonic_s) / 2 - self._begun_s
            return self._end_group(monotonic_s)
        if self.lasting:
            self._show_log()
        self._enforce(monotonic_s)
        return None

    def deadline_s(self) -> float | None:
        """The next time that matters: a limit, the end of the grace, the next check of the log or the tree."""
        if self._over is not None:
            return None
        times = [] if self._pidfd >= 0 else [self._seen_s + _BLIND_S]
        if self._ending is not None:
            times += [self._ending.deadline_s(), self._cap.next_s]
        elif self._exit is not None:
            times.append(self._seen_s + _DRAIN_LOOK_S)
        else:
            times.append(self._cap.next_s if self._spool is None or self._spool.shown else self._begun_s + LASTING_S)
            if self._limit_at_s is not None:
                times.append(self._limit_at_s)
            if self._usage is not None:
                times.append(self._usage.next_s)
            if self._progress:
                times.append(self._progress.next_s)
        return min(times)

    def cancel(self, monotonic_s: float) -> None:
        """End the tree because a person asked, whatever ended it before; what ended by itself stays so."""
        if self._ending is not None:
            self._why = Why.CANCEL
        else:
            self._end(Why.CANCEL, monotonic_s, grace_s=self._trees.grace_s)

    def hand_back(self, monotonic_s: float, *, why: str) -> None:
        """End the tree because the worker stops; a limit that struck before stays the reason."""
        if self._ending is None:
            self._words = why
            self._end(Why.HAND_BACK, monotonic_s, grace_s=self._trees.grace_s)

    def kill(self) -> None:
        """SIGKILL the whole tree and wait for nothing; without another reason it counts as handed back."""
        if self._ending is None:
            if self._has_ended_itself():
                return
            self._why, self._words = Why.HAND_BACK, "killed by the worker"
            self._ending = self._new_ending()
        if self._over is None:
            self._ending.kill_now()

    def _show_log(self) -> None:
        """Let what it writes be its log from now on, for others to read."""
        spool = self._spool
        if spool is not None and not spool.shown and spool.show(self.launch.log_path):
            self._cap.path = self.launch.log_path

    def _enforce(self, monotonic_s: float) -> None:
        grace_s = self._trees.grace_s
        if self._limit_at_s is not None and monotonic_s >= self._limit_at_s:
            self._end(Why.TIME, monotonic_s, grace_s=grace_s)
            return
        if self._usage is not None and monotonic_s >= self._usage.next_s:
            snapshot = self._trees.census.at(monotonic_s)
            members = snapshot.members(leader=self._child.pid, attempt_key=self.launch.attempt_key)
            match self._usage.check(members.values(), monotonic_s):
                case Exceeded.MEMORY:  # a grace period would be time to take more
                    self._end(Why.MEMORY, monotonic_s, grace_s=0)
                    return
                case Exceeded.CPU:
                    self._end(Why.CPU, monotonic_s, grace_s=grace_s)
                    return
                case None:
                    pass
        if self._progress and monotonic_s >= self._progress.next_s and self._is_stalled(self._progress, monotonic_s):
            self._end(Why.STALL, monotonic_s, grace_s=grace_s)
            return
        if not self._cap.keep(monotonic_s):
            self._end(Why.LOG, monotonic_s, grace_s=0)

    def _is_stalled(self, progress: Progress, monotonic_s: float) -> bool:
        snapshot = self._trees.census.at(monotonic_s)
        members = snapshot.members(leader=self._child.pid, attempt_key=self.launch.attempt_key)
        stalled = progress.is_stalled(members.values(), self._cap.path, monotonic_s)
        self._words = progress.last if stalled else self._words
        return stalled

    def _end(self, why: Why, monotonic_s: float, *, grace_s: float) -> None:
        if not self._has_ended_itself():
            self._why = why
            self._ending = self._new_ending()
            self._ending.begin(monotonic_s, grace_s=grace_s)

    def _new_ending(self) -> TreeEnding:
        return TreeEnding(self._child.pid, self.launch.attempt_key, self._trees.census)

    def _go_on_ending(self, ending: TreeEnding, monotonic_s: float) -> TreeEnd | None:
        main_ended = self._main_ended()
        if main_ended:
            self._silence()
        # It keeps writing during its grace, so its log keeps its limit; a second reason is not needed.
        self._cap.keep(monotonic_s)
        if not ending.is_over(monotonic_s, main_ended=main_ended):
            return None
        return self._finish(note="some of its processes could not be ended" if ending.gave_up else "")

    def _end_group(self, monotonic_s: float) -> TreeEnd | None:
        """Kill what the command left in its group, before reaping: until then no other process has its number."""
        if self._exit is None:
            send_group(self._child.pid, signal.SIGKILL)
            self._exit = self._reap()
        if not group_exists(self._child.pid):
            return self._finish()
        self._silence()
        self._drain_until_s = monotonic_s + _DRAIN_S
        self._drain_serial = self._trees.census.serial
        return None

    def _drain(self, monotonic_s: float) -> TreeEnd | None:
        """Wait until the killed rest of the group is gone; zombies that are never reaped do not count."""
        if monotonic_s >= self._drain_until_s or not group_exists(self._child.pid):
            return self._finish()
        processes = self._trees.census.at(monotonic_s).processes.values()
        living = any(process.group == self._child.pid and not process.dead for process in processes)
        return None if living or self._trees.census.serial == self._drain_serial else self._finish()

    def _has_ended_itself(self) -> bool:
        return self._over is not None or self._exit is not None or self._main_ended()

    def _main_ended(self) -> bool:
        """Look without reaping."""
        try:
            options = os.WEXITED | os.WNOHANG | os.WNOWAIT
            return os.waitid(os.P_PID, self._child.pid, options) is not None
        except ChildProcessError:  # another reaped it: its number is no longer ours to signal
            self._exit = Exit()
            return True

    def _reap(self) -> Exit:
        """Take the exit status; our own call, because Popen reports a status taken by others as success."""
        try:
            found = os.waitid(os.P_PID, self._child.pid, os.WEXITED | os.WNOHANG)
        except ChildProcessError:
            return Exit()
        if found is None:  # the kernel holds it, with our SIGKILL pending
            return Exit(signal=signal.SIGKILL)
        self._child.popen.returncode = found.si_status
        return Exit(code=found.si_status) if found.si_code == os.CLD_EXITED else Exit(signal=found.si_status)

    def _silence(self) -> None:
        """Keep the descriptor's number but never readable, or the engine would spin while a tree ends."""
        if self._pidfd < 0 or self._silent:
            return
        self._silent = True
        with suppress(OSError):
            quiet = os.eventfd(0, os.EFD_CLOEXEC)
            try:
                os.dup2(quiet, self._pidfd, inheritable=False)
            finally:
                os.close(quiet)

    def _finish(self, *, note: str = "") -> TreeEnd:
        if self._exit is None:
            self._exit = self._reap()
        if self._pidfd >= 0:
            os.close(self._pidfd)
            self._pidfd = -1
        has_result = True
        log: str | None = self.launch.log_path
        if self._spool is None or self._spool.size():
            self._cap.close()
        if self._spool is not None:
            has_result, log = self._settle_spool(self._spool, noted=self._why is not None or bool(note))
        self._over = TreeEnd(
            exit=self._exit,
            why=self._why,
            words=self._words,
            note=note,
            log=log,
            has_result=has_result,
            took_s=self._took_s,
        )
        return self._over

    def _settle_spool(self, spool: CommandSpool, *, noted: bool) -> tuple[bool, str | None]:
        """Whether it left a result, and its log if it has one; both are where they belong then."""
        spools, launch = self._trees.spools, self.launch
        has_result = keep_result(spools.result(launch), launch.result_path)
        log = spools.settle(spool, launch.log_path, needed=noted or has_result)
        return has_result, log or None


class TreeEnding:
    """How far the ending of one tree has come."""

    def __init__(self, leader: int, attempt_key: str, census: Census) -> None:
        self.killed = False
        self.gave_up = False
        self._leader = leader
        self._attempt_key = attempt_key
        self._census = census
        self._kill_at_s = float("-inf")
        self._give_up_at_s: float | None = None
        self._main_gone = False
        self._next_look_s = 0.0
        self._serial_seen = 0
        self._empty_looks = 0
        self._known: set[tuple[int, int]] = set()
        self._signalled: set[tuple[int, int]] = set()

    def begin(self, monotonic_s: float, *, grace_s: float) -> None:
        """SIGTERM to the whole tree now, or SIGKILL where there is no grace."""
        self._kill_at_s = monotonic_s + grace_s
        if grace_s <= 0:
            self._kill(monotonic_s)
            return
        # Look first: what a dying parent leaves behind can no longer be traced to it.
        members = self._members(monotonic_s)
        send_group(self._leader, signal.SIGTERM, signal.SIGCONT)
        self._signalled.update(_mark(process) for process in members.values() if process.group == self._leader)
        self._terminate(members)

    def kill_now(self) -> None:
        """SIGKILL the whole tree at once, without a clock and without waiting."""
        self.killed = True
        for _ in range(_LOOKS_NEEDED):
            members = self._remember(look())
            send_group(self._leader, signal.SIGKILL)
            _strike(members)

    def is_over(self, monotonic_s: float, *, main_ended: bool) -> bool:
        """Go on with it; True when nothing is left, or when what is left cannot be ended."""
        if monotonic_s >= self._kill_at_s and not self.killed:
            self._kill(monotonic_s)
        if self.killed and self._give_up_at_s is None:
            self._give_up_at_s = monotonic_s + UNKILLABLE_S
        if self._give_up_at_s is not None and monotonic_s >= self._give_up_at_s:
            self.gave_up = True
            return True
        if main_ended and not self._main_gone:
            self._main_gone = True
            self._serial_seen = self._census.serial  # only looks taken after this moment count
        return self._main_gone and self._nothing_left(monotonic_s)

    def deadline_s(self) -> float:
        """When `is_over` must be called next, at the latest."""
        last = self._kill_at_s if self._give_up_at_s is None else self._give_up_at_s
        return min(last, self._next_look_s) if self._main_gone else last

    def _nothing_left(self, monotonic_s: float) -> bool:
        members = self._members(monotonic_s)
        if self._census.serial > self._serial_seen:
            self._serial_seen = self._census.serial
            self._empty_looks = 0 if members else self._empty_looks + 1
            if self.killed:
                _strike(members)
            else:
                self._terminate(members)
        self._next_look_s = monotonic_s + self._census.age_s
        return self._empty_looks >= _LOOKS_NEEDED

    def _kill(self, monotonic_s: float) -> None:
        self.killed = True
        self._give_up_at_s = monotonic_s + UNKILLABLE_S
        members = self._members(monotonic_s)
        send_group(self._leader, signal.SIGKILL)
        _strike(members)

    def _terminate(self, members: dict[int, Process]) -> None:
        """SIGTERM, once each; SIGCONT, because a stopped process cannot act on it."""
        for process in members.values():
            if _mark(process) not in self._signalled:
                self._signalled.add(_mark(process))
                send(process, signal.SIGTERM, signal.SIGCONT)

    def _members(self, monotonic_s: float) -> dict[int, Process]:
        return self._remember(self._census.at(monotonic_s))

    def _remember(self, snapshot: Snapshot) -> dict[int, Process]:
        members = snapshot.members(leader=self._leader, attempt_key=self._attempt_key, known=self._known)
        self._known.update(_mark(process) for process in members.values())
        return members


def _mark(process: Process) -> tuple[int, int]:
    return process.pid, process.start


def _strike(members: dict[int, Process]) -> None:
    for process in members.values():
        send(process, signal.SIGKILL)
