"""What /proc says about processes: who is who, which tree they belong to, and how to end all of it.

A pid is never trusted alone: a process is a pid with its start time, and signals go through a pidfd.
The guardian is made of this module and little else, so it imports nothing heavy.
"""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from medbay.places.protocol import Identity, LiveAttempts

KEY_NAME: Final = "MEDBAY_ATTEMPT_KEY"
GUARD_NAME: Final = "MEDBAY_GUARD"  # which engine started it: the guardian of that engine ends it, no other
PART_MARK: Final = "/"  # between an attempt's key and the name of a part of it
_NEEDLE: Final = KEY_NAME.encode() + b"="
_CHUNK: Final = 16_384
_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")
_ROUNDS_MAX: Final = 40  # scans before giving up on something that cannot be killed
_AWAITED_MAX: Final = 8  # deaths waited for between two scans, each at most _DEATH_MS
_DEATH_MS: Final = 25


class Process(NamedTuple):
    """One line of the process table (a tuple, because thousands are made per scan)."""

    pid: int
    start: int  # clock ticks since boot
    parent: int
    group: int
    session: int
    dead: bool  # a zombie: it runs no more, only its parent has not asked yet
    rss_bytes: int
    cpu_s: float  # its own and that of the children it has waited for


class HostLeftovers:
    """Ends what an earlier engine of the same store left on this host, found by environment alone."""

    def end(self, *, store_id: str, live: LiveAttempts, task_id: str | None = None) -> int:
        """End every process of the store, or of one task, whose (task, number) is not live; how many."""

        def find() -> dict[int, Process]:
            marked = marks(f"{store_id}:")
            if not marked:
                return {}
            # Asked after the scan: what another worker started meanwhile was claimed before it ran, and is spared.
            # Where the engine itself runs inside an attempt, its own children carry that attempt's mark.
            spared = {f"{store_id}:{task}:{number}" for task, number in live()} | {_whole(os.environ.get(KEY_NAME, ""))}
            innocent = {pid for pid, key in marked.items() if _whole(key) in spared}
            guilty = {pid for pid, key in marked.items() if _is_attempt(key, store_id, task_id)} - innocent
            # A warm worker changes its mark before its attempt is settled: what still has it now is guilty for good.
            guilty = {pid for pid in guilty if mark_of(pid) == marked[pid]}
            if not guilty:
                return {}
            processes = table()
            return _living(processes, below(processes, guilty) - innocent)

        return _end_all(find)


def end_guarded(mark: str) -> int:
    """SIGKILL everything an engine started, until two scans in a row are empty; how many there were."""

    def find() -> dict[int, Process]:
        marked = _guarded_by(mark)
        if not marked:
            return {}
        processes = table()
        # What one of them started is in its session, even where it has another environment and its parent is gone.
        sessions = {processes[pid].session for pid in marked if pid in processes} - {0}
        roots = marked | {pid for pid, process in processes.items() if process.session in sessions}
        found = _living(processes, below(processes, roots))
        for process in found.values():  # none acts on the death of another: a shell would go on with its next line
            send(process, signal.SIGSTOP)
        return found

    return _end_all(find)


def end_marked(key: str) -> int:
    """SIGKILL everything on this host that carries this very mark, and what it started; how many there were."""
    return _end_all(lambda: look().members(leader=-1, attempt_key=key))


def end_tree(identity: Identity, *, attempt_key: str) -> int:
    """SIGKILL everything of one attempt until two scans in a row are empty; how many there were."""
    return _end_all(lambda: look().members(leader=identity.pid, attempt_key=attempt_key))


def identity_of(pid: int) -> Identity | None:
    """Which process this pid is now; None when there is none."""
    from medbay.places.protocol import Identity

    found = read_process(pid)
    return None if found is None else Identity(pid=pid, pid_start=found.start, group=found.group)


def is_alive(identity: Identity) -> bool:
    """Whether this very process still runs: same pid, same start time, no zombie."""
    found = read_process(identity.pid)
    return found is not None and found.start == identity.pid_start and not found.dead


class Snapshot(NamedTuple):
    """The process table and the attempt keys of all processes, taken in one go."""

    processes: Mapping[int, Process]
    keys: Mapping[int, str]

    def members(self, *, leader: int, attempt_key: str, known: Collection[tuple[int, int]] = ()) -> dict[int, Process]:
        """The living of one attempt: marked, of the leader's session or group, known, or below any of these.

        `known` are the (pid, start) of earlier looks: a process whose parent is gone has no other link left.
        """
        roots = {
            pid for pid, process in self.processes.items() if leader in (process.pid, process.group, process.session)
        }
        roots.update(pid for pid, key in self.keys.items() if key == attempt_key)
        roots.update(pid for pid, start in known if pid in self.processes and self.processes[pid].start == start)
        return _living(self.processes, below(self.processes, roots))


class Census:
    """One snapshot of /proc for all attempts of a runner: its cost does not grow with their number."""

    def __init__(self) -> None:
        self.serial = 0
        self.age_s = 0.01
        self._taken_s = float("-inf")
        self._snapshot = Snapshot(processes={}, keys={})

    def at(self, monotonic_s: float) -> Snapshot:
        """A snapshot not older than `age_s`; `serial` distinguishes one from the next."""
        if monotonic_s - self._taken_s >= self.age_s:
            self._snapshot = look()
            self._taken_s = monotonic_s
            self.serial += 1
            # About 35 us a process: looking no more often than this costs at most a tenth of one core.
            self.age_s = max(0.01, 0.000_35 * len(self._snapshot.processes))
        return self._snapshot


def look() -> Snapshot:
    """A new snapshot of this host."""
    # Keys first: a process that forks between the two reads shows up below a marked parent.
    keys = marks("")
    return Snapshot(processes=table(), keys=keys)


def table() -> dict[int, Process]:
    """Every process of this host by pid."""
    found = (read_process(pid) for pid in pids())
    return {process.pid: process for process in found if process is not None}


def marks(prefix: str) -> dict[int, str]:
    """The attempt key of every readable process whose key begins with this."""
    needle = _NEEDLE + prefix.encode()
    found = {}
    for pid in pids():
        environ = _read(f"/proc/{pid}/environ")
        if needle in environ:  # the cheap test; most processes end here
            key = _key_in(environ)
            if key and key.startswith(prefix):
                found[pid] = key
    return found


def _guarded_by(mark: str) -> set[int]:
    """What an engine started and did not let go: a job takes the attempt's key away from what shall outlive it."""
    needle = f"{GUARD_NAME}={mark}\0".encode()
    environs = ((pid, _read(f"/proc/{pid}/environ")) for pid in pids())
    return {pid for pid, environ in environs if needle in environ and _key_in(environ)}


def mark_of(pid: int) -> str:
    """The attempt key of one process; empty when it has none."""
    return _key_in(_read(f"/proc/{pid}/environ"))


def pids() -> list[int]:
    """The pids of this host, as /proc lists them."""
    return [int(name) for name in os.listdir("/proc") if name.isdecimal()]


def below(processes: Mapping[int, Process], roots: Iterable[int]) -> set[int]:
    """These processes and all their descendants, never this process nor one it descends from."""
    children: dict[int, list[int]] = {}
    for process in processes.values():
        children.setdefault(process.parent, []).append(process.pid)
    own_line = _line_of(processes, os.getpid())
    found: set[int] = set()
    waiting = [pid for pid in roots if pid not in own_line]
    while waiting:
        pid = waiting.pop()
        if pid not in found:
            found.add(pid)
            waiting.extend(child for child in children.get(pid, ()) if child not in own_line)
    return found


def read_process(pid: int) -> Process | None:
    """One process from /proc/PID/stat; None when there is none."""
    stat = _read(f"/proc/{pid}/stat")
    # The name in parentheses may itself hold parentheses and spaces: count from the last one.
    fields = stat[stat.rfind(b")") + 2 :].split()
    if len(fields) < 22:
        return None
    ticks = int(fields[11]) + int(fields[12]) + int(fields[13]) + int(fields[14])
    return Process(
        pid,
        int(fields[19]),
        int(fields[1]),
        int(fields[2]),
        int(fields[3]),
        fields[0] in b"ZXx",
        int(fields[21]) * _PAGE_BYTES,
        ticks / _TICKS_PER_S,
    )


def send(process: Process, *numbers: int) -> bool:
    """Signal this very process, never one that took over its pid; False when it is gone or not ours."""
    try:
        pidfd = os.pidfd_open(process.pid)
    except OSError:
        return False
    try:
        now = read_process(process.pid)
        if now is None or now.start != process.start:
            return False
        for number in numbers:
            signal.pidfd_send_signal(pidfd, number)
    except OSError:
        return False
    finally:
        os.close(pidfd)
    return True


def send_group(group: int, *numbers: int) -> None:
    """Signal a process group; one that is gone or not ours is passed over."""
    for number in numbers:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)


def group_exists(group: int) -> bool:
    """Whether a process group has any member, zombies included."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _end_all(find: Callable[[], Mapping[int, Process]]) -> int:
    """Find and SIGKILL until two scans in a row are empty, within a bounded number of rounds."""
    ended: set[tuple[int, int]] = set()
    empty = 0
    for _ in range(_ROUNDS_MAX):
        struck = [process for process in find().values() if send(process, signal.SIGKILL)]
        ended.update((process.pid, process.start) for process in struck)
        # What cannot be signalled (gone meanwhile, or another user's) is no reason to go on.
        empty = 0 if struck else empty + 1
        if empty == 2:
            break
        _await_deaths(struck[-_AWAITED_MAX:])
    return len(ended)


def _await_deaths(processes: Collection[Process]) -> None:
    for process in processes:
        with suppress(OSError):
            pidfd = os.pidfd_open(process.pid)
            try:
                waiting = select.poll()
                waiting.register(pidfd, select.POLLIN)
                waiting.poll(_DEATH_MS)
            finally:
                os.close(pidfd)


def _living(processes: Mapping[int, Process], chosen: Iterable[int]) -> dict[int, Process]:
    found = ((pid, processes.get(pid)) for pid in chosen)
    return {pid: process for pid, process in found if process is not None and not process.dead}


def _line_of(processes: Mapping[int, Process], pid: int) -> set[int]:
    line = {0}
    while pid not in line:
        line.add(pid)
        process = processes.get(pid)
        pid = 0 if process is None else process.parent
    return line


def _whole(key: str) -> str:
    """The key of the attempt, of whichever part of it this is the key."""
    return key.partition(PART_MARK)[0]


def _is_attempt(key: str, store_id: str, task_id: str | None) -> bool:
    task, _, number = _whole(key).removeprefix(f"{store_id}:").rpartition(":")
    return bool(task) and number.isdecimal() and task_id in (None, task)


def _key_in(environ: bytes) -> str:
    begin = 0 if environ.startswith(_NEEDLE) else environ.find(b"\0" + _NEEDLE) + 1
    if not environ.startswith(_NEEDLE, begin):
        return ""  # the needle was part of some other value
    end = environ.find(b"\0", begin)
    value = environ[begin + len(_NEEDLE) :] if end < 0 else environ[begin + len(_NEEDLE) : end]
    return value.decode("utf-8", "replace")


def _read(path: str) -> bytes:
    """A whole small file of /proc; empty when it is gone or not ours to read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        data = os.read(descriptor, _CHUNK)
        if len(data) == _CHUNK:
            while more := os.read(descriptor, _CHUNK):
                data += more
    except OSError:
        return b""
    finally:
        os.close(descriptor)
    return data
