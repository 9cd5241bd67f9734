"""Where the scenarios run: a temporary folder for all projects, and a PostgreSQL server that syncs if one is wanted."""

from __future__ import annotations

import itertools
import os
import platform
import shutil
import socket
import tempfile
from pathlib import Path
from types import TracebackType

import medbay
from bench.site import Site
from tests.postgres_server import Server

STORES = ("sqlite", "postgres")


class Ground:
    """Makes projects on either database; the server is started when it is first asked for."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="medbay-bench-"))
        self._numbers = itertools.count()
        self._server: Server | None = None
        self.port = 0

    def __enter__(self) -> Ground:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def server(self) -> Server:
        """A server as it comes, on a port of this machine: every commit is synced."""
        if self._server is None:
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                self.port = probe.getsockname()[1]
            self._server = Server({"listen_addresses": "127.0.0.1", "port": str(self.port)})
        return self._server

    def site(self, store: str, *, no_delays: bool = False, workers: int = 2) -> Site:
        """A new project with an empty store."""
        url = ""
        if store == "postgres":
            server = self.server()
            url = server.url(server.new_database())
        return Site(self.folder / str(next(self._numbers)), url=url, no_delays=no_delays, workers=workers)


def settings(store: str) -> str:
    """What a reader has to know beside the figures."""
    kept = "SQLite, WAL, synchronous FULL" if store == "sqlite" else "PostgreSQL as it comes, fsync on"
    return f"{kept}; medbay up --workers 2, shipped configuration"


def machine() -> str:
    """The machine in a few words."""
    system = f"{platform.system()} {platform.release().split('-')[0]}"
    return f"{os.cpu_count()} processors, {system}, Python {platform.python_version()}, medbay {medbay.__version__}"
