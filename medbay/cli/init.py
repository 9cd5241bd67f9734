"""`medbay init`: a private `.medbay/` and a commented `medbay.toml`, never over what is there."""

from __future__ import annotations

import os
from pathlib import Path

import click

from medbay.cli.output import note, say
from medbay.cli.session import Session, pass_session
from medbay.cli.trust import agree
from medbay.config.kinds import without_password
from medbay.errors import StoreError
from medbay.views.text import clean


@click.command()
@pass_session
def command(session: Session) -> None:
    """Make .medbay/ and a commented medbay.toml in this directory.

    What exists already is left as it is. A medbay.toml that is there and starts programs or names a store
    needs your agreement first: a terminal shows it and asks, a script says --trust-file.

    \b
    Example:
      medbay init
    """
    from medbay import app
    from medbay.config.load import FILE_NAME

    home = Path.cwd()
    was_there = (home / app.FOLDER).is_dir()
    above = next((each for each in home.parents if (each / app.FOLDER).is_dir()), None)
    came = os.path.lexists(home / FILE_NAME)
    if came:
        agree(session, home)  # before anything is made: a refusal leaves nothing behind
    app.make_home(home, file_is_ours=not came, environ=os.environ)
    wrote = _write_settings(home / FILE_NAME)
    bay = session.bay(create=True)
    where = clean(without_password(bay.place.url))
    say(f"{app.FOLDER}/ {'is there already' if was_there else 'made'}: {where}")
    say(f"{FILE_NAME} {'made: every setting is in it, commented out' if wrote else 'is there already, left as it is'}")
    if above is not None and not was_there:
        note(f"{clean(str(above))} has a store too; from here down this one is used")
    note("next: medbay add 'my first task' --run 'CMD', then medbay up")


def _write_settings(path: Path) -> bool:
    """Whether the file was made; an existing one is never touched."""
    from medbay.config.keys import commented_file

    try:
        with open(path, "x", encoding="utf-8") as file:
            file.write(commented_file())
    except FileExistsError:
        return False
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}", hint="choose a writable directory") from error
    return True
