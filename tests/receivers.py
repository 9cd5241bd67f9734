"""Real servers on this machine that receive messages: mail and HTTP, which answer as a script says."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from aiosmtpd.controller import Controller


@dataclass
class Hook:
    """A web server: what it was sent, and what it answers next; without a script 204."""

    url: str = ""
    answers: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    received: list[tuple[str, dict[str, str], Any]] = field(default_factory=list)  # path, headers, body
    hang: threading.Event | None = None  # it answers only when this is set

    @property
    def bodies(self) -> list[Any]:
        """What was posted, in order."""
        return [body for _, _, body in self.received]


@contextmanager
def running_hook() -> Iterator[Hook]:
    """A web server while it is needed."""
    hook = Hook()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            """Keep what was sent, answer as the script says."""
            text = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            body = json.loads(text) if text.startswith(("{", "[")) else text
            hook.received.append((self.path, dict(self.headers), body))
            if hook.hang is not None:
                hook.hang.wait(30)
            code, headers = hook.answers.pop(0) if hook.answers else (200, {})
            answer = b'{"ok": true, "result": {"message_id": 1}}' if code < 300 else b"no"
            self.send_response(code)
            for name, value in {"Content-Length": str(len(answer)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            with suppress(OSError):  # whoever asked may not wait any more
                self.wfile.write(answer)

        def log_message(self, *_: Any) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    hook.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield hook
    finally:
        if hook.hang is not None:
            hook.hang.set()
        server.shutdown()
        server.server_close()
        thread.join()


@dataclass
class Mailbox:
    """A mail server: what arrived."""

    port: int = 0
    envelopes: list[Any] = field(default_factory=list)

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        """Keep the mail."""
        self.envelopes.append(envelope)
        return "250 OK"


@contextmanager
def running_mailbox() -> Iterator[Mailbox]:
    """A mail server while it is needed."""
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    box = Mailbox(port=port)
    controller = Controller(box, hostname="127.0.0.1", port=port)
    controller.start()
    try:
        yield box
    finally:
        controller.stop()
