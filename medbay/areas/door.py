"""The engine's door for the agents it runs: a Unix socket of its user, where an attempt's token opens its own task.

The token dies with the attempt; an agent never gets to the store.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import socket
import struct
import tempfile
import threading
from contextlib import suppress
from typing import Any, Final

from medbay.app import StoreLocation
from medbay.areas.tools import Tools
from medbay.errors import MedbayError
from medbay.integrations.passes import Pass, Passes

REQUEST_MAX: Final = 1_000_000
WAIT_S: Final = 30.0
AT_ONCE: Final = 16
_CREDENTIALS: Final = struct.Struct("3i")

log = logging.getLogger("medbay.engine")


class Door:
    """Serves one engine's socket from threads of its own, each request with a store connection of its own."""

    def __init__(self, place: StoreLocation) -> None:
        self.passes = Passes(self.start)
        self._place = place
        self._folder = ""
        self._server: socket.socket | None = None
        self._room = threading.BoundedSemaphore(AT_ONCE)

    def start(self) -> None:
        """Open it; where that is impossible agents work without it."""
        try:
            self._folder = tempfile.mkdtemp(prefix="medbay-")  # short: the kernel takes 107 bytes
            path = os.path.join(self._folder, "door")
            self._server = socket.socket(socket.AF_UNIX)
            self._server.bind(path)
            os.chmod(path, 0o600)
            self._server.listen(AT_ONCE)
        except OSError as error:
            log.warning("agents cannot reach the engine: %s", error)
            self.stop()
            return
        self.passes.socket = path
        threading.Thread(target=self._accept, args=(self._server,), name="medbay-door", daemon=True).start()

    def stop(self) -> None:
        """Close it; what is being answered ends by itself."""
        self.passes.socket = ""
        if self._server is not None:
            with suppress(OSError):
                self._server.shutdown(socket.SHUT_RDWR)
            self._server.close()
            self._server = None
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = ""

    def _accept(self, server: socket.socket) -> None:
        with suppress(OSError):  # closed
            while True:
                client, _ = server.accept()
                self._room.acquire()
                threading.Thread(target=self._serve, args=(client,), name="medbay-door", daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            with client, suppress(OSError):
                client.settimeout(WAIT_S)
                if _user_of(client) == os.getuid():
                    client.sendall(json.dumps(self._answer(_read(client)), default=str).encode() + b"\n")
        finally:
            self._room.release()

    def _answer(self, raw: bytes) -> dict[str, Any]:
        try:
            asked = json.loads(raw)
            token, tool, arguments = asked["token"], str(asked["tool"]), dict(asked.get("arguments") or {})
        except (ValueError, KeyError, TypeError, RecursionError):
            return _refused("a request is a JSON object with token, tool and arguments", "", 2)
        known = self.passes.find(token)
        if known is None:
            return _refused("this token opens nothing: its attempt has ended", "", 4)
        try:
            return {"ok": True, "value": self._use(known, tool, arguments)}
        except MedbayError as error:
            return _refused(error.message, error.hint, error.exit_code)
        except Exception:
            log.exception("a tool of an agent broke")
            return _refused("an error of Medbay's own; its log has it", "", 1)

    def _use(self, known: Pass, tool: str, arguments: dict[str, Any]) -> Any:
        from medbay.bay import Bay

        with Bay(self._place, create=False, actor=f"agent:{known.task_id}") as bay:
            return Tools(bay, known).call(tool, arguments)


def ask(path: str, token: str, tool: str, arguments: dict[str, Any]) -> Any:
    """Use a tool through the door of the engine that runs us; raises what the tool refused with."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(WAIT_S)
        client.connect(path)
        client.sendall(json.dumps({"token": token, "tool": tool, "arguments": arguments}).encode() + b"\n")
        said = json.loads(_read(client))
    if said.get("ok"):
        return said["value"]
    error = MedbayError(str(said.get("error")), hint=str(said.get("hint") or ""))
    error.exit_code = int(said.get("code") or 1)
    raise error


def _read(client: socket.socket) -> bytes:
    """One line."""
    raw = b""
    while not raw.endswith(b"\n") and len(raw) <= REQUEST_MAX:
        piece = client.recv(65_536)
        if not piece:
            break
        raw += piece
    return raw


def _user_of(client: socket.socket) -> int:
    """Who is at the other end."""
    raw = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return int(_CREDENTIALS.unpack(raw)[1])


def _refused(message: str, hint: str, code: int) -> dict[str, Any]:
    return {"ok": False, "error": message, "hint": hint, "code": code}
