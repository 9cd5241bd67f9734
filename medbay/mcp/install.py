"""Writes `medbay mcp` into the configuration of a client, beside everything that is there already."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from medbay.areas.tools import ATTEMPT, SOCKET, TOKEN
from medbay.errors import NotAllowed

NAME: Final = "medbay"
HANDED_ON: Final = (SOCKET, TOKEN, ATTEMPT)


def install(client: str, *, project: Path, home: Path, everywhere: bool) -> Path:
    """Write it; the file. Raises NotAllowed when that cannot be read as what it should be."""
    return CLIENTS[client](project, home, everywhere)


def _claude(project: Path, home: Path, everywhere: bool) -> Path:
    """`.mcp.json` of the project, or `~/.claude.json` for all of them."""
    path = home / ".claude.json" if everywhere else project / ".mcp.json"
    try:
        said: Any = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        servers = said.setdefault("mcpServers", {})
        servers[NAME] = {
            "type": "stdio",
            "command": _program(),
            "args": ["mcp"],
            "env": {name: f"${{{name}:-}}" for name in HANDED_ON},
        }
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise NotAllowed(f"{path} is not what Claude Code writes: {error}", hint="correct it, then again") from None
    _replace(path, json.dumps(said, indent=2) + "\n")
    return path


def _codex(project: Path, home: Path, everywhere: bool) -> Path:
    """`~/.codex/config.toml`, the only one Codex has."""
    path = Path(os.environ.get("CODEX_HOME") or home / ".codex") / "config.toml"
    try:
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        known = tomllib.loads(text).get("mcp_servers", {})
    except (OSError, ValueError) as error:
        raise NotAllowed(f"{path} cannot be read: {error}", hint="correct it, then again") from None
    if NAME not in known:
        lines = [f"[mcp_servers.{NAME}]", f"command = {json.dumps(_program())}", 'args = ["mcp"]']
        lines.append(f"env_vars = {json.dumps(list(HANDED_ON))}")
        _replace(path, "\n".join([*([text.rstrip("\n"), ""] if text.strip() else []), *lines]) + "\n")
    return path


CLIENTS: Final[dict[str, Callable[[Path, Path, bool], Path]]] = {"claude": _claude, "codex": _codex}


def _program() -> str:
    """The command as the client starts it: by its whole path, whatever PATH the client has."""
    return shutil.which(NAME) or os.path.abspath(sys.argv[0])


def _replace(path: Path, text: str) -> None:
    """The whole file or none of it; what it links to stays what it links to."""
    target = Path(os.path.realpath(path))
    part = target.with_name(f"{target.name}.part")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o600
        part.write_text(text, encoding="utf-8")
        part.chmod(mode)
        os.replace(part, target)
    except OSError as error:
        raise NotAllowed(f"{path} cannot be written: {error.strerror}", hint="correct that, then again") from None
