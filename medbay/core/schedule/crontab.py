"""A crontab: what each of its lines says, and the task that a line becomes. Every line is read or named with why not.

The rules are those of Debian's cron: variables hold for the lines below them, the first `%` ends the command and begins
its input, `\\%` is a percent sign. Nothing here reads a file.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, Final, Literal

from medbay.core.schedule import cron
from medbay.core.shell import BASH, SH, shell_words
from medbay.errors import UsageError

TAG: Final = "crontab"
SYSTEM_FILES: Final = re.compile(r"/etc/(crontab|cron\.d/[^/]+)")
TITLE_CHARS: Final = 80
SOURCE_CHARS: Final = 120
_FIELDS: Final = 5
_OF_CRON: Final = {
    "MAILFROM": "who mail comes from is up to sendmail",
    "RANDOM_DELAY": "jobs start on time",
    "LOGNAME": "cron does not let it be set either",
    "START_HOURS_RANGE": "it is for anacron",
    "CONTENT_TYPE": "it is for the mail that cron sends",
    "CONTENT_TRANSFER_ENCODING": "it is for the mail that cron sends",
}
_VARIABLE: Final = re.compile(
    r"""\s*(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<name>[^\s="']+))\s*=\s*(?P<value>.*?)\s*""", re.DOTALL
)
_MAIL: Final = r"""{ printf 'To: %s\nSubject: medbay: %s\n\n' "$1" "$MEDBAY_EVENT"; cat; } | "$0" -i -- "$1" """.strip()
_WITH_INPUT: Final = 'printf %s "$3" | "$1" -c "$2"'

Kind = Literal["blank", "comment", "variable", "job", "unread"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CronLine:
    """One line of a crontab: what kind it is, and what it says; `why` it cannot be read."""

    number: int
    text: str
    kind: Kind
    name: str = ""  # of a variable
    value: str = ""
    schedule: str = ""  # of a job: five fields, or a word such as @daily
    user: str = ""
    command: str = ""
    input: str | None = None
    variables: tuple[tuple[str, str], ...] = ()  # in force where it stands
    comment: str = ""  # the lines right above it
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CronMachine:
    """What has to be known of where the jobs will run."""

    user: str
    home: str
    zone: str  # of cron itself
    is_root: bool = False
    homes: Mapping[str, str] = field(default_factory=dict)  # of other users
    is_command: Callable[[str], bool] = lambda path: True  # whether a path can be executed here


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What becomes of a line: `given` are the options of `medbay add`; without any, `why` says why not."""

    line: CronLine
    given: Mapping[str, Any] = field(default_factory=dict)
    why: str = ""


def read(text: str, *, system: bool = False) -> tuple[CronLine, ...]:
    """Every line of a crontab; in the system's form a job names its user before its command."""
    variables: dict[str, str] = {}
    lines: list[CronLine] = []
    comment: list[str] = []
    for number, raw in enumerate(text.split("\n"), start=1):
        line = _line(number, raw.removesuffix("\r"), variables, " ".join(comment), system=system)
        lines.append(line)
        if line.kind == "variable":
            variables[line.name] = line.value
        comment = [*comment, line.value] if line.kind == "comment" else []
    if lines[-1].kind == "blank" and not lines[-1].text:
        lines.pop()  # what follows the last line break
    return tuple(lines)


def names_users(lines: tuple[CronLine, ...], users: Collection[str]) -> bool:
    """Whether every job begins with the name of a user, root among them, as in a copy of a system's crontab."""
    first = [line.command.split(maxsplit=1)[0] for line in lines if line.kind == "job" and line.command.strip()]
    return "root" in first and all(each in users for each in first)


def tasks(lines: tuple[CronLine, ...], machine: CronMachine, *, source: str, now: int) -> tuple[Taken, ...]:
    """What becomes of each job and of each line that was not understood, in their order.

    A key is made of the source and of what the line says, so that the same line is added once.
    """
    seen: Counter[str] = Counter()
    made = []
    for line in lines:
        if line.kind == "unread" or (line.kind == "variable" and line.why):
            made.append(Taken(line=line, why=line.why))
        if line.kind == "job":
            said = _digest("\n".join((line.schedule, line.user, line.command, line.input or "")))
            seen[said] += 1
            key = f"crontab:{shortened(source)}:{said}" + (f"-{seen[said]}" if seen[said] > 1 else "")
            made.append(_taken(line, machine, key, now))
    return tuple(made)


def mail_addresses(lines: tuple[CronLine, ...]) -> dict[str, int]:
    """To whom cron mails what jobs print, by the line that says so first; MAILTO="" means no mail."""
    found: dict[str, int] = {}
    for line in lines:
        if line.kind == "variable" and line.name == "MAILTO":
            for address in re.split(r"[,\s]+", line.value):
                found.setdefault(address, line.number)
    found.pop("", None)
    return found


def mail_channels(addresses: Mapping[str, int], sendmail: str) -> dict[str, tuple[str, ...]]:
    """A channel for each address: its name in `[notify.NAME]` and the command that hands its event to sendmail."""
    channels: dict[str, tuple[str, ...]] = {}
    for address in addresses:
        plain = "mail-" + (re.sub(r"[^a-z0-9]+", "-", address.lower().partition("@")[0]).strip("-") or "cron")
        others = (f"{plain}-{number}" for number in range(2, len(addresses) + 2))
        name = plain if plain not in channels else next(each for each in others if each not in channels)
        channels[name] = (SH, "-c", _MAIL, sendmail, address)
    return channels


def shortened(source: str) -> str:
    """The name of a file as part of a key: itself, or of a long one its end and a digest."""
    return source if len(source) <= SOURCE_CHARS else f"{_digest(source)}~{source[-SOURCE_CHARS + 20 :]}"


def _line(number: int, raw: str, variables: Mapping[str, str], comment: str, *, system: bool) -> CronLine:
    text = raw.strip()
    if not text:
        return CronLine(number=number, text=raw, kind="blank")
    if text.startswith("#"):
        said = text.replace("\0", "").lstrip("# ").rstrip("# ")
        return CronLine(number=number, text=raw, kind="comment", value=said)
    if "\0" in text:
        return CronLine(number=number, text=raw, kind="unread", why="it has a NUL byte")
    if found := _VARIABLE.fullmatch(raw):
        return _variable(number, raw, found)
    return _job(number, raw, variables, comment, system=system)


def _variable(number: int, raw: str, found: re.Match[str]) -> CronLine:
    name = next((each for each in (found["double"], found["single"], found["name"]) if each is not None), "")
    value, why = found["value"], ""
    if value[:1] in ('"', "'"):
        if len(value) < 2 or value.find(value[0], 1) != len(value) - 1:
            return CronLine(number=number, text=raw, kind="unread", why="its quotes are not closed at its end")
        value = value[1:-1]
    if not name or "=" in name:
        return CronLine(number=number, text=raw, kind="unread", why="a variable needs a name")
    if name.startswith("MEDBAY_"):
        why = f"{name} is set by Medbay itself"
    if name in _OF_CRON:
        why = f"{name} is not taken over: {_OF_CRON[name]}"
    return CronLine(number=number, text=raw, kind="variable", name=name, value=value, why=why)


def _job(number: int, raw: str, variables: Mapping[str, str], comment: str, *, system: bool) -> CronLine:
    text = raw.strip(" \t").removeprefix("-")  # what begins so is not logged by cron
    wanted = (1 if text.startswith("@") else _FIELDS) + (1 if system else 0)
    words = re.split(r"[ \t]+", text, maxsplit=wanted)
    if len(words) <= wanted:
        missing = "a schedule, a user and a command" if system else "a schedule and a command"
        return CronLine(number=number, text=raw, kind="unread", why=f"it does not have {missing}")
    command, data = _split(words[wanted])
    if not command.strip():
        return CronLine(number=number, text=raw, kind="unread", why="its command is empty")
    return CronLine(
        number=number,
        text=raw,
        kind="job",
        schedule=" ".join(words[: wanted - (1 if system else 0)]),
        user=words[wanted - 1] if system else "",
        command=command.strip(" \t"),
        input=data,
        variables=tuple(variables.items()),
        comment=comment,
    )


def _split(text: str) -> tuple[str, str | None]:
    """The command and its input: the first bare `%` ends the one, the others are the line breaks of the other."""
    parts: list[list[str]] = [[]]
    escaped = False
    for letter in text:
        if escaped and letter == "%":
            parts[-1][-1] = "%"  # in place of the backslash
        elif letter == "%":
            parts.append([])
            escaped = False
            continue
        else:
            parts[-1].append(letter)
        escaped = letter == "\\" and not escaped
    command, *rest = ("".join(part) for part in parts)
    if not rest:
        return command, None
    data = "\n".join(rest)
    return command, data if data.endswith("\n") or not data else f"{data}\n"


def _taken(line: CronLine, machine: CronMachine, key: str, now: int) -> Taken:
    variables = dict(line.variables)
    zone = variables.get("CRON_TZ") or machine.zone
    try:
        cron.check(line.schedule, zone, now)
    except UsageError as error:
        return Taken(line=line, why=error.message)
    other = line.user if line.user not in ("", machine.user) else ""
    if other and not machine.is_root:
        return Taken(line=line, why=f"it runs as {other}, and what {machine.user} imports runs as {machine.user}")
    if other and other not in machine.homes:
        return Taken(line=line, why=f"there is no user {other} on this machine")
    if not machine.is_command(shell := variables.get("SHELL") or SH):
        return Taken(line=line, why=f"its SHELL {shell} is no command on this machine")
    home = machine.homes[other] if other else machine.home
    env = {name: value for name, value in variables.items() if _is_jobs(name)}
    if other:
        env = {"HOME": home, **env, "LOGNAME": other, "USER": other}
    given: dict[str, Any] = {
        "title": _title(line.command),
        "run": _run(line, shell, other),
        "cron": line.schedule,
        "zone": zone,
        "cwd": variables.get("HOME") or home,
        "env": env,
        "description": line.comment,
        "tag": [TAG],
        "key": key,
    }
    return Taken(line=line, given={name: value for name, value in given.items() if value not in ("", {})})


def _is_jobs(name: str) -> bool:
    """Whether a variable is for the job, not for cron itself."""
    return name not in _OF_CRON and name not in ("MAILTO", "CRON_TZ") and not name.startswith("MEDBAY_")


def _run(line: CronLine, shell: str, user: str) -> list[str]:
    """The words that run a line as cron does: by its shell, with its input, as its user.

    But bash runs it with pipefail, as any command line here: a dump that failed in front of a pipe is a failure.
    """
    as_user = ["runuser", "-u", user, "--"] if user else []
    if line.input is not None:
        return [*as_user, SH, "-c", _WITH_INPUT, "cron", shell, line.command, line.input]
    own = shell_words(shell, line.command) if PurePath(shell).name == BASH else [shell, "-c", line.command]
    return [*as_user, *own]


def _title(command: str) -> str:
    words = " ".join(command.split())
    return words if len(words) <= TITLE_CHARS else f"{words[: TITLE_CHARS - 1]}…"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]
