"""Pieces of prompts kept under `.medbay/cache`, by tier and by the hash of their content.

An entry says which content belongs to a name and from what it was made; the content itself is kept once by its hash.
An entry is used while its tier's time lasts and its sources are the same. Losing it costs only the making.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from medbay.core.workflow.context import KEPT_MS, ContextPiece, Tier, digest, piece

TEXT_MAX: Final = 256 * 1024  # bytes of one piece


class CacheEntry(Struct, frozen=True, kw_only=True):
    """Which content belongs to a name."""

    tier: Tier
    name: str
    sources: str  # the hash of what it was made from
    hash: str
    size: int
    made_at: int
    hits: int = 0

    def lasts_until(self) -> int:
        """When it is made again whatever its sources are."""
        return self.made_at + KEPT_MS[self.tier]


class ContextCache:
    """The cache of one store."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def take(self, tier: Tier, name: str, *, sources: str, make: Callable[[], str], now_ms: int) -> ContextPiece:
        """The piece of this name: as it is kept, or made from its sources now."""
        at = self._at(tier, name)
        found = self._entry(at)
        if found is not None and found.sources == sources and found.made_at <= now_ms < found.lasts_until():
            text = self._content(found)
            if text is not None:
                self._put(at, msgspec.json.encode(msgspec.structs.replace(found, hits=found.hits + 1)))
                return ContextPiece(tier=tier, name=name, text=text, hash=found.hash)
        made = piece(tier, name, make())
        data = made.text.encode("utf-8", "replace")
        if len(data) <= TEXT_MAX:
            entry = CacheEntry(tier=tier, name=name, sources=sources, hash=made.hash, size=len(data), made_at=now_ms)
            self._put(self._folder / "content" / made.hash, data)
            self._put(at, msgspec.json.encode(entry))
        return made

    def entries(self) -> list[CacheEntry]:
        """All entries by tier and name; what cannot be read is none."""
        found = (self._entry(path) for tier in KEPT_MS for path in self._files(tier))
        return sorted((each for each in found if each is not None), key=lambda each: (*_order(each.tier), each.name))

    def clear(self, tier: Tier | None = None) -> int:
        """Remove the entries of one tier or of all, and content that none needs any more; how many entries."""
        gone = 0
        for each in KEPT_MS:
            if tier in (None, each):
                for path in self._files(each):
                    path.unlink(missing_ok=True)
                    gone += 1
        needed = {each.hash for each in self.entries()}
        for path in self._files("content"):
            if path.name not in needed:
                path.unlink(missing_ok=True)
        return gone

    def _at(self, tier: Tier, name: str) -> Path:
        return self._folder / tier / f"{digest(name)[:32]}.json"

    def _files(self, folder: str) -> list[Path]:
        try:
            return sorted((self._folder / folder).iterdir())
        except OSError:
            return []

    def _entry(self, path: Path) -> CacheEntry | None:
        try:
            return msgspec.json.decode(path.read_bytes(), type=CacheEntry)
        except (OSError, msgspec.MsgspecError):
            return None

    def _content(self, entry: CacheEntry) -> str | None:
        """The content, where it is still what its hash says."""
        try:
            text = (self._folder / "content" / entry.hash).read_bytes().decode("utf-8", "replace")
        except OSError:
            return None
        return text if digest(text) == entry.hash else None

    def _put(self, path: Path, data: bytes) -> None:
        """Write a file whole; where that is impossible, nothing is kept."""
        temporary = path.with_name(f"{path.name}.{os.getpid()}.new")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(data)
            os.replace(temporary, path)
        except OSError:
            with suppress(OSError):
                temporary.unlink()


def _order(tier: Tier) -> tuple[int]:
    return ([*KEPT_MS].index(tier),)
