"""The agent runner: the command of a profile, with the prompt of the attempt in a file beside its log."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final, Protocol

from msgspec import to_builtins
from msgspec.structs import replace

from medbay.core.agent import Profile, filled, profile_of
from medbay.core.outcome import Outcome
from medbay.core.workspace import FACTS, WorkSeen, WorkspaceMeans
from medbay.errors import SpawnFailed
from medbay.places.files import make_directory
from medbay.places.protocol import Identity, Launch, Runner, Running

_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class WorkPlaces(Protocol):
    """Gives the attempts of agents their directories."""

    def entered(self, launch: Launch, means: WorkspaceMeans, command: tuple[str, ...]) -> tuple[str, ...] | None:
        """The command that prepares one and runs the agent there; None where there is nothing to prepare."""
        ...

    def left(self, launch: Launch) -> WorkSeen | None:
        """What was seen of its work."""
        ...


class AgentRunner:
    """Starts agents by their profiles, as commands."""

    def __init__(self, profiles: Mapping[str, Profile], commands: Runner, places: WorkPlaces | None = None) -> None:
        self._profiles = profiles
        self._commands = commands
        self._places = places

    def start(self, launch: Launch, monotonic_s: float) -> Running:
        """Write the prompt and start it; raises SpawnFailed when there is no such profile or nothing to run."""
        name = profile_of(launch.runner)
        profile = self._profiles.get(name)
        if profile is None:
            raise SpawnFailed(f'agent not found: no "{name}" is configured here; [agents.{name}] in medbay.toml is it')
        path = prompt_path(Path(launch.log_path))
        _write(path, launch.prompt)
        model = launch.model or profile.model
        chosen = {"MEDBAY_MODEL": model, "MEDBAY_FRESH_SESSION": str(int(launch.fresh_session))}
        command = filled(profile.command, prompt_file=os.path.abspath(path), model=model)
        launch = replace(launch, command=command, env={**launch.env, **chosen})
        inside = self._places.entered(launch, profile.workspace, command) if self._places is not None else None
        if self._places is None or inside is None:
            return self._commands.start(launch, monotonic_s)
        running = self._commands.start(replace(launch, command=inside), monotonic_s)
        return InWorktree(running, partial(self._places.left, launch))


class InWorktree:
    """An agent that works in a directory of its own; what was seen of its work is part of its result."""

    def __init__(self, running: Running, left: Callable[[], WorkSeen | None]) -> None:
        self._running = running
        self._left = left
        self._outcome: Outcome | None = None

    @property
    def identity(self) -> Identity | None:
        """That of the process that prepared the directory: it ends with the agent."""
        return self._running.identity

    def fileno(self) -> int:
        """Readable once it ended."""
        return self._running.fileno()

    def poll(self, monotonic_s: float) -> Outcome | None:
        """How it ended, with its work."""
        if self._outcome is None and (outcome := self._running.poll(monotonic_s)) is not None:
            self._outcome = with_work(outcome, self._left())
        return self._outcome

    def deadline_s(self) -> float | None:
        """The next time that matters to its tree."""
        return self._running.deadline_s()

    def cancel(self, monotonic_s: float) -> None:
        """End it because a person asked."""
        self._running.cancel(monotonic_s)

    def hand_back(self, monotonic_s: float, *, why: str) -> None:
        """End it because the worker stops."""
        self._running.hand_back(monotonic_s, why=why)

    def kill(self) -> None:
        """End the whole of it at once."""
        self._running.kill()


def with_work(outcome: Outcome, work: WorkSeen | None) -> Outcome:
    """The outcome with what was seen of the work, and of the files it named those that are there."""
    if work is None:
        return outcome
    result = outcome.output.result or {}
    named = result.get("artifacts") or ()
    there = tuple(each for each in named if _is_below(work.directory, str(each)))
    seen = to_builtins(replace(work, artifacts=there))
    return replace(outcome, output=replace(outcome.output, result={**result, FACTS: seen}))


def _is_below(directory: str, name: str) -> bool:
    path = Path(os.path.realpath(os.path.join(directory, name)))
    return path.is_file() and path.is_relative_to(os.path.realpath(directory))


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
