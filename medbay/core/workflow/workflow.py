"""A workflow is data: phases over a lifecycle, as a file holds them. Every mistake is named with its place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct, field

from medbay.core.lifecycles import GUARDS, LIFECYCLES, stops
from medbay.core.machine import Machine, Move

Rerun = Literal["error", "skip", "resume", "rerun"]
NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,39}")
STATUS: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")
VERDICT: Final = re.compile(r"[A-Z][A-Z_]{0,39}")
BLOCKED: Final = "blocked"
CANCELLED: Final = "cancelled"
_UNKNOWN: Final = re.compile(r"unknown field `([^`]*)`")
_AT: Final = re.compile(r" - at `\$([^`]*)`$")
_STEP: Final = re.compile(r"\.([A-Za-z0-9_-]+)|\[(\d+)\]")

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mistake:
    """Something wrong in a workflow: where, what, and what would be right."""

    path: Path
    message: str
    hint: str


class WorkflowRefused(Exception):
    """A workflow has mistakes."""

    def __init__(self, mistakes: Sequence[Mistake]) -> None:
        super().__init__("; ".join(each.message for each in mistakes))
        self.mistakes = tuple(mistakes)


class TokenBudget(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """From how many tokens on a phase is warned about, and where it ends."""

    warning: int
    limit: int


class Phase(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One phase: where it starts, what it is called while it runs, who does it, where each verdict leads."""

    starts: tuple[str, ...] = field(name="from")
    name: str = ""
    running: str = ""
    verdicts: Mapping[str, str] = field(default_factory=dict)
    role: str = ""
    workers: tuple[str, ...] = ()  # several roles side by side
    required: tuple[str, ...] = ()  # those of them that may not time out
    artifact: str = ""  # the file that proves that it was done
    rerun: Rerun = "rerun"
    message: str = ""  # what is said when it is complete already
    complete_at: str = ""  # complete is what has this status, whatever artifacts there are
    needs: tuple[str, ...] = ()  # artifacts that have to be there
    budget: TokenBudget | None = None
    budget_of: str = ""  # it uses the budget of another phase
    counts_rounds: bool = False  # its failures are review rounds
    beside: str = ""  # the phase after it, whose roles work together with its own
    merges: bool = False  # a pass may merge the work

    @property
    def roles(self) -> tuple[str, ...]:
        """Who does it."""
        return self.workers or ((self.role,) if self.role else ())


class _Lifecycle(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    initial: str
    terminal: tuple[str, ...]
    statuses: Mapping[str, str] = field(default_factory=dict)  # each with its directory
    moves: tuple[_Move, ...]


class _Move(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    source: str = field(name="from")
    target: str = field(name="to")
    when: str = ""
    guard: str = ""


class _File(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    about: str = ""
    lifecycle: str | dict[str, Any]
    elaborated: str = ""
    dispatchable: bool = False
    phases: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    """An ordered set of phases over a lifecycle."""

    name: str
    about: str
    machine: Machine
    phases: tuple[Phase, ...]
    elaborated: str = ""  # the status from which on its scope is settled
    dispatchable: bool = False

    def phase(self, name: str) -> Phase | None:
        """The phase of this name."""
        return next((each for each in self.phases if each.name == name), None)

    def next_phase(self, status: str, last: str = "") -> Phase | None:
        """The phase that goes on from a status; where several are at work in it, the one that was `last`."""
        for each in self.phases:
            if status in each.starts:
                return each
        resumes = [each for each in self.phases if each.running == status]
        return next((each for each in resumes if each.name == last), resumes[0] if resumes else None)

    def budget_of(self, phase: Phase) -> tuple[str, TokenBudget | None]:
        """The name of the phase whose budget it uses, and that budget."""
        group = self.phase(phase.budget_of) if phase.budget_of else None
        return (group.name, group.budget) if group is not None else (phase.name, phase.budget)

    @property
    def has_review(self) -> bool:
        """Whether a phase of it counts review rounds."""
        return any(each.counts_rounds for each in self.phases)

    @property
    def statuses(self) -> tuple[str, ...]:
        """Every status there is."""
        return self.machine.states


def read(data: Mapping[str, Any]) -> Workflow:
    """The workflow that a file holds; raises WorkflowRefused with every mistake in it."""
    try:
        file = msgspec.convert(data, _File)
    except msgspec.ValidationError as error:
        raise WorkflowRefused([_shape((), error)]) from None
    mistakes: list[Mistake] = []
    machine = _machine(file, mistakes)
    phases = tuple(filter(None, (_phase(name, each, mistakes) for name, each in file.phases.items())))
    if machine is not None and not mistakes:
        mistakes += _mistakes(file, machine, phases)
    if mistakes or machine is None:
        raise WorkflowRefused(mistakes)
    return Workflow(
        name=file.name,
        about=file.about,
        machine=machine,
        phases=phases,
        elaborated=file.elaborated,
        dispatchable=file.dispatchable,
    )


def _shape(path: Path, error: msgspec.ValidationError) -> Mistake:
    """What does not have the shape it should have, in the words of the reader, with its place."""
    said = str(error)
    found = _AT.search(said)
    steps = tuple(one or two for one, two in _STEP.findall(found[1])) if found else ()
    unknown = _UNKNOWN.search(said)
    if unknown:
        return Mistake(
            (*path, *steps, unknown[1]), f'"{unknown[1]}" is not known here', "see medbay workflow show story"
        )
    return Mistake((*path, *steps), _AT.sub("", said), "see medbay workflow show story")


def _machine(file: _File, mistakes: list[Mistake]) -> Machine | None:
    """The lifecycle: one that exists, or the file's own with the moves that every story has."""
    if isinstance(file.lifecycle, str):
        known = LIFECYCLES.get(file.lifecycle)
        if known is None:
            names = ", ".join(LIFECYCLES)
            mistakes.append(
                Mistake(("lifecycle",), f'there is no lifecycle "{file.lifecycle}"', f"one of {names}, or a table")
            )
        return known
    if file.name in LIFECYCLES:
        mistakes.append(Mistake(("name",), f'"{file.name}" is a lifecycle that exists', "choose another name"))
        return None
    try:
        own = msgspec.convert(file.lifecycle, _Lifecycle)
    except msgspec.ValidationError as error:
        mistakes.append(_shape(("lifecycle",), error))
        return None
    mistakes += _of_lifecycle(own)
    if mistakes:
        return None
    terminal = frozenset({*own.terminal, CANCELLED})
    moves = tuple(Move(each.source, each.target, each.when or "by its workflow", each.guard) for each in own.moves)
    lasting = tuple(each for each in own.statuses if each not in terminal and each != BLOCKED)
    places = {BLOCKED: BLOCKED, CANCELLED: CANCELLED, **own.statuses}
    return Machine(
        name=file.name, initial=own.initial, terminal=terminal, moves=(*moves, *stops(lasting)), places=places
    )


def _of_lifecycle(own: _Lifecycle) -> Iterator[Mistake]:
    """What is wrong with the lifecycle of a file."""
    for status, place in own.statuses.items():
        if not STATUS.fullmatch(status) or not STATUS.fullmatch(place):
            said = f'"{status}" = "{place}" is no status with its directory'
            yield Mistake(("lifecycle", "statuses", status), said, "letters, digits, - and _")
    for key, status in [("initial", own.initial), *(("terminal", each) for each in own.terminal)]:
        if status not in own.statuses:
            yield _no_status(("lifecycle", key), status, own)
    for number, move in enumerate(own.moves):
        yield from _of_move(own, move, number)
    reached = {own.initial, BLOCKED, CANCELLED, *(move.target for move in own.moves)}
    left = {*own.terminal, BLOCKED, CANCELLED, *(move.source for move in own.moves)}
    for status in own.statuses:
        path = ("lifecycle", "statuses", status)
        if status not in reached:
            yield Mistake(path, f'"{status}" cannot be reached', "add a move to it, or take it away")
        if status not in left:
            yield Mistake(path, f'there is no way out of "{status}"', "add a move from it, or make it terminal")


def _no_status(path: Path, status: str, own: _Lifecycle) -> Mistake:
    return Mistake(path, f'"{status}" is no status of this lifecycle', f"its statuses are {', '.join(own.statuses)}")


def _of_move(own: _Lifecycle, move: _Move, number: int) -> Iterator[Mistake]:
    path, twice = ("lifecycle", "moves", str(number)), f"{move.source} -> {move.target} stands twice"
    ends = (move.source, move.target)
    for status in ends:
        if status not in own.statuses:
            yield _no_status(path, status, own)
    if move.guard and move.guard not in GUARDS:
        yield Mistake(path, f'there is no guard "{move.guard}"', f"one of {', '.join(GUARDS)}")
    if move.source in own.terminal:
        said = f"{move.source} is terminal and may not move"
        yield Mistake(path, said, "take it out of `terminal`, or the move away")
    if CANCELLED in ends or BLOCKED in ends:
        yield Mistake(path, twice, "the moves to and from blocked and cancelled are there already")
    elif ends in [(other.source, other.target) for other in own.moves[:number]]:
        yield Mistake(path, twice, "take one of them away")


def _phase(name: str, data: object, mistakes: list[Mistake]) -> Phase | None:
    path = ("phases", name)
    if not NAME.fullmatch(name):
        mistakes.append(Mistake(path, f'"{name}" is no name of a phase', "small letters, digits, - and _"))
    try:
        return msgspec.structs.replace(msgspec.convert(data, Phase), name=name)
    except msgspec.ValidationError as error:
        mistakes.append(_shape(path, error))
        return None


def _mistakes(file: _File, machine: Machine, phases: Sequence[Phase]) -> Iterator[Mistake]:
    """What is wrong with the phases: statuses that are not there, moves that the lifecycle does not have."""
    known = ", ".join(machine.states)
    if file.elaborated and file.elaborated not in machine.states:
        yield Mistake(
            ("elaborated",), f'"{file.elaborated}" is no status of {machine.name}', f"its statuses are {known}"
        )
    begins: dict[str, str] = {}
    for each in phases:
        path = ("phases", each.name)
        for status in each.starts:
            if status not in machine.states:
                yield Mistake(
                    (*path, "from"), f'"{status}" is no status of {machine.name}', f"its statuses are {known}"
                )
            other = begins.setdefault(status, each.name)
            if other != each.name:
                yield Mistake(
                    (*path, "from"), f"{other} starts from {status} already", "one phase goes on from each status"
                )
        if each.running and each.running not in machine.states:
            yield Mistake(
                (*path, "running"), f'"{each.running}" is no status of {machine.name}', f"its statuses are {known}"
            )
        yield from _of_moves(each, machine)
        yield from _of_names(each, phases)
    yield from _unreached(machine, phases)


def _of_moves(phase: Phase, machine: Machine) -> Iterator[Mistake]:
    """Every move that a phase makes has to be in the table."""
    path = ("phases", phase.name)
    sources = (phase.running,) if phase.running else phase.starts
    if phase.running in machine.states:
        for status in phase.starts:
            if status in machine.states and status != phase.running and (status, phase.running) not in machine.steps:
                yield Mistake(
                    (*path, "running"),
                    f"{machine.name} has no move {status} -> {phase.running}",
                    _ways(machine, status),
                )
    for word, status in phase.verdicts.items():
        if not VERDICT.fullmatch(word):
            yield Mistake((*path, "verdicts", word), f'"{word}" is no verdict', "capital letters and _, as PASS")
        if status not in machine.states:
            yield Mistake(
                (*path, "verdicts", word),
                f'"{status}" is no status of {machine.name}',
                f"its statuses are {', '.join(machine.states)}",
            )
            continue
        for source in sources:
            if source in machine.states and (source, status) not in machine.steps:
                yield Mistake(
                    (*path, "verdicts", word),
                    f"{machine.name} has no move {source} -> {status}",
                    _ways(machine, source),
                )


def _ways(machine: Machine, source: str) -> str:
    return f"from {source} it may become {', '.join(machine.allowed(source)) or 'nothing: it is terminal'}"


def _of_names(phase: Phase, phases: Sequence[Phase]) -> Iterator[Mistake]:
    path, names = ("phases", phase.name), [each.name for each in phases]
    for key in ("budget_of", "beside"):
        if getattr(phase, key) and getattr(phase, key) not in names:
            yield Mistake((*path, key), f'there is no phase "{getattr(phase, key)}"', f"one of {', '.join(names)}")
    if phase.role and phase.workers:
        yield Mistake((*path, "workers"), "role and workers exclude each other", "name one role, or several workers")
    for role in phase.required:
        if role not in phase.roles:
            yield Mistake((*path, "required"), f'"{role}" is none of its workers', f"one of {', '.join(phase.roles)}")
    if phase.budget is not None and not 0 < phase.budget.warning <= phase.budget.limit:
        yield Mistake(
            (*path, "budget"), "the warning has to come before the limit", "budget = {warning = 50000, limit = 100000}"
        )


def _unreached(machine: Machine, phases: Sequence[Phase]) -> Iterator[Mistake]:
    """Statuses from which no phase goes on, though something leads there."""
    led = {machine.initial, *(status for each in phases for status in each.verdicts.values())}
    goes_on = {status for each in phases for status in (*each.starts, each.running)}
    for each in phases:
        for word, status in each.verdicts.items():
            if status in led - goes_on - machine.terminal and status in machine.states:
                yield Mistake(
                    ("phases", each.name, "verdicts", word),
                    f"{word} leads to {status}, and no phase goes on from there",
                    "add a phase that starts from it, or make it terminal",
                )
