"""The file of a store: private, local, the same one as before, and copied whole."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Final

from medbay.errors import StoreError

_NETWORK_FILE_SYSTEMS: Final = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "fuse.sshfs", "9p", "afs", "ceph"})


def copy_database(source: sqlite3.Connection, path: str) -> None:
    """All of a database into another file, synced and checked."""
    target = sqlite3.connect(path)
    try:
        source.backup(target)
        target.execute("PRAGMA journal_mode = DELETE")  # one file, and nothing beside it
        found = target.execute("PRAGMA quick_check(1)").fetchone()[0]
    finally:
        target.close()
    if found != "ok":
        raise StoreError(f"the copy is damaged: {found}", hint="medbay db check says more")
    with open(path, "rb") as file:
        os.fsync(file.fileno())


def sync_directory(path: str) -> None:
    """Let the name of a file survive a power failure as well."""
    descriptor = os.open(os.path.dirname(os.path.abspath(path)), os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def inode(path: str) -> int | None:
    """Which file this is; None for a store in memory, or when the file is gone."""
    try:
        return os.stat(path).st_ino if path != ":memory:" else None
    except OSError:
        return None


def make_private(path: str) -> None:
    """The file is made readable by its owner only, before SQLite would make it with the umask.

    One that is there is never opened here: closing it would drop every lock that other connections of this
    process hold on it (POSIX locks belong to the process), and a stranger's close would then delete a WAL in use.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return
    except OSError as error:
        raise StoreError(f"cannot open the store {path}: {error.strerror}", hint=why_not(path)) from error


def why_not(path: str) -> str:
    """What a person can do when the file cannot be opened."""
    parent = Path(path).parent
    if not parent.is_dir():
        return f"make the directory {parent}, or name another store with --store"
    if not os.access(parent, os.W_OK):
        return f"the directory {parent} is not writable"
    return "restore a backup, or move it away and start anew with medbay init"


def refuse_network_file_system(path: str) -> None:
    """SQLite's locks do not hold there; two engines would corrupt the store."""
    where = os.path.realpath(path)
    best, kind = "", ""
    try:
        mounts = Path("/proc/mounts").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return
    for line in mounts:
        fields = line.split()
        mount = fields[1]
        if (where == mount or where.startswith(mount.rstrip("/") + "/")) and len(mount) >= len(best):
            best, kind = mount, fields[2]
    if kind in _NETWORK_FILE_SYSTEMS:
        raise StoreError(f"{path} lies on a network file system ({kind})", hint="use a local directory, or PostgreSQL")
