"""One frozen Config from file < environment < flags, validated once; every mistake is named with its line.

It reads one file and nothing else. The settings themselves are rows of `medbay.config.keys`.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from medbay.config import lines as toml_lines
from medbay.config.keys import (
    AGENT_KEYS,
    BY_PATH,
    KEYS,
    LATER,
    NAMED,
    SECTIONS,
    EngineConfig,
    Key,
    PolicyConfig,
    RunnerConfig,
    StoreConfig,
    TriageConfig,
)
from medbay.config.kinds import Wrong, shown
from medbay.core import agent
from medbay.core.agent import Profile
from medbay.core.budget import Budget
from medbay.core.holds.breaker import Limits
from medbay.core.policy.presets import LADDER, Recurring, Rungs
from medbay.errors import ConfigError

FILE_NAME: Final = "medbay.toml"
_TEXT_MAX = 1_000_000
_STRICT_VARIABLES = ("MEDBAY_ENGINE_", "MEDBAY_POLICY_", "MEDBAY_RECURRING_")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One value in force: as it was written, as it was understood, and where it came from."""

    key: Key
    raw: object
    value: Any
    source: str

    @property
    def text(self) -> str:
        """The value as it would stand in the file; passwords hidden."""
        return self.key.default_text if self.raw is None else self.key.kind.show(self.raw)


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """All settings in force. Made by `load` only."""

    store: StoreConfig
    engine: EngineConfig
    policy: PolicyConfig
    limits: Limits  # of breakers and incidents
    recurring: Recurring
    triage: TriageConfig
    budget: Budget
    runner: RunnerConfig
    agents: Mapping[str, Profile]
    settings: Mapping[str, Setting] = field(repr=False, compare=False)

    def source(self, path: str) -> str:
        """Where a value came from: `default`, `medbay.toml:12`, `environment MEDBAY_...` or `flag`."""
        return self.settings[path].source

    def under(self, prefix: str) -> tuple[Setting, ...]:
        """The settings of a section and the sections below it, in the order of the reference."""
        return tuple(found for path, found in self.settings.items() if f"{path}.".startswith(f"{prefix}."))


def load(path: Path | None, environ: Mapping[str, str], flags: Mapping[str, object]) -> Config:
    """The settings of a file (None: no file), the environment, and flags by path (`engine.workers`).

    A flag that is None was not given; an empty variable is not set.
    """
    settings = _defaults()
    if path is not None:
        settings |= _of_file(path)
    settings |= _of_environment(environ)
    settings |= _of_flags(flags)
    return _config(settings)


def check_text(text: str, file: str, *, folder: Path | None = None) -> tuple[ConfigError, ...]:
    """Every mistake in the text of a file, by line; empty if it can be used.

    With a folder also every program that is named and could not be started from there.
    """
    reading = _read_text(text, file)
    config = _config({**_defaults(), **reading.settings})
    missing = [*names(config.triage, {*reading.agents, *config.agents})]
    missing += programs(config.triage, config.agents, folder) if folder else ()
    for each in missing:
        if each.looked_for not in reading.refused:  # what was meant there is not known, so nothing follows from it
            reading.mistake(each.path, each.message, each.hint)
    return tuple(sorted(reading.mistakes, key=lambda mistake: mistake.line or 0))


def _defaults() -> dict[str, Setting]:
    return {key.path: Setting(key=key, raw=key.default, value=_of_default(key), source="default") for key in KEYS}


def _config(settings: Mapping[str, Setting]) -> Config:
    value = {name: found.value for name, found in settings.items()}
    return Config(
        store=StoreConfig(url=value["store.url"], notify=value["store.notify"]),
        engine=EngineConfig(
            workers=value["engine.workers"],
            lease_ms=value["engine.lease"],
            grace_ms=value["engine.grace"],
            crash_budget=value["engine.crash_budget"],
            blocked_timeout_ms=value["engine.blocked_timeout"],
            slots_for_recovery=value["engine.slots_for_recovery"],
        ),
        policy=_policy(value),
        limits=_limits(value),
        recurring=Recurring(
            triage_threshold=value["recurring.triage_threshold"],
            triage_cooldown_ms=value["recurring.triage_cooldown"],
            multiplier=value["recurring.failure_backoff_multiplier"],
            cap_ms=value["recurring.failure_backoff_max_delay"],
        ),
        triage=_triage(value),
        budget=_budget(value),
        runner=RunnerConfig(secrets=value["runner.secrets"], redact=value["runner.redact"]),
        agents=_agents(value),
        settings=MappingProxyType(dict(settings)),
    )


def _policy(value: Mapping[str, Any]) -> PolicyConfig:
    rungs = {
        category: Rungs(
            delays_ms=value[f"policy.ladder.{category}.delays"],
            max_retries=value[f"policy.ladder.{category}.max_retries"],
        )
        for category in LADDER
    }
    return PolicyConfig(
        preset=value["policy.preset"],
        rungs=MappingProxyType(rungs),
        max_retries_total=value["policy.max_retries_total"],
        adaptive=value["policy.adaptive"],
    )


def _triage(value: Mapping[str, Any]) -> TriageConfig:
    return TriageConfig(
        agent=value["triage.agent"],
        command=value["triage.command"],
        timeout_ms=value["triage.timeout"],
        max_tokens=value["triage.max_tokens"],
        max_cost=value["triage.max_cost"],
        fix_agent=value["triage.fix_agent"],
        evaluate=value["triage.evaluate"],
        rescue_threshold=value["triage.rescue_threshold"],
    )


def _limits(value: Mapping[str, Any]) -> Limits:
    return Limits(
        agency_failures=value["breakers.agency.failures"],
        storm_retries=value["breakers.retry_storm.limit"],
        crash_failures=value["breakers.crash_loop.failures"],
        crash_window_ms=value["breakers.crash_loop.window"],
        incident_tasks=value["incidents.tasks"],
        incident_window_ms=value["incidents.window"],
    )


def _agents(value: Mapping[str, Any]) -> Mapping[str, Profile]:
    """One profile for each table `[agents.NAME]`, in the order of the file."""
    names = dict.fromkeys(path.split(".", 1)[1].rpartition(".")[0] for path in value if path.startswith("agents."))
    return MappingProxyType(
        {
            name: Profile(
                name=name,
                **{key.name: value.get(f"agents.{name}.{key.name}", _of_default(key)) for key in AGENT_KEYS},
            )
            for name in names
        }
    )


def _budget(value: Mapping[str, Any]) -> Budget:
    return Budget(
        daily_tokens=value["budget.daily_tokens"],
        daily_cost=value["budget.daily_cost"],
        zone=value["budget.zone"],
    )


def _of_default(key: Key) -> object:
    return None if key.default is None else key.kind.read(key.default)


def _of_file(path: Path) -> dict[str, Setting]:
    file = _shown_path(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror or error}", file=file) from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError("is not UTF-8 text", file=file, line=line, hint="save the file as UTF-8") from None
    reading = _read_text(text, file)
    if reading.mistakes:
        raise min(reading.mistakes, key=lambda mistake: mistake.line or 0)
    return reading.settings


def _of_environment(environ: Mapping[str, str]) -> dict[str, Setting]:
    by_variable = {key.variable: key for key in KEYS if key.variable}
    for name in sorted(environ):
        if name.startswith(_STRICT_VARIABLES) and name not in by_variable:
            hint = _did_you_mean(name, tuple(by_variable), "{}")
            raise ConfigError(f"environment {name}: there is no such setting", hint=hint)
    by_variable["MEDBAY_STORE"] = BY_PATH["store", "url"]  # the short name, read last, so that it wins
    return {
        key.path: _setting(key, _from_text(key, environ[name]), f"environment {name}")
        for name, key in by_variable.items()
        if environ.get(name)
    }


def _of_flags(flags: Mapping[str, object]) -> dict[str, Setting]:
    given = {path: raw for path, raw in flags.items() if raw is not None}
    by_path = {key.path: key for key in KEYS}
    return {
        path: _setting(by_path[path], _from_text(by_path[path], raw) if isinstance(raw, str) else raw, "flag")
        for path, raw in given.items()
    }


def _from_text(key: Key, text: str) -> object:
    return key.kind.from_text(text) if key.kind.from_text else text


def _setting(key: Key, raw: object, source: str) -> Setting:
    try:
        return Setting(key=key, raw=raw, value=key.kind.read(raw), source=source)
    except Wrong as wrong:
        where = "" if source == "flag" else f"{source}: "  # what was typed just now needs no place
        raise ConfigError(where + _refusal(key, raw, wrong, key.path), hint=wrong.hint) from None


def _refusal(key: Key, raw: object, wrong: Wrong, path: str) -> str:
    if wrong.entry is not None and isinstance(raw, list | tuple):
        entry = shown(raw[wrong.entry])
        return f"entry {wrong.entry + 1} of {path} must be {key.kind.entry_says}, not {entry}"
    return f"{path} must be {key.kind.says}, not {key.kind.show(raw)}"


@dataclass(slots=True)
class _Reading:
    """One pass over a parsed file: the settings found and the mistakes."""

    file: str
    lines: Mapping[tuple[str, ...], int] = field(default_factory=dict)
    settings: dict[str, Setting] = field(default_factory=dict)
    mistakes: list[ConfigError] = field(default_factory=list)
    refused: set[tuple[str, ...]] = field(default_factory=set)  # the paths of values that are not used
    agents: list[str] = field(default_factory=list)  # every one that has a table

    def visit(self, table: Mapping[str, object], within: tuple[str, ...] = ()) -> None:
        """Take every entry of a table that the reference has; note every other."""
        for name, raw in table.items():
            path = (*within, name)
            known = _reference_path(path)
            if known in _KEY_AT:
                self._take(_KEY_AT[known], raw, path)
            elif known not in _TABLES:
                self.mistake(path, *_unknown(path, raw))
            elif isinstance(raw, dict):
                self.visit(raw, path)
                if known == _AGENT:
                    self._check_agent(name, raw, path)
            else:
                self.mistake(path, f"{'.'.join(path)} must be a table: [{'.'.join(path)}]")

    def _check_agent(self, name: str, raw: Mapping[str, object], path: tuple[str, ...]) -> None:
        self.agents.append(name)
        if not agent.NAME.fullmatch(name):
            self.mistake(path, f"{shown(name)} is no name for an agent", "letters, digits, dots, dashes")
        if "command" not in raw:
            self.mistake(path, f"agents.{name} has no command", f"write how {name} is started")

    def _take(self, key: Key, raw: object, path: tuple[str, ...]) -> None:
        try:
            value = key.kind.read(raw)
        except Wrong as wrong:
            self.refused.add(path)
            at = path if wrong.entry is None else (*path, str(wrong.entry))
            self.mistake(at, _refusal(key, raw, wrong, ".".join(path)), wrong.hint)
        else:
            source = f"{self.file}:{toml_lines.nearest(self.lines, path)}"
            self.settings[".".join(path)] = Setting(key=key, raw=raw, value=value, source=source)

    def mistake(self, path: tuple[str, ...], message: str, hint: str = "") -> None:
        """Note what is wrong with the setting at a path."""
        line = toml_lines.nearest(self.lines, path)
        self.mistakes.append(ConfigError(message, file=self.file, line=line, hint=hint))


def _read_text(text: str, file: str) -> _Reading:
    if len(text) > _TEXT_MAX:
        return _Reading(file, mistakes=[ConfigError("is too large for a configuration", file=file, line=1)])
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return _Reading(file, mistakes=[_broken(str(error), text, file)])
    except (ValueError, RecursionError):
        message = "is not TOML that can be read: a number is too long or lists are nested too deep"
        return _Reading(file, mistakes=[ConfigError(message, file=file, line=1)])
    reading = _Reading(file, lines=toml_lines.locate(text))
    reading.visit(document)
    return reading


def _broken(message: str, text: str, file: str) -> ConfigError:
    place = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", message)
    line = int(place[1]) if place and place[1] else max(1, len(text.rstrip("\n").split("\n")))
    said = message[: place.start()] if place else message
    said = said if said.isprintable() else said.encode("ascii", "backslashreplace").decode()
    hint = 'a text stands in quotes: name = "text"' if said == "Invalid value" else ""
    return ConfigError(f"is not valid TOML: {said}", file=file, line=line, hint=hint)


_TABLES = frozenset(
    tuple(section.split(".")[:size]) for section in SECTIONS for size in range(1, section.count(".") + 2)
)


_AGENT: Final = ("agents", NAMED)
_KEY_AT: Final = {**BY_PATH, **{tuple(key.path.split(".")): key for key in AGENT_KEYS}}


def _reference_path(path: tuple[str, ...]) -> tuple[str, ...]:
    """The path as the reference has it: a name of somebody's own is `NAME` there."""
    return (*_AGENT, *path[2:]) if path[0] == _AGENT[0] and len(path) >= 2 else path


def _unknown(path: tuple[str, ...], raw: object) -> tuple[str, str]:
    """What to say of a name the reference does not have, and the hint."""
    *within, name = path
    table = isinstance(raw, dict)
    where = f" in [{'.'.join(within)}]" if within else ""
    named = f"section {shown(name)}{where}" if table else f"key {shown(name)}{where}"
    if path in LATER:
        return f"{named} is not available in this version", ""
    siblings = tuple(dict.fromkeys(_names_in(tuple(within), tables=table)))
    hint = _did_you_mean(name, siblings, '"{}"')
    homes = [key.section for key in KEYS if key.name == name and not table]
    if not hint and len(homes) == 1:
        hint = f"it belongs in [{homes[0]}]"
    return f"unknown {named}", hint


def _names_in(within: tuple[str, ...], *, tables: bool) -> Iterator[str]:
    for path in sorted(_TABLES if tables else _KEY_AT):
        if path[:-1] == _reference_path((*within, ""))[:-1]:
            yield path[-1]


def _did_you_mean(name: str, known: tuple[str, ...], form: str) -> str:
    close = get_close_matches(name[:100], known, n=1)
    return f"did you mean {form.format(close[0])}?" if close else ""


def _shown_path(path: Path) -> str:
    """The path as short as it can be said from here."""
    return min(str(path), os.path.relpath(path), key=len)


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
