"""The shell runner: one command per attempt, ended with its whole tree at a limit or on request.

It starts, watches and reports; what a failure means is decided elsewhere. Nothing here waits: the engine
calls `poll` when `fileno` is readable or `deadline_s` has come.
"""

from __future__ import annotations

import os
import signal
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from medbay.core.attempt.ahead import COMMANDS
from medbay.core.outcome import Outcome
from medbay.errors import SpawnFailed
from medbay.places.environment import inheritable
from medbay.places.log_cap import LogCap
from medbay.places.processes import Census, group_exists, send_group
from medbay.places.protocol import LASTING_S, Identity, Launch
from medbay.places.spawn import Child, spawn, spawn_into
from medbay.places.spools import CommandSpool, CommandSpools, keep_result
from medbay.places.tree import TreeEnding
from medbay.places.usage import Exceeded, UsageLimit, limit_files, limit_process
from medbay.runners.report import Exit, Why, report
from medbay.runners.shell.ahead import CommandAhead, CommandsAhead

_DRAIN_S: Final = 5.0
_DRAIN_LOOK_S: Final = 0.005
_BLIND_S: Final = 0.05  # without a pidfd only time can tell


class ShellRunner:
    """Starts commands; what they inherit is the engine's environment at the time the runner was made."""

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
        self._inherited = inheritable(os.environ, secrets, guard=guard)
        self._stdin = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)  # one for all that are started
        weakref.finalize(self, os.close, self._stdin)
        self._ahead = CommandsAhead(self._spawn)
        self.spools = CommandSpools()
        weakref.finalize(self, self.spools.close)
        self._head_bytes = head_bytes
        self._tail_bytes = tail_bytes

    def start(self, launch: Launch, monotonic_s: float) -> ShellRunning | CommandAhead:
        """Start it, or let it wait if it is for ahead; raises SpawnFailed when there is nothing to run."""
        return self._ahead.add(launch, monotonic_s) if launch.ahead else self._spawn(launch, monotonic_s)

    def begin_waiting(self, free: int, monotonic_s: float) -> None:
        """Start as many of the commands that wait as there are free slots."""
        self._ahead.begin(free, monotonic_s)

    def room_ahead(self, free: int) -> Mapping[str, int]:
        """How many commands may wait; none unless commands are short."""
        room = self._ahead.room(free)
        return {COMMANDS: room} if room else {}

    def ended(self, running: ShellRunning, *, took_s: float) -> None:
        """A command ended by itself, after about so long."""
        self._ahead.ended(running, took_s=took_s)

    def close(self) -> None:
        """Remove the files that wait for the next short command."""
        self.spools.close()

    def _spawn(self, launch: Launch, monotonic_s: float) -> ShellRunning:
        spool = None
        if self._ahead.are_short and not (launch.keep_log or launch.part or launch.answer_path or launch.stdin_path):
            child, spool = self._spawn_spooled(launch)
        else:
            child = spawn(launch, self._inherited, stdin=self._stdin)
        usage = None
        if launch.answer_path is not None:
            limit_files(child.pid)
        if launch.memory_bytes is not None or launch.cpu_s is not None:
            limit_process(child.pid, memory_bytes=launch.memory_bytes, cpu_s=launch.cpu_s)
            usage = UsageLimit(monotonic_s, memory_bytes=launch.memory_bytes, cpu_s=launch.cpu_s)
        running = self.watch(launch, child, monotonic_s, usage=usage, spool=spool)
        self._ahead.began(running)
        return running

    def _spawn_spooled(self, launch: Launch) -> tuple[Child, CommandSpool]:
        """One that is likely to be over in a moment, and to write nothing."""
        spool, log = self.spools.take(launch)
        try:
            asked = replace(launch, result_path=Path(self.spools.result(launch)))
            return spawn_into(log, asked, self._inherited, stdin=self._stdin), spool
        except SpawnFailed:
            self.spools.settle(spool, os.fspath(launch.log_path), needed=True)
            raise
        finally:
            os.close(log)

    def watch(
        self,
        launch: Launch,
        child: Child,
        monotonic_s: float,
        *,
        usage: UsageLimit | None,
        spool: CommandSpool | None = None,
    ) -> ShellRunning:
        """An attempt whose process is there already."""
        answer = self.log_cap(launch.answer_path, monotonic_s) if launch.answer_path is not None else None
        cap = self.log_cap(spool.path if spool else launch.log_path, monotonic_s, beside=answer)
        return ShellRunning(launch, child, monotonic_s=monotonic_s, runner=self, cap=cap, usage=usage, spool=spool)

    def log_cap(self, path: str | Path, monotonic_s: float, *, beside: LogCap | None = None) -> LogCap:
        """The size limit of an attempt's log, or of its answer."""
        return LogCap(path, monotonic_s, head_bytes=self._head_bytes, tail_bytes=self._tail_bytes, beside=beside)


class ShellRunning:
    """One live command and its tree."""

    waiting = False  # it begins when it is started
    left_nothing = False  # what it started may live in a session of its own

    def __init__(
        self,
        launch: Launch,
        child: Child,
        *,
        monotonic_s: float,
        runner: ShellRunner,
        cap: LogCap,
        usage: UsageLimit | None,
        spool: CommandSpool | None,
    ) -> None:
        self._launch = launch
        self._spool = spool
        self._child = child
        self._pidfd = child.pidfd
        self._runner = runner
        self._cap = cap
        self._usage = usage
        self._limit_at_s = None if launch.timeout_s is None else monotonic_s + launch.timeout_s
        self._begun_s = self._seen_s = monotonic_s
        self._why: Why | None = None
        self._words = ""
        self._ending: TreeEnding | None = None
        self._exit: Exit | None = None  # set once it is reaped
        self._silent = False
        self._drain_until_s = 0.0
        self._drain_serial = 0
        self._outcome: Outcome | None = None

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
        """Whether we are ending it: a limit struck, or somebody asked."""
        return self._ending is not None

    def release(self) -> None:
        """Stop watching: the attempt is over and its process goes on to the next one."""
        self._cap.close()

    def poll(self, monotonic_s: float) -> Outcome | None:
        """Enforce the limits and say how it ended; when we ended it, never before its tree is gone."""
        alive_s, self._seen_s = self._seen_s, monotonic_s
        if self._outcome is not None:
            return self._outcome
        if self._ending is not None:
            return self._go_on_ending(self._ending, monotonic_s)
        if self._exit is not None:
            return self._drain(monotonic_s)
        if self._main_ended():
            # Some time since the last look: the engine may have had other things to do.
            self._runner.ended(self, took_s=(alive_s + monotonic_s) / 2 - self._begun_s)
            return self._end_group(monotonic_s)
        if self.lasting:
            self._show_log()
        self._enforce(monotonic_s)
        return None

    def deadline_s(self) -> float | None:
        """The next time that matters: a limit, the end of the grace, a look at the log or the tree."""
        if self._outcome is not None:
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
        return min(times)

    def cancel(self, monotonic_s: float) -> None:
        """End the tree because a person asked, whatever ended it before; what ended by itself stays so."""
        if self._ending is not None:
            self._why = Why.CANCEL
        else:
            self._end(Why.CANCEL, monotonic_s, grace_s=self._runner.grace_s)

    def hand_back(self, monotonic_s: float, *, why: str) -> None:
        """End the tree because the worker stops; a limit that struck before stays the reason."""
        if self._ending is None:
            self._words = why
            self._end(Why.HAND_BACK, monotonic_s, grace_s=self._runner.grace_s)

    def kill(self) -> None:
        """SIGKILL the whole tree and wait for nothing; without another reason it counts as handed back."""
        if self._ending is None:
            if self._has_ended_itself():
                return
            self._why, self._words = Why.HAND_BACK, "killed by the worker"
            self._ending = self._new_ending()
        if self._outcome is None:
            self._ending.kill_now()

    def _show_log(self) -> None:
        """Let what it writes be its log from now on, for others to read."""
        spool = self._spool
        if spool is not None and not spool.shown and spool.show(os.fspath(self._launch.log_path)):
            self._cap.path = self._launch.log_path

    def _enforce(self, monotonic_s: float) -> None:
        grace_s = self._runner.grace_s
        if self._limit_at_s is not None and monotonic_s >= self._limit_at_s:
            self._end(Why.TIME, monotonic_s, grace_s=grace_s)
            return
        if self._usage is not None and monotonic_s >= self._usage.next_s:
            snapshot = self._runner.census.at(monotonic_s)
            members = snapshot.members(leader=self._child.pid, attempt_key=self._launch.attempt_key)
            match self._usage.check(members.values(), monotonic_s):
                case Exceeded.MEMORY:  # a grace period would be time to take more
                    self._end(Why.MEMORY, monotonic_s, grace_s=0)
                    return
                case Exceeded.CPU:
                    self._end(Why.CPU, monotonic_s, grace_s=grace_s)
                    return
                case None:
                    pass
        if not self._cap.keep(monotonic_s):
            self._end(Why.LOG, monotonic_s, grace_s=0)

    def _end(self, why: Why, monotonic_s: float, *, grace_s: float) -> None:
        if not self._has_ended_itself():
            self._why = why
            self._ending = self._new_ending()
            self._ending.begin(monotonic_s, grace_s=grace_s)

    def _new_ending(self) -> TreeEnding:
        return TreeEnding(self._child.pid, self._launch.attempt_key, self._runner.census)

    def _go_on_ending(self, ending: TreeEnding, monotonic_s: float) -> Outcome | None:
        main_ended = self._main_ended()
        if main_ended:
            self._silence()
        # It keeps writing during its grace, so its log keeps its limit; a second reason is not needed.
        self._cap.keep(monotonic_s)
        if not ending.is_over(monotonic_s, main_ended=main_ended):
            return None
        return self._finish(note="some of its processes could not be ended" if ending.gave_up else "")

    def _end_group(self, monotonic_s: float) -> Outcome | None:
        """Kill what the command left in its group, before reaping: until then nobody else has its number."""
        if self._exit is None:
            send_group(self._child.pid, signal.SIGKILL)
            self._exit = self._reap()
        if not group_exists(self._child.pid):
            return self._finish()
        self._silence()
        self._drain_until_s = monotonic_s + _DRAIN_S
        self._drain_serial = self._runner.census.serial
        return None

    def _drain(self, monotonic_s: float) -> Outcome | None:
        """Wait until the killed rest of the group is gone; zombies that nobody reaps do not count."""
        if monotonic_s >= self._drain_until_s or not group_exists(self._child.pid):
            return self._finish()
        processes = self._runner.census.at(monotonic_s).processes.values()
        living = any(process.group == self._child.pid and not process.dead for process in processes)
        return None if living or self._runner.census.serial == self._drain_serial else self._finish()

    def _has_ended_itself(self) -> bool:
        return self._outcome is not None or self._exit is not None or self._main_ended()

    def _main_ended(self) -> bool:
        """Look without reaping."""
        try:
            options = os.WEXITED | os.WNOHANG | os.WNOWAIT
            return os.waitid(os.P_PID, self._child.pid, options) is not None
        except ChildProcessError:  # somebody else reaped it: its number is no longer ours to signal
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

    def _finish(self, *, note: str = "") -> Outcome:
        if self._exit is None:
            self._exit = self._reap()
        if self._pidfd >= 0:
            os.close(self._pidfd)
            self._pidfd = -1
        has_result = True
        log: Path | None = self._launch.log_path
        if self._spool is None or self._spool.size():
            self._cap.close()
        if self._spool is not None:
            has_result, log = self._settle_spool(self._spool, noted=self._why is not None or bool(note))
        self._outcome = report(
            self._launch,
            self._exit,
            why=self._why,
            words=self._words,
            note=note,
            log=log,
            has_result=has_result,
        )
        return self._outcome

    def _settle_spool(self, spool: CommandSpool, *, noted: bool) -> tuple[bool, Path | None]:
        """Whether it left a result, and its log if it has one; both are where they belong then."""
        spools, launch = self._runner.spools, self._launch
        has_result = keep_result(spools.result(launch), os.fspath(launch.result_path))
        log = spools.settle(spool, os.fspath(launch.log_path), needed=noted or has_result)
        return has_result, Path(log) if log else None
