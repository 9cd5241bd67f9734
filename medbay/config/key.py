"""What a key is: where it stands, what it accepts, what it means; and a value of it, with where it came from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from typing import Any, Final

from medbay.config.fields import DEFAULT, DEFAULTS, NAMED_PARTS
from medbay.config.kinds import Kind
from medbay.config.lines import Document

BY_VARIABLE: Final = ("store", "engine", "policy", "recurring", "web")
"""The sections whose scalar keys the environment may set."""


@dataclass(frozen=True, slots=True)
class Key:
    """One setting: where it stands, what it accepts, what it means."""

    kind_of: Callable[[], Kind]
    doc: str
    path: str = field(kw_only=True)  # `engine.workers`
    at: str = field(default="", kw_only=True)  # the field, where it does not have the name of the key
    default_is: str = field(default="", kw_only=True)  # the default in words, where there is no value
    example: object = field(default=None, kw_only=True)
    needed: bool = field(default=False, kw_only=True)  # one of those in a table with a name of its own has to be there
    hidden: bool = field(default=False, kw_only=True)  # accepted, but in no help: it has one value so far

    @property
    def parts(self) -> tuple[str, ...]:
        """The path of tables in the file; the name that people chose is one part, dots and all."""
        head, _, rest = self.path.partition(".")
        return (head, *rest.rsplit(".", 1)) if head in NAMED_PARTS else tuple(self.path.split("."))

    @property
    def section(self) -> str:
        """`engine`."""
        return self.path.rpartition(".")[0]

    @property
    def name(self) -> str:
        """`workers`."""
        return self.path.rpartition(".")[2]

    @property
    def kind(self) -> Kind:
        """What it accepts."""
        return _kind(self.kind_of)

    @property
    def field_path(self) -> tuple[str, ...]:
        """The way from a `Config` to its value."""
        if self.at:
            return tuple(self.at.split("."))
        *within, name = self.parts
        return (*within, name + self.kind.suffix)

    @property
    def default(self) -> object:
        """The default as it would stand in the file; None where `default_is` explains it."""
        value = default_at(self.field_path)
        return None if value is None and self.default_is else self.kind.write(value)

    @property
    def default_text(self) -> str:
        """The default in words or as it would stand in the file."""
        return self.default_is or self.kind.show(self.default)

    @property
    def variable(self) -> str:
        """The environment variable that sets it; empty if there is none."""
        if self.section not in BY_VARIABLE or self.kind.from_text is None:
            return ""
        return f"MEDBAY_{self.section}_{self.name}".upper()


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One value in force: as it was written, as it was understood, and where it came from."""

    key: Key
    raw: object = None
    value: Any = None
    origin: str = DEFAULT
    document: Document | None = None  # the file, if it is said there

    @property
    def source(self) -> str:
        """Where it came from, in words."""
        return self.document.place(self.key.parts) if self.document else self.origin

    @property
    def text(self) -> str:
        """The value as it would stand in the file; passwords hidden."""
        return self.key.default_text if self.raw is None else self.key.kind.show(self.raw)


@cache
def _kind(kind_of: Callable[[], Kind]) -> Kind:
    return kind_of()


def default_at(path: tuple[str, ...]) -> Any:
    """What a field is by default; None where a name has to be given first."""
    if path[0] in NAMED_PARTS:
        own = next((each for each in fields(NAMED_PARTS[path[0]][0]) if each.name == path[-1]), None)
        return None if own is None or own.default is MISSING else own.default
    value: Any = DEFAULTS
    for name in path:
        value = value[name] if isinstance(value, Mapping) else getattr(value, name)
    return value
