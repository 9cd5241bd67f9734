"""The instructions of roles: files beside medbay.toml that a user may edit, else those that come with Medbay."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path
from typing import Final

from medbay.errors import ConfigError

TEXT_MAX: Final = 64 * 1024  # characters
_NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,39}")


def instructions(folder: Path | None, role: str) -> str:
    """What a role is told: the user's file, else the shipped one; nothing for a role that has neither."""
    if not _NAME.fullmatch(role):
        return ""
    own = folder / f"{role}.md" if folder is not None else None
    if own is not None and own.is_file():
        return _read(own)
    return shipped().get(role, "")


def shipped() -> dict[str, str]:
    """The instructions that come with Medbay, by role."""
    files = (each for each in resources.files("medbay").joinpath("roles").iterdir() if each.name.endswith(".md"))
    return {each.name.removesuffix(".md"): each.read_text(encoding="utf-8").strip() for each in files}


def _read(path: Path) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(TEXT_MAX + 1)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the instructions cannot be read: {error}", file=str(path), hint="mend the file") from None
    if len(text) > TEXT_MAX:
        raise ConfigError(f"longer than {TEXT_MAX // 1024} KB", file=str(path), hint="a role is told less than that")
    return text.strip()
