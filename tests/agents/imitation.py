"""An imitation of the APIs that coding agents call (Anthropic, OpenAI, Gemini), on loopback, with a bill.

What it answers stands in the prompt, so that tests share no state: the steps of the last message that has any,
`[[say x]] [[bash cmd]] [[bash cmd]]`, are taken one after the other, one in each call.

    [[say hello]]        text                      [[bash cmd]]         the shell tool, then the next step or its output
    [[err 529]] [[err 429 2]]   that status for ever, or so many times
    [[limit 2]] [[limit 2 9]]   a usage limit that ends in 2 s, told once or so many times
    [[hang 30]] [[hang 30 1]]   no answer for so long, always or so many times
    [[cut]] [[cut 1]]    the connection is dropped in the middle, always or so many times
    [[refuse]]           the model refuses         [[tool NAME {..}]]   another tool
"""

from __future__ import annotations

import argparse
import json
import re
import threading
import time
import uuid
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

STOPS = "Stop here: "  # what an agent is told that hands back; this model obeys
STEP = re.compile(r"\[\[(\w+)(?:\s+(.*?))?\]\]", re.DOTALL)
ERRORS = {
    400: ("invalid_request_error", "prompt is too long: 250000 tokens > 200000 maximum"),
    401: ("authentication_error", "invalid x-api-key"),
    402: ("billing_error", "Your credit balance is too low to access the API."),
    403: ("permission_error", "Your API key does not have permission"),
    404: ("not_found_error", "model: no-such-model"),
    429: ("rate_limit_error", "This request would exceed your account's rate limit."),
    500: ("api_error", "Internal server error"),
    529: ("overloaded_error", "Overloaded"),
}
GEMINI = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}
INPUT, CACHED, OUTPUT = 120, 1_000, 17  # tokens of every answer
GUIDANCE = "Retry Guidance"


@dataclass
class Bill:
    """What was answered and has to be paid, and every prompt that came in."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    errors: int = 0
    prompts: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)  # how often a step was met, by the prompt
    lock: threading.Lock = field(default_factory=threading.Lock)

    def pay(self, tokens_in: int) -> None:
        """One answer."""
        with self.lock:
            self.calls += 1
            self.tokens_in += tokens_in
            self.tokens_out += OUTPUT

    def met(self, key: str) -> int:
        """How often this was met, this time included."""
        with self.lock:
            self.counts[key] = self.counts.get(key, 0) + 1
            return self.counts[key]


@dataclass(frozen=True)
class Step:
    """What to answer to one call."""

    name: str
    argument: str
    prompt: str
    output: str | None  # what the tool of the step before gave


@dataclass(frozen=True)
class Turn:
    """One message of a conversation, whichever API it came by."""

    mine: bool  # of the model
    text: str = ""
    output: str | None = None  # of a tool


def step_of(turns: list[Turn]) -> Step:
    """The step that is due: as many were taken as the model has spoken since they were set."""
    if turns and turns[-1].text.startswith(STOPS):
        return Step("say", "Some of it is done, the rest is not.", turns[-1].text, None)
    for place in reversed(range(len(turns))):
        steps = [] if turns[place].mine else STEP.findall(turns[place].text)
        if steps:
            taken = sum(turn.mine for turn in turns[place + 1 :])
            output = turns[-1].output
            if taken >= len(steps):
                return Step("say", f"tool said: {output}", turns[place].text, output)
            return Step(steps[taken][0], steps[taken][1].strip(), turns[place].text, output)
    return Step("say", "ok", turns[-1].text if turns else "", None)


def reply(step: Step) -> tuple[str, str]:
    """What the model does: `text`, or the command for its shell as `bash`."""
    if step.name == "bash":
        return "bash", step.argument
    return "text", {"say": step.argument, "err": "recovered", "limit": "recovered"}.get(step.name, "ok")


def text_of(content: object) -> str:
    """The text of a message."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(str(each.get("text", "")) for each in content if isinstance(each, dict) and "text" in each)
    return ""


class Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    protocol_version = "HTTP/1.1"
    server: Imitation

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is printed."""

    def do_HEAD(self) -> None:
        """It is there."""
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        """The bill, or the models there are."""
        if self.path == "/bill":
            bill = self.server.bill
            names = ("calls", "tokens_in", "tokens_out", "errors", "prompts")
            self.send(200, {name: getattr(bill, name) for name in names})
        else:
            self.send(200, {"data": [{"type": "model", "id": "fake", "display_name": "fake"}], "has_more": False})

    def do_POST(self) -> None:
        """A call of an API, by its path."""
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            asked = json.loads(raw or b"{}")
        except ValueError:
            asked = {}
        path = self.path.split("?")[0]
        if path.endswith("/v1/messages"):
            self.anthropic(asked)
        elif path.endswith("/responses"):
            self.openai(asked)
        elif path.endswith("/chat/completions"):
            self.chat(asked)
        elif ":generateContent" in path or ":streamGenerateContent" in path:
            self.gemini(asked, path)
        else:  # counting tokens, telemetry
            self.send(200, {"input_tokens": 1, "totalTokens": 1})

    def send(self, code: int, body: object, headers: tuple[tuple[str, str], ...] = ()) -> None:
        """A whole answer."""
        data = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def stream(self) -> None:
        """An answer in pieces begins."""
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

    def piece(self, data: object, event: str = "") -> None:
        """One piece; nothing is the end."""
        said = data if isinstance(data, str) else json.dumps(data)
        body = b"" if data is None else (f"event: {event}\n" if event else "").encode() + f"data: {said}\n\n".encode()
        self.wfile.write(b"%x\r\n" % len(body) + body + b"\r\n")
        self.wfile.flush()

    def drop(self) -> None:
        """The connection is gone in the middle."""
        self.close_connection = True
        self.connection.close()

    def due(self, turns: list[Turn]) -> Step:
        """The step that is due; the prompt is kept."""
        step = step_of(turns)
        with self.server.bill.lock:
            self.server.bill.prompts.append(step.prompt)
        return step

    def troubled(self, step: Step, kind: str = "") -> bool:
        """Whether this call is refused; it was answered then."""
        if step.name == "hang":
            seconds, _, times = step.argument.partition(" ")
            if not times or self.server.bill.met(str(STEP.findall(step.prompt))) <= int(times):
                time.sleep(float(seconds or 30))
            return False
        if step.name not in ("err", "limit"):
            return False
        seconds, _, often = step.argument.partition(" ")
        code, _, times = (f"429 {often or 1}" if step.name == "limit" else step.argument or "529").partition(" ")
        # By the steps alone: messages that follow each other without an answer arrive as one that grows.
        if times and self.server.bill.met(str(STEP.findall(step.prompt))) > int(times):
            return False
        self.server.bill.errors += 1
        error, message = ERRORS.get(int(code), ("api_error", "error"))
        headers: tuple[tuple[str, str], ...] = (("retry-after", "1"),) if int(code) in (429, 529) else ()
        if step.name == "limit":
            message = f"Claude AI usage limit reached|{int(time.time() + float(seconds or 2)) + 1}"
            headers = (("x-should-retry", "false"),)
        if kind == "gemini":
            status = GEMINI.get(int(code), "INTERNAL")
            self.send(int(code), {"error": {"code": int(code), "message": message, "status": status}}, headers)
        else:
            body = {"error": {"type": error, "message": message, "code": error}}
            self.send(int(code), body if kind == "openai" else {"type": "error", **body}, headers)
        return True

    def cuts(self, step: Step) -> bool:
        """Whether the connection is dropped in the middle of the answer."""
        often = step.argument if step.name == "cut" else "0"
        return not often or self.server.bill.met(f"cut {STEP.findall(step.prompt)}") <= int(often)

    # Anthropic Messages: Claude Code

    def anthropic(self, asked: dict[str, Any]) -> None:
        """One call of the Messages API."""
        turns = [_anthropic_turn(each) for each in asked.get("messages", [])]
        step = self.due(turns)
        if self.troubled(step):
            return
        blocks, stop = _anthropic_blocks(step, [each.get("name") for each in asked.get("tools") or []])
        usage = {
            "input_tokens": INPUT,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": CACHED,
            "output_tokens": OUTPUT,
        }
        message = {
            "id": f"msg_{uuid.uuid4().hex[:20]}",
            "type": "message",
            "role": "assistant",
            "model": asked.get("model", "fake"),
            "content": blocks,
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": usage,
        }
        if not asked.get("stream"):
            self.server.bill.pay(INPUT + CACHED)
            self.send(200, message)
            return
        self.stream()
        begun = {**message, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
        self.piece({"type": "message_start", "message": begun}, "message_start")
        for index, block in enumerate(blocks):
            self.block(index, block)
            if self.cuts(step):
                self.drop()
                return
        self.server.bill.pay(INPUT + CACHED)
        ended = {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage}
        self.piece(ended, "message_delta")
        self.piece({"type": "message_stop"}, "message_stop")
        self.piece(None)

    def block(self, index: int, block: dict[str, Any]) -> None:
        """One block of a message, in pieces."""
        if block["type"] == "text":
            empty: dict[str, Any] = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": block["text"]}
        else:
            empty = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        named = {"index": index}
        self.piece({"type": "content_block_start", **named, "content_block": empty}, "content_block_start")
        self.piece({"type": "content_block_delta", **named, "delta": delta}, "content_block_delta")
        self.piece({"type": "content_block_stop", **named}, "content_block_stop")

    # OpenAI Responses: Codex

    def openai(self, asked: dict[str, Any]) -> None:
        """One call of the Responses API."""
        given = asked.get("input")
        items = given if isinstance(given, list) else [{"role": "user", "content": given or ""}]
        step = self.due([_openai_turn(each) for each in items if each.get("type") != "reasoning"])
        if self.troubled(step, "openai"):
            return
        item = _openai_item(step, [each.get("name") or each.get("type") for each in asked.get("tools") or []])
        usage = {
            "input_tokens": INPUT,
            "input_tokens_details": {"cached_tokens": 20},
            "output_tokens": OUTPUT,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": INPUT + OUTPUT,
        }
        whole = {
            "id": f"resp_{uuid.uuid4().hex[:16]}",
            "object": "response",
            "created_at": int(time.time()),
            "status": "completed",
            "model": asked.get("model"),
            "output": [item],
            "usage": usage,
        }
        self.stream()
        begun = {**whole, "status": "in_progress", "output": [], "usage": None}
        self.event("response.created", 0, response=begun)
        self.event("response.output_item.added", 1, output_index=0, item={**item, "status": "in_progress"})
        if self.cuts(step):
            self.drop()
            return
        self.server.bill.pay(INPUT)
        self.event("response.output_item.done", 2, output_index=0, item=item)
        self.event("response.completed", 3, response=whole)
        self.piece(None)

    def event(self, kind: str, number: int, **data: Any) -> None:
        """One event of a response."""
        self.piece({"type": kind, "sequence_number": number, **data}, kind)

    # OpenAI chat: OpenCode, aider

    def chat(self, asked: dict[str, Any]) -> None:
        """One call of the chat API."""
        step = self.due([_openai_turn(each) for each in asked.get("messages", [])])
        if self.troubled(step, "openai"):
            return
        tools = [each["function"]["name"] for each in asked.get("tools") or [] if each.get("function")]
        kind, words = reply(step)
        message: dict[str, Any] = {"role": "assistant", "content": words}
        if kind == "bash" and "bash" in tools:
            called = {"name": "bash", "arguments": json.dumps({"command": words, "description": "run"})}
            call = {"index": 0, "id": f"call_{uuid.uuid4().hex[:8]}", "type": "function", "function": called}
            message = {"role": "assistant", "content": None, "tool_calls": [call]}
        ends = "content_filter" if step.name == "refuse" else "tool_calls" if "tool_calls" in message else "stop"
        usage = {"prompt_tokens": INPUT, "completion_tokens": OUTPUT, "total_tokens": INPUT + OUTPUT}
        base = {"id": "chatcmpl-1", "created": int(time.time()), "model": asked.get("model")}
        self.server.bill.pay(INPUT)
        if not asked.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": ends}
            self.send(200, {**base, "object": "chat.completion", "choices": [choice], "usage": usage})
            return
        self.stream()
        chunk = {**base, "object": "chat.completion.chunk"}
        self.piece({**chunk, "choices": [{"index": 0, "delta": message, "finish_reason": None}]})
        if self.cuts(step):
            self.drop()
            return
        self.piece({**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": ends}]})
        self.piece({**chunk, "choices": [], "usage": usage})
        self.piece("[DONE]")
        self.piece(None)

    # Gemini

    def gemini(self, asked: dict[str, Any], path: str) -> None:
        """One call of the Gemini API."""
        step = self.due([_gemini_turn(each) for each in asked.get("contents") or []])
        if self.troubled(step, "gemini"):
            return
        kind, words = reply(step)
        called = {"functionCall": {"name": "run_shell_command", "args": {"command": words, "description": "run"}}}
        parts = [] if step.name == "refuse" else [called if kind == "bash" else {"text": words}]
        used = {"promptTokenCount": INPUT, "candidatesTokenCount": OUTPUT, "totalTokenCount": INPUT + OUTPUT}
        stop = "SAFETY" if step.name == "refuse" else "STOP"
        candidate = {"content": {"role": "model", "parts": parts}, "finishReason": stop, "index": 0}
        body = {"candidates": [candidate], "usageMetadata": used, "modelVersion": "gemini-2.5-pro"}
        self.server.bill.pay(INPUT)
        if ":stream" not in path:
            self.send(200, body)
            return
        self.stream()
        if self.cuts(step):
            self.drop()
            return
        self.piece(body)
        self.piece(None)


def _anthropic_turn(message: dict[str, Any]) -> Turn:
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    outputs = [each for each in blocks if isinstance(each, dict) and each.get("type") == "tool_result"]
    output = text_of(outputs[-1].get("content")) if outputs else None
    return Turn(message.get("role") == "assistant", "" if outputs else text_of(content), output)


def _anthropic_blocks(step: Step, tools: list[Any]) -> tuple[list[dict[str, Any]], str]:
    if step.name == "refuse":
        return [{"type": "text", "text": "I cannot help with that."}], "refusal"
    if step.name == "tool":
        name, _, given = step.argument.partition(" ")
        return [_tool_use(name, json.loads(given))], "tool_use"
    kind, words = reply(step)
    if kind == "bash" and "Bash" in tools:
        used = _tool_use("Bash", {"command": words, "description": "run it"})
        return [{"type": "text", "text": "I run a command."}, used], "tool_use"
    return [{"type": "text", "text": words}], "end_turn"


def _tool_use(name: str, given: dict[str, Any]) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex[:20]}", "name": name, "input": given}


def _openai_turn(item: dict[str, Any]) -> Turn:
    kind, role = str(item.get("type")), item.get("role")
    if kind.endswith("_output") or role == "tool":
        output = item.get("output", item.get("content"))
        return Turn(False, "", output if isinstance(output, str) else text_of(output) or json.dumps(output))
    return Turn(role == "assistant" or kind.endswith("_call"), text_of(item.get("content")))


def _openai_item(step: Step, tools: list[Any]) -> dict[str, Any]:
    kind, words = reply(step)
    made = uuid.uuid4().hex[:12]
    if kind == "bash":
        name = next(
            (each for each in ("exec_command", "shell_command", "shell", "local_shell") if each in tools), "shell"
        )
        given = {"exec_command": {"cmd": words}, "shell_command": {"command": words}}
        arguments = json.dumps(given.get(name, {"command": ["bash", "-lc", words]}))
        item = {"type": "function_call", "id": f"fc_{made}", "call_id": f"call_{made}", "name": name}
        return {**item, "arguments": arguments, "status": "completed"}
    content = [{"type": "output_text", "text": words, "annotations": []}]
    return {"type": "message", "id": f"msg_{made}", "role": "assistant", "status": "completed", "content": content}


def _gemini_turn(content: dict[str, Any]) -> Turn:
    parts = content.get("parts") or []
    outputs = [each["functionResponse"] for each in parts if "functionResponse" in each]
    output = json.dumps(outputs[-1].get("response")) if outputs else None
    return Turn(content.get("role") == "model", "" if outputs else text_of(parts), output)


class Imitation(ThreadingHTTPServer):
    """The imitation, listening on loopback; use it as a context."""

    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.bill = Bill()
        self._thread = threading.Thread(target=self.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no error."""

    def __enter__(self) -> Imitation:
        self._thread.start()
        return self

    def __exit__(self, *args: object) -> None:
        self.shutdown()
        self.server_close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    with Imitation(parser.parse_args().port) as server:
        print(f"PORT={server.server_address[1]}", flush=True)
        threading.Event().wait()
