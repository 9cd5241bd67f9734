"""Disks that are small, full or read-only. Needs root; whoever is not is told so."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class CannotMount(Exception):
    """Not root, or mounting is not allowed here."""


@contextmanager
def mounted(path: Path, *options: str) -> Iterator[None]:
    """A new file system of its own at this path, for as long as the block lasts."""
    words = ["mount", "-t", "tmpfs", "-o", ",".join(("mode=0700", *options)), "tmpfs", str(path)]
    try:
        done = subprocess.run(words, capture_output=True, text=True)
    except OSError as error:
        raise CannotMount(str(error)) from None
    if done.returncode != 0:
        raise CannotMount(done.stderr.strip())
    try:
        yield
    finally:
        # Lazily: somebody may have a file open there at this very moment.
        subprocess.run(["umount", "--lazy", str(path)], capture_output=True, check=True)


@contextmanager
def fill(folder: Path) -> Iterator[None]:
    """No byte is left on the disk of this folder."""
    ballast = folder / "ballast"
    with open(ballast, "wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(os.urandom(65_536))
    try:
        yield
    finally:
        ballast.unlink()
