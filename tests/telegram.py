"""An imitation of Telegram's API on this machine: messages, edits, buttons and replies, long polling included."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOKEN = "123456:AA-secret-of-the-bot"


@dataclass
class Telegram:
    """What was sent, and what people do."""

    url: str = ""
    messages: dict[int, dict[str, Any]] = field(default_factory=dict)  # by number, as they look now
    answered: list[dict[str, Any]] = field(default_factory=list)  # what was said to those who pressed
    script: list[tuple[int, dict[str, Any]]] = field(default_factory=list)  # refusals of the next calls
    calls: list[str] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    _updates: list[dict[str, Any]] = field(default_factory=list)
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def address(self, *chats: int) -> str:
        """The address of a channel to these chats."""
        return f"tgram://{TOKEN}/{'/'.join(map(str, chats or (42,)))}?api={self.url}"

    def press(self, number: int, label: str, *, chat: int = 42, who: str = "alice") -> None:
        """Press a button under a message."""
        rows = self.messages[number]["reply_markup"]["inline_keyboard"]
        data = next(each["callback_data"] for row in rows for each in row if label in each["text"])
        of = {"message_id": number, "chat": {"id": chat}}
        self._happen({"callback_query": {"id": f"c{number}", "from": {"username": who}, "message": of, "data": data}})

    def reply(self, number: int, text: str, *, chat: int = 42) -> None:
        """Reply to a message."""
        of = {"message_id": number}
        written = {"from": {"first_name": "Bob"}, "chat": {"id": chat}, "text": text, "reply_to_message": of}
        self._happen({"message": written})

    def _happen(self, update: dict[str, Any]) -> None:
        with self._changed:
            self._updates.append({"update_id": 1000 + len(self._updates), **update})
            self._changed.notify_all()

    def take(self, method: str, given: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """One call of the API."""
        self.calls.append(method)
        if self.script and method != "getUpdates":
            return self.script.pop(0)
        if method == "getUpdates":
            return 200, {"ok": True, "result": self._wait(given)}
        if method == "sendMessage":
            number = len(self.messages) + 1
            self.messages[number] = given
            return 200, {"ok": True, "result": {"message_id": number}}
        if method == "editMessageText":
            self.messages[given["message_id"]] = given
            return 200, {"ok": True, "result": True}
        assert method == "answerCallbackQuery", method
        self.answered.append(given)
        return 200, {"ok": True, "result": True}

    def _wait(self, given: dict[str, Any]) -> list[dict[str, Any]]:
        self.offsets.append(given["offset"])
        until = time.monotonic() + min(given["timeout"], 2)
        with self._changed:
            while not (found := [each for each in self._updates if each["update_id"] >= given["offset"]]):
                if not self._changed.wait(max(0.0, until - time.monotonic())):
                    break
            return found


@contextmanager
def running_telegram() -> Iterator[Telegram]:
    """The imitation while it is needed."""
    telegram = Telegram()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            """One call."""
            given = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
            assert self.path.startswith(f"/bot{TOKEN}/")
            code, said = telegram.take(self.path.rpartition("/")[2], given)
            body = json.dumps(said).encode()
            self.send_response(code)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with suppress(OSError):
                self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    telegram.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield telegram
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
