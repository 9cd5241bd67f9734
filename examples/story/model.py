"""An imitation of the Messages API that plays the four roles of the example, so that it costs nothing and needs no key.

It listens on loopback, prints its address, and finds the role and the phase in the first line of the prompt. What a
role does is a list of steps, one for each call: a tool that Claude Code really runs, or words. With a real key none of
this is needed: leave ANTHROPIC_BASE_URL alone.
"""

from __future__ import annotations

import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import uuid4

FIRST_LINE = re.compile(r"^# \S+ (\w+): ([\w-]+)$", re.MULTILINE)
USAGE = {"input_tokens": 900, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "output_tokens": 60}
GREETING = '''"""Greet people."""

import os


def greet(name: str) -> str:
    """Return a greeting for one person, or for everybody."""
    return f"Hello, {name or 'world'}!"
'''
TEST = """\
from greeting import greet

assert greet("Ada") == "Hello, Ada!"
assert greet("") == "Hello, world!"
print("2 greetings checked")
"""
CRITERIA = ["greets a person by name", "greets the world where no name is given", "its test says what it did"]
NAME = "Which name should the module have?"
SHOWN = [{"criterion": each, "shows": "the test calls it", "path": "test_greeting.py"} for each in (1, 2)]
LOGGED = [{"criterion": 3, "shows": "the output of the test", "path": "test_output.txt"}]


def tool(name: str, **given: Any) -> dict[str, Any]:
    """A step that uses a tool."""
    return {"type": "tool_use", "id": f"toolu_{uuid4().hex[:20]}", "name": name, "input": given}


def shell(command: str) -> dict[str, Any]:
    """A step that runs a command."""
    return tool("Bash", command=command, description="run it")


def answer(**said: Any) -> dict[str, Any]:
    """A step that writes the answer of the role to its file."""
    return shell(f"cat > \"$MEDBAY_RESULT\" <<'END'\n{json.dumps({'verdict': 'PASS', **said})}\nEND")


def words(text: str) -> dict[str, Any]:
    """The last step: what it says."""
    return {"type": "text", "text": text}


STEPS: dict[tuple[str, str], list[dict[str, Any]]] = {
    ("generate", "pm"): [
        answer(
            summary="three criteria, and a name to be settled",
            criteria=[
                "greets a person by name",
                "greets the world where no name is given",
                "its test says what it did",
            ],
            decisions=[{"question": NAME, "options": ["greeting", "hello"], "kind": "costly"}],
        ),
        words("The story is written."),
    ],
    ("elaborate", "qa"): [words(json.dumps({"verdict": "PASS", "summary": "every criterion can be checked"}))],
    ("implement", "dev"): [
        tool("Write", file_path="greeting.py", content=GREETING),
        tool("Write", file_path="test_greeting.py", content=TEST),
        answer(
            summary="greeting.py and its test",
            evidence=SHOWN,
            decisions=[{"question": NAME, "options": ["greeting", "hello"], "default": "hello"}],
        ),
        words("Implemented."),
    ],
    ("fix", "dev"): [
        tool("Read", file_path="greeting.py"),
        tool("Edit", file_path="greeting.py", old_string="import os\n\n\n", new_string="\n"),
        answer(summary="the unused import is gone", evidence=SHOWN),
        words("Mended."),
    ],
    ("verify", "qa"): [
        shell("python3 test_greeting.py | tee test_output.txt"),
        answer(summary="tried all three", evidence=LOGGED),
        words("Verified."),
    ],
    ("gate", "gate"): [words('Every criterion is shown.\n\n```json\n{"verdict": "PASS", "summary": "all three"}\n```')],
}


def step_of(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """The step that is due: as many were taken as the model has spoken."""
    first = json.dumps(messages[0]["content"]) if messages else ""
    found = FIRST_LINE.search(first.replace("\\n", "\n").replace('"', "\n"))
    steps = STEPS.get((found[1], found[2]), []) if found else []
    taken = sum(each["role"] == "assistant" for each in messages)
    return steps[taken] if taken < len(steps) else words("ok")


class Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is printed."""

    def do_HEAD(self) -> None:
        """It is there."""
        self.send({})

    def do_POST(self) -> None:
        """One call of a model."""
        asked = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        if not self.path.split("?")[0].endswith("/v1/messages"):
            self.send({"input_tokens": 1})
            return
        block = step_of(asked.get("messages", [])) if asked.get("tools") else words("ok")
        stop = "tool_use" if block["type"] == "tool_use" else "end_turn"
        message = {"id": f"msg_{uuid4().hex[:20]}", "type": "message", "role": "assistant", "model": asked["model"]}
        message |= {"content": [block], "stop_reason": stop, "stop_sequence": None, "usage": USAGE}
        if asked.get("stream"):
            self.stream(message, block, stop)
        else:
            self.send(message)

    def send(self, body: dict[str, Any]) -> None:
        """A whole answer."""
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def stream(self, message: dict[str, Any], block: dict[str, Any], stop: str) -> None:
        """The same in pieces."""
        is_text = block["type"] == "text"
        empty = {**block, "text": ""} if is_text else {**block, "input": {}}
        delta = {"type": "text_delta", "text": block["text"]} if is_text else {"type": "input_json_delta"}
        delta |= {} if is_text else {"partial_json": json.dumps(block["input"])}
        pieces = (
            {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
            {"type": "content_block_start", "index": 0, "content_block": empty},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": USAGE},
            {"type": "message_stop"},
        )
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for each in pieces:
            self.wfile.write(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n".encode())
        self.close_connection = True


if __name__ == "__main__":
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
        server.serve_forever()
