"""What is printed when something is wrong: one line that says what, and what to do. Tracebacks only for --debug."""

from __future__ import annotations

import json
import re
import sys
import traceback
from collections.abc import Iterable, Sequence
from typing import Final

import click

from medbay.errors import ConfigError, MedbayError, UsageError
from medbay.views.text import clean, clean_lines

INTERNAL: Final = 1
WRONG_USAGE: Final = 2
_PLACE: Final = re.compile(r"[^\s:]+:[0-9]+: ")  # `medbay.toml:14: ` names the file itself


def complain(error: BaseException, *, as_json: bool, debug: bool) -> int:
    """Print the error; its exit code."""
    message, hint, code = described(error)
    if debug:
        for line in clean_lines("".join(traceback.format_exception(error))):
            print(line, file=sys.stderr)
    if without_subcommand(error):
        print(error.ctx.get_help(), file=sys.stderr)  # type: ignore[attr-defined]
        return code
    at_a_place = isinstance(error, MedbayError) and _PLACE.match(message)
    prefix = "" if at_a_place or (isinstance(error, ConfigError) and error.file) else "medbay: "
    line = f"{message}; {hint}" if hint else message
    print(clean(prefix + line), file=sys.stderr)
    if as_json:
        print(json.dumps({"error": {"code": code, "message": message, "hint": hint}}), file=sys.stderr)
    return code


def described(error: BaseException) -> tuple[str, str, int]:
    """What is wrong, what to do about it, and the exit code."""
    if isinstance(error, MedbayError):
        return error.message, error.hint, error.exit_code
    if isinstance(error, click.ClickException):
        return _of_click(error)
    if isinstance(error, OSError) and error.strerror:
        where = f" ({error.filename})" if error.filename else ""
        return f"the system says: {error.strerror}{where}", "--debug shows where", INTERNAL
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"internal error: {said}", "--debug shows the traceback; please report it", INTERNAL


def without_subcommand(error: BaseException) -> bool:
    """Whether a group of commands was called alone: what it has is shown, line by line."""
    return type(error).__name__ == "NoArgsIsHelpError"  # click has it from 8.2 on


def unknown(what: str, name: str, known: Iterable[str], *, otherwise: str) -> UsageError:
    """An unknown name, with the nearest known one."""
    from difflib import get_close_matches

    near = get_close_matches(name, list(known), n=1)
    return UsageError(f'there is no {what} "{name}"', hint=f"did you mean {near[0]}?" if near else otherwise)


def asked_for(flag: str, words: Sequence[str]) -> bool:
    """Whether a flag was given, even where the rest could not be parsed."""
    return flag in (words[: words.index("--")] if "--" in words else words)


def _of_click(error: click.ClickException) -> tuple[str, str, int]:
    """Click's own refusals in our form."""
    help_line = f"{error.ctx.command_path} --help" if isinstance(error, click.UsageError) and error.ctx else ""
    otherwise = f"{help_line} lists what there is" if help_line else "medbay --help lists what there is"
    if isinstance(error, click.NoSuchOption):
        near = error.possibilities or ()
        hint = f"did you mean {near[0]}?" if near else otherwise
        return f"there is no option {error.option_name}", hint, WRONG_USAGE
    if found := re.match(r"No such command '(.*?)'", error.format_message()):
        near = getattr(error, "possibilities", None) or ()
        hint = f"did you mean {near[0]}?" if near else otherwise
        return f'there is no command "{found[1]}"', hint, WRONG_USAGE
    message = " ".join(error.format_message().rstrip(".").split())
    message = message[:1].lower() + message[1:]
    return message, f"{help_line} says how" if help_line else "", getattr(error, "exit_code", WRONG_USAGE)
