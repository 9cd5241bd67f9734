"""The file that takes what leaves the store: JSON lines, private, on the disk before anything is deleted."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from medbay.errors import StoreError
from medbay.store.archive import Leaving
from medbay.store.rows import dumps


class ArchiveFile:
    """A file that is made when the first line comes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: IO[str] | None = None

    def write(self, table: str, rows: Iterable[Leaving]) -> None:
        """Append rows; when this returns they survive a crash of the machine."""
        try:
            if self._file is None:
                self._file = self._opened()
            self._file.writelines(dumps({"table": table, "row": row}) + "\n" for row in rows)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise StoreError(f"cannot write {self.path}: {error.strerror}", hint="nothing more was moved") from None

    def close(self) -> None:
        """Done with it."""
        if self._file is not None:
            self._file.close()

    def _opened(self) -> IO[str]:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        folder = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)  # the name of a new file is on the disk too
        finally:
            os.close(folder)
        return os.fdopen(descriptor, "w", encoding="ascii")
