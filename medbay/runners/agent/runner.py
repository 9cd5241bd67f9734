"""The agent runner: the command of a profile, with the prompt of the attempt in a file next to its log."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol

from msgspec.structs import replace

from medbay.core.agent import Profile, filled, profile_of
from medbay.core.outcome import Outcome
from medbay.errors import SpawnFailed
from medbay.places.files import make_directory
from medbay.places.protocol import Identity, Launch, Runner, Running

_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Workplace(Protocol):
    """Where one attempt of an agent works: a directory that was prepared for it, and what becomes of its work."""

    @property
    def cwd(self) -> Path:
        """The directory it works in."""
        ...

    @property
    def env(self) -> Mapping[str, str]:
        """Variables that it gets in addition to its own."""
        ...

    def command(self, words: tuple[str, ...]) -> tuple[str, ...]:
        """What is started for this command: itself, or what prepares the directory and starts it there."""
        ...

    def left(self, outcome: Outcome) -> Outcome:
        """It has ended: keep what it made, and say how it ended with that in mind."""
        ...


Prepare = Callable[[Launch, Profile], Workplace]  # raises SpawnFailed when there is nowhere to work


class PlainWorkplace:
    """The directory of the task as it is: nothing is prepared, nothing is kept."""

    def __init__(self, launch: Launch, profile: Profile) -> None:
        self.cwd = launch.cwd
        self.env: Mapping[str, str] = {}

    def command(self, words: tuple[str, ...]) -> tuple[str, ...]:
        """The command itself."""
        return words

    def left(self, outcome: Outcome) -> Outcome:
        """As it ended."""
        return outcome


class AgentRunner:
    """Starts agents by their profiles, as commands, each in the workplace that was prepared for its attempt."""

    def __init__(self, profiles: Mapping[str, Profile], commands: Runner, prepare: Prepare = PlainWorkplace) -> None:
        self._profiles = profiles
        self._commands = commands
        self._prepare = prepare

    def start(self, launch: Launch, monotonic_s: float) -> Running:
        """Write the prompt and start it; raises SpawnFailed when there is no such profile or nothing to run."""
        name = profile_of(launch.runner)
        profile = self._profiles.get(name)
        if profile is None:
            raise SpawnFailed(f'agent not found: no "{name}" is configured here; [agents.{name}] in medbay.toml is it')
        workplace = self._prepare(launch, profile)
        path = prompt_path(Path(launch.log_path))
        _write(path, launch.prompt)
        model = launch.model or profile.model
        chosen = {"MEDBAY_MODEL": model, "MEDBAY_FRESH_SESSION": str(int(launch.fresh_session))}
        command = filled(profile.command, prompt_file=os.path.abspath(path), model=model)
        env = {**launch.env, **workplace.env, **chosen}
        asked = replace(launch, command=workplace.command(command), cwd=workplace.cwd, env=env)
        return AgentRunning(self._commands.start(asked, monotonic_s), workplace)


class AgentRunning:
    """One live agent."""

    def __init__(self, process: Running, workplace: Workplace) -> None:
        self._process = process
        self._workplace = workplace
        self._outcome: Outcome | None = None

    @property
    def identity(self) -> Identity | None:
        """Its process."""
        return self._process.identity

    def fileno(self) -> int:
        """As its process says."""
        return self._process.fileno()

    def poll(self, monotonic_s: float) -> Outcome | None:
        """How it ended, once what it made is kept."""
        if self._outcome is None:
            outcome = self._process.poll(monotonic_s)
            self._outcome = None if outcome is None else self._workplace.left(outcome)
        return self._outcome

    def deadline_s(self) -> float | None:
        """The next time that matters to its process."""
        return self._process.deadline_s()

    def cancel(self, monotonic_s: float) -> None:
        """End it because a person asked."""
        self._process.cancel(monotonic_s)

    def hand_back(self, monotonic_s: float, *, why: str) -> None:
        """End it because the worker stops."""
        self._process.hand_back(monotonic_s, why=why)

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()


def prompt_path(log_path: Path) -> Path:
    """Where the prompt of an attempt is: next to its log."""
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
