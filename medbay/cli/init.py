"""`medbay init`: a private `.medbay/` and a commented `medbay.toml`, never over what is there."""

from __future__ import annotations

from pathlib import Path

import click

from medbay.cli.output import note, say
from medbay.cli.session import Session, pass_session
from medbay.errors import StoreError


@click.command()
@pass_session
def command(session: Session) -> None:
    """Make .medbay/ and a commented medbay.toml in this directory.

    What exists already is left as it is.

    \b
    Example:
      medbay init
    """
    from medbay import app
    from medbay.config.load import FILE_NAME

    home = Path.cwd()
    was_there = (home / app.FOLDER).is_dir()
    above = next((each for each in home.parents if (each / app.FOLDER).is_dir()), None)
    app.make_folder(home)
    wrote = _write_settings(home / FILE_NAME)
    bay = session.bay(create=True)
    say(f"{app.FOLDER}/ {'is there already' if was_there else 'made'}: {bay.place.url}")
    say(f"{FILE_NAME} {'made: every setting is in it, commented out' if wrote else 'is there already, left as it is'}")
    if above is not None and not was_there:
        note(f"{above} has a store too; from here down this one is used")
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
