"""`medbay trust`: a person's decision about a settings file that starts programs or names a store, for its content."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from medbay.cli.output import fields, note, print_json, say, screen
from medbay.cli.session import Session, json_option, pass_session, refuse_inside_attempts
from medbay.errors import NotAllowed, NotFound, UsageError
from medbay.views.text import clean

if TYPE_CHECKING:
    from medbay.config.fields import Config, ConfigFile
    from medbay.config.key import Setting
    from medbay.config.trust import Decisions


@click.command()
@click.option("--show", is_flag=True, help="Only show what it sets and whether it is allowed.")
@click.option("--revoke", is_flag=True, help="Take an earlier decision back.")
@click.option("--pin", is_flag=True, help="From now on ask again at every change of the file, as for one of a clone.")
@json_option
@pass_session
def command(session: Session, show: bool, revoke: bool, pin: bool) -> int:
    """Allow what the medbay.toml of this project starts and connects to, as it is now.

    A file that came with a repository is not used before: agents, channels, triage commands and the address of a store
    are somebody else's choice. The decision is kept in your home directory, for this file and its content.

    \b
    Examples:
      medbay trust --show
      medbay trust
    """
    from medbay import app
    from medbay.config import trust

    if show + revoke + pin > 1:
        raise UsageError("--show, --revoke and --pin go alone", hint="leave the others out")
    config, file, home = _settings(_meant(Path.cwd()))
    kept = trust.decisions(os.environ)
    if not show:
        refuse_inside_attempts("medbay trust")
        _decide(kept, file, home, revoke=revoke, pin=pin)
    open_ = trust.needs_decision(config, kept, home / app.FOLDER, made_here=lambda: app.was_made_here(config, home))
    _print(session, file, list(trust.demands(config)), allowed=not open_)
    return 4 if show and open_ else 0


def _decide(kept: Decisions, file: ConfigFile, home: Path, *, revoke: bool, pin: bool) -> None:
    from medbay import app
    from medbay.config import trust
    from medbay.env import Ids

    if pin or revoke:  # the first change after this one asks, and so does the file as it is
        kept.mark_home(home / app.FOLDER, Ids().store(), pinned=True)
    if revoke:
        kept.revoke(file)
    else:
        trust.keep(kept, file)


def agree(session: Session, home: Path) -> None:
    """Let a person on a terminal agree to a file that was there before; elsewhere it has to be agreed to already."""
    from medbay import app
    from medbay.config import trust

    config, file, _ = _settings(home)
    kept = trust.decisions(os.environ)
    try:
        app.check_file(config, home, os.environ, trust_file=session.trust_file)
    except NotAllowed:
        if not (sys.stdin.isatty() and screen(sys.stderr).terminal):
            raise
        refuse_inside_attempts("medbay init")
        note(f"{clean(file.shown)} was here before, and it would be used with these settings:")
        for line in _lines(trust.demands(config)):
            note(f"  {line}")
        if not click.confirm("allow them?", default=False, err=True):
            raise
        trust.keep(kept, file)


def _meant(start: Path) -> Path:
    """The directory whose file is meant: one that has it, or a project, from here upward."""
    from medbay import app
    from medbay.config.load import FILE_NAME

    here = start.resolve()
    known = (each for each in (here, *here.parents) if (each / app.FOLDER).is_dir() or (each / FILE_NAME).exists())
    return next(known, here)


def _settings(home: Path) -> tuple[Config, ConfigFile, Path]:
    """The settings of the file in a directory, the file, and the directory."""
    from medbay.config.load import FILE_NAME, load

    path = home / FILE_NAME
    if not os.path.lexists(path):
        raise NotFound(f"there is no {FILE_NAME} in {home}", hint="medbay init makes one")
    config = load(path, {}, {})
    assert config.file is not None
    return config, config.file, home


def _print(session: Session, file: ConfigFile, demanded: list[Setting], *, allowed: bool) -> None:
    if session.json:
        print_json({"file": str(file.path), "allowed": allowed, "settings": [_as_json(each) for each in demanded]})
        return
    if not screen().terminal:
        fields("allowed" if allowed else "not allowed", file.path)
        for each in demanded:
            fields("", each.key.path, _value(each), each.source)
        return
    said = "is allowed" if allowed else "is not allowed"
    plain = "" if demanded else ": it starts nothing and names no store"
    say(f"{clean(file.shown)} {said}{plain}")
    for line in _lines(demanded):
        say(f"  {line}")


def _lines(demanded: Iterable[Setting]) -> list[str]:
    return [clean(f"{each.key.path} = {_value(each)}  ({each.source})") for each in demanded]


def _as_json(setting: Setting) -> dict[str, Any]:
    return {"setting": setting.key.path, "value": _value(setting), "source": setting.source}


def _value(setting: Setting) -> str:
    from medbay.core.redaction import redact

    return redact(setting.text)
