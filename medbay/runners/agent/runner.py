"""The agent runner: the command of a profile, with the prompt of the attempt in a file beside its log."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from medbay.core.agent import Profile, filled, profile_of
from medbay.errors import SpawnFailed
from medbay.places.files import make_directory
from medbay.places.protocol import Launch, Runner, Running

_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class AgentRunner:
    """Starts agents by their profiles, as commands."""

    def __init__(self, profiles: Mapping[str, Profile], commands: Runner) -> None:
        self._profiles = profiles
        self._commands = commands

    def start(self, launch: Launch, monotonic_s: float) -> Running:
        """Write the prompt and start it; raises SpawnFailed when there is no such profile or nothing to run."""
        name = profile_of(launch.runner)
        profile = self._profiles.get(name)
        if profile is None:
            raise SpawnFailed(f'agent not found: no "{name}" is configured here; [agents.{name}] in medbay.toml is it')
        path = prompt_path(launch.log_path)
        _write(path, launch.prompt)
        model = launch.model or profile.model
        chosen = {"MEDBAY_MODEL": model, "MEDBAY_FRESH_SESSION": str(int(launch.fresh_session))}
        command = filled(profile.command, prompt_file=os.path.abspath(path), model=model)
        return self._commands.start(replace(launch, command=command, env={**launch.env, **chosen}), monotonic_s)


def prompt_path(log_path: Path) -> Path:
    """Where the prompt of an attempt is: beside its log."""
    return log_path.with_suffix(".prompt.md")


def _write(path: Path, prompt: str) -> None:
    """A new file, for its owner only; what an earlier start left there is replaced, links are never followed."""
    try:
        make_directory(os.path.dirname(path))
        with suppress(FileNotFoundError):
            os.unlink(path)
        with open(os.open(path, _NEW, 0o600), "wb") as file:
            file.write(prompt.encode("utf-8", "replace"))
    except OSError as error:
        raise SpawnFailed(f"cannot write the prompt {path}: {error.strerror or error}") from error
