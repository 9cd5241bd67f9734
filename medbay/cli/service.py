"""`medbay service`: let systemd start the daemon with the machine or the login, and restart it when it fails."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import click

from medbay.cli.output import fields, note, print_json, say, screen
from medbay.cli.session import Session, json_option, pass_session, refuse_inside_attempts
from medbay.errors import NotAllowed, NotFound, StoreError, UsageError

if TYPE_CHECKING:
    from medbay.app import StoreLocation
    from medbay.integrations.systemd import Scope, Unit

NAME: Final = "medbay"
ENV_FILE: Final = "service.env"
_BEYOND_GRACE_S: Final = 10
_ENV_TEXT: Final = "# Variables of the daemon, and so of every job it runs: NAME=value, one per line.\n"

_name_option = click.option("--name", default=NAME, show_default=True, help="The name of the unit, one for each store.")
_system_option = click.option("--system", is_flag=True, help="A unit of the machine, as root; else one of this user.")


@click.group(name="service")
def command() -> None:
    """Run medbay up as a service of systemd: install, uninstall, status.

    \b
    Examples:
      medbay service install --linger
      medbay service install --print
    """


@command.command()
@_system_option
@_name_option
@click.option("--print", "only_print", is_flag=True, help="Show the unit and change nothing.")
@click.option("--workers", type=click.IntRange(1, 1000), metavar="N", help="How many attempts run at once.")
@click.option("--queue", metavar="A,B", help="Serve these queues instead of default.")
@click.option("--env-file", metavar="FILE", help="Variables of the daemon; .medbay/service.env if not said.")
@click.option("--user", metavar="NAME", help="With --system: who it runs as; the owner of the store if not said.")
@click.option("--linger", is_flag=True, help="Start it with the machine, not with the login (loginctl enable-linger).")
@click.option("--no-start", is_flag=True, help="Write the unit and leave it at that.")
@pass_session
def install(session: Session, /, system: bool, name: str, only_print: bool, no_start: bool, **how: Any) -> None:
    """Write a unit that runs medbay up on this store, start it, and let it start by itself.

    \b
    Example:
      medbay service install
    """
    from medbay.integrations import systemd

    place, scope = session.place(), _scope(system)
    unit = _unit(place, name, scope, **how)
    if only_print:
        say(systemd.unit_text(unit).rstrip("\n"))
        return
    refuse_inside_attempts("medbay service install")
    _refuse_other_systems()
    path = systemd.unit_path(name, scope, os.environ)
    _write_env(unit.env_file, place)
    _write_unit(path, unit)
    say(str(path))
    manager = systemd.Systemd(scope=scope)
    own = "" if system else "--user "
    if no_start or (absence := manager.absence()):
        why = "" if no_start else f"{absence}; "
        note(f"{why}the unit is written; systemctl {own}enable --now {unit.file_name} starts it")
        return
    manager.start(unit.file_name)
    note(f"started; journalctl {own}-u {name} -f shows what it says, medbay service status how it is")
    if not system:
        _see_to_linger(how["linger"])


@command.command()
@_system_option
@_name_option
@pass_session
def uninstall(session: Session, /, system: bool, name: str) -> None:
    """Stop the service and remove its unit; the store and its variables stay.

    \b
    Example:
      medbay service uninstall
    """
    from medbay.integrations import systemd

    refuse_inside_attempts("medbay service uninstall")
    _refuse_other_systems()
    scope = _scope(system)
    path = systemd.unit_path(name, scope, os.environ)
    if not path.exists():
        raise NotFound(f"there is no unit {path}", hint="medbay service install makes one; --name names another")
    manager = systemd.Systemd(scope=scope)
    absence = manager.absence()
    if not absence:
        manager.remove(path.name)
    try:
        path.unlink()
    except OSError as error:
        raise StoreError(f"cannot remove {path}: {error.strerror}", hint="with --system it takes root") from None
    if not absence:
        manager.reload()
    say(f"{path} removed")
    if absence:
        note(f"{absence}, so nothing had to be stopped")


@command.command()
@_system_option
@_name_option
@json_option
@pass_session
def status(session: Session, /, system: bool, name: str) -> int:
    """Say whether the service is installed and running; 0 when it runs, 1 when not, 3 when there is none.

    \b
    Example:
      medbay service status --json
    """
    from medbay import env
    from medbay.integrations import systemd

    scope = _scope(system)
    path = systemd.unit_path(name, scope, os.environ)
    manager = systemd.Systemd(scope=scope)
    absence = manager.absence()
    found = {} if absence else manager.properties(path.name)
    told = {
        "unit": str(path),
        "installed": path.exists(),
        "enabled": found.get("UnitFileState") == "enabled",
        "active": found.get("ActiveState") == "active",
        "state": f"{found['ActiveState']} ({found.get('SubState', '')})" if "ActiveState" in found else None,
        "restarts": int(found.get("NRestarts") or 0),
        "linger": None if system else systemd.lingers(env.user_name()),
        "problem": absence or None,
    }
    terminal = screen().terminal
    if session.json:
        print_json(told)
    else:
        for key, value in told.items():
            shown = {"True": "yes", "False": "no", "None": ""}.get(str(value), str(value))
            if shown and terminal:
                say(f"{key:<10}{shown}")
            elif shown:
                fields(key, shown)
    return 0 if told["active"] else 1 if told["installed"] else NotFound.exit_code


def _scope(system: bool) -> Scope:
    return "system" if system else "user"


def _refuse_other_systems() -> None:
    if not sys.platform.startswith("linux"):
        raise NotAllowed(
            f"medbay service writes units of systemd, which {sys.platform} does not have",
            hint="let your own supervisor run medbay up; medbay service install --print shows what it needs",
        )


def _unit(
    place: StoreLocation,
    name: str,
    scope: Scope,
    *,
    workers: int | None,
    queue: str | None,
    env_file: str | None,
    user: str | None,
    linger: bool,
) -> Unit:
    from medbay.cli.up import named_queues
    from medbay.integrations.systemd import Unit

    if not name or not all(each.isalnum() or each in "-_." for each in name):
        raise UsageError(f'"{name}" is not a name for a unit', hint="letters, digits, - and _")
    if user and scope != "system":
        raise UsageError("--user goes with --system", hint="a unit of this user runs as this user")
    if linger and scope == "system":
        raise UsageError("--linger is for units of a user", hint="one of the machine starts with it anyway")
    named_queues(queue)
    folder = place.folder.resolve()
    options = [*(["--workers", str(workers)] if workers else []), *(["--queue", queue] if queue else [])]
    store = [] if _has_password(place.url) else ["--store", _absolute(place.url)]
    return Unit(
        name=name,
        scope=scope,
        description=f"Medbay: the tasks of {folder.parent}",
        folder=folder.parent,
        command=(*_program(), *store, "up", *options),
        env_file=Path(os.path.abspath(env_file)) if env_file else folder / ENV_FILE,
        stop_s=-(-place.config.engine.grace_ms // 1000) + _BEYOND_GRACE_S,
        path=os.environ.get("PATH", ""),
        user=(user or _owner(folder)) if scope == "system" else "",
    )


def _program() -> list[str]:
    """This very command, with the interpreter it runs in."""
    script = Path(sys.executable).parent / "medbay"
    if os.access(script, os.X_OK):
        return [str(script)]
    return [sys.executable, "-c", "from medbay.cli.main import main; raise SystemExit(main())"]


def _absolute(url: str) -> str:
    """The address of a store from anywhere; a file's may begin where we stand."""
    file = url.removeprefix("sqlite:///")
    return url if file == url else f"sqlite:///{os.path.abspath(file)}"


def _has_password(url: str) -> bool:
    """Whether a store's address has to stay out of a file that every user may read."""
    return not url.startswith("sqlite:") and ("password" in url or urlsplit(url).password is not None)


def _owner(folder: Path) -> str:
    try:
        return folder.owner()
    except (OSError, KeyError):
        return ""


def _write_env(path: Path, place: StoreLocation) -> None:
    """A private file for variables, made once; the address of a store with a password stands in it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text(encoding="utf-8") if path.exists() else _ENV_TEXT
        if _has_password(place.url) and "MEDBAY_STORE=" not in text:
            text += "MEDBAY_STORE=" + '"' + place.url.replace("\\", "\\\\").replace('"', '\\"') + '"\n'
        elif path.exists():
            return
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}", hint="name another with --env-file") from None


def _write_unit(path: Path, unit: Unit) -> None:
    """Never over the unit of another store."""
    from medbay.integrations.systemd import unit_text

    text = unit_text(unit)
    place = next(line for line in text.splitlines() if line.startswith("WorkingDirectory="))
    try:
        if path.exists() and place not in path.read_text(encoding="utf-8").splitlines():
            raise NotAllowed(f"{path} is there and serves another store", hint="--name NAME makes another unit")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        hint = "with --system it takes root" if unit.scope == "system" else "check its folder"
        raise StoreError(f"cannot write {path}: {error.strerror}", hint=hint) from None


def _see_to_linger(wanted: bool) -> None:
    """A unit of a user ends with the last login unless the user lingers."""
    from medbay import env
    from medbay.integrations import systemd

    user = env.user_name()
    if systemd.lingers(user):
        return
    if wanted and systemd.let_linger(user):
        note(f"{user} lingers now: the service starts with the machine")
    else:
        note(f"it starts at login and ends at logout; loginctl enable-linger {user} lets it start with the machine")
