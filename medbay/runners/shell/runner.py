"""The shell runner: one command per attempt. It starts, reports, and leaves to others what a failure means."""

from __future__ import annotations

import weakref
from typing import Final

from medbay.core.outcome import Outcome
from medbay.places.protocol import LASTING_S, Identity, Launch
from medbay.places.tree import ProcessTree, Trees
from medbay.runners.report import report

_NEWEST_SHARE: Final = 0.2  # what the newest command counts for in the average


class ShellRunner:
    """Starts commands as process trees."""

    def __init__(self, trees: Trees) -> None:
        self.pace = Pace()
        self._trees = trees

    def start(self, launch: Launch, monotonic_s: float) -> ShellRunning:
        """Start it; raises SpawnFailed when there is nothing to run."""
        tree = self._trees.start(launch, monotonic_s, brief=self.pace.is_short)
        self.pace.began(tree)
        return ShellRunning(launch, tree, self.pace)

    def close(self) -> None:
        """Remove the files that wait for the next short command."""
        self._trees.close()


class ShellRunning:
    """One live command."""

    def __init__(self, launch: Launch, tree: ProcessTree, pace: Pace) -> None:
        self.tree = tree
        self._launch = launch
        self._pace = pace
        self._outcome: Outcome | None = None

    @property
    def identity(self) -> Identity | None:
        """Its main process, once it has run for more than a moment."""
        return self.tree.identity if self.tree.lasting else None

    def fileno(self) -> int:
        """Readable once the main process ended."""
        return self.tree.fileno()

    def poll(self, monotonic_s: float) -> Outcome | None:
        """Enforce the limits and say how it ended; when we ended it, never before its tree is gone."""
        end = self.tree.poll(monotonic_s)
        if self._outcome is None and end is not None:
            self._pace.ended(self.tree, took_s=end.took_s)
            self._outcome = report(self._launch, end)
        return self._outcome

    def deadline_s(self) -> float | None:
        """The next time that matters to its tree."""
        return self.tree.deadline_s()

    def cancel(self, monotonic_s: float) -> None:
        """End the tree because a person asked, whatever ended it before; what ended by itself stays so."""
        self.tree.cancel(monotonic_s)

    def hand_back(self, monotonic_s: float, *, why: str) -> None:
        """End the tree because the worker stops; a limit that struck before stays the reason."""
        self.tree.hand_back(monotonic_s, why=why)

    def kill(self) -> None:
        """SIGKILL the whole tree and wait for nothing; without another reason it counts as handed back."""
        self.tree.kill()


class Pace:
    """How long the commands of one runner take lately."""

    def __init__(self) -> None:
        self.average_s: float | None = None
        self._begun: weakref.WeakSet[ProcessTree] = weakref.WeakSet()

    @property
    def is_short(self) -> bool:
        """Whether commands are over in a moment lately."""
        return self.average_s is not None and self.average_s < LASTING_S

    @property
    def at_work(self) -> int:
        """How many were begun and may be over in a moment."""
        return sum(not each.lasting for each in self._begun)

    def began(self, tree: ProcessTree) -> None:
        """A command was started."""
        self._begun.add(tree)

    def ended(self, tree: ProcessTree, *, took_s: float | None) -> None:
        """A command ended; None: not by itself, which says nothing of how long it takes."""
        if took_s is None:
            return
        self._begun.discard(tree)
        before_s = took_s if self.average_s is None else self.average_s
        self.average_s = before_s + _NEWEST_SHARE * (took_s - before_s)
