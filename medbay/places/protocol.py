"""What an engine needs of a place and of a running attempt: start, poll, stop. The simulator implements the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol, runtime_checkable

from msgspec import Struct, field

from medbay.core.model import Check
from medbay.core.outcome import Outcome, Output
from medbay.core.workspace import WorkRequest
from medbay.places.processes import PART_MARK

LASTING_S: Final = 0.05  # what runs for less than this is over before it could be observed
CONNECTING: Final = "not connected yet"  # a place elsewhere that has not been reached since the engine began
IDLE: Final = "idle"  # in place of task and number, in the mark of a process that runs no attempt now

AttemptKey = tuple[str, int]  # task, attempt number
LiveAttempts = Callable[[], frozenset[AttemptKey]]  # of everything that may run


class Launch(Struct, frozen=True, kw_only=True):
    """Everything one attempt needs to start."""

    store_id: str
    task_id: str
    number: int
    runner: str
    command: Sequence[str] | str  # a list is executed as it is, a string is run by the shell
    shell: str = ""  # what runs a string; nothing: sh
    cwd: Path
    log_path: str
    result_path: str
    idempotency_key: str
    env: Mapping[str, str] = field(default_factory=dict)
    env_file: str = ""  # read when it starts; a relative path starts at `cwd`
    env_from: tuple[str, ...] = ()  # names of variables of the engine, also of those that are kept from others
    guidance: str = ""
    prompt: str = ""  # of an agent
    model: str = ""  # of an agent; empty: the one of its profile
    model_class: str = ""  # small, medium or large, where neither says
    input_text: str = ""  # what the tasks it comes after came to, as JSON; it reads it from a file
    fresh_session: bool = False
    session: str = ""  # of an agent: the one to go on with
    session_tokens: tuple[int, int] = (0, 0)  # what earlier attempts used in it, in and out
    max_tokens: int | None = None
    max_cost: int | None = None  # in millionths
    timeout_s: float | None = None
    memory_bytes: int | None = None
    cpu_s: float | None = None
    stall_s: float | None = None  # without progress for so long it is ended
    ahead: bool = False  # not to be begun before another attempt of this runner has ended
    stdin_text: str = ""  # what it is asked, to be read from a file; without one it has nothing to read
    stdin_path: Path | None = None  # the file
    answer_path: Path | None = None  # its stdout goes here instead of into the log, and comes back as its answer
    keep_log: bool = False  # its output is kept from the first byte on: an engine died over it
    part: str = ""  # which of several trees of one attempt: each is ended alone
    work: WorkRequest | None = None  # what an agent's directory is prepared for
    place: str = ""  # where it runs; nothing: on the machine of its engine
    checks: tuple[Check, ...] = ()  # elsewhere they run right after the work, where that was done
    check_timeout_s: float = 0.0
    fail_fast: bool = False
    threshold: float = 1.0
    files: Path | None = None  # the directory whose files show its progress, where that is not its own

    @property
    def attempt_key(self) -> str:
        """The mark every process of this attempt (of this part of it) carries in its environment."""
        key = f"{self.store_id}:{self.task_id}:{self.number}" if self.task_id else f"{self.store_id}:{IDLE}"
        return f"{key}{PART_MARK}{self.part}" if self.part else key


class Identity(Struct, frozen=True, kw_only=True):
    """Which process this is, so that a later start can distinguish it from a reused pid."""

    pid: int
    pid_start: int  # clock ticks since boot, from /proc/PID/stat
    group: int


class Running(Protocol):
    """One live attempt, wherever it runs."""

    @property
    def identity(self) -> Identity | None:
        """The process that is worth recording; None when it has none of its own, or only for a moment."""
        ...

    def fileno(self) -> int:
        """Readable when there is something to poll; -1 when it has to be polled."""
        ...

    def poll(self, monotonic_s: float) -> Outcome | None:
        """Enforce the limits, and say how it ended if it did. Called again and again, cheap."""
        ...

    def deadline_s(self) -> float | None:
        """Monotonic time at which poll must be called even if nothing happens."""
        ...

    def cancel(self, monotonic_s: float) -> None:
        """End it because a person asked: SIGTERM now, SIGKILL after the grace period."""
        ...

    def hand_back(self, monotonic_s: float, *, why: str) -> None:
        """End it because the worker stops; poll then answers Requeued."""
        ...

    def kill(self) -> None:
        """End the whole of it at once, and do not wait for it."""
        ...


class Runner(Protocol):
    """Starts attempts of one kind."""

    def start(self, launch: Launch, monotonic_s: float) -> Running:
        """Start it; raises SpawnFailed when there is nothing to run."""
        ...


@runtime_checkable
class Feeding(Protocol):
    """A runner that takes the next attempts while others are at work; it knows which of its own only wait."""

    def begin_waiting(self, free: int, monotonic_s: float) -> None:
        """Begin as many of the attempts that only wait as there are free slots."""
        ...

    def room_ahead(self, free: int) -> Mapping[str, int]:
        """How many more attempts than there are free slots may be started ahead, by the queue they wait in."""
        ...

    def waits(self, running: Running) -> bool:
        """Whether it was handed ahead and is not begun: then it takes no slot."""
        ...

    def count_waiting(self) -> int:
        """How many of its own do; asked many times in every round."""
        ...

    def left_nothing(self, running: Running) -> bool:
        """Whether it has ended and it is known that no process of it is left anywhere."""
        ...


@runtime_checkable
class Reading(Protocol):
    """A runner whose attempts write a record of their own, which tells what a lost one came to."""

    def left_by(self, runner: str, log_path: str) -> Output:
        """What the record of a lost attempt says."""
        ...


@runtime_checkable
class Closing(Protocol):
    """A runner that keeps something between attempts."""

    def close(self) -> None:
        """Let go of it; the engine stops and no attempt is live."""
        ...


class Place(Protocol):
    """Where an engine's attempts run: it starts them, and knows of each whether anything of it may be left.

    Recovery asks it what became of the attempts of an engine that is gone. On this machine they are lost, and what is
    left of them is ended; a place whose attempts outlive their engine names those that go on, to be taken up again.
    """

    def start(self, launch: Launch, monotonic_s: float) -> Running:
        """Start it, or let it wait ahead; raises SpawnFailed when there is nothing to run."""
        ...

    def still_running(self, attempts: Mapping[AttemptKey, str]) -> frozenset[AttemptKey]:
        """Those of a dead engine's attempts that go on at the place named; asked outside any transaction."""
        ...

    def left_by(self, runner: str, log_path: str) -> Output:
        """What an attempt of a dead engine left here, as far as its runner can tell from its log."""
        ...

    def reattach(self, launch: Launch, monotonic_s: float) -> Running:
        """Take an attempt up that goes on there; raises SpawnFailed when it has gone meanwhile."""
        ...

    def ended(self, key: AttemptKey, running: Running) -> None:
        """An attempt that this engine ran is over."""
        ...

    def may_be_left(self, key: AttemptKey) -> bool:
        """Whether something of this earlier attempt may still run there."""
        ...

    def end_leftovers(self, *, store_id: str, live: LiveAttempts, task_id: str | None = None) -> int:
        """End every process of the store (or of one task) that `live`, asked after looking, does not name."""
        ...

    def waits(self, running: Running) -> bool:
        """Whether it is claimed ahead and not begun."""
        ...

    def count_waiting(self) -> int:
        """How many are; all of them run here."""
        ...

    def begin_waiting(self, slots: Callable[[], int], monotonic_s: float) -> None:
        """Begin what waits, in as many slots as there are; asked again after each that had something waiting."""
        ...

    def room_ahead(self, free: int) -> Mapping[str, int]:
        """How many more attempts than there are free slots may be started ahead, by the queue they wait in."""
        ...

    def unreachable(self) -> Mapping[str, str]:
        """Why attempts cannot be started at a place elsewhere, by its name; empty where they can."""
        ...

    def short_of(self) -> str:
        """What it has too little of to start retries now, as `CPU`; empty when there is enough of everything."""
        ...

    def close(self) -> None:
        """The engine stops and no attempt is live."""
        ...


class Leftovers(Protocol):
    """Finds and ends processes of this machine that earlier attempts of the store left, whichever engine ran them."""

    def end(self, *, store_id: str, live: LiveAttempts, task_id: str | None = None) -> int:
        """End every process of the store (or of one task) that `live`, asked after looking, does not name."""
        ...
