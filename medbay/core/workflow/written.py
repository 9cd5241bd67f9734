"""Whose file an artifact is: what we wrote last is kept by its hash, so that what a role or a person wrote is known.

What a role leaves has to have its published shape. It is read where the role ends, so that a wrong one is tried again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, Final

from msgspec import Struct

from medbay.core.untrusted import parsed
from medbay.core.workflow import shapes

WRITTEN: Final = f"{shapes.FOLDER}/.written.json"  # what we wrote last
KEPT: Final = f"{shapes.FOLDER}/kept"  # where another's file goes that ours replaces
MALFORMED: Final = "malformed"  # what a result holds under: what is wrong with a file that the role left
SHOWN: Final = "shown"  # and the evidence that it left as a file
HASHES_KEPT: Final = 2  # of each file: the one before too, in case the newest was not written any more


class FilesLeft(Struct, frozen=True, kw_only=True):
    """What a role left in the folder of its story."""

    malformed: str = ""
    shown: tuple[Mapping[str, Any], ...] = ()

    def as_result(self) -> dict[str, Any]:
        """As it stands in the result of an attempt; nothing where it left nothing."""
        said = {MALFORMED: self.malformed, SHOWN: [dict(each) for each in self.shown]}
        return {name: value for name, value in said.items() if value}


def digest(text: str) -> str:
    """The hash of a file's text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def known(text: str | None) -> dict[str, Any]:
    """What we wrote last, by the file that keeps it; nothing where nobody knows."""
    try:
        found = parsed(text or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) and all(isinstance(each, dict) for each in found.values()) else {}


def hashes_of(written: Mapping[str, Any], name: str) -> list[str]:
    """The hashes of what we wrote to a file below the story's folder, the newest last."""
    found = (written.get("files") or {}).get(name)
    return [each for each in ([found] if isinstance(found, str) else found or ()) if isinstance(each, str)]


def is_ours(written: Mapping[str, Any], name: str, text: str) -> bool:
    """Whether a file has what we wrote to it."""
    return digest(text) in hashes_of(written, name)


def kept_name(name: str, text: str) -> str:
    """Where another's file is kept that ours replaces: the same text always at the same place."""
    path = PurePath(name)
    return f"{KEPT}/{path.stem}-{digest(text)[:8]}{path.suffix}"


def left_by_role(texts: Mapping[str, str], written: Mapping[str, Any]) -> FilesLeft:
    """What a role left, from the artifacts of a story by their names and from what we know to have written."""
    shown: tuple[Mapping[str, Any], ...] = ()
    for name, text in texts.items():
        if is_ours(written, f"{shapes.FOLDER}/{name}", text):
            continue
        try:
            found = shapes.read(name, text)
        except shapes.MalformedArtifact as error:
            return FilesLeft(malformed=str(error))
        if isinstance(found, shapes.EvidenceList):
            entries = ({"criterion": each.criterion, "shows": each.shows, "path": each.path} for each in found.evidence)
            shown = tuple(entries)
    return FilesLeft(shown=shown)
