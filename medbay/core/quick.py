"""Frozen records that are made quickly: the loop makes dozens of them for every attempt.

The constructor of a frozen dataclass sets each field by a call. `quick` lets a twin of the class do it, which has the
same fields and is not frozen, and which then becomes the record: half of the time where most fields keep a default.
"""

from __future__ import annotations

from dataclasses import MISSING, Field, field, fields, make_dataclass
from typing import Any, TypeVar

Record = TypeVar("Record")


def quick(cls: type[Record]) -> type[Record]:
    """For a `dataclass(frozen=True, slots=True, kw_only=True)` without `__post_init__`; nothing else changes."""
    alike = [(each.name, Any, _like(each)) for each in fields(cls)]  # type: ignore[arg-type]
    twin = make_dataclass(cls.__name__, alike, kw_only=True, slots=True, eq=False, repr=False)
    fill, become = twin.__init__, object.__setattr__  # type: ignore[misc]

    def make(self: Record, **given: Any) -> None:
        become(self, "__class__", twin)
        fill(self, **given)
        become(self, "__class__", cls)

    make.__qualname__ = f"{cls.__qualname__}.__init__"
    cls.__init__ = make  # type: ignore[method-assign, assignment]
    return cls


def _like(each: Field[Any]) -> Any:
    if each.default is not MISSING:
        return field(default=each.default)
    return field(default_factory=each.default_factory) if each.default_factory is not MISSING else field()
