"""A throw-away PostgreSQL on a unix socket, also as root: started for the tests, killed by some of them."""

from __future__ import annotations

import contextlib
import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psycopg
import pytest

START_S = 30.0
CHEAP = {"listen_addresses": "", "shared_buffers": "32MB", "fsync": "off", "max_connections": "60"}
_names = itertools.count(1)


def binaries() -> Path:
    """Where the server's programs are; a test that needs them is skipped where there are none."""
    named = os.environ.get("PG_BIN")
    found = [Path(named)] if named else sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    if not found or not (found[0] / "initdb").exists():
        pytest.skip("NO POSTGRESQL SERVER: apt-get install -y --no-install-recommends postgresql, or set PG_BIN")
    return found[0]


class Server:
    """One cluster in a directory of its own. Unless told otherwise, nothing it holds is worth a sync."""

    def __init__(self, options: Mapping[str, str] = CHEAP) -> None:
        self._options = dict(options)
        self._programs = binaries()
        self.home = Path(tempfile.mkdtemp(prefix="pg_"))  # short: the path of a socket has little room
        self._as_user = self._hand_over()
        self._env = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": str(self.home)}
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._run("initdb", "-D", "data", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync", "--no-locale")
            self.start()
        except BaseException:
            self.stop()
            raise

    def url(self, database: str = "postgres") -> str:
        """The address of one of its databases."""
        port = f"&port={self._options['port']}" if "port" in self._options else ""
        return f"postgresql://postgres@/{database}?host={self.home}{port}"

    def start(self) -> None:
        """Start it and wait until it answers."""
        log = open(self.home / "log", "ab")
        flags = [word for name, value in self._options.items() for word in ("-c", f"{name}={value}")]
        self._process = subprocess.Popen(
            [self._programs / "postgres", "-D", self.home / "data", "-k", self.home, *flags],
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=self.home,
            env=self._env,
            **self._as_user,
        )
        log.close()
        self.wait_until_it_answers()

    def wait_until_it_answers(self) -> None:
        """Until a connection is taken."""
        deadline = time.monotonic() + START_S
        while True:
            try:
                self.connect().close()
                return
            except psycopg.OperationalError:
                dead = self._process is None or self._process.poll() is not None
                if dead or time.monotonic() > deadline:
                    raise RuntimeError((self.home / "log").read_text(errors="replace")[-2_000:]) from None
                time.sleep(0.02)

    def kill(self) -> None:
        """Every process of it at once, as when the machine loses its power."""
        assert self._process is not None
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        for pid in (self._process.pid, *map(int, children)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait(10)

    def stop_at_once(self) -> None:
        """Stop it without saying goodbye to anybody; it recovers from its log at the next start."""
        self.signal(signal.SIGQUIT)
        assert self._process is not None
        self._process.wait(20)

    def restart(self) -> None:
        """Stop it as an administrator in a hurry does, and start it again."""
        self.signal(signal.SIGINT)
        assert self._process is not None
        self._process.wait(20)
        self.start()

    def signal(self, number: int) -> None:
        """Send the server's main process a signal."""
        assert self._process is not None
        self._process.send_signal(number)

    def stop(self) -> None:
        """End it and remove everything."""
        if self._process is not None and self._process.poll() is None:
            self.signal(signal.SIGQUIT)
            self._process.wait(20)
        shutil.rmtree(self.home, ignore_errors=True)

    def connect(self, database: str = "postgres") -> psycopg.Connection[Any]:
        """A plain connection, for what the store itself has no business with."""
        return psycopg.connect(self.url(database), autocommit=True, connect_timeout=5)

    def new_database(self, template: str = "template0") -> str:
        """A database of its own for a test, as a copy of another; its name."""
        name = f"t{os.getpid()}_{next(_names)}"
        with self.connect() as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY")
        return name

    def drop(self, database: str) -> None:
        """Throw a test's database away, whoever is connected."""
        with self.connect() as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {database} WITH (FORCE)")

    def _run(self, program: str, *words: str) -> None:
        subprocess.run(
            [self._programs / program, *words],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=self.home,
            env=self._env,
            timeout=60,
            **self._as_user,
        )

    def _hand_over(self) -> dict[str, Any]:
        """A server refuses to run as root, so root hands the directory to the user postgres."""
        self.home.chmod(0o755)
        if os.geteuid() != 0:
            return {}
        user = pwd.getpwnam("postgres")
        os.chown(self.home, user.pw_uid, user.pw_gid)
        return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
