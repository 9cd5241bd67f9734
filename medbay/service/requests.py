"""From the words people use (flags, JSON lines, keyword arguments) to a checked `NewTask`. Bad input is named."""

from __future__ import annotations

import difflib
import math
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from msgspec import Struct

from medbay.core.agent import Profile
from medbay.core.durations import LATEST_MS, parse_duration, parse_size
from medbay.core.model import (
    CHECKS_MAX,
    DEFAULT_QUEUE,
    FAILURE_RESTARTS,
    HERE,
    PRIORITIES,
    PYTHON,
    TEXT_MAX,
    TITLE_MAX,
    Check,
)
from medbay.core.rules import Loop
from medbay.core.schedule.cron import EXPRESSION_MAX
from medbay.core.schedule.expectation import time_of_day
from medbay.errors import UsageError
from medbay.service import calls, schedules, workforce
from medbay.service.additions import NewTask, alike

TAG_MAX: Final = 100
NAME_MAX: Final = 200
ARGUMENTS_MAX: Final = 1_000_000  # characters; the kernel takes about two million bytes
NO_AGENTS: Final[Mapping[str, Profile]] = {}
_COUNT_MAX: Final = 1_000_000_000
_OWN: Final = ("title", "run", "python", "args", "isolated")  # what differs where many alike are added
_FIXED: Final = frozenset({str, int, float, bool, type(None)})  # what nobody can change meanwhile


class Defaults(Struct, frozen=True):
    """What a task has that does not say otherwise."""

    cwd: str = ""
    shell: str = ""
    places: tuple[str, ...] | None = None  # the names of those that are configured; None: not known here
    queue_places: Mapping[str, str] = {}  # where the tasks of a queue run


NO_DEFAULTS: Final = Defaults()


def new_task(
    given: Mapping[str, Any],
    *,
    now: int,
    defaults: Defaults = NO_DEFAULTS,
    agents: Mapping[str, Profile] = NO_AGENTS,
) -> NewTask:
    """Check a task that is to be added; the names are those of the options of `medbay add`."""
    wanted = {name.replace("-", "_"): value for name, value in given.items() if value is not None}
    _refuse_unknown(wanted)
    work = _work(wanted, agents)
    fields = {name: _FIELDS[name][1](value) for name, value in wanted.items()}
    if "title" not in fields:
        raise UsageError("a task needs a title")
    if not work:
        raise UsageError(
            "a task needs something to run", hint="--run 'CMD', or -- CMD ARG ..., or --python M:F, or --agent NAME"
        )
    if "at" in fields:
        fields["at"] = parse_time(wanted["at"], now=now)
    renamed = schedules.checked(_renamed(fields), now)
    workforce.refuse_what_does_not_fit(renamed, work)
    own = {"cwd": defaults.cwd, "shell": defaults.shell}
    made = {**own, **workforce.with_account(renamed, work, agents)}
    return NewTask(**{**made, "place": _place(made, defaults)})


def is_repeatable(given: Mapping[str, Any], new: NewTask) -> bool:
    """Whether the next one that says the same would come to the same, at any time and whatever there is by then."""
    plain = bool(given.get("run") or given.get("python"))  # a person is asked, an agent may be known better by then
    timed = new.at is not None or new.cron or new.every_ms is not None or new.expect_by
    related = new.key is not None or new.after or new.spec
    fixed = all(type(value) in _FIXED for name, value in given.items() if name not in _OWN)
    return plain and fixed and not (timed or related)


def _place(fields: Mapping[str, Any], defaults: Defaults) -> str:
    """Where it runs: as it says, else as its queue says; `here` is the machine of its engine."""
    place = fields.get("place") or defaults.queue_places.get(fields.get("queue", DEFAULT_QUEUE), "")
    if place in ("", HERE) or defaults.places is None or place in defaults.places:
        return "" if place == HERE else str(place)
    known = ", ".join((HERE, *defaults.places))
    raise UsageError(f'no place is called "{place}"', hint=f"there is {known}; [places.{place}] makes one")


def new_tasks(
    lines: Iterable[Mapping[str, Any]],
    *,
    now: int,
    defaults: Defaults = NO_DEFAULTS,
    agents: Mapping[str, Profile] = NO_AGENTS,
) -> Iterator[NewTask]:
    """Check one after the other. Of one that says the same as the one before but for its own words, only those."""
    before: Mapping[str, Any] = {}
    new: NewTask | None = None
    for given in lines:
        if new is not None and says_the_same(before, given):
            new = alike(new, **own_words(given))
        else:
            new = new_task(given, now=now, defaults=defaults, agents=agents)
        before = as_it_is(given)
        yield new


def as_it_is(given: Mapping[str, Any]) -> dict[str, Any]:
    """What is asked for now: who says one thing after the other may fill the same dictionary or list again."""
    return {name: value.copy() if type(value) in (list, dict) else value for name, value in given.items()}


def says_the_same(one: Mapping[str, Any], two: Mapping[str, Any]) -> bool:
    """Whether two differ in their own words only. Numbers are compared as they are: 1 is not true.

    What can be changed, and is no list of words, may be another by now although it is the same object.
    """
    if one.keys() != two.keys() or not (two.get("run") or two.get("python")):
        return False
    for name, value in two.items():
        was = one[name]
        if name in _OWN and was is not None and value is not None:
            continue
        if was is value and type(value) in _FIXED:
            continue
        if type(was) is not type(value) or was != value or not _is_words(value):
            return False
    return True


def _is_words(value: object) -> bool:
    return type(value) is str or (type(value) is list and all(type(each) is str for each in value))


def own_words(given: Mapping[str, Any]) -> dict[str, Any]:
    """Title and command of one that says the same as another."""
    return {"title": _FIELDS["title"][1](given["title"]), "command": _to_run(given)["command"]}


def edited_fields(given: Mapping[str, Any], *, agents: Mapping[str, Profile] = NO_AGENTS) -> dict[str, Any]:
    """Check what is to be changed in a task; the names are those of `medbay edit`."""
    wanted = {name.replace("-", "_"): value for name, value in given.items() if value is not None}
    _refuse_unknown(wanted)
    work = _work(wanted, agents)
    fixed = sorted(wanted.keys() & {"at", "key", "on_conflict", "after", "assess"})
    if fixed:
        raise UsageError(f"{fixed[0]} cannot be edited")
    if wanted.get("check") in ("", [""], ("",)):  # how a command line says: no checks any more
        wanted["check"] = []
    renamed = _renamed({name: _FIELDS[name][1](value) for name, value in wanted.items()})
    return workforce.with_account(renamed, work, agents)


def loop(*, delay: Any = None, max_iterations: Any = None, max_failure_restarts: Any = None) -> Loop:
    """Check what `medbay loop` is asked for."""
    return Loop(
        delay_ms=None if delay is None else _duration("the delay")(delay),
        max_iterations=None if max_iterations is None else _count("max_iterations", 1)(max_iterations),
        max_failure_restarts=_count("max_failure_restarts", 0)(
            FAILURE_RESTARTS if max_failure_restarts is None else max_failure_restarts
        ),
    )


def _renamed(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Under the names of a task's own fields; checks of both kinds are one list."""
    renamed = {_FIELDS[name][0]: value for name, value in fields.items() if name not in _CHECKS}
    if any(name in fields for name in _CHECKS):
        commands = [(command, name) for name in _CHECKS for command in fields.get(name, ())]
        if len(commands) > CHECKS_MAX:
            raise UsageError(f"{len(commands)} checks are more than {CHECKS_MAX}", hint="let one script run several")
        renamed["checks"] = tuple(Check(command, required=name == "required_check") for command, name in commands)
    return renamed


def parse_time(text: Any, *, now: int) -> int:
    """A moment: ISO 8601 (UTC unless it says otherwise), or a duration from now as `+10m`."""
    if not isinstance(text, str):
        raise UsageError(f"a time is text, not {text!r}")
    if text.startswith("+"):
        at = now + parse_duration(text[1:])
    else:
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            raise UsageError(f'"{text}" is not a time', hint="write 2026-11-15T03:00, or +10m") from None
        at = int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
    if not 0 <= at <= LATEST_MS:  # in every zone it has to be a time that a calendar has
        raise UsageError(f'"{text}" is too far away', hint="a time lies between 1970 and 9999, in every time zone")
    return at


def _work(wanted: dict[str, Any], agents: Mapping[str, Profile]) -> dict[str, Any]:
    """Take out what is to be done, as command and runner: a command line, a Python function, an agent or a person."""
    if several := wanted.pop("agents", None):
        wanted["agent"] = several
    given: dict[str, Any] = {name: wanted.pop(name) for name in _WORK if name in wanted}
    chosen = [name for name in _WORKERS if given.get(name, False) is not False]
    if chosen and chosen[0] != "python":  # then there is nothing to call with arguments, or alone in a process
        chosen += [name for name in given if name not in _WORKERS]
    if len(chosen) > 1:
        raise UsageError(f"{chosen[0]} and {chosen[1]} were both given", hint="leave one of them out")
    if "agent" in chosen:
        return workforce.of_agent(given["agent"], agents)
    if "person" in chosen:
        return workforce.OF_PERSON
    if "run" in given or "python" in given:
        return _to_run(given)
    if stray := [name for name in given if name not in _WORKERS]:
        raise UsageError(f"{stray[0]} goes with python", hint="--python M:F")
    return {}


def _to_run(given: Mapping[str, Any]) -> dict[str, Any]:
    """Command and runner of a command line or a function."""
    if given.get("python") is None:
        return {"command": _command(given["run"]), "runner": "shell"}
    isolated = given.get("isolated")
    command = calls.command_of(given["python"], given.get("args"), isolated=False if isolated is None else isolated)
    return {"command": command, "runner": PYTHON}


def _refuse_unknown(wanted: Mapping[str, Any]) -> None:
    for name in wanted:
        if name not in _KNOWN:
            near = difflib.get_close_matches(name, _KNOWN, n=1)
            raise UsageError(f'unknown field "{name}"', hint=f'did you mean "{near[0]}"?' if near else "")


def _text(what: str, limit: int, *, empty: bool = True) -> Callable[[Any], str]:
    def parse(value: Any) -> str:
        if not isinstance(value, str):
            raise UsageError(f"{what} is text, not {value!r}")
        # Bytes that are not UTF-8 arrive as lone surrogates, which no database takes.
        text = value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if "\0" in text:
            raise UsageError(f"{what} has a NUL byte")
        if not empty and not text.strip():
            raise UsageError(f"{what} is empty")
        if len(text) > limit:
            raise UsageError(f"{what} is longer than {limit} characters")
        return text

    return parse


def _command(value: Any) -> tuple[str, ...] | str:
    if isinstance(value, str):
        if not value.strip():
            raise UsageError("the command is empty")
        parts: tuple[str, ...] = (value,)
    elif isinstance(value, Sequence) and value and all(isinstance(part, str) for part in value):
        parts = tuple(value)
        if not parts[0]:
            raise UsageError("the command is empty")
    else:
        raise UsageError(f"run is a command line or a list of words, not {value!r}")
    if not all(_can_be_passed(part) for part in parts):
        raise UsageError("the command has a NUL byte or half a character in it")
    if sum(map(len, parts)) > ARGUMENTS_MAX:
        raise UsageError(f"the command is longer than {ARGUMENTS_MAX} characters", hint="put it into a file")
    return value if isinstance(value, str) else parts


def _commands(value: Any) -> tuple[tuple[str, ...] | str, ...]:
    """One command line, or a list of commands: each a line for /bin/sh, or a list of words."""
    if isinstance(value, str):
        return (_command(value),)
    if not isinstance(value, Sequence):
        raise UsageError(f"a check is a command line or a list of commands, not {value!r}")
    return tuple(_command(each) for each in value)


def _flag(what: str) -> Callable[[Any], bool]:
    def parse(value: Any) -> bool:
        if not isinstance(value, bool):
            raise UsageError(f"{what} is true or false, not {value!r}")
        return value

    return parse


def _share(what: str) -> Callable[[Any], float]:
    def parse(value: Any) -> float:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not 0 < value <= 1:
            raise UsageError(f"{what} is a number above 0 and at most 1, not {value!r}", hint="0.5 is half of them")
        return float(value)

    return parse


def _can_be_passed(text: str) -> bool:
    """Whether the kernel would take it: bytes of any kind, but no NUL and no half of a character."""
    try:
        return b"\0" not in text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False


def _words(what: str) -> Callable[[Any], tuple[str, ...]]:
    word = _text(what, TAG_MAX, empty=False)

    def parse(value: Any) -> tuple[str, ...]:
        values = [value] if isinstance(value, str) else value
        if not isinstance(values, Sequence):
            raise UsageError(f"{what} is a word or a list of words, not {value!r}")
        return tuple(dict.fromkeys(word(each) for each in values))

    return parse


def _env(value: Any) -> tuple[tuple[str, str], ...]:
    if isinstance(value, Mapping):
        pairs = [(str(name), str(each)) for name, each in value.items()]
    elif isinstance(value, Sequence) and not isinstance(value, str):
        pairs = [_pair(each) for each in value]
    else:
        pairs = [_pair(value)]
    for name, each in pairs:
        if not name or "=" in name or not _can_be_passed(name + each):
            raise UsageError(f'"{name}" is not a name for an environment variable')
        if name.startswith("MEDBAY_"):
            raise UsageError(f"{name} is set by Medbay itself")
    return tuple(sorted(dict(pairs).items()))


def _pair(value: Any) -> tuple[str, str]:
    if isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 2:
        return str(value[0]), str(value[1])
    name, equals, rest = str(value).partition("=")
    if not equals:
        raise UsageError(f'"{value}" is not NAME=VALUE')
    return name, rest


def _priority(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value not in PRIORITIES:
        raise UsageError(f"priority is 0 (most urgent) to {PRIORITIES[-1]}, not {value!r}")
    return value


def _duration(what: str) -> Callable[[Any], int]:
    def parse(value: Any) -> int:
        milliseconds = parse_duration(_duration_text(value))
        if milliseconds <= 0:
            raise UsageError(f"{what} has to be longer than nothing")
        return milliseconds

    return parse


def _stall(value: Any) -> int:
    return parse_duration(_duration_text(value))


def _duration_text(value: Any) -> str:
    """A number is one of seconds."""
    if isinstance(value, float) and math.isfinite(value):
        return f"{round(value * 1000)}ms"
    return value if isinstance(value, str) else f"{value}s"


def _shell(value: Any) -> str:
    text = _text("the shell", NAME_MAX, empty=False)(value)
    try:
        shlex.split(text)
    except ValueError:
        raise UsageError(f'"{text}" is not a command', hint="bash, sh, or words as in bash -eu -c") from None
    return text


def _advised(value: Any) -> str:
    return "takes" if _flag("takes_advice")(value) else "none"


def _count(what: str, least: int) -> Callable[[Any], int]:
    def parse(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= _COUNT_MAX:
            raise UsageError(f"{what} is a whole number from {least} on, not {value!r}")
        return value

    return parse


def _word(what: str, words: tuple[str, ...]) -> Callable[[Any], str]:
    def parse(value: Any) -> str:
        if value not in words:
            raise UsageError(f'{what} is one of {", ".join(words)}, not "{value}"')
        return str(value)

    return parse


def _size(value: Any) -> int:
    size = parse_size(value if isinstance(value, str) else str(value))
    if size < 1_000_000:
        raise UsageError(f"a memory limit of {value} is too small to start anything", hint="for example 512M")
    return size


def _policy(value: Any) -> str:
    if value != "ladder":
        raise UsageError(f'there is no policy "{value}"', hint='this version has "ladder"')
    return str(value)


def _expect_by(value: Any) -> str:
    if not isinstance(value, str):
        raise UsageError(f"expect_by is a time of day, not {value!r}", hint='write "06:00"')
    return time_of_day(value) if value.strip() else ""


def _resources(value: Any) -> tuple[str, ...]:
    return tuple(f"provider:{name}" for name in _words("provider")(value))


_CHECKS: Final = ("check", "required_check")
_WORKERS: Final = ("run", "python", "agent", "person")
_WORK: Final = (*_WORKERS, "args", "isolated")  # together they say what is to be done
_Parser = Callable[[Any], Any]
# The public name of each field, the field it becomes, and what checks it.
_FIELDS: Final[Mapping[str, tuple[str, _Parser]]] = {
    "title": ("title", _text("the title", TITLE_MAX, empty=False)),
    "description": ("description", _text("the description", TEXT_MAX)),
    "spec": ("spec", _text("the specification", TEXT_MAX)),
    "cwd": ("cwd", _text("the working directory", 4096)),
    "env": ("env", _env),
    "env_file": ("env_file", _text("the file of variables", 4096)),
    "env_from": ("env_from", _words("env_from")),
    "timeout": ("timeout_ms", _duration("a time limit")),
    "memory": ("memory_bytes", _size),
    "cpu_time": ("cpu_ms", _duration("a CPU limit")),
    "stall": ("stall_ms", _stall),
    "shell": ("shell", _shell),
    "takes_advice": ("advice", _advised),
    "priority": ("priority", _priority),
    "queue": ("queue", _text("the queue", NAME_MAX, empty=False)),
    "tag": ("tags", _words("a tag")),
    "policy": ("policy", _policy),
    "provider": ("resources", _resources),
    "mutex": ("mutex", _text("the mutex", NAME_MAX)),
    "place": ("place", _text("the place", NAME_MAX)),
    "check": ("checks", _commands),
    "required_check": ("checks", _commands),
    "check_timeout": ("check_timeout_ms", _duration("the time limit of a check")),
    "fail_fast": ("fail_fast", _flag("fail_fast")),
    "check_threshold": ("threshold", _share("check_threshold")),
    "after": ("after", _words("after")),
    "at": ("at", lambda value: value),
    "key": ("key", _text("the key", NAME_MAX, empty=False)),
    "assess": ("assess", _flag("assess")),
    "on_conflict": ("on_conflict", _word("on_conflict", ("return", "refuse", "replace"))),
    "cron": ("cron", _text("the cron expression", EXPRESSION_MAX, empty=False)),
    "zone": ("zone", _text("the zone", NAME_MAX, empty=False)),
    "every": ("every_ms", _duration("the time between two iterations")),
    "catch_up": ("catch_up", _word("catch_up", ("none", "one", "all"))),
    "expect_by": ("expect_by", _expect_by),
    "max_iterations": ("max_iterations", _count("max_iterations", 1)),
    "worktree": ("worktree", lambda value: "yes" if _flag("worktree")(value) else "no"),
    "setup": ("setup", _text("the setup", 4096)),
    "copy": ("copies", _words("a file to copy")),
    "on_pass": ("on_pass", _word("on_pass", ("keep", "merge", "pr"))),
    "model": ("model", _text("the model", NAME_MAX, empty=False)),
    "max_tokens": ("max_tokens", _count("max_tokens", 1)),
    "max_cost": ("max_cost", workforce.cost),
}
_KNOWN: Final = dict.fromkeys((*_WORK, *_FIELDS, "agents"))
