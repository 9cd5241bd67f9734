"""systemd: the unit of a daemon as text, and the few calls that install, remove and inspect it.

Without systemd the text can still be made and written; every call has a time limit.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from medbay.errors import MedbayError

Scope = Literal["user", "system"]

RUNNING: Final = Path("/run/systemd/system")  # there while systemd is the first process
SYSTEM_UNITS: Final = Path("/etc/systemd/system")
_ASKED_S: Final = 60.0
_PROPERTIES: Final = ("LoadState", "ActiveState", "SubState", "UnitFileState", "Result", "NRestarts")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """What one daemon needs to be started by systemd."""

    name: str
    scope: Scope
    description: str
    folder: Path  # where it runs
    command: tuple[str, ...]  # with an absolute program
    env_file: Path
    stop_s: int  # how long it may take to end in order
    path: str = ""  # where it and its jobs look for programs
    user: str = ""  # of a unit of the system

    @property
    def file_name(self) -> str:
        """The name systemd knows it by."""
        return f"{self.name}.service"


def unit_text(unit: Unit) -> str:
    """The unit file. Only the main process hears SIGTERM and ends what it started; what is left is killed."""
    system = unit.scope == "system"
    lines = [
        "[Unit]",
        f"Description={_plain(unit.description)}",
        *(["Wants=network-online.target", "After=network-online.target"] if system else []),
        "",
        "[Service]",
        "Type=exec",
        *([f"User={unit.user}"] if system and unit.user else []),
        f"WorkingDirectory={_plain(str(unit.folder))}",
        *([f"Environment={_quoted('PATH=' + unit.path)}"] if unit.path else []),
        f"EnvironmentFile=-{_plain(str(unit.env_file))}",
        "ExecStart=" + " ".join(_quoted(word, variables=True) for word in unit.command),
        "Restart=on-failure",
        "RestartSec=5s",
        "RestartPreventExitStatus=2 3",
        "KillMode=mixed",
        f"TimeoutStopSec={unit.stop_s}s",
        "StandardOutput=journal",
        "StandardError=journal",
        f"SyslogIdentifier={unit.name}",
        "",
        "[Install]",
        f"WantedBy={'multi-user.target' if system else 'default.target'}",
    ]
    return "\n".join(lines) + "\n"


def unit_path(name: str, scope: Scope, environ: Mapping[str, str]) -> Path:
    """Where the file of a unit belongs."""
    if scope == "system":
        return SYSTEM_UNITS / f"{name}.service"
    config = environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return Path(config) / "systemd" / "user" / f"{name}.service"


@dataclass(frozen=True, slots=True, kw_only=True)
class Systemd:
    """The systemd of this machine, or of this user."""

    scope: Scope

    def absence(self) -> str:
        """Why it cannot be asked; empty when it can."""
        if shutil.which("systemctl") is None:
            return "systemd is not installed here"
        if not RUNNING.is_dir():
            return "systemd is not running here"
        if self.scope == "user" and self._ask("show-environment")[0] != 0:
            return "systemd runs nothing for this user here (no login session, or XDG_RUNTIME_DIR is not set)"
        return ""

    def start(self, file_name: str) -> None:
        """Read the units again, start this one and let it start with the machine."""
        self._do("daemon-reload")
        self._do("enable", file_name)
        self._do("restart", file_name)

    def remove(self, file_name: str) -> None:
        """Stop it and do not start it again."""
        self._do("disable", "--now", file_name)

    def reload(self) -> None:
        """Read the units again."""
        self._do("daemon-reload")

    def properties(self, file_name: str) -> dict[str, str]:
        """How a unit is doing, by the names of systemd."""
        _, said = self._ask("show", file_name, "--property=" + ",".join(_PROPERTIES))
        pairs = (line.partition("=") for line in said.splitlines())
        return {name: value for name, equals, value in pairs if equals}

    def _do(self, *words: str) -> None:
        code, said = self._ask(*words)
        if code != 0:
            reason = " ".join(said.split())[:300] or f"exit {code}"
            raise MedbayError(f"systemctl {' '.join(words)} failed: {reason}", hint="the unit file is written")

    def _ask(self, *words: str) -> tuple[int, str]:
        own = ["--user"] if self.scope == "user" else []
        return _run(["systemctl", *own, "--no-pager", *words])


def lingers(user: str) -> bool | None:
    """Whether the units of a user run without a login; None when that is not known."""
    if shutil.which("loginctl") is None:
        return None
    code, said = _run(["loginctl", "show-user", user, "--property=Linger"])
    return said.strip() == "Linger=yes" if code == 0 else None


def let_linger(user: str) -> bool:
    """Let the units of a user start with the machine; whether that was allowed."""
    return shutil.which("loginctl") is not None and _run(["loginctl", "enable-linger", user])[0] == 0


def _run(words: Sequence[str]) -> tuple[int, str]:
    try:
        ran = subprocess.run(words, capture_output=True, timeout=_ASKED_S, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return 124, "it did not answer in time"
    except OSError as error:
        return 127, error.strerror or str(error)
    return ran.returncode, (ran.stdout + ran.stderr).decode("utf-8", "replace")


def _plain(text: str) -> str:
    """A value that takes the rest of its line."""
    return " ".join(text.split("\n")).replace("%", "%%")


def _quoted(word: str, *, variables: bool = False) -> str:
    """One word of several; in a command line a dollar sign would begin a variable."""
    text = _plain(word).replace("\\", "\\\\").replace('"', '\\"')
    text = text.replace("$", "$$") if variables else text
    return text if text and not set(text) & set(" \t;\"'\\#") else f'"{text}"'
