"""The library by subject: each module is one area of a Bay (`bay.stories`), imported when it is first used.

An area takes the Bay it belongs to and calls services, as the Bay itself does. It prints nothing and decides nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

if TYPE_CHECKING:
    from medbay.bay import Bay

A = TypeVar("A")


class Area(Generic[A]):
    """One attribute of a Bay: `stories: Area[Stories] = Area("stories", "Stories")`."""

    def __init__(self, module: str, name: str) -> None:
        self._module = module
        self._name = name

    @overload
    def __get__(self, bay: None, owner: type[Any]) -> Area[A]: ...

    @overload
    def __get__(self, bay: Bay, owner: type[Any]) -> A: ...

    def __get__(self, bay: Bay | None, owner: type[Any]) -> Any:
        """Make the area of this Bay, once."""
        if bay is None:
            return self
        made = getattr(import_module(f"medbay.areas.{self._module}"), self._name)(bay)
        bay.__dict__[self._module] = made  # found before this descriptor from now on
        return made


class Unread:
    """Stands for a module that is imported when something of it is used first: most commands use few of the many."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)


def later(*names: str, of: str = "") -> tuple[Unread, ...]:
    """These modules of the package, not imported yet; beside it the same import is written for the types."""
    return tuple(Unread(f"medbay.{of}{name}") for name in names)
