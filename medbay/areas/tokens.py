"""What opens the page: the token of the store's owner, kept in a file, and one for every other person."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from medbay import env
from medbay.env import Ids
from medbay.errors import NotFound, StoreError, UsageError
from medbay.store import tokens

if TYPE_CHECKING:
    from medbay.bay import Bay

FILE: Final = "web-token"
NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")


class Tokens:
    """The tokens of one store."""

    def __init__(self, bay: Bay) -> None:
        self._bay = bay

    def owner(self) -> str:
        """Return the token of the store's owner: the configured one, else the one in the file, which is made once."""
        chosen = self._bay.place.config.web.token
        return _kept(self._bay.place.folder / FILE) if chosen == "auto" else chosen

    def digests(self) -> dict[str, str]:
        """Return the digest of every token that opens the page, by the name of whose it is."""
        with self._bay.store.read() as tx:
            named = tokens.digests(tx)
        return {**named, env.user_name(): digest(self.owner())}

    def add(self, name: str) -> str:
        """Make a token for a person and return it: it is not shown again. An earlier one of theirs ends."""
        if not NAME.fullmatch(name):
            raise UsageError(f'"{name[:70]}" is not a name', hint="use letters, digits, dots, dashes and @")
        if name == env.user_name():
            raise UsageError(
                f"{name} owns this store and has a token", hint=f"it is in {self._bay.place.folder / FILE}"
            )
        made = Ids().token()
        with self._bay.store.write() as tx:
            tokens.add(tx, name, digest(made), by=self._bay.actor)
        return made

    def every(self) -> list[tuple[str, int, str]]:
        """Return whose tokens there are, since when, and by whom they were added."""
        with self._bay.store.read() as tx:
            return tokens.every(tx)

    def remove(self, name: str) -> None:
        """Let a person's token open nothing any more, and no session that began with it."""
        with self._bay.store.write() as tx:
            if not tokens.remove(tx, name):
                raise NotFound(f'there is no token of "{name[:70]}"', hint="medbay web token list names them")


def digest(token: str) -> str:
    """Return what is kept of a token. Tokens are long and random, so one round is enough."""
    return hashlib.sha256(token.encode()).hexdigest()


def _kept(path: Path) -> str:
    """The token in a file that only its owner can read; made when there is none."""
    try:
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except FileExistsError:
            return _read(path)
        made = Ids().token()
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(made + "\n")
        return made
    except OSError as error:
        raise StoreError(f"cannot keep a token in {path}: {error.strerror}", hint="choose one: [web] token") from error


def _read(path: Path) -> str:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    with os.fdopen(descriptor, encoding="ascii", errors="replace") as file:
        if os.fstat(file.fileno()).st_mode & 0o077:
            raise UsageError(f"others can read {path}", hint=f"chmod 600 {path}, or remove it and a new one is made")
        found = file.read(300).strip()
    if len(found) < 16:
        raise UsageError(f"{path} holds no token", hint="remove it and a new one is made")
    return found
