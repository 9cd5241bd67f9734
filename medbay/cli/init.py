"""`medbay init`: a private `.medbay/` and a short `medbay.toml`; existing files are never overwritten."""

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
@click.option("--print", "only_print", is_flag=True, help="Print every setting with its default, and create nothing.")
@pass_session
def command(session: Session, only_print: bool) -> None:
    """Create .medbay/ and a short medbay.toml in this directory.

    Existing files are left as they are. A medbay.toml that is there and starts programs or names a store needs
    your agreement first: a terminal shows it and asks, a script says --trust-file.

    \b
    Examples:
      medbay init
      medbay init --print | less
    """
    from medbay import app
    from medbay.config.keys import commented_file
    from medbay.config.load import FILE_NAME

    if only_print:
        say(commented_file().rstrip("\n"))
        return

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
    say(f"{app.FOLDER}/ {'exists' if was_there else 'created'}: {where}")
    say(f"{FILE_NAME} {'created, with examples commented out' if wrote else 'exists, left as it is'}")
    if above is not None and not was_there:
        note(f"{clean(str(above))} has a store too; this directory and those below it use the new one")
    note("next: medbay add 'my first task' --run 'CMD', then medbay up")


def _write_settings(path: Path) -> bool:
    """Whether the file was created; an existing one is never touched."""
    from medbay.config.keys import first_file

    try:
        with open(path, "x", encoding="utf-8") as file:
            file.write(first_file())
    except FileExistsError:
        return False
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}", hint="choose a writable directory") from error
    return True
