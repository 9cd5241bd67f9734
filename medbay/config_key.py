"""What one setting is: where it stands, what it accepts, what it is when nobody says anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from medbay.config_kinds import Kind

# The sections whose scalar keys the environment may set.
_BY_VARIABLE: Final = ("store", "engine", "policy", "recurring")


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One setting. `default` is as it would stand in the file; None means that `default_is` explains it."""

    section: str
    name: str
    kind: Kind
    default: object
    doc: str
    default_is: str = ""
    example: object = None

    @property
    def path(self) -> str:
        """`engine.workers`."""
        return f"{self.section}.{self.name}"

    @property
    def variable(self) -> str:
        """The environment variable that sets it; empty if there is none."""
        if self.section not in _BY_VARIABLE or self.kind.from_text is None:
            return ""
        return f"MEDBAY_{self.section}_{self.name}".upper()

    @property
    def default_text(self) -> str:
        """The default in words or as it would stand in the file."""
        return self.default_is or self.kind.show(self.default)
