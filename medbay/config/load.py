"""One frozen Config from file < environment < flags, validated once; every mistake is named with its line.

It reads one file and nothing else, and without one it parses nothing. The settings are rows of `medbay.config.rows`.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from msgspec import Struct, structs

from medbay.config.fields import DEFAULTS, NAMED_PARTS, Config, ConfigFile, TriageConfig
from medbay.config.key import BY_VARIABLE, Key, Setting
from medbay.config.keys import key_at, keys_of, paths
from medbay.config.kinds import Wrong, preset_names, shown
from medbay.config.lines import Document, is_too_deep
from medbay.config.rows import NAMED, ROWS, SECTIONS
from medbay.core import agent, budget
from medbay.core.tracker.source import TAKEN_NAMES
from medbay.core.workflow import reviewers
from medbay.errors import ConfigError
from medbay.foreign import open_regular

FILE_NAME: Final = "medbay.toml"
STORE_VARIABLE: Final = "MEDBAY_STORE"  # the short name
_TEXT_MAX = 256 * 1024
_STRICT_VARIABLES = ("MEDBAY_ENGINE_", "MEDBAY_POLICY_", "MEDBAY_RECURRING_")

_EXAMPLES = {"queues": "slots = 2", "places": 'kind = "temporal"', "trackers": 'kind = "github"'}
_CALLED = {
    "agents": "an agent",
    "budgets": "a role",
    "models": "a provider",
    "notify": "a channel",
    "queues": "a queue",
    "places": "a place",
    "trackers": "a tracker",
    "roles": "a role",
}

_SHIPPED_ROLES = ("pm", "qa", "dev", "gate")  # of the story lifecycle; a lifecycle of one's own names others

Given = dict[str, Setting]  # by path
Parts = tuple[str, ...]  # a path as the tables of the file have it


def load(path: Path | None, environ: Mapping[str, str], flags: Mapping[str, object]) -> Config:
    """The settings of a file (None: no file), the environment, and flags by path (`engine.workers`).

    A flag that is None was not given; an empty variable is not set.
    """
    given, file = _of_file(path) if path is not None else ({}, None)
    given = {**given, **_of_environment(environ), **_of_flags(flags)}
    if not given and path is None:
        return DEFAULTS
    return replace(_config(given, path.parent if path else None), file=file)


def check_text(text: str, file: str, *, folder: Path | None = None) -> tuple[ConfigError, ...]:
    """Every mistake in the text of a file, by line; empty if it can be used.

    With a folder also every program that is named and could not be started from there.
    """
    reading = _read_text(text, file)
    config = _config(reading.given, folder)
    agents = {*reading.named.get("agents", ()), *config.agents}
    missing = [*names(config.triage, agents), *names_of_roles(config, agents, reading.named.get("roles", ()))]
    missing += programs(config, folder) if folder else ()
    for each in missing:
        if each.looked_for not in reading.refused:  # what was meant there is not known, so nothing follows from it
            reading.mistake(each.path, each.message, each.hint)
    return tuple(sorted(reading.mistakes, key=lambda mistake: mistake.line or 0))


def mistakes(path: Path | None, environ: Mapping[str, str]) -> tuple[ConfigError, ...]:
    """Every mistake in a file (None: no file) and in the variables of the environment."""
    found: list[ConfigError] = []
    if path is not None:
        try:
            found += check_text(_text_of(path, _shown_path(path))[0], _shown_path(path), folder=path.parent)
        except ConfigError as error:
            found.append(error)
    for name in sorted(environ):
        try:
            _of_environment({name: environ[name]})
        except ConfigError as error:
            found.append(error)
    return tuple(found)


def _config(given: Given, folder: Path | None) -> Config:
    """The defaults with what was given in their place."""
    changes: dict[str, Any] = {}
    for setting in given.values():
        *within, name = setting.key.field_path
        table = changes
        for part in within:
            table = table.setdefault(part, {})
        table[name] = setting.value
    parts: dict[str, Any] = {
        part: _named(part, changed) if part in NAMED_PARTS else _changed(getattr(DEFAULTS, part), changed)
        for part, changed in changes.items()
    }
    return replace(DEFAULTS, **parts, folder=folder, given=MappingProxyType(given))


def _changed(value: Any, changes: Mapping[str, Any]) -> Any:
    """A section with some of its fields changed; a field may be a mapping of such."""
    of_names = isinstance(value, Mapping)
    made = {
        name: _changed(value[name] if of_names else getattr(value, name), each) if isinstance(each, dict) else each
        for name, each in changes.items()
    }
    if of_names:
        return MappingProxyType({**value, **made})
    return structs.replace(value, **made) if isinstance(value, Struct) else replace(value, **made)


def _named(part: str, tables: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    """What each table with a name of its own makes, in the order of the file; one that is not whole makes nothing."""
    needed, (_, made) = _needed(part), NAMED_PARTS[part]
    whole = {name: values for name, values in tables.items() if not needed or len(needed & set(values)) == 1}
    return MappingProxyType({name: made(name=name, **values) for name, values in whole.items()})


@cache
def _needed(part: str) -> set[str]:
    """The keys of which a table of this section has one."""
    return {key.name for key in keys_of(f"{part}.{NAMED}") if key.needed}


# Where values come from


def _of_file(path: Path) -> tuple[Given, ConfigFile]:
    file = _shown_path(path)
    text, owner = _text_of(path, file)
    reading = _read_text(text, file)
    if reading.mistakes:
        raise min(reading.mistakes, key=lambda mistake: mistake.line or 0)
    return reading.given, ConfigFile(path=path, text=text, owner=owner, shown=file)


def _text_of(path: Path, file: str) -> tuple[str, int]:
    """What a file says, and the user it belongs to. A link may lead to it, but not to a device or a pipe."""
    try:
        with open(open_regular(path, follow=True), "rb") as handle:
            data, owner = handle.read(_TEXT_MAX + 1), os.fstat(handle.fileno()).st_uid
    except ValueError as error:
        raise ConfigError(f"is {error}", file=file, hint="make it a file of settings") from None
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror or error}", file=file) from None
    try:
        return data.decode("utf-8-sig"), owner
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError("is not UTF-8 text", file=file, line=line, hint="save the file as UTF-8") from None


def _of_environment(environ: Mapping[str, str]) -> Given:
    ours = sorted([name for name in environ if name.startswith("MEDBAY_")])
    found: Given = {}
    for name in ours:
        if path := _path_of_variable(name):
            if environ[name]:
                found[path] = _setting(path, environ[name], f"environment {name}")
        elif name.startswith(_STRICT_VARIABLES):
            known = [key_at(each).variable for each in paths()]
            raise ConfigError(f"environment {name}: there is no such setting", hint=_did_you_mean(name, known, "{}"))
    if environ.get(STORE_VARIABLE):  # read last, so that it wins
        found["store.url"] = _setting("store.url", environ[STORE_VARIABLE], f"environment {STORE_VARIABLE}")
    return found


def _path_of_variable(name: str) -> str:
    """The path of the key that a variable would set; empty if there is none."""
    section, _, key = name.removeprefix("MEDBAY_").lower().partition("_")
    path = f"{section}.{key}"
    known = section in BY_VARIABLE and path in ROWS and key_at(path).variable == name
    return path if known else ""


def _of_flags(flags: Mapping[str, object]) -> Given:
    return {path: _setting(path, raw, "flag") for path, raw in flags.items() if raw is not None}


def _setting(path: str, raw: object, origin: str) -> Setting:
    key = key_at(path)
    if isinstance(raw, str) and key.kind.from_text:
        raw = key.kind.from_text(raw)
    try:
        return Setting(key=key, raw=raw, value=key.kind.read(raw), origin=origin)
    except Wrong as wrong:
        where = "" if origin == "flag" else f"{origin}: "  # what was typed just now needs no place
        raise ConfigError(where + _refusal(key, raw, wrong), hint=wrong.hint) from None


def _refusal(key: Key, raw: object, wrong: Wrong) -> str:
    if wrong.entry is not None and isinstance(raw, list | tuple):
        entry = shown(raw[wrong.entry])
        return f"entry {wrong.entry + 1} of {key.path} must be {key.kind.entry_says}, not {entry}"
    return f"{key.path} must be {key.kind.says}, not {key.kind.show(raw)}"


# Reading a file


@dataclass(slots=True)
class _Reading:
    """One pass over a parsed file: the settings found and the mistakes."""

    document: Document
    given: Given = field(default_factory=dict)
    mistakes: list[ConfigError] = field(default_factory=list)
    refused: set[Parts] = field(default_factory=set)  # the paths of values that are not used
    named: dict[str, list[str]] = field(default_factory=dict)  # the names that have a table, by section

    def visit(self, table: Mapping[str, object], within: Parts = (), reference: Parts = ()) -> None:
        """Take every entry of a table that the reference has; note every other."""
        own_names = len(within) == 1 and within[0] in NAMED_PARTS
        for name, raw in table.items():
            parts, known = (*within, name), (*reference, NAMED if own_names else name)
            if known in _rows():
                self._take(parts, raw)
            elif known not in _tables():
                self.mistake(parts, *_unknown(parts, raw))
            elif isinstance(raw, dict):
                self.visit(raw, parts, known)
                if own_names:
                    self._check_named(name, raw, parts)
            else:
                self.mistake(parts, f"{'.'.join(parts)} must be a table: [{'.'.join(parts)}]")

    def _check_named(self, name: str, raw: Mapping[str, object], parts: Parts) -> None:
        self.named.setdefault(parts[0], []).append(name)
        if not agent.NAME.fullmatch(name):
            self.mistake(parts, f"{shown(name)} is no name for {_CALLED[parts[0]]}", "letters, digits, dots, dashes")
        if parts[0] == "agents":
            self._check_agent(name, raw, parts)
            return
        if parts[0] == "trackers" and name in TAKEN_NAMES:
            self.mistake(parts, f"{shown(name)} is no name for a tracker: it is taken", "choose another name")
        needed = _needed(parts[0])
        said_both = parts[0] == "queues" and len(needed & set(raw)) > 1  # its slots and its place go together
        if needed and len(needed & set(raw)) != 1 and not said_both:
            ways = sorted(needed)
            said = f"has more than one of {', '.join(ways)}" if needed & set(raw) else f"has no {' or '.join(ways)}"
            hint = _EXAMPLES.get(parts[0], f"write how {name} is reached")
            self.mistake(parts, f"{'.'.join(parts)} {said}", hint)

    def _check_agent(self, name: str, raw: Mapping[str, object], parts: Parts) -> None:
        """A command of its own, or an agent that is known by name; with both the command's record is read as its."""
        where = ".".join(parts)
        if "command" not in raw and "preset" not in raw and name not in preset_names():
            known = ", ".join(each for each in preset_names() if each != agent.CUSTOM)
            self.mistake(parts, f"{where} has no command and no preset", f"known by name are {known}")

    def _take(self, parts: Parts, raw: object) -> None:
        key = key_at(".".join(parts))
        try:
            value = key.kind.read(raw)
        except Wrong as wrong:
            self.refused.add(parts)
            at = parts if wrong.entry is None else (*parts, str(wrong.entry))
            self.mistake(at, _refusal(key, raw, wrong), wrong.hint)
        else:
            self.given[key.path] = Setting(key=key, raw=raw, value=value, document=self.document)

    def mistake(self, parts: Parts, message: str, hint: str = "") -> None:
        """Note what is wrong with the setting at a path."""
        line = self.document.line(parts)
        self.mistakes.append(ConfigError(message, file=self.document.file, line=line, hint=hint))


def _read_text(text: str, file: str) -> _Reading:
    import tomllib  # only where there is a file

    reading = _Reading(Document(file, text))
    if len(text) > _TEXT_MAX:
        reading.mistakes.append(ConfigError("is too large for a configuration", file=file, line=1))
        return reading
    if is_too_deep(text):
        reading.mistakes.append(ConfigError("has a key of too many parts", file=file, line=1))
        return reading
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        reading.mistakes.append(_broken(str(error), text, file))
    except (ValueError, RecursionError):
        message = "is not TOML that can be read: a number is too long or lists are nested too deep"
        reading.mistakes.append(ConfigError(message, file=file, line=1))
    else:
        reading.visit(document)
    return reading


def _broken(message: str, text: str, file: str) -> ConfigError:
    place = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", message)
    line = int(place[1]) if place and place[1] else max(1, len(text.rstrip("\n").split("\n")))
    said = message[: place.start()] if place else message
    said = said if said.isprintable() else said.encode("ascii", "backslashreplace").decode()
    hint = 'a text stands in quotes: name = "text"' if said == "Invalid value" else ""
    return ConfigError(f"is not valid TOML: {said}", file=file, line=line, hint=hint)


@cache
def _rows() -> set[Parts]:
    """The path of every key that the reference has."""
    return {tuple(path.split(".")) for path in ROWS}


@cache
def _tables() -> set[Parts]:
    """Every table that the reference has."""
    return {tuple(section.split(".")[:size]) for section in SECTIONS for size in range(1, section.count(".") + 2)}


def _reference_parts(parts: Parts) -> Parts:
    """The path as the reference has it: a name that people chose is `NAME` there."""
    return (parts[0], NAMED, *parts[2:]) if parts[0] in NAMED_PARTS and len(parts) >= 2 else parts


def _unknown(parts: Parts, raw: object) -> tuple[str, str]:
    """What to say of a name the reference does not have, and the hint."""
    *within, name = parts
    table = isinstance(raw, dict)
    where = f" in [{'.'.join(within)}]" if within else ""
    named = f"section {shown(name)}{where}" if table else f"key {shown(name)}{where}"
    siblings = tuple(dict.fromkeys(_names_in(tuple(within), tables=table)))
    hint = _did_you_mean(name, siblings, '"{}"')
    homes = [path.rpartition(".")[0] for path in paths() if path.rpartition(".")[2] == name and not table]
    if not hint and len(homes) == 1:
        hint = f"it belongs in [{homes[0]}]"
    return f"unknown {named}", hint


def _names_in(within: Parts, *, tables: bool) -> Iterator[str]:
    for parts in sorted(_tables() if tables else _rows()):
        if parts[:-1] == _reference_parts((*within, ""))[:-1]:
            yield parts[-1]


def _did_you_mean(name: str, known: Collection[str], form: str) -> str:
    from difflib import get_close_matches  # for mistakes only

    close = get_close_matches(name[:100], known, n=1)
    return f"did you mean {form.format(close[0])}?" if close else ""


def _shown_path(path: Path) -> str:
    """The path as short as it can be said from here."""
    return min(str(path), os.path.relpath(path), key=len)


# What a configuration names that has to be somewhere else


@dataclass(frozen=True, slots=True)
class Missing:
    """Something that a setting names and that is not there."""

    path: Parts  # of the setting
    message: str
    hint: str
    looked_for: Parts = ()  # the setting that should have been there


def names(chosen: TriageConfig, known: Collection[str]) -> Iterator[Missing]:
    """What the settings say of each other and does not fit; nothing is triaged with these."""
    if chosen.agent == "command" and not chosen.command:
        hint = 'command = ["./triage.py"] below [triage]'
        yield Missing(("triage", "agent"), "triage.command names no program", hint, ("triage", "command"))
    if chosen.agent == "model" and ":" not in chosen.model:
        hint = 'model = "anthropic:claude-haiku-4-5" below [triage]'
        yield Missing(("triage", "agent"), "triage.model names no model", hint, ("triage", "model"))
    if chosen.evaluate is True and chosen.agent not in ("model", "claude"):
        hint = 'agent = "model" or "claude", or evaluate = "CMD"'
        yield Missing(("triage", "evaluate"), f"the agent {chosen.agent} cannot evaluate", hint)
    if chosen.fix_agent and chosen.fix_agent not in {*known, *preset_names()}:
        hint = _did_you_mean(chosen.fix_agent, sorted(known), '"{}"') or f"[agents.{chosen.fix_agent}] makes one"
        yield Missing(("triage", "fix_agent"), f'there is no agent "{chosen.fix_agent}"', hint)


def names_of_roles(config: Config, agents: Collection[str], roles: Collection[str]) -> Iterator[Missing]:
    """The agents of roles that nobody described, and the budgets that no role has: those limit nothing."""
    started = {*agents, *preset_names()} - {agent.CUSTOM}
    for name, role in config.roles.items():
        if role.agent and role.agent not in started:
            hint = _did_you_mean(role.agent, sorted(started), '"{}"') or f"[agents.{role.agent}] makes one"
            yield Missing(("roles", name, "agent"), f'there is no agent "{role.agent}"', hint)
    known = {*budget.ROLES, *_SHIPPED_ROLES, *reviewers.ROLES, *roles, *config.roles}
    for name in config.budgets:
        if name not in known and not name.startswith("review-"):
            hint = _did_you_mean(name, sorted(known), "[budgets.{}]") or f"[roles.{name}] makes one"
            yield Missing(("budgets", name), f'there is no role "{name}"', hint)


def programs(config: Config, folder: Path) -> Iterator[Missing]:
    """Every program of triage, evaluation, agents and channels that could not be started from this folder."""
    for path, word in _programs(config):
        if wrong := _why_not(word, folder):
            said, hint = wrong
            yield Missing(path, f"{'.'.join(path)}: {said}", hint)


def _programs(config: Config) -> Iterator[tuple[Parts, str]]:
    """The setting and the program of everything that is started."""
    chosen = config.triage
    if chosen.agent == "command" and chosen.command:
        yield ("triage", "command"), chosen.command[0]
    if word := _first_word(chosen.evaluate if isinstance(chosen.evaluate, str) else ""):
        yield ("triage", "evaluate"), word
    for name, profile in config.agents.items():
        if profile.command:
            yield ("agents", name, "command"), profile.command[0]
        elif profile.program:
            yield ("agents", name, "program"), profile.program
    for name, role in config.roles.items():
        if role.command:
            yield ("roles", name, "command"), role.command[0]
    for name, channel in config.notify.items():
        if channel.kind == "command":
            yield ("notify", name, "command"), channel.target[0]


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
    hint = "write its whole path" if os.path.isabs(word) else "a relative path starts at the directory of medbay.toml"
    return f'there is no program "{word}"', hint
