"""A lifecycle as a table: states, moves and what triggers each. Illegal moves are one lookup.

Knows nothing of tasks or stories; the tables are in `core.lifecycles`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from medbay.errors import IllegalTransition


@dataclass(frozen=True, slots=True)
class Move:
    """One allowed change of status, and when it happens."""

    source: str
    target: str
    trigger: str
    guard: str = ""  # the name of a condition that the record itself answers: `record.permits(guard, target)`


@dataclass(frozen=True, slots=True)
class Machine:
    """A named set of states with its allowed moves."""

    name: str
    initial: str
    moves: tuple[Move, ...]
    terminal: frozenset[str]
    places: Mapping[str, str] = field(default_factory=dict)  # state -> directory, where the domain has one
    steps: frozenset[tuple[str, str]] = field(init=False, repr=False, compare=False)  # every move as (source, target)
    guards: Mapping[tuple[str, str], str] = field(init=False, repr=False, compare=False)  # of the moves that have one
    _targets: Mapping[str, tuple[str, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        targets: dict[str, list[str]] = {state: [] for state in sorted(self.terminal)}
        for move in self.moves:
            if move.source in self.terminal:
                raise ValueError(f"{self.name}: {move.source} is terminal and may not move")
            known = targets.setdefault(move.source, [])
            if move.target in known:
                raise ValueError(f"{self.name}: {move.source} -> {move.target} stands twice")
            known.append(move.target)
        unknown = {move.target for move in self.moves} - targets.keys()
        if unknown or self.initial not in targets:
            raise ValueError(f"{self.name}: no way out of {sorted(unknown | {self.initial} - targets.keys())}")
        object.__setattr__(self, "steps", frozenset((move.source, move.target) for move in self.moves))
        guards = {(move.source, move.target): move.guard for move in self.moves if move.guard}
        object.__setattr__(self, "guards", guards)
        object.__setattr__(self, "_targets", {state: tuple(found) for state, found in targets.items()})

    @property
    def states(self) -> tuple[str, ...]:
        """Every state, in the order of the table."""
        ordered = dict.fromkeys([self.initial])
        for move in self.moves:
            ordered |= dict.fromkeys([move.source, move.target])
        return tuple(ordered)

    def allowed(self, source: str) -> tuple[str, ...]:
        """Where a state may go."""
        return self._targets.get(source, ())

    def check(self, subject: str, source: str, target: str) -> None:
        """Raise IllegalTransition, naming the subject, both states and the allowed moves."""
        if (source, target) not in self.steps:
            self.refuse(subject, source, target)

    def refuse(
        self, subject: str, source: str, target: str, *, guard: str = "", open_to: Sequence[str] | None = None
    ) -> NoReturn:
        """Say that a move is not allowed, or not now, and which are; `open_to`: those that their guards let it take."""
        ways = ", ".join(self.allowed(source) if open_to is None else open_to) or "nothing: it is terminal"
        only = f": only if {guard.replace('_', ' ')}" if guard else ""
        raise IllegalTransition(
            f"{subject} is {source} and may not become {target}{only}", hint=f"from {source} it may become {ways}"
        )


def draw_text(machine: Machine) -> str:
    """The table for a terminal, one line per move."""
    wide = max(len(state) for state in machine.states)
    lines = [f"{machine.name}: starts as {machine.initial}; ends as {', '.join(sorted(machine.terminal))}"]
    for state in machine.states:
        place = f"  [{machine.places[state]}/]" if state in machine.places else ""
        if state in machine.terminal:
            lines.append(f"  {state:<{wide}} is terminal{place}")
        for move in machine.moves:
            if move.source == state:
                guard = f"  if {move.guard}" if move.guard else ""
                lines.append(f"  {state:<{wide}} -> {move.target:<{wide}}  {move.trigger}{guard}{place}".rstrip())
    return "\n".join(lines)


def draw_mermaid(machine: Machine) -> str:
    """The table as a Mermaid state diagram."""
    lines = ["stateDiagram-v2", f"    [*] --> {_word(machine.initial)}"]
    lines += [f'    state "{state}" as {_word(state)}' for state in machine.states if _word(state) != state]
    for move in machine.moves:
        trigger = move.trigger.replace(":", ",").replace(";", ",")
        guard = f" [{move.guard}]" if move.guard else ""
        lines.append(f"    {_word(move.source)} --> {_word(move.target)}: {trigger}{guard}")
    lines += [f"    {_word(state)} --> [*]" for state in sorted(machine.terminal)]
    return "\n".join(lines)


def draw_json(machine: Machine) -> str:
    """The table as data."""
    return json.dumps(
        {
            "name": machine.name,
            "initial": machine.initial,
            "terminal": sorted(machine.terminal),
            "states": list(machine.states),
            "moves": [
                {"from": m.source, "to": m.target, "trigger": m.trigger} | ({"guard": m.guard} if m.guard else {})
                for m in machine.moves
            ],
            "places": dict(machine.places),
        },
        indent=2,
    )


def _word(state: str) -> str:
    return state.replace("-", "_")
