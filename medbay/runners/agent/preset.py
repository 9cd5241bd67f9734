"""What a known agent is, as data: how it is started without a terminal, continued, allowed and limited; its reader."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct, field

from medbay.core.agent import CLASSES, Profile, filled
from medbay.core.budget import MILLION
from medbay.runners.agent.transcript import Transcript

ReadRecord = Callable[[Mapping[str, Any], Transcript], bool]
ReadLine = Callable[[str, Transcript], bool]


class Preset(Struct, frozen=True, kw_only=True):
    """One agent that is known by name."""

    name: str
    title: str
    provider: str = ""  # whose limits its tasks share, unless its profile says
    start: tuple[str, ...] = ()  # words with {model}, {session}, {tools}, {turns}, {cost}, {prompt_file}
    resume: tuple[str, ...] = ()  # the same for a session that is continued; empty: it cannot
    prompt: Literal["stdin", "file"] = "stdin"
    tools: tuple[str, ...] = ()  # what it may use unless its profile says
    env: Mapping[str, str] = field(default_factory=dict)
    models: Mapping[str, str] = field(default_factory=dict)  # small, medium, large, unless [models] says
    accounts: tuple[str, ...] = ()  # variables, one of which signs it in
    account_files: tuple[str, ...] = ()  # files, one of which shows that it is signed in
    install: str = ""
    sign_in: str = ""
    forgotten: tuple[str, ...] = ()  # what it says of a session that it does not know any more
    read: ReadRecord | None = None  # of a record that is JSON
    line: ReadLine | None = None  # of a line of text
    limits_turns: bool = False  # it holds itself to a number of turns; others are stopped at it
    handing_back: tuple[str, ...] = ()  # what it may use in the turn in which it hands back
    session_home: tuple[str, str] = ("", "~")  # the variable that names the place of its sessions, and the usual one
    session_file: str = ""  # below that place, with {session} or its {beginning}; a pattern
    read_session: ReadRecord | None = None  # of a record in that file: what was used so far

    @property
    def has_record(self) -> bool:
        """Whether its own record says how it ended; of a command of one's own the exit code does."""
        return self.read is not None or self.line is not None


class Run(Struct, frozen=True, kw_only=True):
    """What one run of an agent is to be."""

    prompt_file: str
    model: str = ""
    session: str = ""
    resumes: bool = False
    max_cost: int | None = None  # in millionths
    turns: int | None = None
    tools: tuple[str, ...] | None = None  # None: as the profile says


def command_of(preset: Preset, profile: Profile, run: Run) -> tuple[str, ...]:
    """The words of one run. A word whose placeholder has no value is left out, with the option before it."""
    words: Sequence[str] = profile.command or (preset.resume if run.resumes else preset.start)
    if profile.program and words:
        words = (profile.program, *words[1:])
    turns = run.turns or profile.max_turns
    tools = run.tools if run.tools is not None else profile.allow or preset.tools
    values = {
        "{prompt_file}": run.prompt_file,
        "{model}": run.model,
        "{session}": run.session,
        "{tools}": ",".join(tools),
        "{turns}": str(turns) if turns else "",
        "{cost}": f"{run.max_cost / MILLION:.6f}" if run.max_cost else "",
    }
    return filled(words, values)


def model_of(preset: Preset, profile: Profile, wanted: str, models: Mapping[str, Mapping[str, str]]) -> str:
    """The model of a run: as it is named, or the one that its class is with this provider; empty: the agent's own."""
    if wanted not in CLASSES:
        return wanted
    provider = profile.provider.partition("/")[0]
    named = models.get(provider, {}).get(wanted) or preset.models.get(wanted, "")
    return named or ("" if preset.has_record else wanted)  # a command of one's own may know the word itself
