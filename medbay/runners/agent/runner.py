"""The agent runner: the command of a profile, with the prompt of the attempt in a file next to its log."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec.structs import replace

from medbay.core.agent import Profile, profile_of
from medbay.core.outcome import Outcome, Output
from medbay.errors import SpawnFailed
from medbay.places.protocol import Launch, Runner, Running
from medbay.runners.agent import ending
from medbay.runners.agent.preset import Preset, Run, model_of
from medbay.runners.agent.profiles import preset_of
from medbay.runners.agent.record import restore
from medbay.runners.agent.running import Agent, AgentRunning, Workplace, prompt_path
from medbay.runners.agent.transcript import Spent, Transcript

Prepare = Callable[[Launch, Profile], Workplace]  # raises SpawnFailed when there is nowhere to work


class PlainWorkplace:
    """The directory of the task as it is: nothing is prepared, nothing is kept."""

    def __init__(self, launch: Launch, profile: Profile) -> None:
        self.cwd = launch.cwd
        self.files: Path | None = None
        self.env: Mapping[str, str] = {}

    def command(self, words: tuple[str, ...]) -> tuple[str, ...]:
        """The command itself."""
        return words

    def left(self, outcome: Outcome) -> Outcome:
        """As it ended."""
        return outcome


class AgentRunner:
    """Starts agents by their profiles, as commands, each in the workplace that was prepared for its attempt."""

    def __init__(
        self,
        profiles: Mapping[str, Profile],
        commands: Runner,
        prepare: Prepare = PlainWorkplace,
        *,
        models: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        """`models` are the classes of models by provider, in place of those that a preset has."""
        self._profiles = profiles
        self._models = models or {}
        self._commands = commands
        self._prepare = prepare

    def start(self, launch: Launch, monotonic_s: float) -> Running:
        """Write the prompt and start it; raises SpawnFailed when there is no such profile or nothing to run."""
        name = profile_of(launch.runner)
        profile = self._profiles.get(name)
        if profile is None:
            raise SpawnFailed(f'agent not found: no "{name}" is configured here; [agents.{name}] in medbay.toml is it')
        preset = preset_of(profile)
        workplace = self._prepare(launch, profile)
        resumes = bool(launch.session and preset.resume and not launch.fresh_session)
        session = launch.session if resumes else session_of(launch)
        run = Run(
            prompt_file=os.path.abspath(prompt_path(Path(launch.log_path))),
            model=model_of(preset, profile, launch.model or profile.model or launch.model_class, self._models),
            session=session,
            resumes=resumes,
            max_cost=launch.max_cost,
        )
        env = {**launch.env, **workplace.env}
        launch = replace(launch, cwd=workplace.cwd, files=workplace.files, env=env)
        before = Spent(tokens_in=launch.session_tokens[0], tokens_out=launch.session_tokens[1])
        known = session if resumes or _names_session(preset) else ""
        transcript = Transcript(session=known, model=run.model, resumed=resumes, before=before if resumes else Spent())
        agent = Agent(profile, preset, self._commands, workplace)
        return AgentRunning(agent, launch, run, transcript, workplace, monotonic_s)

    def left_by(self, runner: str, log_path: str) -> Output:
        """What a lost attempt came to, from its own record: its session, and what it used."""
        profile = self._profiles.get(profile_of(runner))
        if profile is None or not preset_of(profile).has_record:
            return Output()
        return ending.left(preset_of(profile), restore(preset_of(profile), log_path))


def _names_session(preset: Preset) -> bool:
    """Whether a new session has the name that it is given."""
    return any("{session}" in word for word in preset.start)


def session_of(launch: Launch) -> str:
    """The name of a new session: the same for the same attempt, and nobody else's."""
    digest = hashlib.sha256(launch.attempt_key.encode()).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-4{digest[13:16]}-8{digest[17:20]}-{digest[20:32]}"
