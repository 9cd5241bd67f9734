"""A store that fails as stores do: the engine dies around a commit, or the store refuses or is away."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal

from medbay.env import Random
from medbay.errors import StoreUnavailable
from medbay.sim.clock import VirtualClock
from medbay.store.database import Store, Tx

Fault = Literal["crash_before", "crash_after", "refuse", "unheard"]


class SimulatedCrash(BaseException):
    """The engine's process is killed here. Nothing of the engine's own may catch it."""


@dataclass(slots=True)
class Faults:
    """Which faults one engine meets. Counts what it did."""

    rng: Random
    crash_share: float
    refusal_share: float
    away_until_ms: int = 0
    spared: bool = False  # nothing happens for now
    crashes: int = 0
    refusals: int = 0
    unheard_share: float = 0.0  # of the refused commits: that they were made and only the answer was lost

    def stop(self) -> None:
        """No faults from here on."""
        self.crash_share = self.refusal_share = 0.0
        self.away_until_ms = 0

    def draw(self) -> Fault | None:
        """What happens to the next commit."""
        if self.spared or not (self.crash_share or self.refusal_share):
            return None
        chance = self.rng.random()
        if chance < self.crash_share:
            return "crash_before" if self.rng.random() < 0.5 else "crash_after"
        if chance >= self.crash_share + self.refusal_share:
            return None
        return "unheard" if self.unheard_share and self.rng.random() < self.unheard_share else "refuse"


class FaultyWrite:
    """The block of one transaction and what happens at its end. A class: a world has hundreds of thousands."""

    __slots__ = ("_block", "_fault", "_faults", "_told")

    def __init__(
        self, block: AbstractContextManager[Tx], fault: Fault | None, faults: Faults | None, told: Callable[..., None]
    ) -> None:
        self._block = block
        self._fault = fault
        self._faults = faults
        self._told = told

    def __enter__(self) -> Tx:
        try:
            return self._block.__enter__()
        except BaseException:
            self._told(committed=False)
            raise

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        fault = self._meet() if error is None else None
        ended: BaseException | None = error if error is not None else fault
        try:
            self._block.__exit__(type(ended) if ended is not None else None, ended, None)
        except BaseException:
            self._told(committed=False)
            raise
        if ended is not None:
            self._told(committed=False)
            if fault is not None:
                raise fault
            return
        self._told(committed=True)
        self._after()

    def _meet(self) -> BaseException | None:
        """What keeps the commit from being made."""
        if self._faults is None or self._fault not in ("crash_before", "refuse"):
            return None
        if self._fault == "crash_before":
            self._faults.crashes += 1
            return SimulatedCrash()
        self._faults.refusals += 1
        return StoreUnavailable("simulated: the commit was refused")

    def _after(self) -> None:
        """What happens once it was made."""
        if self._faults is not None and self._fault == "crash_after":
            self._faults.crashes += 1
            raise SimulatedCrash
        if self._faults is not None and self._fault == "unheard":
            self._faults.refusals += 1
            raise StoreUnavailable("simulated: the answer to a commit was lost")


class FaultyStore:
    """The one store, as one actor sees it. Tells the checkers after every commit."""

    kind = "sqlite"

    def __init__(
        self,
        store: Store,
        actor: str,
        clock: VirtualClock,
        *,
        faults: Faults | None,
        committed: Callable[[str], None],
        undone: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._actor = actor
        self._clock = clock
        self._faults = faults
        self._committed = committed
        self._undone = undone

    @property
    def store_id(self) -> str:
        """The name every child process of this store carries."""
        return self._store.store_id

    def write(self) -> FaultyWrite:
        """A transaction that may be rolled back or committed while its author dies."""
        self._refuse_while_away()
        fault = self._faults.draw() if self._faults else None
        return FaultyWrite(self._store.write(), fault, self._faults, self._told)

    def read(self) -> AbstractContextManager[Tx]:
        """A transaction that changes nothing."""
        self._refuse_while_away()
        return self._store.read()

    def _told(self, *, committed: bool) -> None:
        if committed:
            self._committed(self._actor)
        else:
            self._undone()

    def changed(self) -> bool:
        """The scheduler knows better."""
        return False

    def fileno(self) -> int:
        """Nothing to wait on."""
        return -1

    def sibling(self) -> Store:
        """A store in memory has one connection."""
        return self

    def close(self) -> None:
        """The world closes the one store."""

    def _refuse_while_away(self) -> None:
        if self._faults and self._clock.elapsed_ms < self._faults.away_until_ms:
            raise StoreUnavailable("simulated: the store is away")
