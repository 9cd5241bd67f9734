"""What a configuration names that has to be somewhere else: agents in its own tables, programs on this machine."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from medbay.config_parts import TriageConfig
from medbay.core.agent import Profile

Agents = Mapping[str, Profile]


@dataclass(frozen=True, slots=True)
class Missing:
    """Something that a setting names and that is not there."""

    path: tuple[str, ...]  # of the setting
    message: str
    hint: str
    looked_for: tuple[str, ...] = ()  # the setting that should have been there


def names(chosen: TriageConfig, known: Collection[str]) -> Iterator[Missing]:
    """What the settings say of each other and does not fit; nothing is triaged with these."""
    if chosen.agent == "command" and not chosen.command:
        hint = 'command = ["./triage.py"] below [triage]'
        yield Missing(("triage", "agent"), "triage.command names no program", hint, ("triage", "command"))
    if chosen.fix_agent and chosen.fix_agent not in known:
        near = get_close_matches(chosen.fix_agent, sorted(known), n=1)
        hint = f'did you mean "{near[0]}"?' if near else f"[agents.{chosen.fix_agent}] makes one"
        yield Missing(("triage", "fix_agent"), f'there is no agent "{chosen.fix_agent}"', hint)


def programs(chosen: TriageConfig, known: Agents, folder: Path) -> Iterator[Missing]:
    """Every program of triage, evaluation and agents that could not be started from this folder."""
    for path, word in _named(chosen, known):
        if wrong := _why_not(word, folder):
            said, hint = wrong
            yield Missing(path, f"{'.'.join(path)}: {said}", hint)


def _named(chosen: TriageConfig, known: Agents) -> Iterator[tuple[tuple[str, ...], str]]:
    """The setting and the program of everything that is started."""
    if chosen.agent == "command" and chosen.command:
        yield ("triage", "command"), chosen.command[0]
    if word := _first_word(chosen.evaluate or ""):
        yield ("triage", "evaluate"), word
    for name, profile in known.items():
        if profile.command:
            yield ("agents", name, "command"), profile.command[0]


def _first_word(line: str) -> str:
    """The program of a command line, where it is named by a path: the shell has words of its own."""
    try:
        words = shlex.split(line)
    except ValueError:
        return ""
    return words[0] if words and "/" in words[0] and "$" not in words[0] else ""


def _why_not(word: str, folder: Path) -> tuple[str, str] | None:
    """Why a program cannot be started, and what helps; None when it can."""
    if "/" not in word:
        if shutil.which(word) is not None:
            return None
        return f'there is no program "{word}" on the PATH', "install it, or write its whole path"
    file = folder / word
    if file.is_file() and os.access(file, os.X_OK):
        return None
    if file.is_file():
        return f'"{word}" is not executable', f"chmod +x {shlex.quote(word)}"
    if os.path.isabs(word):
        return f'there is no program "{word}"', "write where it is"
    return f'there is no program "{word}" here', "it is started in the directory of its task; a whole path always works"
