"""The files of a SQLite store: what they may be, where they may lie, and what is said when the disk is full."""

from __future__ import annotations

import errno
import fcntl
import os
import sqlite3
import struct
from contextlib import suppress
from pathlib import Path
from typing import Final

from medbay.errors import StoreError, StoreFull, StoreUnavailable

NEEDED_BYTES: Final = 10_000_000  # a store and its log of changes grow by about so much between two looks
_SCARCE_BYTES: Final = 1_000_000


def refuse_no_file(path: str) -> None:
    """A device or a directory is no store; what is not there yet can become one."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise StoreError(f"cannot open the store {path}: it is not a regular file", hint="name a file with --store")


def refuse_emptied(path: str) -> None:
    """A store without a single byte was cut off: a new one in its place would hide that everything is gone."""
    if os.path.isfile(path) and os.path.getsize(path) == 0 and not os.path.exists(f"{path}-wal"):
        what = f"the store {path} is empty: it has 0 bytes, and what was in it is gone"
        raise StoreError(what, hint="put a backup of it there; to begin again, remove the file")


def full(path: str, error: BaseException) -> StoreFull | None:
    """What is to be said where an error comes of a full disk: where, how much is free, and how much is needed."""
    if isinstance(error, StoreFull) or path == ":memory:":
        return None
    folder = Path(path).parent
    try:
        about = os.statvfs(folder)
    except OSError:
        return None
    free = about.f_bavail * about.f_frsize
    known = error.__cause__ if isinstance(error, StoreUnavailable) else error
    code = (
        known.sqlite_errorcode & 0xFF if isinstance(known, sqlite3.Error) and hasattr(known, "sqlite_errorcode") else 0
    )
    number = known.errno if isinstance(known, OSError) else None
    short = code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN) and free < _SCARCE_BYTES
    if code != sqlite3.SQLITE_FULL and number not in (errno.ENOSPC, errno.EDQUOT) and not short:
        return None
    needed = NEEDED_BYTES // 1_000_000
    message = (
        f"no space is left for the store {path}: {free // 1000} kB free on the disk of {folder}, {needed} MB are needed"
    )
    return StoreFull(message, hint="make room there; nothing is lost, and the store stays where it is")


_SHARED_FIRST: Final = 0x40000002  # the bytes of a database file on which SQLite's readers hold their lock
_SHARED_SIZE: Final = 510


def forbid_checkpoint(path: str) -> None:
    """Let no connection of this process write its log into the file any more, not even when the process ends.

    Another log is in use by others: ours would bring back older pages. Such a lock counts inside of a process too, and
    lasts as long as the process.
    """
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        lock = struct.pack("hhqqi4x", fcntl.F_RDLCK, os.SEEK_SET, _SHARED_FIRST, _SHARED_SIZE, 0)
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, lock)


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
        wrong = StoreError(f"cannot open the store {path}: {error.strerror}", hint=why_not(path))
        raise full(path, error) or wrong from error


def why_not(path: str) -> str:
    """What a person can do when the file cannot be opened."""
    parent = Path(path).parent
    if not parent.is_dir():
        return f"make the directory {parent}, or name another store with --store"
    if not os.access(parent, os.W_OK):
        return f"the directory {parent} is not writable"
    return "medbay doctor says more; a backup can be restored"


_NETWORK_FILE_SYSTEMS: Final = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "fuse.sshfs", "9p", "afs", "ceph"})


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
